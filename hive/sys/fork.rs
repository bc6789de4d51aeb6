//! Detects that the process has forked. A forked child has the memory of its parent's hives but none of their threads.
//!
//! Handlers that are registered with `pthread_atfork` run in every `fork`: they wait until no thread is changing hive's
//! process-wide state, and count up the child's generation. A hive remembers the generation that it was built in and
//! thereby knows that it is used in a child. See `docs/fork.md`.

use std::process::abort;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::on_drop::on_drop;
use crate::sys::stderr::write_message;

#[cfg(unix)]
pub(crate) use atfork::{forget_in_children, without_forks};

/// The number of forks between this process and its first ancestor that used hive.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// A number that differs between a process and its forked children.
#[inline(always)]
pub(crate) fn generation() -> u32 {
    // Relaxed: it is written only in a forked child, by the child's only thread.
    GENERATION.load(Ordering::Relaxed)
}

/// Something of the parent process that a child has to forget before it does anything else.
pub(crate) trait Inherited: Sync {
    /// Called on the only thread of a child. It must neither allocate, nor take locks, nor unwind.
    #[cfg_attr(not(unix), expect(dead_code, reason = "other systems do not fork"))]
    fn forget(&self);
}

/// Functions that are called one after the other.
impl<const N: usize> Inherited for [fn(); N] {
    fn forget(&self) {
        self.iter().for_each(|forget| forget());
    }
}

/// Runs `work`, which is the program's code. If the process is forked in there, the child is aborted when it comes
/// back, whether `work` returns or panics.
///
/// It is for where the child could touch the stack of another thread afterwards. The C library of a child takes the
/// stacks of its parent's threads for new threads, such as those of a hive that the child has made.
#[inline(always)]
pub(crate) fn with_abort_in_child<R>(work: impl FnOnce() -> R) -> R {
    let before = generation();
    let _guard = on_drop(move || {
        if before != generation() {
            abort_forked_child();
        }
    });
    work()
}

/// Ends a forked child that has returned to where it was forked, or that is about to wait for its parent's threads.
#[cold]
pub(crate) fn abort_forked_child() -> ! {
    write_message(
        "hive: this process is a forked child, and was forked inside a region or a task. \
         It has come to where others are waited for, or to the end of what one of the hive's threads \
         was doing; these threads are its parent's. Such a child must leave by exec or _exit; \
         hives of its own it may use before that. It is aborted\n",
    );
    abort()
}

#[cfg(unix)]
mod atfork {
    use std::cell::Cell;
    use std::io;
    use std::mem::ManuallyDrop;
    use std::ptr::{self, null_mut};
    use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use crate::sys::fork::{GENERATION, Inherited};

    /// What a child forgets before it does anything else.
    type InheritedList = Vec<&'static dyn Inherited>;

    /// Held by a thread that does something during which no thread may fork, and by a thread that forks.
    static FORK_LOCK: Mutex<InheritedList> = Mutex::new(Vec::new());

    thread_local! {
        /// The guard of `FORK_LOCK`, while this thread forks. `ManuallyDrop`, so that the thread-local needs no
        /// destructor and can be used until the thread is gone.
        static GUARD_DURING_FORK: Cell<Option<ManuallyDrop<MutexGuard<'static, InheritedList>>>> =
            const { Cell::new(None) };
    }

    /// Runs `work` while no thread forks, so that no child inherits it half done. This covers `fork`, not a raw `clone`
    /// system call, which runs no handlers. That this process was made by such a call is detected here, too.
    ///
    /// A thread that forks waits for `work`. So `work` must be short, wait for nothing itself, read no file, and not
    /// call this function again.
    pub(crate) fn without_forks<R>(work: impl FnOnce() -> R) -> R {
        with_inherited(|_| work())
    }

    /// From now on each child forgets `inherited`.
    pub(crate) fn forget_in_children(inherited: &'static dyn Inherited) {
        with_inherited(|list| {
            if !list.iter().any(|known| ptr::addr_eq(*known, inherited)) {
                list.push(inherited);
            }
        });
    }

    fn with_inherited<R>(use_it: impl FnOnce(&mut InheritedList) -> R) -> R {
        register_handlers();
        let mut list = lock_forks();
        // The mark has gone although no handler has renewed it: this is a child made by a raw `clone`.
        if renew_mark() {
            adjust_to_fork(&list);
        }
        use_it(&mut list)
    }

    fn lock_forks() -> MutexGuard<'static, InheritedList> {
        FORK_LOCK.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers the handlers, once in a process and its children. From then on forks are detected.
    fn register_handlers() {
        // Not a `Once`: a child could find that half done. Two threads may both register the handlers, which does no
        // harm.
        static REGISTERED: AtomicBool = AtomicBool::new(false);
        // Acquire: pairs with the Release store below. A thread that sees true also sees the handlers registered.
        if REGISTERED.load(Ordering::Acquire) {
            return;
        }
        #[expect(unsafe_code, reason = "pthread_atfork takes C functions")]
        // SAFETY: the handlers are C functions without arguments. They run on the thread that forks, do not unwind, and
        // allocate nothing.
        let status =
            unsafe { libc::pthread_atfork(Some(lock_before_fork), Some(unlock_in_parent), Some(unlock_in_child)) };
        assert_eq!(status, 0, "pthread_atfork: {}", io::Error::from_raw_os_error(status));
        // Release: pairs with the Acquire load above.
        REGISTERED.store(true, Ordering::Release);
    }

    /// Before a fork, on the thread that forks: waits until no other thread is inside `without_forks`.
    extern "C" fn lock_before_fork() {
        // The guard is there already if the handlers were registered twice.
        let guard = GUARD_DURING_FORK.take();
        GUARD_DURING_FORK.set(guard.or_else(|| Some(ManuallyDrop::new(lock_forks()))));
    }

    /// After a fork, in the parent: gives the lock back.
    extern "C" fn unlock_in_parent() {
        drop(take_guard());
    }

    /// After a fork, in the child, on its only thread.
    extern "C" fn unlock_in_child() {
        // There is no guard any more if the handlers were registered twice and this is the second call.
        let Some(list) = take_guard() else { return };
        renew_mark();
        adjust_to_fork(&list);
    }

    fn take_guard() -> Option<MutexGuard<'static, InheritedList>> {
        GUARD_DURING_FORK.take().map(ManuallyDrop::into_inner)
    }

    /// What has to be done once in each child before anything else: all that refers to threads of the parent is
    /// forgotten.
    fn adjust_to_fork(list: &InheritedList) {
        // Relaxed: the child has only one thread.
        GENERATION.fetch_add(1, Ordering::Relaxed);
        list.iter().for_each(|inherited| inherited.forget());
    }

    // A mark in memory tells a child process from its parent, however the child was made. The mark is in a page that
    // the kernel fills with zeros in children (`MADV_WIPEONFORK`). It is checked before anything is changed in the
    // process's shared state. The process's number would not do: a child in another PID namespace may have the same
    // number as its parent, since each container has a process 1. Handlers for forks would not do either: they run only
    // if the C library makes the child.

    /// The value of the word in a process that has set the mark.
    const MARKED: u32 = 1;

    /// The address of the word with the mark. The word is `MARKED`, or 0 in a child. Null: no word has been set up yet.
    static MARK: AtomicPtr<AtomicU32> = AtomicPtr::new(null_mut());

    /// The word for systems without such pages. It is always marked, so no child is detected by it.
    static UNWIPED_MARK: AtomicU32 = AtomicU32::new(MARKED);

    /// Sets the mark if it is not set. Returns true if it had been set and has been wiped since, which means that this
    /// process is a child. Only one thread may call this at a time.
    fn renew_mark() -> bool {
        // Relaxed: the callers hold the lock on forks, or are the only thread of a child.
        // The first call sets up the word. Later calls find it, marked in the process itself and 0 in a child.
        let existing = MARK.load(Ordering::Relaxed);
        let address = if existing.is_null() { new_mark() } else { existing };
        MARK.store(address, Ordering::Relaxed);
        #[expect(unsafe_code, reason = "the page is mapped by hand")]
        // SAFETY: the address is that of a static, or of the beginning of a page that stays mapped for good. An
        // `AtomicU32` may be all zeros.
        let mark = unsafe { &*address };
        // Relaxed: see above.
        let was_marked = mark.swap(MARKED, Ordering::Relaxed) == MARKED;
        !was_marked && !existing.is_null()
    }

    /// Sets up a word for the mark.
    fn new_mark() -> *mut AtomicU32 {
        map_wiped_page().unwrap_or((&raw const UNWIPED_MARK).cast_mut())
    }

    /// Maps a page that the kernel wipes in children. None if the kernel cannot do that.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    #[expect(unsafe_code, reason = "a C call")]
    fn map_wiped_page() -> Option<*mut AtomicU32> {
        use memmap2::{MmapMut, MmapRaw};

        let page = MmapRaw::from(MmapMut::map_anon(size_of::<AtomicU32>()).ok()?);
        // SAFETY: the memory was mapped above and nothing uses it yet. The kernel rounds its length up to a page.
        let is_wiped = unsafe { libc::madvise(page.as_mut_ptr().cast(), page.len(), libc::MADV_WIPEONFORK) } == 0;
        // It stays mapped for good then.
        is_wiped.then(|| ManuallyDrop::new(page).as_mut_ptr().cast())
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    fn map_wiped_page() -> Option<*mut AtomicU32> {
        None
    }
}

/// These systems have no fork.
#[cfg(not(unix))]
pub(crate) fn without_forks<R>(work: impl FnOnce() -> R) -> R {
    work()
}

#[cfg(not(unix))]
pub(crate) fn forget_in_children(_: &'static dyn Inherited) {}
