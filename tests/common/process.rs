//! Tests in a process of their own: a test runs its own program again, with only that test.
//!
//! A test needs this if it changes the environment or the CPU mask, expects an abort, or must be killed when it hangs.

use std::env;
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, exit};
use std::thread;
use std::time::Duration;

use hive::Hive;

use super::{proc_threads, run_exclusively, sys, time_limit};

/// Set in the child process, to the name of the test.
const CHILD_VARIABLE: &str = "HIVE_TEST_CHILD";

/// The last line of the child's output. Without it the child has not run the test: a test program that finds no test of
/// that name also ends with success.
const DONE_MESSAGE: &str = "[the part in a process of its own is done]";

/// Runs `part` in a process of its own and returns that process's output. `test` is the full name of the calling test.
/// Panics if the process fails or hangs.
pub(crate) fn in_own_process(test: &str, part: impl FnOnce()) -> String {
    in_own_process_with(test, &[], part)
}

/// As [`in_own_process`], with these variables in the environment. Variables that hive reads are otherwise not set.
pub(crate) fn in_own_process_with(test: &str, variables: &[(&str, &str)], part: impl FnOnce()) -> String {
    if is_child() {
        run_in_child(part);
    }
    let _alone = run_exclusively();
    let (status, output) = spawn_and_wait(test, variables);
    assert!(status.success() && output.contains(DONE_MESSAGE), "{test} in its own process: {status}\n{output}");
    if let Some(skipped) = output.find("skipped:").map(|start| output[start..].lines().next()) {
        // Written directly to standard error, past the capture of the tests' output, so that it can be seen that a test
        // was skipped.
        let _ = writeln!(io::stderr(), "{test}: {}", skipped.unwrap_or_default());
    }
    output
}

/// Runs `part` in a process of its own, which must abort, and returns that process's output.
pub(crate) fn aborts_in_own_process(test: &str, part: impl FnOnce()) -> String {
    if is_child() {
        run_in_child(part);
    }
    let _alone = run_exclusively();
    let (status, output) = spawn_and_wait(test, &[]);
    assert_eq!(status.signal(), Some(libc::SIGABRT), "{test} in its own process: {status}\n{output}");
    output
}

/// Runs the calling test, `test`, once more in a process of its own, and waits for its end. Several may run at once.
/// Returns the output: Ok if the process ended with success.
pub(crate) fn rerun(test: &str, variables: &[(&str, &str)]) -> Result<String, String> {
    let (status, output) = spawn_and_wait(test, variables);
    if status.success() && output.contains(DONE_MESSAGE) { Ok(output) } else { Err(format!("{status}\n{output}")) }
}

/// Whether this is the process of a test's own.
pub(crate) fn is_child() -> bool {
    env::var_os(CHILD_VARIABLE).is_some()
}

/// Builds hives that are bound by default, which they are not while hives of another program have CPUs of this machine:
/// then it waits a while and builds them anew. None: it printed why the test is skipped. This process must have no
/// hive.
pub(crate) fn build_bound<const N: usize>(build: impl Fn() -> [Hive; N]) -> Option<[Hive; N]> {
    for _ in 0..100 {
        let hives = build();
        if !hives.iter().any(|hive| hive.report().to_string().contains(CROWDED)) {
            return Some(hives);
        }
        drop(hives);
        thread::sleep(Duration::from_millis(50));
    }
    println!("skipped: hives of another program have CPUs of this machine");
    None
}

/// Whether no hive of another program has CPUs of this machine. Waits a while for it. One may come just afterwards.
pub(crate) fn has_all_cpus() -> bool {
    build_bound(|| [Hive::new(proc_threads::own_cpus().len()).unwrap()]).is_some()
}

/// What a report says where bees are not bound because of other hives.
pub(crate) const CROWDED: &str = "by default, since other hives or processes have CPUs ";

/// Runs `part` and ends the process of the test's own.
pub(crate) fn run_in_child(part: impl FnOnce()) -> ! {
    part();
    println!("{DONE_MESSAGE}");
    exit(0)
}

/// The test's name in the program that runs. In the program of all tests (`tests/all`) it begins with that of its own
/// program, as the name of this module does there.
fn name_here(test: &str) -> String {
    let around = module_path!().strip_suffix("common::process").expect("the name of this module");
    let (_crate, program) = around.split_once("::").expect("this module is in a crate");
    format!("{program}{test}")
}

/// Runs one test of this program in a process of its own, in which no variable of hive's is set.
pub(crate) fn command_for(test: &str) -> Command {
    let mut command = Command::new(env::current_exe().expect("the test program"));
    command.args([&name_here(test), "--exact", "--nocapture", "--test-threads=1"]).process_group(0);
    for name in ["NUM_BEES", "PIN", "PLACES", "PROC_BIND", "SHRINK", "SPIN", "BARRIER", "TRACE"] {
        command.env_remove(format!("HIVE_{name}"));
    }
    command.env_remove("RUST_BACKTRACE");
    command
}

fn spawn_and_wait(test: &str, variables: &[(&str, &str)]) -> (ExitStatus, String) {
    let (mut output, input) = io::pipe().expect("a pipe");
    let mut command = command_for(test);
    command.env(CHILD_VARIABLE, test).env_remove("RUST_MIN_STACK");
    command.envs(variables.iter().copied());
    command.stdout(input.try_clone().expect("a pipe's end")).stderr(input);
    let mut child = command.spawn().expect("the test program runs");
    // Dropping the command closes this process's copies of the child's ends of the pipes.
    drop(command);
    let reader = thread::spawn(move || {
        let mut bytes = Vec::new();
        output.read_to_end(&mut bytes).expect("the pipe is readable");
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let ended = wait(&mut child);
    // This also kills what the child has forked and left behind.
    sys::kill_process_group(child.id());
    let output = reader.join().expect("the reader does not panic");
    match ended {
        Ok(status) => (status, output),
        Err(threads) => {
            child.wait().expect("the child was killed");
            panic!(
                "{test} is still running in its own process after {:?}; {threads}\nand said:\n{output}",
                time_limit() / 2
            );
        }
    }
}

/// Returns the child's exit status, or a list of its threads if it does not end.
fn wait(child: &mut Child) -> Result<ExitStatus, String> {
    const STEP: Duration = Duration::from_millis(2);
    let mut waited = Duration::ZERO;
    // The child has half of this process's own time limit. The time is counted in steps, as in `run_exclusively`.
    while waited < time_limit() / 2 {
        if let Some(status) = child.try_wait().expect("it is our child") {
            return Ok(status);
        }
        thread::sleep(STEP);
        waited += STEP;
    }
    let family = proc_threads::with_children(child.id());
    family.iter().for_each(|&pid| print_stacks(pid));
    Err(family.iter().map(|&pid| format!("process {pid}:\n{}", proc_threads::list(Some(pid)))).collect())
}

/// Has gdb print the stacks of a process that hangs, if `HIVE_TEST_GDB` is set.
pub(crate) fn print_stacks(pid: u32) {
    if env::var_os("HIVE_TEST_GDB").is_some() {
        let arguments = ["-batch", "-ex", "thread apply all bt", "-p", &pid.to_string()];
        let _ = Command::new("gdb").args(arguments).status();
    }
}
