//! Sees that the process has forked: a child has the memory of a hive, and none of its threads.

#[cfg(unix)]
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicU32, Ordering};

#[cfg(unix)]
use crate::{global, habitat, topology, trace, wait};

/// Forks between this process and the first that used hive.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// A number that differs between a process and its forked children.
#[inline(always)]
pub(crate) fn generation() -> u32 {
    // Relaxed: written only by a forked child's only thread.
    GENERATION.load(Ordering::Relaxed)
}

/// From now on, forks are seen, and happen only while no thread is building a hive: a child inherits a lock that another thread
/// holds as locked for ever. (Forks made by `fork`; a raw `clone` system call runs no handlers.)
#[cfg(unix)]
pub(crate) fn watch() {
    use std::cell::RefCell;
    use std::sync::Once;

    thread_local! {
        /// The locks of the process, while this thread forks.
        static HELD: RefCell<Option<Locks>> = const { RefCell::new(None) };
    }

    extern "C" fn before() {
        HELD.set(Some(Locks::take()));
    }

    extern "C" fn in_parent() {
        HELD.take();
    }

    extern "C" fn in_child() {
        // Relaxed: the child has one thread.
        GENERATION.fetch_add(1, Ordering::Relaxed);
        wait::forget_bees();
        HELD.take();
    }

    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        #[expect(unsafe_code, reason = "pthread_atfork takes C functions")]
        // SAFETY: the handlers take and give back locks, on the one thread that forks, and allocate nothing.
        let status = unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
        assert_eq!(status, 0, "pthread_atfork: {}", std::io::Error::from_raw_os_error(status));
    });
}

/// There is no fork here.
#[cfg(not(unix))]
pub(crate) fn watch() {}

/// Every lock that is shared by all hives of the process, held; in the order in which building a hive takes them.
#[cfg(unix)]
struct Locks {
    _global: MutexGuard<'static, ()>,
    _machine: habitat::Lock,
    _claims: topology::ClaimsLock,
    _traces: trace::Lock,
}

#[cfg(unix)]
impl Locks {
    fn take() -> Self {
        Self { _global: global::lock(), _machine: habitat::lock(), _claims: topology::lock_claims(), _traces: trace::lock() }
    }
}
