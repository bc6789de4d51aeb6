//! Who the turn is reserved to.

use std::cell::Cell;

/// Differs between any two threads of an execution.
pub(crate) type ThreadId = u64;

thread_local! {
    /// Given in this execution. Loom's threads are all on one of the system's.
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
    /// What `acquisitions_until_bias` says; of loom's threads together, as above.
    static TAKES: Cell<u32> = const { Cell::new(0) };
}

/// The turn is reserved to the first that has had it, unless a script wants more.
pub(crate) fn acquisitions_until_bias() -> u32 {
    TAKES.get()
}

/// Has `acquisitions_until_bias` say `takes` while `script` runs.
pub(crate) fn with_acquisitions_until_bias(takes: u32, script: impl FnOnce()) {
    TAKES.set(takes);
    script();
    TAKES.set(0);
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
