//! Makes threads that handle no signals, except those of faults and profilers: signals are for the program's own
//! threads. (These are POSIX signals. The start of a region is no signal in this sense.)
//!
//! Every thread that hive makes is spawned inside [`with_signals_blocked`], because a thread inherits the signal mask
//! of the thread that spawns it.

use std::io;

/// Runs `spawn` with signals blocked, so that a thread spawned by it starts with them blocked, and then restores the
/// mask. If the system refuses to change the mask, as a sandbox may, `spawn` runs all the same and its thread has the
/// caller's mask; the second result is then the error.
#[cfg(unix)]
#[expect(unsafe_code, reason = "signal masks are C's")]
pub(crate) fn with_signals_blocked<R>(spawn: impl FnOnce() -> R) -> (R, io::Result<()>) {
    use std::mem::MaybeUninit;

    use libc::{SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGPROF, SIGSEGV, SIGSYS, SIGTRAP, SIGVTALRM};

    use crate::on_drop::on_drop;

    let mut blocked = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the pointer is valid, and `sigfillset` initialises the set.
    unsafe { libc::sigfillset(blocked.as_mut_ptr()) };
    // What is not blocked here. Faults: if these were blocked, the process would end without its report. The timers of
    // CPU time (ITIMER_PROF and ITIMER_VIRTUAL): a profiler uses them to interrupt any thread that is running.
    for signal in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF, SIGVTALRM] {
        // SAFETY: the set is initialised, and the number is that of a signal.
        unsafe { libc::sigdelset(blocked.as_mut_ptr(), signal) };
    }
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the first set is initialised, and both pointers are valid during the call, which initialises the second
    // set.
    let status = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, blocked.as_ptr(), before.as_mut_ptr()) };
    if status != 0 {
        return (spawn(), Err(io::Error::from_raw_os_error(status)));
    }
    // SAFETY: the call above has succeeded and thereby initialised it.
    let before = unsafe { before.assume_init() };
    let _restore = on_drop(|| {
        // SAFETY: the mask was returned by the system as the thread's own, and the null pointer says that the old one
        // is not wanted.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut()) };
    });
    (spawn(), Ok(()))
}

/// These systems have no signals.
#[cfg(not(unix))]
pub(crate) fn with_signals_blocked<R>(spawn: impl FnOnce() -> R) -> (R, io::Result<()>) {
    (spawn(), Ok(()))
}
