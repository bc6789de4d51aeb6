//! Runs one model in a process of its own, because a model that fails ends its process.
//!
//! The driver calls this for each model, and for each pair of a mutant and a model. The child is this same program,
//! called with `model NAME`.

use std::env;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::{REJECTED_EXIT_CODE, REJECTED_PREFIX};
use crate::mutation;

/// How the run of a model ended.
pub(super) enum Outcome {
    /// The model found nothing wrong. Holds its standard output, which says how many executions it took.
    Passed(String),
    /// The model found this fault.
    Rejected(String),
    /// The run reached no verdict: it took too long, crashed, or had too many branches for loom.
    Broken(String),
}

/// The limits of a run.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// None: as many preemptions as the model itself has.
    pub(super) preemptions: Option<usize>,
    /// The run is killed after this time.
    pub(super) time: Duration,
}

/// Runs the model called `name`, broken by `mutant` if there is one.
pub(super) fn run(name: &str, mutant: Option<&str>, limits: Limits) -> Outcome {
    let mut command = Command::new(env::current_exe().expect("this program has a path"));
    command.args(["model", name]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env_remove(mutation::VARIABLE);
    if let Some(mutant) = mutant {
        command.env(mutation::VARIABLE, mutant);
    }
    if let Some(preemptions) = limits.preemptions {
        command.env("LOOM_MAX_PREEMPTIONS", preemptions.to_string());
    }
    let child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    await_outcome(child, limits.time)
}

/// Waits for the child, at most for `time`. The child's output fits into the pipes, so the child does not block
/// although nobody reads the pipes until it has ended.
fn await_outcome(mut child: Child, time: Duration) -> Outcome {
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            break status;
        }
        if start.elapsed() > time {
            // Errors are ignored: the child may have ended by itself in the meantime.
            let _ = child.kill();
            let _ = child.wait();
            return Outcome::Broken(format!("not done after {} s", time.as_secs()));
        }
        thread::sleep(Duration::from_millis(2));
    };
    let said = read(child.stdout.take());
    let complaint = read(child.stderr.take());
    let reason = complaint.lines().find_map(|line| line.strip_prefix(REJECTED_PREFIX)).map(str::trim);
    match (status.code(), reason) {
        (Some(0), None) => Outcome::Passed(said.trim().to_owned()),
        (Some(REJECTED_EXIT_CODE), Some(reason)) if !reason.contains("exceeded maximum number of branches") => {
            Outcome::Rejected(reason.to_owned())
        }
        _ => Outcome::Broken(format!("{status}: {}", complaint.trim())),
    }
}

fn read(pipe: Option<impl Read>) -> String {
    let mut text = Vec::new();
    if let Some(mut pipe) = pipe {
        pipe.read_to_end(&mut text).expect("a pipe can be read");
    }
    String::from_utf8_lossy(&text).into_owned()
}
