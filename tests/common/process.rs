//! Tests in a process of their own: the test runs its own program again, for itself alone.

use std::env;
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, exit};
use std::thread;
use std::time::Duration;

use super::{alone, limit, sys, task};

/// Set in the other process, to the test's name.
const MARK: &str = "HIVE_TEST_ALONE";

/// What the other process says last: a test program that did not find the test ends well, too.
const DONE: &str = "[the part in a process of its own is done]";

/// Runs `part` in a process of its own, and returns what that printed. `test` is the calling test's full name. Panics if the
/// process fails or hangs.
pub(crate) fn in_own_process(test: &str, part: impl FnOnce()) -> String {
    in_own_process_with(test, &[], part)
}

/// As [`in_own_process`], with variables in its environment. Those that hive reads are otherwise not set.
pub(crate) fn in_own_process_with(test: &str, variables: &[(&str, &str)], part: impl FnOnce()) -> String {
    if is_the_other() {
        run_and_exit(part);
    }
    let _alone = alone();
    let (status, output) = run_again(test, variables);
    assert!(status.success() && output.contains(DONE), "{test} in its own process: {status}\n{output}");
    if let Some(skipped) = output.find("skipped:").map(|start| output[start..].lines().next()) {
        // Past the capture of the tests' output: that a test has shown nothing is to be seen.
        let _ = writeln!(io::stderr(), "{test}: {}", skipped.unwrap_or_default());
    }
    output
}

/// Runs `part` in a process of its own, which must abort, and returns what that printed.
pub(crate) fn aborts_in_own_process(test: &str, part: impl FnOnce()) -> String {
    if is_the_other() {
        run_and_exit(part);
    }
    let _alone = alone();
    let (status, output) = run_again(test, &[]);
    assert_eq!(status.signal(), Some(libc::SIGABRT), "{test} in its own process: {status}\n{output}");
    output
}

/// Runs the calling test, `test`, once more, in a process of its own, which has to end by itself; many may be under way at once. Returns what that printed: Ok, if it ended well.
pub(crate) fn again(test: &str, variables: &[(&str, &str)]) -> Result<String, String> {
    let (status, output) = run_again(test, variables);
    if status.success() && output.contains(DONE) { Ok(output) } else { Err(format!("{status}\n{output}")) }
}

/// Whether this is a process of a test's own.
pub(crate) fn is_the_other() -> bool {
    env::var_os(MARK).is_some()
}

/// Runs `part`, and ends the process of a test's own.
pub(crate) fn run_and_exit(part: impl FnOnce()) -> ! {
    part();
    println!("{DONE}");
    exit(0)
}

fn run_again(test: &str, variables: &[(&str, &str)]) -> (ExitStatus, String) {
    let (mut output, input) = io::pipe().expect("a pipe");
    let mut command = Command::new(env::current_exe().expect("the test program"));
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]).env(MARK, test).process_group(0);
    let ours = ["NUM_BEES", "PIN", "PLACES", "PROC_BIND", "SHRINK", "SPIN", "BARRIER", "CACHE", "TRACE"];
    for name in ours {
        command.env_remove(format!("HIVE_{name}"));
    }
    command.env_remove("RUST_BACKTRACE").env_remove("RUST_MIN_STACK");
    command.envs(variables.iter().copied());
    command.stdout(input.try_clone().expect("a pipe's end")).stderr(input);
    let mut child = command.spawn().expect("the test program runs");
    // The ends that it holds for the child.
    drop(command);
    let reader = thread::spawn(move || {
        let mut bytes = Vec::new();
        output.read_to_end(&mut bytes).expect("the pipe is readable");
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let ended = wait(&mut child);
    // And with it whatever it has forked and left behind.
    sys::kill_group(child.id());
    let output = reader.join().expect("the reader does not panic");
    match ended {
        Ok(status) => (status, output),
        Err(threads) => {
            child.wait().expect("the child was killed");
            panic!("{test} is still running in its own process after {:?}; {threads}\nand said:\n{output}", limit() / 2);
        }
    }
}

/// The child's end, or its threads if it does not end.
fn wait(child: &mut Child) -> Result<ExitStatus, String> {
    const STEP: Duration = Duration::from_millis(2);
    let mut waited = Duration::ZERO;
    // Before the watchdog of this process ends it. In steps: see there.
    while waited < limit() / 2 {
        if let Some(status) = child.try_wait().expect("it is our child") {
            return Ok(status);
        }
        thread::sleep(STEP);
        waited += STEP;
    }
    let family = task::family(child.id());
    family.iter().for_each(|&pid| print_stacks(pid));
    Err(family.iter().map(|&pid| format!("process {pid}:\n{}", task::list(Some(pid)))).collect())
}

/// Has gdb print the stacks of a process that hangs, where `HIVE_TEST_GDB` is set.
pub(crate) fn print_stacks(pid: u32) {
    if env::var_os("HIVE_TEST_GDB").is_some() {
        let arguments = ["-batch", "-ex", "thread apply all bt", "-p", &pid.to_string()];
        let _ = Command::new("gdb").args(arguments).status();
    }
}
