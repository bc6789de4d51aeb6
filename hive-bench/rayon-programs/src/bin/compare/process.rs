//! One process: started, waited for, and what it took.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A process that takes longer than this many seconds has failed.
const LIMIT: &str = "300";

/// What one process took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    /// In seconds: what the process has printed, or from its start to its end.
    pub(crate) time: f64,
    /// CPU time in seconds, in the program and in the kernel.
    pub(crate) cpu: f64,
    /// The most memory that was resident at one time, in MiB.
    pub(crate) memory: f64,
}

/// Runs a command by the shell, and fails if the command does.
pub(crate) fn run(command: &str, threads: usize, times_itself: bool) -> Result<Figures, String> {
    let begin = Instant::now();
    let threads = threads.to_string();
    let child = Command::new("timeout")
        .args(["--kill-after", "5", LIMIT, "sh", "-c", command])
        .env("THREADS", &threads)
        .env("RAYON_NUM_THREADS", &threads)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = child.map_err(|error| format!("cannot run timeout: {error}"))?;
    let mut printed = String::new();
    let mut output = child.stdout.take().expect("the output is a pipe");
    output.read_to_string(&mut printed).map_err(|error| format!("cannot read what is printed: {error}"))?;
    let (status, usage) = wait(child.id())?;
    let time = begin.elapsed();
    if status != 0 {
        return Err(format!("ended with wait status {status:#x}: {command}"));
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let own_time = || {
        let nanoseconds = printed.trim().parse().map_err(|_| format!("printed no time, but: {printed}"))?;
        Ok::<_, String>(Duration::from_nanos(nanoseconds))
    };
    Ok(Figures {
        time: if times_itself { own_time()? } else { time }.as_secs_f64(),
        cpu: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        // In KiB on Linux.
        memory: usage.ru_maxrss as f64 / 1024.0,
    })
}

/// Waits for the end of a child, and returns its status and what it and its own children used.
fn wait(process: u32) -> Result<(libc::c_int, libc::rusage), String> {
    let process = libc::pid_t::try_from(process).expect("what the system gave");
    let mut status = 0;
    // SAFETY: A rusage consists of numbers, for which zeros are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: Both pointers are to variables of this function. Nobody else waits for this child: its handle is dropped
    // without a wait.
    let ended = unsafe { libc::wait4(process, &mut status, 0, &mut usage) };
    if ended == process {
        Ok((status, usage))
    } else {
        Err(format!("cannot wait: {}", std::io::Error::last_os_error()))
    }
}
