//! The barrier of one group of bees. One atomic word counts the arrivals at the barriers inside a region and the exits
//! at the region's end. The protocol, step by step and with its proof, is in `docs/barrier.md`.
//!
//! A team is one group, or several whose leaders form wider groups: `led_groups.rs` composes several groups and calls
//! the functions here, at each `RegionContext::barrier` and at the end of each region. The *leader* of a group is its
//! lowest bee (in a team of one group, the queen). The leader does not exit: it waits until the other bees of its group
//! have.
//!
//! Each arrival is one addition. Nothing is reset between barriers or regions: every bee computes the count at which
//! its barrier is complete, so the arrival that reaches this count also releases the bees that wait for it. Because one
//! word holds both counts, a bee that waits at a barrier sees when another bee has exited without arriving there. The
//! waiting bee then reports a mismatch, which becomes a panic, instead of waiting for ever.

use std::time::Duration;

use crate::protocol::region::barrier_word::{Arrivals, BarrierError, BarrierWord, BaseCount, RegionEnd, View};
use crate::protocol::worker::slot::Slot;
use crate::sync::{AtomicU64, Ordering, WaitPolicy, fence};

/// The barrier of a group. Its owner decides which cache line it is in: see `StartLine::near_barrier` and `Group`.
pub(crate) struct Barrier {
    word: AtomicU64,
}

impl Barrier {
    pub(crate) fn new() -> Self {
        Self { word: AtomicU64::new(BarrierWord::FIRST.0) }
    }

    /// Arrives at the next barrier and waits there for the whole group. `own_slot` is the calling bee's slot. `slots`
    /// are the slots of all bees of the group: if this arrival completes the barrier, those that are blocked are woken.
    /// `is_poisoned` says whether the region is poisoned. While the bee polls, `look_after` is called now and then with
    /// the time that it has waited.
    ///
    /// # Errors
    /// The barrier was not completed, for the reason that the error says.
    #[inline]
    pub(crate) fn wait<'s>(
        &self,
        view: &View,
        own_slot: &Slot,
        slots: impl Iterator<Item = &'s Slot>,
        policy: &WaitPolicy,
        is_poisoned: impl Fn() -> bool,
        look_after: impl FnMut(Duration),
    ) -> Result<(), BarrierError> {
        let before = self.arrive(view, slots);
        // In a poisoned region the count means nothing, as in `View::barrier_outcome`.
        if is_poisoned() {
            return Err(BarrierError::Poisoned);
        }
        // The last bee to arrive need not read the word again.
        if before.arrivals().plus(1) == view.goal() {
            return Ok(());
        }
        self.wait_for_arrivals(view.goal(), view, own_slot, policy, is_poisoned, look_after)
    }

    /// Waits, as the leader, until all other bees of the group have arrived at the next barrier. Those bees go on
    /// waiting until the leader arrives, by [`arrive`](Self::arrive).
    ///
    /// # Errors
    /// As for [`wait`](Self::wait).
    #[inline]
    pub(crate) fn collect(
        &self,
        view: &View,
        own_slot: &Slot,
        policy: &WaitPolicy,
        is_poisoned: impl Fn() -> bool,
        look_after: impl FnMut(Duration),
    ) -> Result<(), BarrierError> {
        self.wait_for_arrivals(view.goal().minus_one(), view, own_slot, policy, is_poisoned, look_after)
    }

    /// Arrives at the next barrier, without waiting there. The last arrival releases the other bees, and wakes those
    /// that are blocked. Returns the word just before the arrival.
    #[inline]
    pub(crate) fn arrive<'s>(&self, view: &View, slots: impl Iterator<Item = &'s Slot>) -> BarrierWord {
        // AcqRel: pairs with itself and with the Acquire in `wait_for_arrivals`. Whatever any bee did before it arrived
        // happens before whatever any bee does after the barrier.
        let before = BarrierWord(self.word.fetch_add(BarrierWord::ARRIVAL, Ordering::AcqRel));
        // In a collected group the last arrival but one releases the leader, which waits for the others in `collect`.
        let missing = view.goal().since(before.arrivals().plus(1));
        if missing <= u64::from(view.is_collected) && before.has_any(BarrierWord::BLOCKED) {
            self.wake_blocked(slots);
        }
        before
    }

    /// Polls until the count of arrivals has reached `arrivals` or the wait fails, and blocks when the spin time is
    /// over.
    #[inline]
    fn wait_for_arrivals(
        &self,
        arrivals: Arrivals,
        view: &View,
        own_slot: &Slot,
        policy: &WaitPolicy,
        is_poisoned: impl Fn() -> bool,
        mut look_after: impl FnMut(Duration),
    ) -> Result<(), BarrierError> {
        let mut spinner = policy.spinner_in_team(view.bees);
        loop {
            // Acquire: pairs with the AcqRel in `arrive`, so that this bee sees what the others did before the barrier.
            // It also pairs with the Release in `exit` and in `block_until_end`: if a bee exited because the region is
            // poisoned, the poison is seen below, and the exit is not taken for a mismatch.
            let word = BarrierWord(self.word.load(Ordering::Acquire));
            // The poison is read after the word: see `View::barrier_outcome`.
            if let Some(outcome) = view.barrier_outcome(word, arrivals, is_poisoned()) {
                return outcome;
            }
            if !spinner.spin_once() {
                self.block(arrivals, view, own_slot, policy, &is_poisoned);
                // The bee may have been woken without a reason that concerns it, so it polls again.
                spinner = policy.spinner_in_team(view.bees);
            } else if let Some(waited) = spinner.time_waited() {
                look_after(waited);
            }
        }
    }

    /// Blocks the calling bee until another bee changes the word in a way that may end this wait, or poisons the
    /// region. Returns at once if that has happened already.
    #[cold]
    fn block(
        &self,
        arrivals: Arrivals,
        view: &View,
        own_slot: &Slot,
        policy: &WaitPolicy,
        is_poisoned: impl Fn() -> bool,
    ) {
        // First, note in the bee's own slot that it is owed a post.
        // Relaxed: the Release below publishes it. A swap, not a store: loom could otherwise order the store before a
        // late waker's swap. On hardware that cannot happen, because that swap has read an earlier value.
        own_slot.blocked_at_barrier.swap(true, Ordering::Relaxed);
        // Second, set BLOCKED in the word, unless the wait is over. The counts are in the same word, so the bee that
        // ends the wait either sees the flag or has changed the counts before, which is seen here.
        // Release: pairs with the Acquire in `wake_blocked`, so that a waker that sees BLOCKED also sees
        // `blocked_at_barrier`. Failure is Relaxed: the caller reads the word again, with Acquire.
        let announced = self.word.fetch_update(Ordering::Release, Ordering::Relaxed, |word| {
            view.barrier_outcome(BarrierWord(word), arrivals, false).is_none().then_some(word | BarrierWord::BLOCKED)
        });
        // Third, check the poison, which is in a word of its own. SeqCst: pairs with the fence in `wake_after_poison`.
        // Either this bee finds the region poisoned below, or the bee that poisons it finds BLOCKED set.
        fence(Ordering::SeqCst);
        // If the wait is over, take the note back and return. If a waker has taken it first, that waker posts the
        // semaphore, and this bee must take the post below, so that the post does not end a later wait.
        // Relaxed: the flag decides only who posts the semaphore, and the semaphore orders everything else.
        if (announced.is_err() || is_poisoned()) && own_slot.blocked_at_barrier.swap(false, Ordering::Relaxed) {
            return;
        }
        own_slot.block_at_barrier(policy);
    }

    /// Wakes the bees of the group that are blocked at a barrier. A bee may be woken although its barrier is not
    /// complete; it then blocks again.
    ///
    /// The call may come late: the caller's arrival may have completed the barrier and even allowed the region to end,
    /// so that the bees found blocked belong to a later region. No wake-up is lost even then. BLOCKED is cleared before
    /// the slots are read, so each bee that set BLOCKED before is found and woken.
    #[cold]
    fn wake_blocked<'s>(&self, slots: impl Iterator<Item = &'s Slot>) {
        // Acquire: pairs with the Release in `block`. A bee that has set BLOCKED is seen with `blocked_at_barrier` set.
        self.word.fetch_and(!BarrierWord::BLOCKED, Ordering::Acquire);
        for slot in slots {
            // Relaxed, both: as in `block`, the swap decides only who posts, and the semaphore orders everything else.
            // The load spares a write to the slots of bees that are not blocked.
            if slot.blocked_at_barrier.load(Ordering::Relaxed) && slot.blocked_at_barrier.swap(false, Ordering::Relaxed)
            {
                slot.semaphore.post();
            }
        }
    }

    /// Wakes the bees that are blocked at a barrier of a region that the caller has just poisoned.
    #[cold]
    pub(crate) fn wake_after_poison<'s>(&self, slots: impl Iterator<Item = &'s Slot>) {
        // SeqCst: pairs with the fence in `block`. Either the flag is seen below, or the bee that sets it sees the
        // poison.
        fence(Ordering::SeqCst);
        // Relaxed: the fences order it.
        if BarrierWord(self.word.load(Ordering::Relaxed)).has_any(BarrierWord::BLOCKED) {
            self.wake_blocked(slots);
        }
    }

    /// Counts the exit of a bee, other than the leader, from its region. After this call the bee touches nothing that
    /// the region's caller owns. If other bees may be blocked, the call returns the word just before the exit, with
    /// which the bee must call [`wake_on_exit`](Self::wake_on_exit).
    #[inline(always)]
    #[must_use = "somebody may be asleep"]
    pub(crate) fn exit(&self) -> Option<BarrierWord> {
        // Release: pairs with the Acquire in `wait_for_end` and `has_ended`, so that what this bee did happens before
        // the region returns. It also pairs with the Acquire in `wait_for_arrivals` and `bees_at_end`, so that a bee
        // that sees this exit also sees the poison that was set before it.
        let before = BarrierWord(self.word.fetch_add(BarrierWord::EXIT, Ordering::Release));
        before.has_any(BarrierWord::LEADER_BLOCKED | BarrierWord::BLOCKED).then_some(before)
    }

    /// After an exit: wakes the leader, if it is blocked and this exit was the last, and the bees that are blocked at a
    /// barrier, which will not be completed any more. `before` is what `exit` has returned. `leader` is the leader's
    /// slot, `slots` are those of all bees of the group.
    #[cold]
    pub(crate) fn wake_on_exit<'s>(
        &self,
        before: BarrierWord,
        view: &View,
        leader: &Slot,
        slots: impl Iterator<Item = &'s Slot>,
    ) {
        if before.has_any(BarrierWord::LEADER_BLOCKED) && before.exits() + BarrierWord::EXIT == view.clean_end().exits()
        {
            leader.semaphore.post();
        }
        if before.has_any(BarrierWord::BLOCKED) {
            self.wake_blocked(slots);
        }
    }

    /// How many bees of the group have come to the end of their bodies. The bees other than the leader are counted once
    /// they have exited, so the number may be too low for a moment. The leader is counted while it is blocked at the
    /// end.
    pub(crate) fn bees_at_end(&self, view: &View) -> u32 {
        // Acquire: pairs with the Release in `exit` and in `block_until_end`. The caller sees what the bees that are
        // counted here did in the region.
        let word = BarrierWord(self.word.load(Ordering::Acquire));
        let exits = word.exits().saturating_sub(view.base.exits());
        exits as u32 + u32::from(word.has_any(BarrierWord::LEADER_BLOCKED))
    }

    /// Whether all other bees have exited. For the calibration of the start line, in whose regions no bee panics.
    pub(crate) fn has_ended(&self, view: &View) -> bool {
        // Acquire: pairs with the Release in `exit`, as in `wait_for_end`.
        view.end_outcome(BarrierWord(self.word.load(Ordering::Acquire)), false) == Some(RegionEnd::Clean)
    }

    /// Waits, as the leader, whose body has returned, until the other bees have exited or a mismatch is found.
    /// `some_asleep`: some of them were asleep when the region was started. The leader then polls longer before it
    /// blocks.
    ///
    /// When the leader has polled for a moment, or at once if some were asleep, it calls `stand_in`, which does what
    /// the leader can do in place of the others, and returns whether there was anything to try. `look_after`: as for
    /// [`wait`](Self::wait).
    #[inline]
    pub(crate) fn wait_for_end(
        &self,
        view: &View,
        own_slot: &Slot,
        policy: &WaitPolicy,
        some_asleep: bool,
        is_poisoned: impl Fn() -> bool,
        (mut stand_in, mut look_after): (impl FnMut() -> bool, impl FnMut(Duration)),
    ) -> RegionEnd {
        let bees = view.bees;
        let mut spinner = if some_asleep { policy.spinner_for_sleepers(bees) } else { policy.spinner_in_team(bees) };
        loop {
            // Acquire: pairs with the Release in `exit`, so that what the bees did is seen after the region.
            let word = BarrierWord(self.word.load(Ordering::Acquire));
            // The poison is read after the word, so the poison of a bee whose exit is counted is seen.
            if let Some(end) = view.end_outcome(word, is_poisoned()) {
                return end;
            }
            if (some_asleep || !spinner.is_hot()) && stand_in() {
                // All who have not left by now are at work.
                spinner = policy.spinner_in_team(bees);
                continue;
            }
            if !spinner.spin_once() {
                self.block_until_end(view, own_slot, policy, is_poisoned());
                spinner = policy.spinner_in_team(bees);
            } else if let Some(waited) = spinner.time_waited() {
                look_after(waited);
            }
        }
    }

    /// Blocks the leader until the last of the other bees has exited. Returns at once if the wait is over already.
    #[cold]
    fn block_until_end(&self, view: &View, own_slot: &Slot, policy: &WaitPolicy, is_poisoned: bool) {
        // Release: pairs with the Acquire in `wait_for_arrivals` and in `bees_at_end`. If the leader's body ended
        // because of the poison, a bee that sees LEADER_BLOCKED also sees the poison, and does not report a mismatch.
        // Failure is Relaxed: the caller reads the word again, with Acquire.
        let announced = self.word.fetch_update(Ordering::Release, Ordering::Relaxed, |word| {
            view.end_outcome(BarrierWord(word), is_poisoned).is_none().then_some(word | BarrierWord::LEADER_BLOCKED)
        });
        if announced.is_ok() {
            own_slot.block_at_barrier(policy);
            // Relaxed: the post came from the last bee to exit, so no bee of the region is left that could read the
            // flag.
            self.word.fetch_and(!BarrierWord::LEADER_BLOCKED, Ordering::Relaxed);
        }
    }

    /// Finishes a region that has ended with `end`, and returns the base count of the next one. `view` is the leader's
    /// view at the end of the region.
    ///
    /// The leader calls this when all other bees of the group have exited.
    #[inline(always)]
    pub(crate) fn finish_region(&self, view: &View, end: RegionEnd) -> BaseCount {
        let clean = view.clean_end();
        // After a poisoned region the number of arrivals is arbitrary. And `exits` must not grow into the flags.
        if end == RegionEnd::Clean && clean.exits() < BarrierWord::EXITS_BEFORE_RESET { clean } else { self.reset() }
    }

    #[cold]
    fn reset(&self) -> BaseCount {
        let word = BarrierWord(Arrivals::FIRST.0);
        // Relaxed: no bee of the region is left, and the start word of the next region publishes the new value. A swap,
        // not a store, because a bee that has exited may still be about to clear BLOCKED in `wake_blocked`.
        self.word.swap(word.0, Ordering::Relaxed);
        word
    }

    /// Keeps the region from ever ending: in a forked child, which does not have the other bees. It works however many
    /// bees had exited at the time of the fork.
    pub(crate) fn prevent_end(&self) {
        // Relaxed, both: the child has one thread.
        let word = self.word.load(Ordering::Relaxed);
        self.word.store(word | BarrierWord::IMPOSSIBLE_EXITS, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::protocol::region::max_bees::MAX_BEES;
    use crate::protocol::worker::slot::SlotState;
    use crate::sys::cpu_mask::CpuMask;

    /// A word with `exits`, `flags`, and `arrivals` more arrivals than a new barrier begins with.
    fn word(exits: u64, flags: u64, arrivals: u64) -> BarrierWord {
        BarrierWord(Arrivals::FIRST.plus(arrivals).0 | flags | exits)
    }

    #[test]
    fn a_poisoned_region_leaves_no_trace_in_the_next() {
        let barrier = Barrier::new();
        // A bee has arrived at a barrier and has exited because of a panic, without passing that barrier.
        let view = View { bees: 2, is_collected: false, base: BaseCount::FIRST, barriers_passed: 0 };
        barrier.arrive(&view, std::iter::empty());
        let _ = barrier.exit();
        assert_eq!(barrier.finish_region(&view, RegionEnd::Poisoned), word(0, 0, 0));
        assert_eq!(barrier.word.load(Ordering::Relaxed), word(0, 0, 0).0);
    }

    #[test]
    fn the_count_of_exits_is_reset_before_it_reaches_the_flags() {
        let barrier = Barrier::new();
        let view = View { bees: MAX_BEES, is_collected: false, base: BaseCount::FIRST, barriers_passed: 1 };
        barrier.word.store(view.clean_end().0, Ordering::Relaxed);
        assert!(!view.clean_end().has_any(BarrierWord::BLOCKED | BarrierWord::LEADER_BLOCKED));
        assert_eq!(view.end_outcome(view.clean_end(), false), Some(RegionEnd::Clean));
        assert_eq!(barrier.finish_region(&view, RegionEnd::Clean), word(0, 0, 0));
        assert_eq!(barrier.word.load(Ordering::Relaxed), word(0, 0, 0).0);
    }

    /// After 2^45 arrivals, which take some days of barriers in one region, the count returns to where it began.
    #[test]
    fn however_many_arrivals_there_are_in_a_region_its_barriers_hold() {
        for spin in [Duration::ZERO, Duration::from_millis(5)] {
            wait_across_the_wrap(&WaitPolicy::new(spin, None, usize::MAX, CpuMask::new()));
        }
    }

    fn wait_across_the_wrap(policy: &WaitPolicy) {
        const BEES: u32 = 3;
        let slots = [0, 1, 2].map(|id| Slot::new(id, SlotState::Awake, None));
        // The count has wrapped three times, and is fifteen arrivals before it does so again.
        let barriers_passed = (3 << 45) / u64::from(BEES) - 4;
        let before = View { bees: BEES, is_collected: false, base: BaseCount::FIRST, barriers_passed };
        let barrier = Barrier { word: AtomicU64::new(before.arrivals_at_last_barrier().0 | before.base.exits()) };
        let arrived = std::sync::atomic::AtomicU64::new(0);
        let wait_often = |own_slot| {
            for round in 1..=100 {
                // Relaxed: the barrier orders it before the load below.
                arrived.fetch_add(1, Ordering::Relaxed);
                barrier
                    .wait(
                        &View { barriers_passed: barriers_passed + round - 1, ..before },
                        own_slot,
                        slots.iter(),
                        policy,
                        || false,
                        |_| (),
                    )
                    .unwrap();
                assert!(arrived.load(Ordering::Relaxed) >= round * u64::from(BEES), "barrier {round}");
            }
        };
        thread::scope(|scope| slots.iter().for_each(|own_slot| drop(scope.spawn(|| wait_often(own_slot)))));
    }
}
