//! Who the turn is reserved to.

/// Differs between any two threads of an execution.
pub(crate) type ThreadId = u64;

pub(crate) fn current_thread_id() -> ThreadId {
    usize::from(shuttle::thread::current().id()) as ThreadId
}

/// Twice in a row.
pub(crate) fn acquisitions_until_bias() -> u32 {
    1
}

/// There is no kernel here.
#[derive(Clone, Copy)]
pub(crate) struct KernelThread;

impl KernelThread {
    pub(crate) const NONE: Self = Self;

    pub(crate) fn current() -> Self {
        Self
    }
}

/// Heavy fences are never refused here.
pub(crate) fn can_still_bias() -> bool {
    true
}
