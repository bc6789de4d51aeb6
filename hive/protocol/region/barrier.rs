//! Where the bees of a group meet: at the barriers inside a region, and at its end. One atomic word counts both. A team is one group, or several
//! whose heads are groups again: see `lead.rs`.
//!
//! Each arrival is one addition. Nothing is reset between barriers or regions, so an arrival is also the release: the last
//! to arrive brings the count to the goal that the others wait for. And because one word holds both counts, whoever
//! waits at a barrier sees a bee that has left without coming to it, and panics instead of waiting for ever.

use std::fmt;

use crate::protocol::region::start_line::MAX_BEES;
use crate::protocol::worker::slot::Slot;
use crate::sync::{AtomicU64, Ordering, WaitPolicy, fence};

/// The barrier's word.
///
/// ```text
///   63                           19   18   17  16             0
///  ┌──────────────────────────────┬────┬────┬────────────────┐
///  │           arrivals           │ H  │ D  │      left      │
///  └──────────────────────────────┴────┴────┴────────────────┘
/// ```
///
/// - `arrivals`: bees that have come to a barrier, counted on from region to region, modulo 2^45: see `Arrivals`.
/// - `H`: the head has come to the end of its own part and sleeps; who makes `left` complete posts its semaphore.
/// - `D`: bees may doze at a barrier; who lets them go, or leaves, wakes them.
/// - `left`: bees that have come to the end of their region, counted on from region to region. It begins anew where a region ends with
///   `Word::EXITS_BEFORE_RESET` or more, so that no region's bees bring it into the flags: a team has fewer bees than that.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct BarrierWord(u64);

impl BarrierWord {
    const EXIT: u64 = 1;
    const BLOCKED: u64 = 1 << 17;
    const LEADER_BLOCKED: u64 = 1 << 18;
    const ARRIVAL: u64 = 1 << 19;

    const EXITS_BEFORE_RESET: u64 = 1 << 16;

    /// What `left` is at the end of no region.
    const IMPOSSIBLE_EXITS: u64 = Self::BLOCKED - 1;

    /// What a barrier's word is at first: both counts are about to begin anew, so that each program and each model sees it happen.
    const FIRST: Self = Self(Arrivals::FIRST.0 | (Self::EXITS_BEFORE_RESET - 2));

    #[inline(always)]
    fn arrivals(self) -> Arrivals {
        Arrivals(self.0 & !(Self::ARRIVAL - 1))
    }

    #[inline(always)]
    fn exits(self) -> u64 {
        self.0 & (Self::BLOCKED - 1)
    }

    /// Whether any of these flags is up.
    fn has_any(self, flags: u64) -> bool {
        self.0 & flags != 0
    }
}

impl fmt::Debug for BarrierWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BarrierWord")
            .field("arrivals", &self.arrivals())
            .field("leader_blocked", &self.has_any(Self::LEADER_BLOCKED))
            .field("blocked", &self.has_any(Self::BLOCKED))
            .field("exits", &self.exits())
            .finish()
    }
}

/// A count of arrivals, modulo 2^45, where it stands in the word: it wraps off the top, and never reaches the flags however long a region is.
///
/// Of two such counts that are compared one is at most a team's size behind the other, so the sign of their difference tells which.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Arrivals(u64);

impl Arrivals {
    const FIRST: Self = Self(0u64.wrapping_sub(3 * BarrierWord::ARRIVAL));

    #[inline(always)]
    fn plus(self, more: u64) -> Self {
        Self(self.0.wrapping_add(more.wrapping_mul(BarrierWord::ARRIVAL)))
    }

    /// How many more this is than `earlier`.
    #[inline(always)]
    fn since(self, earlier: Self) -> u64 {
        self.0.wrapping_sub(earlier.0) / BarrierWord::ARRIVAL
    }

    fn minus_one(self) -> Self {
        Self(self.0.wrapping_sub(BarrierWord::ARRIVAL))
    }

    #[inline(always)]
    fn has_reached(self, goal: Self) -> bool {
        self.0.wrapping_sub(goal.0).cast_signed() >= 0
    }
}

impl fmt::Debug for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0 / BarrierWord::ARRIVAL)
    }
}

/// What a barrier's word is as a region begins: the counts, and no flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BaseCount(BarrierWord);

impl BaseCount {
    /// Of a barrier that nobody has used.
    pub(crate) const fn first() -> Self {
        Self(BarrierWord::FIRST)
    }
}

/// What a bee needs to know to make sense of the word: how many of the team meet there, where the counts began and how many barriers it has passed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    pub(crate) bees: u32,
    /// Whether the group's head gathers the others before it comes itself: there are other groups in the team.
    pub(crate) is_collected: bool,
    pub(crate) base: BaseCount,
    pub(crate) barriers_passed: u64,
}

impl View {
    /// The arrivals at which the barriers passed so far were complete.
    fn arrivals_at_last_barrier(&self) -> Arrivals {
        self.base.0.arrivals().plus(self.barriers_passed.wrapping_mul(u64::from(self.bees)))
    }

    /// The arrivals that complete the next barrier.
    fn goal(&self) -> Arrivals {
        self.arrivals_at_last_barrier().plus(u64::from(self.bees))
    }

    /// The word when all but the head have come to the region's end and nothing is amiss.
    #[inline(always)]
    fn clean_end(&self) -> BarrierWord {
        let others = u64::from(self.bees - 1);
        BarrierWord(self.arrivals_at_last_barrier().0 | (self.base.0.exits() + others * BarrierWord::EXIT))
    }

    /// What a bee that waits for `arrivals` makes of the word; None: wait on. `is_poisoned`: whether the region is, asked after the word was read. It goes
    /// before the count: whom it has let go may come again, in a destructor or because it caught what ended the barrier, and is counted again.
    #[inline(always)]
    fn barrier_outcome(
        &self,
        word: BarrierWord,
        arrivals: Arrivals,
        is_poisoned: bool,
    ) -> Option<Result<(), BarrierError>> {
        if is_poisoned {
            Some(Err(BarrierError::Poisoned))
        } else if word.arrivals().has_reached(arrivals) {
            Some(Ok(()))
        } else if word.exits() != self.base.0.exits() || word.has_any(BarrierWord::LEADER_BLOCKED) {
            // Somebody's body has returned, and the barrier is not complete: it will never be.
            Some(Err(BarrierError::Mismatch))
        } else {
            None
        }
    }

    /// What the head, past its own part, makes of the word; None: wait on. `is_poisoned`: as above.
    #[inline(always)]
    fn end_outcome(&self, word: BarrierWord, is_poisoned: bool) -> Option<RegionEnd> {
        let clean = self.clean_end();
        if word.exits() == clean.exits() {
            // D may still be up: who has yet to take it down is late, and the next region can bear it.
            Some(if is_poisoned { RegionEnd::Poisoned } else { RegionEnd::Clean })
        } else if !clean.arrivals().has_reached(word.arrivals()) && !is_poisoned {
            Some(RegionEnd::Mismatch)
        } else {
            None
        }
    }
}

/// Why a barrier let a bee go without having met the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarrierError {
    /// Another bee panicked.
    Poisoned,
    /// Another bee's body returned without coming to this barrier.
    Mismatch,
}

/// A bee's arrival at the end of a region in which somebody slept.
#[must_use = "somebody may be asleep"]
pub(crate) struct ExitNotice {
    /// The word that it found.
    before: BarrierWord,
}

/// How a head's wait at the end of a region went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RegionEnd {
    /// All bees have left.
    Clean,
    /// All bees have left, and a bee panicked.
    Poisoned,
    /// A bee waits at a barrier that the head's body did not come to. The region is not over.
    Mismatch,
}

/// A meeting point. Which cache line it lies in is its owner's choice: see `StartLine::near_barrier`.
pub(crate) struct Barrier {
    word: AtomicU64,
}

impl Barrier {
    pub(crate) fn new() -> Self {
        Self { word: AtomicU64::new(BarrierWord::FIRST.0) }
    }

    /// Comes to the next barrier and waits there for the whole group. `slots` are all bees', `own` the caller's; `is_poisoned` says whether the region is.
    #[inline]
    pub(crate) fn wait<'s>(
        &self,
        view: &View,
        own_slot: &Slot,
        slots: impl Iterator<Item = &'s Slot>,
        policy: &WaitPolicy,
        is_poisoned: impl Fn() -> bool,
    ) -> Result<(), BarrierError> {
        let before = self.arrive(view, slots);
        if is_poisoned() {
            return Err(BarrierError::Poisoned);
        }
        if before.arrivals().plus(1) == view.goal() {
            return Ok(());
        }
        self.wait_for_arrivals(view.goal(), view, own_slot, policy, is_poisoned)
    }

    /// The head's: waits until all others have come to the next barrier. They wait for the head, until it arrives there.
    #[inline]
    pub(crate) fn collect(
        &self,
        view: &View,
        own_slot: &Slot,
        policy: &WaitPolicy,
        is_poisoned: impl Fn() -> bool,
    ) -> Result<(), BarrierError> {
        self.wait_for_arrivals(view.goal().minus_one(), view, own_slot, policy, is_poisoned)
    }

    /// Arrives at the next barrier. The last to do so lets the others go.
    #[inline]
    pub(crate) fn arrive<'s>(&self, view: &View, slots: impl Iterator<Item = &'s Slot>) -> BarrierWord {
        // AcqRel: pairs with itself, and with the Acquire in `wait_for_arrivals`; everything before any bee's arrival
        // happens before everything after the barrier, on every bee.
        let before = BarrierWord(self.word.fetch_add(BarrierWord::ARRIVAL, Ordering::AcqRel));
        // The last but one lets the head go that gathers the others.
        let missing = view.goal().since(before.arrivals().plus(1));
        if missing <= u64::from(view.is_collected) && before.has_any(BarrierWord::BLOCKED) {
            self.wake_blocked(slots);
        }
        before
    }

    #[inline]
    fn wait_for_arrivals(
        &self,
        arrivals: Arrivals,
        view: &View,
        own_slot: &Slot,
        policy: &WaitPolicy,
        is_poisoned: impl Fn() -> bool,
    ) -> Result<(), BarrierError> {
        let mut spinner = policy.spinner();
        loop {
            // Acquire: pairs with the AcqRel of each arrival and the Release in `leave`.
            let word = BarrierWord(self.word.load(Ordering::Acquire));
            if let Some(outcome) = view.barrier_outcome(word, arrivals, is_poisoned()) {
                return outcome;
            }
            if !spinner.spin_once() {
                self.block(arrivals, view, own_slot, &is_poisoned);
                spinner = policy.spinner();
            }
        }
    }

    /// Sleeps until somebody changes the word in a way that may concern a bee at a barrier, or poisons the region.
    #[cold]
    fn block(&self, arrivals: Arrivals, view: &View, own_slot: &Slot, is_poisoned: impl Fn() -> bool) {
        // Relaxed: published by the Release below. A swap, because loom may have a plain store come before a swap by somebody who is late, which it cannot, as
        // that found the value of an earlier one.
        own_slot.blocked_at_barrier.swap(true, Ordering::Relaxed);
        // Release: pairs with the Acquire in `wake_blocked`, so that whoever sees D sees `blocked_at_barrier`. Failure is Relaxed: the
        // caller looks again, with Acquire.
        let announced = self.word.fetch_update(Ordering::Release, Ordering::Relaxed, |word| {
            view.barrier_outcome(BarrierWord(word), arrivals, false).is_none().then_some(word | BarrierWord::BLOCKED)
        });
        // Either this finds the region poisoned, or whoever poisons it finds D. Pairs with the fence in `wake_all`.
        fence(Ordering::SeqCst);
        // Relaxed: who turns `blocked_at_barrier` off decides only who owes the post, and the semaphore orders the rest.
        if (announced.is_err() || is_poisoned()) && own_slot.blocked_at_barrier.swap(false, Ordering::Relaxed) {
            return;
        }
        own_slot.block_at_barrier();
    }

    /// Wakes whoever dozes at a barrier. Somebody may be woken for nothing, and dozes again.
    ///
    /// This may be late: the caller's arrival may have ended the barrier, and even the region, so that those found dozing belong to
    /// another. Nothing is lost even so: D is taken down before the look at the bees, so whoever set it before is woken.
    #[cold]
    fn wake_blocked<'s>(&self, slots: impl Iterator<Item = &'s Slot>) {
        // Acquire: pairs with the Release in `doze`.
        self.word.fetch_and(!BarrierWord::BLOCKED, Ordering::Acquire);
        for slot in slots {
            // Relaxed: as in `doze`.
            if slot.blocked_at_barrier.load(Ordering::Relaxed) && slot.blocked_at_barrier.swap(false, Ordering::Relaxed)
            {
                slot.semaphore.post();
            }
        }
    }

    /// Wakes whoever dozes at a barrier of a region that the caller has just poisoned.
    #[cold]
    pub(crate) fn wake_all<'s>(&self, slots: impl Iterator<Item = &'s Slot>) {
        // Pairs with the fence in `doze`.
        fence(Ordering::SeqCst);
        // Relaxed: the fences order it.
        if BarrierWord(self.word.load(Ordering::Relaxed)).has_any(BarrierWord::BLOCKED) {
            self.wake_blocked(slots);
        }
    }

    /// A bee's arrival at the end of its region. Says whether somebody sleeps whom it may have to wake: see `wake_on_exit`.
    /// Afterwards the bee touches nothing that belongs to the region's caller.
    #[inline(always)]
    pub(crate) fn exit(&self) -> Option<ExitNotice> {
        // Release: pairs with the Acquire in `wait_for_end`; what this bee did happens before the region's return.
        let before = BarrierWord(self.word.fetch_add(BarrierWord::EXIT, Ordering::Release));
        before.has_any(BarrierWord::LEADER_BLOCKED | BarrierWord::BLOCKED).then_some(ExitNotice { before })
    }

    /// Wakes the head, if this bee was the last to leave, and whoever dozes at a barrier that will not be completed.
    #[cold]
    pub(crate) fn wake_on_exit<'s>(
        &self,
        ExitNotice { before }: ExitNotice,
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

    /// How many of the group have come to the end of their parts: of the others so many at least, and the head if it sleeps there.
    pub(crate) fn exited(&self, view: &View) -> u32 {
        // Acquire: pairs with the Release in `leave` and in `block_until_end`; what those did is seen afterwards.
        let word = BarrierWord(self.word.load(Ordering::Acquire));
        let exits = word.exits().saturating_sub(view.base.0.exits());
        exits as u32 + u32::from(word.has_any(BarrierWord::LEADER_BLOCKED))
    }

    /// Whether all bees of the queen's team have left. For a region that nobody panics in.
    pub(crate) fn has_ended(&self, view: &View) -> bool {
        // Acquire: as in `wait_for_end`.
        view.end_outcome(BarrierWord(self.word.load(Ordering::Acquire)), false) == Some(RegionEnd::Clean)
    }

    /// The head's wait for the others, after its own part. `some_asleep`: some were asleep when they were started.
    #[inline]
    pub(crate) fn wait_for_end(
        &self,
        view: &View,
        own_slot: &Slot,
        policy: &WaitPolicy,
        some_asleep: bool,
        is_poisoned: impl Fn() -> bool,
    ) -> RegionEnd {
        let mut spinner = if some_asleep { policy.spinner_for_sleepers() } else { policy.spinner() };
        loop {
            // Acquire: pairs with the Release in `leave`.
            let word = BarrierWord(self.word.load(Ordering::Acquire));
            if let Some(end) = view.end_outcome(word, is_poisoned()) {
                return end;
            }
            if !spinner.spin_once() {
                self.block_until_end(view, own_slot, is_poisoned());
                spinner = policy.spinner();
            }
        }
    }

    #[cold]
    fn block_until_end(&self, view: &View, own_slot: &Slot, is_poisoned: bool) {
        // Release: pairs with the Acquire in `wait_for_arrivals`; who finds the head gone finds the poison that it left because of. Failure is Relaxed: the head looks
        // again, with Acquire.
        let announced = self.word.fetch_update(Ordering::Release, Ordering::Relaxed, |word| {
            view.end_outcome(BarrierWord(word), is_poisoned).is_none().then_some(word | BarrierWord::LEADER_BLOCKED)
        });
        if announced.is_ok() {
            own_slot.block_at_barrier();
            // Relaxed: no bee of the region is left to read it.
            self.word.fetch_and(!BarrierWord::LEADER_BLOCKED, Ordering::Relaxed);
        }
    }

    /// The base of the next region, after one in which the head held this account and which ended so.
    ///
    /// Call when all have left.
    #[inline(always)]
    pub(crate) fn finish_region(&self, view: &View, end: RegionEnd) -> BaseCount {
        let clean = view.clean_end();
        // A poisoned region leaves an odd number of arrivals; and `left` must not grow into the flags.
        if end == RegionEnd::Clean && clean.exits() < BarrierWord::EXITS_BEFORE_RESET {
            BaseCount(clean)
        } else {
            self.reset()
        }
    }

    #[cold]
    fn reset(&self) -> BaseCount {
        let word = BarrierWord(Arrivals::FIRST.0);
        // A swap, because somebody who has left may still be about to take D down. Relaxed: no bee is left; the next region's start word publishes it.
        self.word.swap(word.0, Ordering::Relaxed);
        BaseCount(word)
    }

    /// In a forked child: the region does not end any more, whoever has come to its end already.
    pub(crate) fn prevent_end(&self) {
        // Relaxed, both: the child has one thread.
        let word = self.word.load(Ordering::Relaxed);
        self.word.store(word | BarrierWord::IMPOSSIBLE_EXITS, Ordering::Relaxed);
    }
}

// No region's bees bring `left` from below `EXITS_BEFORE_RESET` into the flags, nor to what it never is.
const _: () = assert!(BarrierWord::EXITS_BEFORE_RESET - 1 + (MAX_BEES as u64 - 1) < BarrierWord::IMPOSSIBLE_EXITS);

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::protocol::worker::slot::SlotState;
    use crate::sys::cpu_mask::CpuMask;

    /// Counted from where a barrier's counts begin.
    fn word(exits: u64, flags: u64, arrivals: u64) -> BarrierWord {
        BarrierWord(Arrivals::FIRST.plus(arrivals).0 | flags | exits)
    }

    fn view(bees: u32, barriers_passed: u64) -> View {
        View { bees, is_collected: false, base: BaseCount(word(7, 0, 1)), barriers_passed }
    }

    fn arrivals(number: u64) -> Arrivals {
        Arrivals::FIRST.plus(number)
    }

    #[test]
    fn a_barrier_is_complete_at_its_goal_and_stays_so() {
        let view = view(3, 1);
        // The third arrival wraps the count.
        assert_eq!(view.goal(), arrivals(7));
        assert_eq!((arrivals(3), arrivals(7).since(arrivals(2))), (Arrivals(0), 5));
        assert_eq!(view.barrier_outcome(word(7, 0, 2), arrivals(7), false), None);
        assert_eq!(view.barrier_outcome(word(7, 0, 6), arrivals(7), false), None);
        assert_eq!(view.barrier_outcome(word(7, 0, 7), arrivals(7), false), Some(Ok(())));
        assert_eq!(
            view.barrier_outcome(word(8, 0, 8), arrivals(7), false),
            Some(Ok(())),
            "others are past it, even gone"
        );
        assert_eq!(view.barrier_outcome(word(7, 0, 2), arrivals(2), false), Some(Ok(())));
        assert_eq!(
            view.barrier_outcome(word(7, 0, 3), arrivals(2), false),
            Some(Ok(())),
            "one more, with the wrap between them"
        );
    }

    #[test]
    fn a_barrier_that_somebody_left_out_is_seen_by_those_who_wait() {
        let view = view(3, 0);
        assert_eq!(
            view.barrier_outcome(word(8, 0, 3), arrivals(4), false),
            Some(Err(BarrierError::Mismatch)),
            "a bee has left"
        );
        let leader_gone = word(7, BarrierWord::LEADER_BLOCKED, 3);
        assert_eq!(view.barrier_outcome(leader_gone, arrivals(4), false), Some(Err(BarrierError::Mismatch)));
        assert_eq!(view.barrier_outcome(word(8, 0, 3), arrivals(4), true), Some(Err(BarrierError::Poisoned)));
    }

    #[test]
    fn a_region_has_ended_when_all_bees_have_left() {
        let view = view(3, 0);
        assert_eq!(view.clean_end(), word(9, 0, 1));
        assert_eq!(view.end_outcome(word(8, 0, 1), false), None);
        assert_eq!(view.end_outcome(word(9, 0, 1), false), Some(RegionEnd::Clean));
        assert_eq!(
            view.end_outcome(word(9, BarrierWord::BLOCKED, 1), false),
            Some(RegionEnd::Clean),
            "taken down late"
        );
        assert_eq!(view.end_outcome(word(9, 0, 2), true), Some(RegionEnd::Poisoned));
        assert_eq!(view.end_outcome(word(8, 0, 2), false), Some(RegionEnd::Mismatch));
        assert_eq!(view.end_outcome(word(8, 0, 3), false), Some(RegionEnd::Mismatch), "with the wrap between them");
        assert_eq!(view.end_outcome(word(8, 0, 2), true), None, "they are on their way out");
    }

    #[test]
    fn a_poisoned_region_leaves_no_trace_in_the_next() {
        let barrier = Barrier::new();
        // Somebody has come to a barrier, and left it because of a panic.
        let view = View { bees: 2, is_collected: false, base: BaseCount::first(), barriers_passed: 0 };
        barrier.arrive(&view, std::iter::empty());
        let _ = barrier.exit();
        assert_eq!(barrier.finish_region(&view, RegionEnd::Poisoned), BaseCount(word(0, 0, 0)));
        assert_eq!(barrier.word.load(Ordering::Relaxed), word(0, 0, 0).0);
    }

    #[test]
    fn the_count_of_exits_is_reset_before_it_reaches_the_flags() {
        let barrier = Barrier::new();
        let view = View { bees: MAX_BEES, is_collected: false, base: BaseCount::first(), barriers_passed: 1 };
        barrier.word.store(view.clean_end().0, Ordering::Relaxed);
        assert!(!view.clean_end().has_any(BarrierWord::BLOCKED | BarrierWord::LEADER_BLOCKED));
        assert_eq!(view.end_outcome(view.clean_end(), false), Some(RegionEnd::Clean));
        assert_eq!(barrier.finish_region(&view, RegionEnd::Clean), BaseCount(word(0, 0, 0)));
        assert_eq!(barrier.word.load(Ordering::Relaxed), word(0, 0, 0).0);
    }

    /// After 2^45 arrivals, some days of barriers in one region, the count comes to where it began.
    #[test]
    fn however_many_arrivals_there_are_in_a_region_its_barriers_hold() {
        for spin in [Duration::ZERO, Duration::from_millis(5)] {
            wait_across_the_wrap(&WaitPolicy::new(spin, None, usize::MAX, CpuMask::new()));
        }
    }

    fn wait_across_the_wrap(policy: &WaitPolicy) {
        const BEES: u32 = 3;
        let slots = [0, 1, 2].map(|id| Slot::new(id, SlotState::Awake));
        // The count has wrapped twice, and is fifteen arrivals before it does so again.
        let barriers_passed = (3 << 45) / u64::from(BEES) - 4;
        let before = View { bees: BEES, is_collected: false, base: BaseCount::first(), barriers_passed };
        let barrier = Barrier { word: AtomicU64::new(before.arrivals_at_last_barrier().0 | before.base.0.exits()) };
        let arrived = std::sync::atomic::AtomicU64::new(0);
        let wait_often = |own_slot| {
            for round in 1..=100 {
                // Relaxed: the barrier orders it.
                arrived.fetch_add(1, Ordering::Relaxed);
                barrier
                    .wait(
                        &View { barriers_passed: barriers_passed + round - 1, ..before },
                        own_slot,
                        slots.iter(),
                        policy,
                        || false,
                    )
                    .unwrap();
                assert!(arrived.load(Ordering::Relaxed) >= round * u64::from(BEES), "barrier {round}");
            }
        };
        thread::scope(|scope| slots.iter().for_each(|own_slot| drop(scope.spawn(|| wait_often(own_slot)))));
    }
}
