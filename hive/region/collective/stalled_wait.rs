//! Waits for what another bee of the team brings, by polling a word that it stores: a turn (`ordered.rs`) or a signal
//! (`signals.rs`). A bee that has waited for long asks whether that can still come.

use std::cell::Cell;

use crate::protocol::region::deadlock::StallGuard;
use crate::protocol::region::region_context::RegionContext;
use crate::region::bee::Bee;
use crate::region::nesting;

impl Bee<'_> {
    /// Polls until `has_come` returns true, with naps between polls when that takes long, or until it is certain that
    /// it never will: each other bee of the team has come to the end of its part, or waits in vain as well. Returns
    /// whether that is so. Otherwise it has come; or another bee has panicked, and this is a destructor that must not
    /// panic.
    ///
    /// # Panics
    /// If another bee has panicked, the wait unwinds the body of this bee.
    #[track_caller]
    pub(super) fn waits_in_vain(&self, has_come: impl Fn() -> bool) -> bool {
        let (polls, mut stall, mut is_in_vain) = (Cell::new(0_u32), None, false);
        let condition = || {
            polls.set(polls.get().wrapping_add(1));
            if has_come() {
                return true;
            }
            // Only after many polls in vain, or after a nap, does the bee begin to ask whether it can still come.
            if polls.get() % POLLS_PER_CHECK == 0 {
                is_in_vain = can_never_come(&self.context, &mut stall, &has_come);
            }
            is_in_vain
        };
        // Up to all bees may wait in a row, each for the one before: the more, the later and shorter are the naps.
        // Between two naps there are few polls, so the first poll after a nap asks.
        let after_nap = || polls.set(POLLS_PER_CHECK - 1);
        self.context.wait_in_row(self.context.bees, condition, after_nap);
        is_in_vain
    }
}

/// The number of polls between two questions whether it can still come, in a wait that takes no naps.
const POLLS_PER_CHECK: u32 = 1 << 12;

/// Whether what the bee of `context` waits for can never come any more, by the protocol of
/// `hive/protocol/region/deadlock.rs`. In the first call the bee registers as stalled: `stall` says so to the others
/// until it is dropped. None in it: in this region it cannot be told whether the others are stalled.
#[cold]
fn can_never_come<'m>(
    context: &'m RegionContext<'m>,
    stall: &mut Option<Option<StallGuard<'m>>>,
    has_come: impl Fn() -> bool,
) -> bool {
    match stall {
        // A bee alone waits in vain, unless it is inside something in which other threads take part.
        None if context.bees == 1 => !nesting::is_waited_for(),
        None => {
            *stall = Some(context.declare_stall());
            false
        }
        Some(stall) => stall.as_ref().is_some_and(|stall| stall.confirm_deadlock(has_come)),
    }
}
