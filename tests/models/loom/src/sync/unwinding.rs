//! Whether a thread of a script is unwinding. loom's threads all run on one thread of the system and share its panic
//! count, so a script says itself when it is in a destructor that unwinding calls.

use std::cell::Cell;

loom::thread_local! {
    static UNWINDING: Cell<bool> = Cell::new(false);
}

pub(crate) fn is_unwinding() -> bool {
    UNWINDING.with(Cell::get)
}

/// Runs `destructor` as if the unwinding of the thread had called it. If `destructor` itself unwinds, the thread counts
/// as not unwinding again.
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
