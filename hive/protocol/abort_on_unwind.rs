//! A guard that ends the process when a panic of hive's own code would unwind through a frame that other threads still
//! hold references to.
//!
//! The queen holds one between the start and the end of a region, a worker around its main loop, and tasks, joins and
//! scopes hold one while others may use what lies on their stack. See `docs/start.md`.

use crate::sync::abort_with_message;

/// While this guard lives, no panic unwinds past it: if unwinding drops it, it aborts the process with a message that
/// says where. On the normal way out it is disarmed, which costs nothing.
///
/// Panics of the user's closures never reach it: they are caught inside the guarded section.
#[must_use = "dropped at once, it aborts"]
pub(crate) struct AbortOnUnwind(&'static str);

impl AbortOnUnwind {
    /// `place` completes the message: for example "in a task".
    #[inline(always)]
    pub(crate) fn new(place: &'static str) -> Self {
        Self(place)
    }

    /// Ends the guarded section: no other thread uses the frames any more.
    #[inline(always)]
    pub(crate) fn disarm(self) {
        std::mem::forget(self);
    }
}

impl Drop for AbortOnUnwind {
    // Inlined, and `abort` takes the text by value: otherwise the guard would need an address, and would be written to
    // the stack each time.
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

    /// Set in the child process that is expected to abort.
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
