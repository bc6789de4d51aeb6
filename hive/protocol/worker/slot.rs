//! What a bee is doing between regions, as one word that changes by compare-and-swap only, and the semaphore it sleeps on.
//!
//! ```text
//!                  falls asleep, undone by its last look
//!          ┌─────────────────────────────────────────────┐
//!          │                                             ▼
//!       AWAKE ◄──── looks ──── NOTIFIED ◄── queen ──── ASLEEP
//!        ▲  │                   │  ▲                     │
//!  grow, │  └──────┐   ┌────────┘  └──────┐              │
//! cancel │  shrink ▼   ▼ shrink      grow │       shrink │
//!        └──────── SURPLUS ──── bee ───► PARKED ◄────────┘
//!                     ▲ ◄── queen ──────── │
//!                     └── undone by its last look
//! ```
//!
//! Whoever makes a bee leave ASLEEP or PARKED, other than the bee itself, posts its semaphore: exactly once, because only one
//! wins the swap. A bee waits on its semaphore in these two states only. So the semaphore holds one permit at most
//! and never a stale one. DISMISSED, the end, is reached from every state.

use crossbeam_utils::CachePadded;

use crate::protocol::region::announcement::TaskPhaseWord;
use crate::protocol::region::exchange_slots::ExchangeSlots;
use crate::protocol::tasks::queues::LocalQueues;
use crate::protocol::worker::wake_range::{WakeRange, WakeRequest};
use crate::sync::{ActivityCell, AtomicBool, AtomicU32, BeeCounters, Event, Log, Ordering, Semaphore};

/// The states of a bee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum SlotState {
    /// Polling for a start, or at work.
    Awake = 0,
    /// On its semaphore until a region needs it.
    Asleep = 1,
    /// Woken, and not yet back.
    Notified = 2,
    /// To be parked as soon as it has nothing to run; counted in `bees_not_yet_tucked_in`.
    Surplus = 3,
    /// On its semaphore until the hive grows again.
    Parked = 4,
    /// To end its thread.
    Terminated = 5,
}

impl SlotState {
    fn from_bits(bits: u32) -> Self {
        match bits {
            0 => Self::Awake,
            1 => Self::Asleep,
            2 => Self::Notified,
            3 => Self::Surplus,
            4 => Self::Parked,
            5 => Self::Terminated,
            _ => unreachable!("no bee is ever in state {bits}"),
        }
    }

    /// Whether the bee is on its semaphore, so that whoever ends this state owes it a post.
    pub(crate) fn is_blocked(self) -> bool {
        matches!(self, Self::Asleep | Self::Parked)
    }

    /// Whether the diagram above has an arrow from here to there.
    fn may_become(self, next: Self) -> bool {
        use SlotState::{Asleep, Awake, Notified, Parked, Surplus, Terminated};
        matches!(
            (self, next),
            (Awake, Asleep | Surplus)
                | (Asleep, Awake | Notified | Parked)
                | (Notified, Awake | Surplus)
                | (Surplus, Awake | Parked)
                | (Parked, Surplus | Notified)
                | (_, Terminated)
        )
    }
}

/// One bee's place in the team. Slot 0 is the queen's.
#[repr(align(128))]
pub(crate) struct Slot {
    pub(crate) id: u32,
    state: AtomicU32,
    /// Whether the bee sleeps, or is about to, at a barrier inside a region. See `muster.rs`.
    pub(crate) blocked_at_barrier: AtomicBool,
    /// Where it sleeps.
    pub(crate) semaphore: Semaphore,
    /// What whoever posts the bed says with that: whether it has taken the bee out of ASLEEP, not out of PARKED.
    was_asleep: AtomicBool,
    /// Whom it has to call when it has been woken.
    pub(crate) wake_range: WakeRange,
    /// Why it has been woken, if that was for tasks.
    pub(crate) wake_request: WakeRequest,
    /// What the bee does about tasks.
    pub(crate) phase: TaskPhaseWord,
    /// Where its tasks wait.
    pub(crate) queues: LocalQueues,
    /// What it shows the others.
    pub(crate) exchange_slots: ExchangeSlots,
    /// What it has done.
    pub(crate) counters: CachePadded<BeeCounters>,
    /// What it is doing, in a hive that is watched.
    pub(crate) activity: ActivityCell,
    /// What it has done and when, in a hive that is traced.
    pub(crate) log: CachePadded<Log>,
}

impl Slot {
    pub(crate) fn new(id: u32, state: SlotState) -> Self {
        Self {
            id,
            state: AtomicU32::new(state as u32),
            blocked_at_barrier: AtomicBool::new(false),
            semaphore: Semaphore::new(),
            was_asleep: AtomicBool::new(false),
            wake_range: WakeRange::new(),
            wake_request: WakeRequest::new(),
            phase: TaskPhaseWord::new(),
            queues: LocalQueues::new(),
            exchange_slots: ExchangeSlots::new(),
            counters: CachePadded::default(),
            activity: ActivityCell::default(),
            log: CachePadded::default(),
        }
    }

    #[inline(always)]
    pub(crate) fn is_awake(&self) -> bool {
        // Relaxed: the bee polls this; on any change it looks again, with `state`.
        self.state.load(Ordering::Relaxed) == SlotState::Awake as u32
    }

    pub(crate) fn state(&self) -> SlotState {
        // Relaxed: whoever acts on it does so by `change`.
        SlotState::from_bits(self.state.load(Ordering::Relaxed))
    }

    /// Makes `from_group` into `targets`; says whether the state was `from_group`. Who is told true has won, alone, and owes what the
    /// transition asks for.
    pub(crate) fn change(&self, from: SlotState, to: SlotState) -> bool {
        debug_assert!(from.may_become(to), "a bee does not go from {from:?} to {to:?}");
        // AcqRel: pairs with itself, so that the changes of a bee's state hand on what was done before each of them. Failure
        // is Relaxed: who fails looks again, or goes to its semaphore.
        self.state.compare_exchange(from as u32, to as u32, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Takes a bee out of bed that was in state `from_group`. Call once, having won the change from there.
    pub(crate) fn unblock(&self, from: SlotState) {
        // Relaxed: the semaphore orders it.
        self.was_asleep.store(from == SlotState::Asleep, Ordering::Relaxed);
        // It is counted among those who search from here on, and may be made surplus and a bee again before it can know.
        self.counters.set_searching(from == SlotState::Asleep);
        self.semaphore.post();
    }

    /// Whether the bee was asleep, and not parked, when its bed was last posted.
    pub(crate) fn was_asleep(&self) -> bool {
        // Relaxed: as above.
        self.was_asleep.load(Ordering::Relaxed)
    }

    /// Lies in bed in the middle of a region until somebody posts that.
    pub(crate) fn block_at_barrier(&self) {
        self.log.write(Event::Block);
        self.semaphore.wait();
        self.log.write(Event::Resume { is_woken: true });
    }

    /// A bee that has been notified is awake.
    pub(crate) fn finish_waking(&self) {
        if self.state() == SlotState::Notified {
            // If this fails, somebody has just made the bee surplus.
            // Step: awake
            self.change(SlotState::Notified, SlotState::Awake);
        }
    }

    /// Ends the bee, whatever it is doing. Says what that was; if it was abed, it is owed a post.
    pub(crate) fn terminate(&self) -> SlotState {
        loop {
            let state = self.state();
            if state == SlotState::Terminated || self.change(state, SlotState::Terminated) {
                return state;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_of_two_changes_of_a_state_succeeds() {
        let slot = Slot::new(1, SlotState::Parked);
        assert!(slot.change(SlotState::Parked, SlotState::Notified));
        assert!(!slot.change(SlotState::Parked, SlotState::Notified));
        assert_eq!(slot.state(), SlotState::Notified);
    }

    #[test]
    fn whoever_unblocks_a_bee_says_which_state_it_was_in() {
        for (from, was_asleep) in [(SlotState::Asleep, true), (SlotState::Parked, false)] {
            let slot = Slot::new(1, from);
            assert_eq!(slot.terminate(), from);
            assert!(from.is_blocked());
            slot.unblock(from);
            slot.semaphore.wait();
            assert_eq!((slot.was_asleep(), slot.state()), (was_asleep, SlotState::Terminated));
        }
    }

    #[test]
    #[should_panic(expected = "does not go from Awake to Parked")]
    #[cfg(debug_assertions)]
    fn a_transition_that_is_not_in_the_diagram_is_refused() {
        Slot::new(1, SlotState::Awake).change(SlotState::Awake, SlotState::Parked);
    }
}
