//! Waits for what another bee of the team brings, by polling a word that it stores: a turn (`ordered.rs`) or a signal
//! (`signals.rs`). A bee that has waited for long asks whether that can still come.

use std::cell::Cell;

use crate::protocol::region::deadlock::StallGuard;
use crate::protocol::region::region_context::RegionContext;
use crate::region::bee::Bee;
use crate::region::nesting;

/// How a wait has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// What the bee has waited for has come; or another bee has panicked, and this is a destructor that must not panic.
    Come,
    /// It will never come: each other bee of the team has come to the end of its part, or waits in vain as well.
    Never,
}

impl Bee<'_> {
    /// Polls until `has_come` returns true, with naps between polls when that takes long, or until it is certain that
    /// it never will.
    ///
    /// # Panics
    /// If another bee has panicked, the wait unwinds the body of this bee.
    #[track_caller]
    pub(super) fn wait_for_other(&self, has_come: impl Fn() -> bool) -> Outcome {
        // Only after many polls in vain, or after a nap, does the bee begin to ask whether it can still come.
        let (polls, mut check) = (Cell::new(0_u32), DeadlockCheck::NotStarted);
        let condition = || {
            polls.set(polls.get().wrapping_add(1));
            has_come() || (polls.get() % POLLS_PER_CHECK == 0 && check.check_for_deadlock(&self.context, &has_come))
        };
        // Between two naps there are few polls, so the first poll after a nap asks.
        let after_nap = || polls.set(POLLS_PER_CHECK - 1);
        self.context.wait_in_row(condition, after_nap);
        if let DeadlockCheck::Deadlocked = check { Outcome::Never } else { Outcome::Come }
    }
}

/// The number of polls between two questions whether it can still come, in a wait that takes no naps.
const POLLS_PER_CHECK: u32 = 1 << 12;

/// What a bee that waits knows about the other bees of its team. The protocol is in
/// `hive/protocol/region/deadlock.rs`.
enum DeadlockCheck<'m> {
    /// It has not asked yet, because it has not waited for long.
    NotStarted,
    /// It has registered as stalled: the guard says so to the others until it is dropped. None: in this region it
    /// cannot be told whether the others are stalled.
    Registered(Option<StallGuard<'m>>),
    /// No bee of the team will ever go on.
    Deadlocked,
}

impl<'m> DeadlockCheck<'m> {
    /// Registers the bee of `context` as stalled in the first call. Returns whether what it waits for can never come
    /// any more.
    #[cold]
    fn check_for_deadlock(&mut self, context: &'m RegionContext<'m>, has_come: impl Fn() -> bool) -> bool {
        let is_deadlocked = match self {
            // A bee alone waits in vain, unless it is inside something in which other threads take part.
            Self::NotStarted if context.bees == 1 => !nesting::is_waited_for(),
            Self::NotStarted => {
                *self = Self::Registered(context.declare_stall());
                false
            }
            Self::Registered(stall) => stall.as_ref().is_some_and(|stall| stall.confirm_deadlock(has_come)),
            Self::Deadlocked => true,
        };
        if is_deadlocked {
            // Dropping the guard takes the registration back, as when it has come.
            *self = Self::Deadlocked;
        }
        is_deadlocked
    }
}
