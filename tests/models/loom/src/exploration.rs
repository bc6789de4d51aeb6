//! Controls which part of a script loom explores in all orders.
//!
//! The start and the end of a hive run in one order only, unless they are what the model is about; otherwise most of
//! the executions would differ only there.

use std::cell::Cell;

use crate::failure;

/// The part of the script that is running now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The hive is being built, in one order of steps.
    Setup,
    /// The part that the model is about, in all orders of steps.
    Explored,
    /// The bees are being terminated, in one order of steps.
    Teardown,
}

thread_local! {
    static PHASE: Cell<Phase> = const { Cell::new(Phase::Setup) };
    /// How often, in this execution, a wait that only other threads can end was polled without success.
    static FAILED_WAITS: Cell<u32> = const { Cell::new(0) };
}

pub(crate) fn phase() -> Phase {
    PHASE.get()
}

/// Called when a new execution begins.
pub(crate) fn reset() {
    PHASE.set(Phase::Setup);
    FAILED_WAITS.set(0);
}

/// Explores all orders of the steps from here on. Does nothing if that has begun already.
pub(crate) fn explore() {
    if phase() == Phase::Setup {
        PHASE.set(Phase::Explored);
        loom::explore();
    }
}

/// Runs the steps from here on in one order only.
pub(crate) fn stop_exploring() {
    if phase() == Phase::Explored {
        PHASE.set(Phase::Teardown);
        loom::stop_exploring();
    }
}

/// Lets other threads run, in a wait that only other threads can end. After `explored_waits` such calls in an
/// execution, the rest of that execution is run in one order only. Without this limit the number of orders would be
/// infinite, because two threads could poll alternately for ever while the third thread, for which both wait, does not
/// run.
pub(crate) fn yield_in_wait(explored_waits: u32) {
    /// More polls than any wait needs when all other threads get to run.
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
