//! Sees that the process has forked: a child has the memory of a hive, and none of its threads. See `docs/fork.md`.

#[cfg(unix)]
pub(crate) mod wiped_page;

use std::process::abort;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::sys::stderr::write_stderr;

#[cfg(unix)]
pub(crate) use atfork::without_forks;

/// Forks between this process and the first that used hive, or a few more.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// A number that differs between a process and its forked children.
#[inline(always)]
pub(crate) fn generation() -> u32 {
    // Relaxed: written only by a forked child's only thread.
    GENERATION.load(Ordering::Relaxed)
}

/// Ends a forked child that has come back from where it was forked, or waits for its parent's threads.
#[cold]
pub(crate) fn abort_forked_child() -> ! {
    write_stderr(
        "hive: this process is a forked child, and was forked inside a region or a task. It has come to where others are waited for, or to the end of what one of the hive's threads \
         was doing; these threads are its parent's. Such a child must leave by exec or _exit; hives of its own it may use before that. It is aborted\n",
    );
    abort()
}

#[cfg(unix)]
mod atfork {
    use std::cell::Cell;
    use std::io;
    use std::mem::ManuallyDrop;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use crate::region::nesting;
    use crate::sys::fork::{GENERATION, wiped_page};
    use crate::sys::wait;

    /// Held by whoever does what no thread may fork in the middle of, and by whoever forks.
    static FORK_LOCK: Mutex<()> = Mutex::new(());

    thread_local! {
        /// The lock, while this thread forks. Without a destructor, so that it is there for as long as the thread is.
        static GUARD_DURING_FORK: Cell<Option<ManuallyDrop<MutexGuard<'static, ()>>>> = const { Cell::new(None) };
    }

    /// Runs `work` while no thread forks, so that no child has it half done for ever. (By `fork`, that is; a raw
    /// `clone` system call runs no handlers. That this is a child of such a call is seen here.)
    ///
    /// Whoever forks waits for it: it is short, waits for nothing itself, and reads no file. It must not call this again.
    pub(crate) fn without_forks<R>(work: impl FnOnce() -> R) -> R {
        register_handlers();
        let _lock = lock_forks();
        if wiped_page::renew_mark() {
            adjust_to_fork();
        }
        work()
    }

    fn lock_forks() -> MutexGuard<'static, ()> {
        FORK_LOCK.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on, forks are seen.
    fn register_handlers() {
        // Not a `Once`, which a child would find half done. Two threads at once may both add the handlers, which does no harm.
        static REGISTERED: AtomicBool = AtomicBool::new(false);
        // Acquire: pairs with the Release below; who goes on finds the handlers added.
        if REGISTERED.load(Ordering::Acquire) {
            return;
        }
        #[expect(unsafe_code, reason = "pthread_atfork takes C functions")]
        // SAFETY: the handlers run on the thread that forks, do not unwind, and allocate nothing.
        let status =
            unsafe { libc::pthread_atfork(Some(lock_before_fork), Some(unlock_in_parent), Some(unlock_in_child)) };
        assert_eq!(status, 0, "pthread_atfork: {}", io::Error::from_raw_os_error(status));
        // Release: pairs with the Acquire above.
        REGISTERED.store(true, Ordering::Release);
    }

    extern "C" fn lock_before_fork() {
        // There already, if the handlers were added twice.
        let guard = GUARD_DURING_FORK.take();
        GUARD_DURING_FORK.set(guard.or_else(|| Some(ManuallyDrop::new(lock_forks()))));
    }

    extern "C" fn unlock_in_parent() {
        unlock();
    }

    extern "C" fn unlock_in_child() {
        wiped_page::renew_mark();
        adjust_to_fork();
        unlock();
    }

    /// What is to be done once in each child, before anything else.
    fn adjust_to_fork() {
        // Relaxed: the child has one thread.
        GENERATION.fetch_add(1, Ordering::Relaxed);
        wait::forget_workers();
        nesting::forget_other_bees();
    }

    fn unlock() {
        drop(GUARD_DURING_FORK.take().map(ManuallyDrop::into_inner));
    }
}

/// There is no fork here.
#[cfg(not(unix))]
pub(crate) fn without_forks<R>(work: impl FnOnce() -> R) -> R {
    work()
}
