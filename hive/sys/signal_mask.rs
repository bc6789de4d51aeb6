//! Bees handle no signals but a profiler's: they are for the program's own threads. (POSIX signals, not hive's start signal.)

use std::io;

/// What goes on being handled on bees, if it is handled on the thread that makes them: faults, because blocking them would only rob the process of its report; and the timers of CPU time
/// (ITIMER_PROF and ITIMER_VIRTUAL), by which a profiler interrupts whoever is running.
#[cfg(unix)]
const UNBLOCKED_SIGNALS: [libc::c_int; 9] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGSYS,
    libc::SIGABRT,
    libc::SIGPROF,
    libc::SIGVTALRM,
];

/// Runs `spawn` with all signals blocked but those left alone, so that a thread made by it starts that way, and
/// restores the mask. Where the system refuses that, as a sandbox may, it runs all the same, and the second result says
/// so: the thread then has the caller's mask.
#[cfg(unix)]
#[expect(unsafe_code, reason = "signal masks are C's")]
pub(crate) fn with_signals_blocked<R>(spawn: impl FnOnce() -> R) -> (R, io::Result<()>) {
    use std::mem::MaybeUninit;

    struct RestoreMask(libc::sigset_t);
    impl Drop for RestoreMask {
        fn drop(&mut self) {
            // SAFETY: the mask is the one that the thread had.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
        }
    }

    let mut blocked = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `sigfillset` initialises the set.
    unsafe { libc::sigfillset(blocked.as_mut_ptr()) };
    for signal in UNBLOCKED_SIGNALS {
        // SAFETY: the set is initialised, and the number is a signal's.
        unsafe { libc::sigdelset(blocked.as_mut_ptr(), signal) };
    }
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: both sets are valid for this call, which initialises the second.
    let status = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, blocked.as_ptr(), before.as_mut_ptr()) };
    if status != 0 {
        return (spawn(), Err(io::Error::from_raw_os_error(status)));
    }
    // SAFETY: the call above initialised it.
    let _restore = RestoreMask(unsafe { before.assume_init() });
    (spawn(), Ok(()))
}

/// There are no signals here.
#[cfg(not(unix))]
pub(crate) fn with_signals_blocked<R>(spawn: impl FnOnce() -> R) -> (R, io::Result<()>) {
    (spawn(), Ok(()))
}
