//! Starts this program once more, in a process of its own, and waits for its answer, up to a time limit.

use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal::SIGKILL, kill};
use nix::unistd::Pid;

/// Prefixes of the runtimes' environment variables. The caller's shell may have set some; the new process gets only
/// those that it is given here.
const RUNTIME_VARIABLES: [&str; 6] = ["HIVE_", "OMP_", "GOMP_", "KMP_", "LIBOMP_", "RAYON_"];

/// What this program, started once more, answers to a question of one word.
pub(crate) fn ask(question: &str, environment: &[(&str, String)]) -> Result<String, String> {
    let output = wait_for(command(&[question.to_owned()], environment)?, Duration::from_secs(10))?;
    Ok(output.trim().to_owned())
}

/// This program, not yet started once more, with these arguments, and with no runtime's variables but these.
pub(crate) fn command(arguments: &[String], environment: &[(&str, String)]) -> Result<Command, String> {
    let program = std::env::current_exe().map_err(|error| format!("this program's own file is not known: {error}"))?;
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| RUNTIME_VARIABLES.iter().any(|prefix| name.starts_with(prefix))) {
            command.env_remove(name);
        }
    }
    command.args(arguments).envs(environment.iter().map(|(name, value)| (name, value)));
    Ok(command)
}

/// What the command prints, or its error message. Nothing here polls, because that would take CPU time from the
/// process.
pub(crate) fn wait_for(mut command: Command, limit: Duration) -> Result<String, String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(|error| format!("cannot start a process: {error}"))?;
    let (process, (send, receive)) = (Pid::from_raw(child.id() as i32), mpsc::channel());
    thread::spawn(move || send.send(child.wait_with_output()));
    let Ok(ended) = receive.recv_timeout(limit) else {
        let limit = limit.as_secs();
        kill(process, SIGKILL).map_err(|error| format!("not done after {limit} s, and cannot be killed: {error}"))?;
        // Until it is gone, it would disturb what comes next. Others may still hold the pipes, and are not waited for.
        let _ = receive.recv_timeout(Duration::from_secs(10));
        return Err(format!("killed: not done after {limit} s"));
    };
    let output = ended.map_err(|error| format!("cannot wait for the process: {error}"))?;
    let [printed, errors] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    if output.status.success() { Ok(printed) } else { Err(complaint(&errors, output.status)) }
}

/// The last two lines of the error output that say something, and how the process ended.
fn complaint(errors: &str, status: ExitStatus) -> String {
    let lines = errors
        .lines()
        .map(|line| line.trim().trim_start_matches("error: "))
        .filter(|line| !line.is_empty() && !line.starts_with("note: "));
    let text = lines.rev().take(2).collect::<Vec<_>>();
    let text = text.into_iter().rev().collect::<Vec<_>>().join(" ");
    if text.is_empty() { format!("the process ended with {status}") } else { format!("{text} ({status})") }
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
        let error = shell("echo error: broken >&2; exit 3", Duration::from_secs(20)).unwrap_err();
        assert!(error.starts_with("broken") && error.contains('3'), "{error}");
    }

    #[test]
    fn a_process_that_hangs_is_killed() {
        let error = shell("exec sleep 600", Duration::from_millis(100)).unwrap_err();
        assert!(error.contains("killed"), "{error}");
    }
}
