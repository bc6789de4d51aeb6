//! Who the turn is reserved to.

/// Differs between any two threads of an execution.
pub(crate) type ThreadToken = u64;

pub(crate) fn this_thread() -> ThreadToken {
    usize::from(shuttle::thread::current().id()) as ThreadToken
}

/// Twice in a row.
pub(crate) fn takes_to_reserve() -> u32 {
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
pub(crate) fn can_still_reserve() -> bool {
    true
}
