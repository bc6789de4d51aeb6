//! Bees handle no signals: they are for the program's own threads. (POSIX signals, not hive's start signal.)

/// Runs `spawn` with all asynchronous signals blocked, so that a thread made by it starts that way, and restores the mask.
///
/// Faults (SIGSEGV and the like) stay as they are: blocking them would only rob the process of its report.
#[cfg(unix)]
#[expect(unsafe_code, reason = "signal masks are C's")]
pub(crate) fn with_signals_blocked<R>(spawn: impl FnOnce() -> R) -> R {
    use std::mem::MaybeUninit;

    struct Restore(libc::sigset_t);
    impl Drop for Restore {
        fn drop(&mut self) {
            // SAFETY: the mask is the one that the thread had.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
        }
    }

    let mut blocked = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `sigfillset` initialises the set.
    unsafe { libc::sigfillset(blocked.as_mut_ptr()) };
    for fault in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS, libc::SIGABRT] {
        // SAFETY: the set is initialised, and the number is a signal's.
        unsafe { libc::sigdelset(blocked.as_mut_ptr(), fault) };
    }
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: both sets are valid for this call, which initialises the second.
    let status = unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, blocked.as_ptr(), before.as_mut_ptr()) };
    assert_eq!(status, 0, "pthread_sigmask: {}", std::io::Error::from_raw_os_error(status));
    // SAFETY: the call above initialised it.
    let _restore = Restore(unsafe { before.assume_init() });
    spawn()
}

/// There are no signals here.
#[cfg(not(unix))]
pub(crate) fn with_signals_blocked<R>(spawn: impl FnOnce() -> R) -> R {
    spawn()
}
