//! Sees that the process has forked: a child has the memory of a hive, and none of its threads.

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

/// Forks between this process and the first that used hive.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// A number that differs between a process and its forked children.
#[inline(always)]
pub(crate) fn generation() -> u32 {
    // Relaxed: written only by a forked child's only thread.
    GENERATION.load(Ordering::Relaxed)
}

/// From now on, forks are seen. (Those made by `fork`; a raw `clone` system call runs no handlers.)
#[cfg(unix)]
#[expect(unsafe_code, reason = "pthread_atfork takes C functions")]
pub(crate) fn watch() {
    extern "C" fn in_child() {
        // Relaxed: the child has one thread.
        GENERATION.fetch_add(1, Ordering::Relaxed);
    }
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        // SAFETY: the handler is async-signal-safe: one atomic addition.
        let status = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        assert_eq!(status, 0, "pthread_atfork: {}", std::io::Error::from_raw_os_error(status));
    });
}

/// There is no fork here.
#[cfg(not(unix))]
pub(crate) fn watch() {}
