//! A forked child, for tests of the drop-ins: they have this file by its path.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `child` in a forked child, and returns the status with which it has ended.
pub(crate) fn in_a_child(child: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child calls nothing but the drop-in and hive, which provide for forks, and then `_exit`. No other
    // thread of the test program holds a lock of the allocator: those of hives are idle, and those of tests wait.
    match unsafe { libc::fork() } {
        -1 => panic!("fork: {}", std::io::Error::last_os_error()),
        0 => {
            // SAFETY: `alarm` only asks for a signal, which ends a child that hangs.
            unsafe { libc::alarm(60) };
            let status = catch_unwind(AssertUnwindSafe(child)).unwrap_or(99);
            // SAFETY: ends the process at once.
            unsafe { libc::_exit(status) }
        }
        process => {
            let mut status = 0;
            // SAFETY: `status` lives during the call.
            assert_eq!(unsafe { libc::waitpid(process, &raw mut status, 0) }, process);
            if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 1000 + libc::WTERMSIG(status) }
        }
    }
}
