//! Which part of a script is explored: not how a hive comes up, nor how it ends, unless that is what the script is about.

use std::cell::Cell;

use crate::failure;

/// Where a script is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The hive is made, in one order of steps.
    Setup,
    /// What the model is about, in all orders.
    Explored,
    /// The bees are dismissed, in one order of steps.
    Teardown,
}

thread_local! {
    static PHASE: Cell<Phase> = const { Cell::new(Phase::Setup) };
    /// Waits without an end of their own that went on, in this execution.
    static FAILED_WAITS: Cell<u32> = const { Cell::new(0) };
}

pub(crate) fn phase() -> Phase {
    PHASE.get()
}

/// A new execution begins.
pub(crate) fn reset() {
    PHASE.set(Phase::Setup);
    FAILED_WAITS.set(0);
}

/// From here on all orders are explored, unless they are already.
pub(crate) fn explore() {
    if phase() == Phase::Setup {
        PHASE.set(Phase::Explored);
        loom::explore();
    }
}

/// What comes now is run in one order only.
pub(crate) fn stop_exploring() {
    if phase() == Phase::Explored {
        PHASE.set(Phase::Teardown);
        loom::stop_exploring();
    }
}

/// Lets the others run, in a wait that nothing but their work ends. After `explored` such calls in this execution, the rest of
/// it is run in one order only: otherwise there would be no end to the orders in which two can wait in turn while a third, for
/// whom both wait, does nothing.
pub(crate) fn yield_in_wait(explored_waits: u32) {
    /// More than anybody needs when all the others get their turns.
    const MAX_FAILED_WAITS: u32 = 1_000;
    if phase() == Phase::Explored {
        FAILED_WAITS.set(FAILED_WAITS.get() + 1);
        if FAILED_WAITS.get() == explored_waits {
            loom::skip_branch();
        }
        if FAILED_WAITS.get() > MAX_FAILED_WAITS {
            failure::fail("a wait that never ends: somebody looks again and again in vain");
        }
    }
    loom::thread::yield_now();
}
