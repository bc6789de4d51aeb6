//! Identifies threads for the queen lock, which is reserved for one thread; and sets how many acquisitions it takes
//! until the lock is reserved.

use std::cell::Cell;

/// A number that differs between any two threads of an execution.
pub(crate) type ThreadId = u64;

thread_local! {
    /// The last number that was given. loom's threads all run on one thread of the system.
    static LAST_TOKEN: Cell<ThreadId> = const { Cell::new(0) };
}

loom::thread_local! {
    static TOKEN: ThreadId = {
        LAST_TOKEN.set(LAST_TOKEN.get() + 1);
        LAST_TOKEN.get()
    };
}

pub(crate) fn current_thread_id() -> ThreadId {
    TOKEN.with(|token| *token)
}

thread_local! {
    /// The value of `acquisitions_until_reservation`, for all of loom's threads.
    static TAKES: Cell<u32> = const { Cell::new(0) };
}

/// With 0, the lock is reserved to the first thread that has held it. A script may ask for more acquisitions.
pub(crate) fn acquisitions_until_reservation() -> u32 {
    TAKES.get()
}

/// Sets `acquisitions_until_reservation` to `takes` while `script` runs.
pub(crate) fn with_acquisitions_until_reservation(takes: u32, script: impl FnOnce()) {
    TAKES.set(takes);
    script();
    TAKES.set(0);
}

/// Stands for the kernel's idea of a thread, which heavy fences need. There is no kernel in a model.
#[derive(Clone, Copy)]
pub(crate) struct OtherThread;

impl OtherThread {
    pub(crate) fn current() -> Option<Self> {
        Some(Self)
    }
}

/// Heavy fences are never refused here, so a lock may always be reserved.
pub(crate) fn can_still_reserve() -> bool {
    true
}
