//! Starts this program once more, as a child that measures one thing, and waits for what it has to say - not for ever.

use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::catalog::RuntimeId;
use crate::results::{Job, Measured, Outcome};
use crate::runtimes::openmp;

/// Settings of the runtimes that the caller's shell may hold: a child has only those that it is given.
const RUNTIME_VARIABLES: [&str; 6] = ["HIVE_", "OMP_", "GOMP_", "KMP_", "LIBOMP_", "RAYON_"];

/// Runs one job; how it ended and how many seconds it took.
pub(crate) fn run(job: &Job) -> (Outcome, f64) {
    let begin = Instant::now();
    let outcome = run_job(job).map_or_else(Outcome::Failed, Outcome::Measured);
    (outcome, begin.elapsed().as_secs_f64())
}

/// The answer of a child to a question of one word.
pub(crate) fn ask(question: &str, environment: &[(&str, String)]) -> Result<String, String> {
    let output = run_self(&[question.to_owned()], environment, Duration::from_secs(10))?;
    Ok(output.trim().to_owned())
}

fn run_job(job: &Job) -> Result<Measured, String> {
    let text = serde_json::to_string(job).map_err(|error| format!("cannot write the job: {error}"))?;
    let environment = match job.runtime {
        runtime if runtime.is_openmp() => openmp::environment(runtime, &job.cpus[..job.members]),
        _ => Vec::new(),
    };
    let output = run_self(&["child".to_owned(), text], &environment, time_limit(job))?;
    serde_json::from_str(&output).map_err(|error| format!("the child's answer cannot be read: {error}"))
}

/// Far beyond what a slow machine needs; and a guest of numa-vm, where each instruction may be emulated.
fn time_limit(job: &Job) -> Duration {
    let slow = if job.runtime == RuntimeId::StdScope { 20 } else { 10 };
    let emulated = std::env::var_os("NUMA_VM").is_some_and(|value| value == "1");
    (Duration::from_secs(20) + slow * job.effort.expected(job.case)) * if emulated { 30 } else { 1 }
}

fn run_self(arguments: &[String], environment: &[(&str, String)], limit: Duration) -> Result<String, String> {
    let program = std::env::current_exe().map_err(|error| format!("this program's own file is not known: {error}"))?;
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| RUNTIME_VARIABLES.iter().any(|prefix| name.starts_with(prefix))) {
            command.env_remove(name);
        }
    }
    command.args(arguments).envs(environment.iter().map(|(name, value)| (name, value)));
    wait_for(command, limit)
}

/// What the command prints, or what it complains about. Waits without looking again and again: that would take time from
/// the child.
fn wait_for(mut command: Command, limit: Duration) -> Result<String, String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("cannot start a child: {error}"))?;
    let output = read_to_end(child.stdout.take());
    let errors = read_to_end(child.stderr.take());
    let Ok(output) = output.recv_timeout(limit) else {
        return Err(kill(&mut child, limit));
    };
    let status = child.wait().map_err(|error| format!("cannot wait for the child: {error}"))?;
    let errors = errors.recv().unwrap_or_default();
    if status.success() { Ok(output) } else { Err(complaint(&errors, status)) }
}

/// The whole of a pipe, when its other end is closed.
fn read_to_end(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What came before an error is still worth showing.
            let _ = pipe.read_to_end(&mut bytes);
        }
        // Nobody listens any more when the child took too long.
        let _ = send.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receive
}

fn kill(child: &mut Child, limit: Duration) -> String {
    let ended = child.kill().and_then(|()| child.wait());
    let limit = limit.as_secs();
    match ended {
        Ok(_) => format!("killed: not done after {limit} s"),
        Err(error) => format!("not done after {limit} s, and cannot be killed: {error}"),
    }
}

/// The last line that says something, and how the child ended.
fn complaint(errors: &str, status: ExitStatus) -> String {
    let lines = errors.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("note: "));
    let text = lines.rev().take(2).collect::<Vec<_>>();
    let text = text.into_iter().rev().collect::<Vec<_>>().join(" ");
    if text.is_empty() { format!("the child ended with {status}") } else { format!("{text} ({status})") }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Result<String, String> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        wait_for(command, limit)
    }

    #[test]
    fn output_comes_back() {
        assert_eq!(shell("echo 17", Duration::from_secs(20)), Ok("17\n".to_owned()));
    }

    #[test]
    fn a_failure_says_why() {
        let error = shell("echo broken >&2; exit 3", Duration::from_secs(20)).unwrap_err();
        assert!(error.contains("broken") && error.contains('3'), "{error}");
    }

    #[test]
    fn a_child_that_hangs_is_killed() {
        let error = shell("exec sleep 600", Duration::from_millis(100)).unwrap_err();
        assert!(error.contains("killed"), "{error}");
    }
}
