//! Identifies threads for the queen lock, which is reserved for one thread.

/// A number that differs between any two threads of an execution.
pub(crate) type ThreadId = u64;

pub(crate) fn current_thread_id() -> ThreadId {
    usize::from(shuttle::thread::current().id()) as ThreadId
}

/// The lock is reserved to a thread that acquires it twice in a row.
pub(crate) fn acquisitions_until_reservation() -> u32 {
    1
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
