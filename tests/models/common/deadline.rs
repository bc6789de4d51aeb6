//! When a loop is started on the workers after all, in the place of `Deadline` in `hive/sys/ticks.rs`: a model has no
//! clock, and says beforehand how often the time has not come yet.

use std::cell::Cell;

thread_local! {
    /// How many more looks come before the deadline. All threads of a model are on one
    /// thread of the system.
    static LOOKS_LEFT: Cell<u32> = const { Cell::new(u32::MAX) };
}

/// Says how many more looks come before all deadlines, until the next call.
#[allow(dead_code, reason = "only loom's models ask for it")]
pub(crate) fn set_looks_before_deadline(looks: u32) {
    LOOKS_LEFT.set(looks);
}

pub(crate) struct Deadline;

impl Deadline {
    pub(crate) fn has_passed(&self) -> bool {
        let left = LOOKS_LEFT.get();
        LOOKS_LEFT.set(left.saturating_sub(1));
        left == 0
    }
}
