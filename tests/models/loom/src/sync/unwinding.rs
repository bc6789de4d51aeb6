//! Whether a thread of a script is unwinding. Loom's threads are all on one of the system's, and share its count of panics; so a script says it itself.

use std::cell::Cell;

loom::thread_local! {
    static UNWINDING: Cell<bool> = Cell::new(false);
}

pub(crate) fn is_unwinding() -> bool {
    UNWINDING.with(Cell::get)
}

/// Runs `destructor` as one that runs because its thread unwinds. It is no longer taken for that when it is unwound itself.
pub(crate) fn while_unwinding<R>(destructor: impl FnOnce() -> R) -> R {
    struct RestoreOnDrop(bool);
    impl Drop for RestoreOnDrop {
        fn drop(&mut self) {
            UNWINDING.with(|unwinding| unwinding.set(self.0));
        }
    }
    let _back = RestoreOnDrop(UNWINDING.with(|unwinding| unwinding.replace(true)));
    destructor()
}
