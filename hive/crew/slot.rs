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

use super::charge::{Charge, Errand};
use super::nested::PhaseWord;
use super::pages::Pages;
use super::queues::Desk;
use crate::sync::{AtomicBool, AtomicU32, Doing, Event, Log, Ordering, Semaphore, Tally};

/// The states of a bee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum State {
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
    Dismissed = 5,
}

impl State {
    fn from_bits(bits: u32) -> Self {
        match bits {
            0 => Self::Awake,
            1 => Self::Asleep,
            2 => Self::Notified,
            3 => Self::Surplus,
            4 => Self::Parked,
            5 => Self::Dismissed,
            _ => unreachable!("no bee is ever in state {bits}"),
        }
    }

    /// Whether the bee is on its semaphore, so that whoever ends this state owes it a post.
    pub(crate) fn is_abed(self) -> bool {
        matches!(self, Self::Asleep | Self::Parked)
    }

    /// Whether the diagram above has an arrow from here to there.
    fn may_become(self, next: Self) -> bool {
        use State::{Asleep, Awake, Dismissed, Notified, Parked, Surplus};
        matches!(
            (self, next),
            (Awake, Asleep | Surplus)
                | (Asleep, Awake | Notified | Parked)
                | (Notified, Awake | Surplus)
                | (Surplus, Awake | Parked)
                | (Parked, Surplus | Notified)
                | (_, Dismissed)
        )
    }
}

/// One member's place in the crew. Slot 0 is the queen's.
#[repr(align(128))]
pub(crate) struct Slot {
    pub(super) id: u32,
    state: AtomicU32,
    /// Whether the member sleeps, or is about to, at a barrier inside a region. See `muster.rs`.
    pub(crate) dozing: AtomicBool,
    /// Where it sleeps.
    pub(crate) bed: Semaphore,
    /// What whoever posts the bed says with that: whether it has taken the member out of ASLEEP, not out of PARKED.
    was_asleep: AtomicBool,
    /// Whom it has to call when it has been woken.
    pub(super) charge: Charge,
    /// Why it has been woken, if that was for tasks.
    pub(super) errand: Errand,
    /// What the bee does about tasks.
    pub(super) phase: PhaseWord,
    /// Where its tasks wait.
    pub(super) desk: Desk,
    /// What it shows the others.
    pub(super) pages: Pages,
    /// What it has done.
    pub(super) tally: CachePadded<Tally>,
    /// What it is doing, in a hive that is watched.
    pub(super) doing: Doing,
    /// What it has done and when, in a hive that is traced.
    pub(super) log: CachePadded<Log>,
}

impl Slot {
    pub(crate) fn new(id: u32, state: State) -> Self {
        Self {
            id,
            state: AtomicU32::new(state as u32),
            dozing: AtomicBool::new(false),
            bed: Semaphore::new(),
            was_asleep: AtomicBool::new(false),
            charge: Charge::new(),
            errand: Errand::new(),
            phase: PhaseWord::new(),
            desk: Desk::new(),
            pages: Pages::new(),
            tally: CachePadded::default(),
            doing: Doing::default(),
            log: CachePadded::default(),
        }
    }

    #[inline(always)]
    pub(crate) fn is_awake(&self) -> bool {
        // Relaxed: the bee polls this; on any change it looks again, with `state`.
        self.state.load(Ordering::Relaxed) == State::Awake as u32
    }

    pub(crate) fn state(&self) -> State {
        // Relaxed: whoever acts on it does so by `change`.
        State::from_bits(self.state.load(Ordering::Relaxed))
    }

    /// Makes `from` into `to`; says whether the state was `from`. Who is told true has won, alone, and owes what the
    /// transition asks for.
    pub(crate) fn change(&self, from: State, to: State) -> bool {
        debug_assert!(from.may_become(to), "a bee does not go from {from:?} to {to:?}");
        // AcqRel: pairs with itself, so that the changes of a bee's state hand on what was done before each of them. Failure
        // is Relaxed: who fails looks again, or goes to its semaphore.
        self.state.compare_exchange(from as u32, to as u32, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Takes a member out of bed that was in state `from`. Call once, having won the change from there.
    pub(crate) fn post_bed(&self, from: State) {
        // Relaxed: the semaphore orders it.
        self.was_asleep.store(from == State::Asleep, Ordering::Relaxed);
        // It is counted among those who search from here on, and may be made surplus and a member again before it can know.
        self.tally.set_searching(from == State::Asleep);
        self.bed.post();
    }

    /// Whether the member was asleep, and not parked, when its bed was last posted.
    pub(crate) fn was_asleep(&self) -> bool {
        // Relaxed: as above.
        self.was_asleep.load(Ordering::Relaxed)
    }

    /// Lies in bed in the middle of a region until somebody posts that.
    pub(crate) fn doze(&self) {
        self.log.write(Event::Doze);
        self.bed.wait();
        self.log.write(Event::Up { is_woken: true });
    }

    /// A member that has been notified is awake.
    pub(crate) fn wake_up(&self) {
        if self.state() == State::Notified {
            // If this fails, somebody has just made the bee surplus.
            // Step: awake
            self.change(State::Notified, State::Awake);
        }
    }

    /// Ends the bee, whatever it is doing. Says what that was; if it was abed, it is owed a post.
    pub(crate) fn dismiss(&self) -> State {
        loop {
            let state = self.state();
            if state == State::Dismissed || self.change(state, State::Dismissed) {
                return state;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_who_change_a_state_one_wins() {
        let slot = Slot::new(1, State::Parked);
        assert!(slot.change(State::Parked, State::Notified));
        assert!(!slot.change(State::Parked, State::Notified));
        assert_eq!(slot.state(), State::Notified);
    }

    #[test]
    fn who_posts_says_where_the_member_was() {
        for (from, was_asleep) in [(State::Asleep, true), (State::Parked, false)] {
            let slot = Slot::new(1, from);
            assert_eq!(slot.dismiss(), from);
            assert!(from.is_abed());
            slot.post_bed(from);
            slot.bed.wait();
            assert_eq!((slot.was_asleep(), slot.state()), (was_asleep, State::Dismissed));
        }
    }

    #[test]
    #[should_panic(expected = "does not go from Awake to Parked")]
    #[cfg(debug_assertions)]
    fn a_transition_that_is_not_in_the_diagram_is_refused() {
        Slot::new(1, State::Awake).change(State::Awake, State::Parked);
    }
}
