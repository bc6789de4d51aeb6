//! Which part of a script is explored: not how a hive comes up, nor how it ends, unless that is what the script is about.

use std::cell::Cell;

use crate::verdict;

/// Where a script is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The hive is made, in one order of steps.
    Setting,
    /// What the model is about, in all orders.
    Play,
    /// The bees are dismissed, in one order of steps.
    End,
}

thread_local! {
    static STAGE: Cell<Stage> = const { Cell::new(Stage::Setting) };
    /// Waits without an end of their own that went on, in this execution.
    static VAIN: Cell<u32> = const { Cell::new(0) };
}

pub(crate) fn now() -> Stage {
    STAGE.get()
}

/// A new execution begins.
pub(crate) fn set() {
    STAGE.set(Stage::Setting);
    VAIN.set(0);
}

/// From here on all orders are explored, unless they are already.
pub(crate) fn play() {
    if now() == Stage::Setting {
        STAGE.set(Stage::Play);
        loom::explore();
    }
}

/// What comes now is run in one order only.
pub(crate) fn end() {
    if now() == Stage::Play {
        STAGE.set(Stage::End);
        loom::stop_exploring();
    }
}

/// Lets the others run, in a wait that nothing but their work ends. After `explored` such calls in this execution, the rest of
/// it is run in one order only: otherwise there would be no end to the orders in which two can wait in turn while a third, for
/// whom both wait, does nothing.
pub(crate) fn give_way(explored: u32) {
    /// More than anybody needs when all the others get their turns.
    const TOO_MANY: u32 = 1_000;
    if now() == Stage::Play {
        VAIN.set(VAIN.get() + 1);
        if VAIN.get() == explored {
            loom::skip_branch();
        }
        if VAIN.get() > TOO_MANY {
            verdict::fail("a wait that never ends: somebody looks again and again in vain");
        }
    }
    loom::thread::yield_now();
}
