//! Sees that the process has forked: a child has the memory of a hive, and none of its threads. See `docs/fork.md`.

use std::process::abort;
use std::sync::atomic::{AtomicU32, Ordering};

#[cfg(unix)]
mod mark;

#[cfg(unix)]
pub(crate) use handlers::undivided;

use crate::say::say;

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
pub(crate) fn end_stray_child() -> ! {
    say(
        "hive: this process is a forked child, and was forked inside a region or a task. It has come to where others are waited for, or to the end of what one of the hive's threads \
         was doing; these threads are its parent's. Such a child must leave by exec or _exit; hives of its own it may use before that. It is aborted\n",
    );
    abort()
}

#[cfg(unix)]
mod handlers {
    use std::cell::Cell;
    use std::io;
    use std::mem::ManuallyDrop;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use super::{GENERATION, mark};
    use crate::{frame, wait};

    /// Held by whoever does what no thread may fork in the middle of, and by whoever forks.
    static UNDIVIDED: Mutex<()> = Mutex::new(());

    thread_local! {
        /// The lock, while this thread forks. Without a destructor, so that it is there for as long as the thread is.
        static HELD: Cell<Option<ManuallyDrop<MutexGuard<'static, ()>>>> = const { Cell::new(None) };
    }

    /// Runs `work` while no thread forks, so that no child has it half done for ever. (By `fork`, that is; a raw
    /// `clone` system call runs no handlers. That this is a child of such a call is seen here.)
    ///
    /// Whoever forks waits for it: it is short, waits for nothing itself, and reads no file. It must not call this again.
    pub(crate) fn undivided<R>(work: impl FnOnce() -> R) -> R {
        see_forks();
        let _lock = lock();
        if mark::renew() {
            be_a_child();
        }
        work()
    }

    fn lock() -> MutexGuard<'static, ()> {
        UNDIVIDED.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on, forks are seen.
    fn see_forks() {
        // Not a `Once`, which a child would find half done. Two threads at once may both add the handlers, which does no harm.
        static SEEN: AtomicBool = AtomicBool::new(false);
        // Acquire: pairs with the Release below; who goes on finds the handlers added.
        if SEEN.load(Ordering::Acquire) {
            return;
        }
        #[expect(unsafe_code, reason = "pthread_atfork takes C functions")]
        // SAFETY: the handlers run on the thread that forks, do not unwind, and allocate nothing.
        let status = unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
        assert_eq!(status, 0, "pthread_atfork: {}", io::Error::from_raw_os_error(status));
        // Release: pairs with the Acquire above.
        SEEN.store(true, Ordering::Release);
    }

    extern "C" fn before() {
        // There already, if the handlers were added twice.
        let held = HELD.take();
        HELD.set(held.or_else(|| Some(ManuallyDrop::new(lock()))));
    }

    extern "C" fn in_parent() {
        give_back();
    }

    extern "C" fn in_child() {
        mark::renew();
        be_a_child();
        give_back();
    }

    /// What is to be done once in each child, before anything else.
    fn be_a_child() {
        // Relaxed: the child has one thread.
        GENERATION.fetch_add(1, Ordering::Relaxed);
        wait::forget_bees();
        frame::forget_others();
    }

    fn give_back() {
        drop(HELD.take().map(ManuallyDrop::into_inner));
    }
}

/// There is no fork here.
#[cfg(not(unix))]
pub(crate) fn undivided<R>(work: impl FnOnce() -> R) -> R {
    work()
}
