//! What keeps a panic of hive's own from unwinding where others hold references into the frames that would go.

use crate::sync::abort_with_message;

/// While this lives, nothing unwinds: dropped by an unwinding it ends the process, with a line that says where. It is disarmed on the way out that is meant, and costs nothing on that.
///
/// What users' closures panic with is caught inside of it.
#[must_use = "dropped at once, it aborts"]
pub(crate) struct AbortOnUnwind(&'static str);

impl AbortOnUnwind {
    /// `place` is for the line: "in a task", say.
    #[inline(always)]
    pub(crate) fn new(place: &'static str) -> Self {
        Self(place)
    }

    /// Nobody depends on the frames any more.
    #[inline(always)]
    pub(crate) fn disarm(self) {
        std::mem::forget(self);
    }
}

impl Drop for AbortOnUnwind {
    // Inline, and the rest by value: else the guard would have an address, and so be written to the stack each time.
    #[inline(always)]
    fn drop(&mut self) {
        abort(self.0);
    }
}

#[cold]
#[inline(never)]
fn abort(place: &'static str) -> ! {
    abort_with_message(format_args!("a panic of hive's own {place}, from where nothing may unwind"))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    use super::*;

    /// Set in the process that is to end.
    const CHILD_VARIABLE: &str = "HIVE_TEST_CHILD_UNWINDS";

    #[test]
    fn an_unwinding_ends_the_process_with_a_line_that_says_where() {
        if std::env::var_os(CHILD_VARIABLE).is_some() {
            AbortOnUnwind::new("in what is over").disarm();
            let _intact = AbortOnUnwind::new("in a test");
            panic!("something of hive's own");
        }
        let (_, module) = module_path!().split_once("::").expect("a path");
        let test = format!("{module}::an_unwinding_ends_the_process_with_a_line_that_says_where");
        let mut again = Command::new(std::env::current_exe().expect("the test program"));
        let output = again.args([&test, "--exact", "--nocapture"]).env(CHILD_VARIABLE, "1").output().expect("it runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{}\n{stderr}", output.status);
        let line = "hive: a panic of hive's own in a test, from where nothing may unwind; the process is aborted\n";
        assert!(stderr.contains("something of hive's own") && stderr.ends_with(line), "{stderr}");
    }
}
