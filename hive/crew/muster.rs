//! Where the members of a group meet: at the barriers inside a region, and at its end. One atomic word counts both. A team is one group, or several
//! whose heads are groups again: see `lead.rs`.
//!
//! Each arrival is one addition. Nothing is reset between barriers or regions, so an arrival is also the release: the last
//! to arrive brings the count to the goal that the others wait for. And because one word holds both counts, whoever
//! waits at a barrier sees a member that has left without coming to it, and panics instead of waiting for ever.

use std::fmt;

use super::signal::MAX_TEAM;
use super::slot::Slot;
use crate::sync::{AtomicU64, Ordering, WaitPolicy, fence};

/// The muster's word.
///
/// ```text
///   63                           19   18   17  16             0
///  ┌──────────────────────────────┬────┬────┬────────────────┐
///  │           arrivals           │ H  │ D  │      left      │
///  └──────────────────────────────┴────┴────┴────────────────┘
/// ```
///
/// - `arrivals`: members that have come to a barrier, counted on from region to region, modulo 2^45: see `Arrivals`.
/// - `H`: the head has come to the end of its own part and sleeps; who makes `left` complete posts its semaphore.
/// - `D`: members may doze at a barrier; who lets them go, or leaves, wakes them.
/// - `left`: bees that have come to the end of their region, counted on from region to region. It begins anew where a region ends with
///   `Word::MANY_LEFT` or more, so that no region's bees bring it into the flags: a team has fewer members than that.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word(u64);

impl Word {
    const LEFT: u64 = 1;
    const DOZING: u64 = 1 << 17;
    const HEAD_ASLEEP: u64 = 1 << 18;
    const ARRIVAL: u64 = 1 << 19;

    const MANY_LEFT: u64 = 1 << 16;

    /// What `left` is at the end of no region.
    const NEVER_LEFT: u64 = Self::DOZING - 1;

    /// What a muster's word is at first: both counts are about to begin anew, so that each program and each model sees it happen.
    const FIRST: Self = Self(Arrivals::FIRST.0 | (Self::MANY_LEFT - 2));

    #[inline(always)]
    fn arrivals(self) -> Arrivals {
        Arrivals(self.0 & !(Self::ARRIVAL - 1))
    }

    #[inline(always)]
    fn left(self) -> u64 {
        self.0 & (Self::DOZING - 1)
    }

    /// Whether any of these flags is up.
    fn has(self, flags: u64) -> bool {
        self.0 & flags != 0
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Word")
            .field("arrivals", &self.arrivals())
            .field("head_asleep", &self.has(Self::HEAD_ASLEEP))
            .field("dozing", &self.has(Self::DOZING))
            .field("left", &self.left())
            .finish()
    }
}

/// A count of arrivals, modulo 2^45, where it stands in the word: it wraps off the top, and never reaches the flags however long a region is.
///
/// Of two such counts that are compared one is at most a team's size behind the other, so the sign of their difference tells which.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Arrivals(u64);

impl Arrivals {
    const FIRST: Self = Self(0u64.wrapping_sub(3 * Word::ARRIVAL));

    #[inline(always)]
    fn plus(self, more: u64) -> Self {
        Self(self.0.wrapping_add(more.wrapping_mul(Word::ARRIVAL)))
    }

    /// How many more this is than `earlier`.
    #[inline(always)]
    fn since(self, earlier: Self) -> u64 {
        self.0.wrapping_sub(earlier.0) / Word::ARRIVAL
    }

    fn but_one(self) -> Self {
        Self(self.0.wrapping_sub(Word::ARRIVAL))
    }

    #[inline(always)]
    fn has_reached(self, goal: Self) -> bool {
        self.0.wrapping_sub(goal.0).cast_signed() >= 0
    }
}

impl fmt::Debug for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0 / Word::ARRIVAL)
    }
}

/// What a muster's word is as a region begins: the counts, and no flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Base(Word);

impl Base {
    /// Of a muster that nobody has used.
    pub(crate) const fn first() -> Self {
        Self(Word::FIRST)
    }
}

/// What a member needs to know to make sense of the word: how many of the team meet there, where the counts began and how many barriers it has passed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Account {
    pub(crate) size: u32,
    /// Whether the group's head gathers the others before it comes itself: there are other groups in the team.
    pub(crate) is_gathered: bool,
    pub(crate) base: Base,
    pub(crate) passed: u64,
}

impl Account {
    /// The arrivals at which the barriers passed so far were complete.
    fn arrivals_passed(&self) -> Arrivals {
        self.base.0.arrivals().plus(self.passed.wrapping_mul(u64::from(self.size)))
    }

    /// The arrivals that complete the next barrier.
    fn goal(&self) -> Arrivals {
        self.arrivals_passed().plus(u64::from(self.size))
    }

    /// The word when all but the head have come to the region's end and nothing is amiss.
    #[inline(always)]
    fn clean_end(&self) -> Word {
        let bees = u64::from(self.size - 1);
        Word(self.arrivals_passed().0 | (self.base.0.left() + bees * Word::LEFT))
    }

    /// What a member that waits for `arrivals` makes of the word; None: wait on. `poisoned`: whether the region is, asked after the word was read. It goes
    /// before the count: whom it has let go may come again, in a destructor or because it caught what ended the barrier, and is counted again.
    #[inline(always)]
    fn at_barrier(&self, word: Word, arrivals: Arrivals, poisoned: bool) -> Option<Result<(), Broken>> {
        if poisoned {
            Some(Err(Broken::Poisoned))
        } else if word.arrivals().has_reached(arrivals) {
            Some(Ok(()))
        } else if word.left() != self.base.0.left() || word.has(Word::HEAD_ASLEEP) {
            // Somebody's body has returned, and the barrier is not complete: it will never be.
            Some(Err(Broken::Deserted))
        } else {
            None
        }
    }

    /// What the head, past its own part, makes of the word; None: wait on. `poisoned`: as above.
    #[inline(always)]
    fn at_end(&self, word: Word, poisoned: bool) -> Option<End> {
        let clean = self.clean_end();
        if word.left() == clean.left() {
            // D may still be up: who has yet to take it down is late, and the next region can bear it.
            Some(if poisoned { End::Poisoned } else { End::Clean })
        } else if !clean.arrivals().has_reached(word.arrivals()) && !poisoned {
            Some(End::Deserter)
        } else {
            None
        }
    }
}

/// Why a barrier let a member go without having met the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// Another member panicked.
    Poisoned,
    /// Another member's body returned without coming to this barrier.
    Deserted,
}

/// A bee's arrival at the end of a region in which somebody slept.
#[must_use = "somebody may be asleep"]
pub(crate) struct Left {
    /// The word that it found.
    before: Word,
}

/// How a head's wait at the end of a region went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// All bees have left.
    Clean,
    /// All bees have left, and a member panicked.
    Poisoned,
    /// A bee waits at a barrier that the head's body did not come to. The region is not over.
    Deserter,
}

/// A meeting point. Which cache line it lies in is its owner's choice: see `Signal::near`.
pub(crate) struct Muster {
    word: AtomicU64,
}

impl Muster {
    pub(crate) fn new() -> Self {
        Self { word: AtomicU64::new(Word::FIRST.0) }
    }

    /// Comes to the next barrier and waits there for the whole group. `slots` are all members', `own` the caller's; `poisoned` says whether the region is.
    #[inline]
    pub(crate) fn meet<'s>(
        &self,
        account: &Account,
        own: &Slot,
        slots: impl Iterator<Item = &'s Slot>,
        policy: &WaitPolicy,
        poisoned: impl Fn() -> bool,
    ) -> Result<(), Broken> {
        let before = self.arrive(account, slots);
        if poisoned() {
            return Err(Broken::Poisoned);
        }
        if before.arrivals().plus(1) == account.goal() {
            return Ok(());
        }
        self.wait_for(account.goal(), account, own, policy, poisoned)
    }

    /// The head's: waits until all others have come to the next barrier. They wait for the head, until it arrives there.
    #[inline]
    pub(crate) fn gather(
        &self,
        account: &Account,
        own: &Slot,
        policy: &WaitPolicy,
        poisoned: impl Fn() -> bool,
    ) -> Result<(), Broken> {
        self.wait_for(account.goal().but_one(), account, own, policy, poisoned)
    }

    /// Arrives at the next barrier. The last to do so lets the others go.
    #[inline]
    pub(crate) fn arrive<'s>(&self, account: &Account, slots: impl Iterator<Item = &'s Slot>) -> Word {
        // AcqRel: pairs with itself, and with the Acquire in `wait_for`; everything before any member's arrival
        // happens before everything after the barrier, on every member.
        let before = Word(self.word.fetch_add(Word::ARRIVAL, Ordering::AcqRel));
        // The last but one lets the head go that gathers the others.
        let missing = account.goal().since(before.arrivals().plus(1));
        if missing <= u64::from(account.is_gathered) && before.has(Word::DOZING) {
            self.wake_dozers(slots);
        }
        before
    }

    #[inline]
    fn wait_for(
        &self,
        arrivals: Arrivals,
        account: &Account,
        own: &Slot,
        policy: &WaitPolicy,
        poisoned: impl Fn() -> bool,
    ) -> Result<(), Broken> {
        let mut patience = policy.patience();
        loop {
            // Acquire: pairs with the AcqRel of each arrival and the Release in `leave`.
            let word = Word(self.word.load(Ordering::Acquire));
            if let Some(met) = account.at_barrier(word, arrivals, poisoned()) {
                return met;
            }
            if !patience.poll_again() {
                self.doze(arrivals, account, own, &poisoned);
                patience = policy.patience();
            }
        }
    }

    /// Sleeps until somebody changes the word in a way that may concern a member at a barrier, or poisons the region.
    #[cold]
    fn doze(&self, arrivals: Arrivals, account: &Account, own: &Slot, poisoned: impl Fn() -> bool) {
        // Relaxed: published by the Release below. A swap, because loom may have a plain store come before a swap by somebody who is late, which it cannot, as
        // that found the value of an earlier one.
        own.dozing.swap(true, Ordering::Relaxed);
        // Release: pairs with the Acquire in `wake_dozers`, so that whoever sees D sees `dozing`. Failure is Relaxed: the
        // caller looks again, with Acquire.
        let announced = self.word.fetch_update(Ordering::Release, Ordering::Relaxed, |word| {
            account.at_barrier(Word(word), arrivals, false).is_none().then_some(word | Word::DOZING)
        });
        // Either this finds the region poisoned, or whoever poisons it finds D. Pairs with the fence in `rouse`.
        fence(Ordering::SeqCst);
        // Relaxed: who turns `dozing` off decides only who owes the post, and the semaphore orders the rest.
        if (announced.is_err() || poisoned()) && own.dozing.swap(false, Ordering::Relaxed) {
            return;
        }
        own.doze();
    }

    /// Wakes whoever dozes at a barrier. Somebody may be woken for nothing, and dozes again.
    ///
    /// This may be late: the caller's arrival may have ended the barrier, and even the region, so that those found dozing belong to
    /// another. Nothing is lost even so: D is taken down before the look at the members, so whoever set it before is woken.
    #[cold]
    fn wake_dozers<'s>(&self, slots: impl Iterator<Item = &'s Slot>) {
        // Acquire: pairs with the Release in `doze`.
        self.word.fetch_and(!Word::DOZING, Ordering::Acquire);
        for slot in slots {
            // Relaxed: as in `doze`.
            if slot.dozing.load(Ordering::Relaxed) && slot.dozing.swap(false, Ordering::Relaxed) {
                slot.bed.post();
            }
        }
    }

    /// Wakes whoever dozes at a barrier of a region that the caller has just poisoned.
    #[cold]
    pub(crate) fn rouse<'s>(&self, slots: impl Iterator<Item = &'s Slot>) {
        // Pairs with the fence in `doze`.
        fence(Ordering::SeqCst);
        // Relaxed: the fences order it.
        if Word(self.word.load(Ordering::Relaxed)).has(Word::DOZING) {
            self.wake_dozers(slots);
        }
    }

    /// A bee's arrival at the end of its region. Says whether somebody sleeps whom it may have to wake: see `wake_sleepers`.
    /// Afterwards the bee touches nothing that belongs to the region's caller.
    #[inline(always)]
    pub(crate) fn leave(&self) -> Option<Left> {
        // Release: pairs with the Acquire in `await_end`; what this bee did happens before the region's return.
        let before = Word(self.word.fetch_add(Word::LEFT, Ordering::Release));
        before.has(Word::HEAD_ASLEEP | Word::DOZING).then_some(Left { before })
    }

    /// Wakes the head, if this bee was the last to leave, and whoever dozes at a barrier that will not be completed.
    #[cold]
    pub(crate) fn wake_sleepers<'s>(
        &self,
        Left { before }: Left,
        account: &Account,
        head: &Slot,
        slots: impl Iterator<Item = &'s Slot>,
    ) {
        if before.has(Word::HEAD_ASLEEP) && before.left() + Word::LEFT == account.clean_end().left() {
            head.bed.post();
        }
        if before.has(Word::DOZING) {
            self.wake_dozers(slots);
        }
    }

    /// How many of the group have come to the end of their parts: of the others so many at least, and the head if it sleeps there.
    pub(crate) fn left(&self, account: &Account) -> u32 {
        // Acquire: pairs with the Release in `leave` and in `sleep_till_end`; what those did is seen afterwards.
        let word = Word(self.word.load(Ordering::Acquire));
        let bees = word.left().saturating_sub(account.base.0.left());
        bees as u32 + u32::from(word.has(Word::HEAD_ASLEEP))
    }

    /// Whether all bees of the queen's team have left. For a region that nobody panics in.
    pub(crate) fn has_ended(&self, account: &Account) -> bool {
        // Acquire: as in `await_end`.
        account.at_end(Word(self.word.load(Ordering::Acquire)), false) == Some(End::Clean)
    }

    /// The head's wait for the others, after its own part. `late`: some were asleep when they were started.
    #[inline]
    pub(crate) fn await_end(
        &self,
        account: &Account,
        own: &Slot,
        policy: &WaitPolicy,
        late: bool,
        poisoned: impl Fn() -> bool,
    ) -> End {
        let mut patience = if late { policy.patience_with_sleepers() } else { policy.patience() };
        loop {
            // Acquire: pairs with the Release in `leave`.
            let word = Word(self.word.load(Ordering::Acquire));
            if let Some(end) = account.at_end(word, poisoned()) {
                return end;
            }
            if !patience.poll_again() {
                self.sleep_till_end(account, own, poisoned());
                patience = policy.patience();
            }
        }
    }

    #[cold]
    fn sleep_till_end(&self, account: &Account, own: &Slot, poisoned: bool) {
        // Release: pairs with the Acquire in `wait_for`; who finds the head gone finds the poison that it left because of. Failure is Relaxed: the head looks
        // again, with Acquire.
        let announced = self.word.fetch_update(Ordering::Release, Ordering::Relaxed, |word| {
            account.at_end(Word(word), poisoned).is_none().then_some(word | Word::HEAD_ASLEEP)
        });
        if announced.is_ok() {
            own.doze();
            // Relaxed: no member of the region is left to read it.
            self.word.fetch_and(!Word::HEAD_ASLEEP, Ordering::Relaxed);
        }
    }

    /// The base of the next region, after one in which the head held this account and which ended so.
    ///
    /// Call when all have left.
    #[inline(always)]
    pub(crate) fn conclude(&self, account: &Account, end: End) -> Base {
        let clean = account.clean_end();
        // A poisoned region leaves an odd number of arrivals; and `left` must not grow into the flags.
        if end == End::Clean && clean.left() < Word::MANY_LEFT { Base(clean) } else { self.restart() }
    }

    #[cold]
    fn restart(&self) -> Base {
        let word = Word(Arrivals::FIRST.0);
        // A swap, because somebody who has left may still be about to take D down. Relaxed: no member is left; the next region's start word publishes it.
        self.word.swap(word.0, Ordering::Relaxed);
        Base(word)
    }

    /// In a forked child: the region does not end any more, whoever has come to its end already.
    pub(crate) fn forget_others(&self) {
        // Relaxed, both: the child has one thread.
        let word = self.word.load(Ordering::Relaxed);
        self.word.store(word | Word::NEVER_LEFT, Ordering::Relaxed);
    }
}

// No region's bees bring `left` from below `MANY_LEFT` into the flags, nor to what it never is.
const _: () = assert!(Word::MANY_LEFT - 1 + (MAX_TEAM as u64 - 1) < Word::NEVER_LEFT);

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::super::slot::State;
    use super::*;
    use crate::topology::CpuMask;

    /// Counted from where a muster's counts begin.
    fn word(left: u64, flags: u64, arrivals: u64) -> Word {
        Word(Arrivals::FIRST.plus(arrivals).0 | flags | left)
    }

    fn account(size: u32, passed: u64) -> Account {
        Account { size, is_gathered: false, base: Base(word(7, 0, 1)), passed }
    }

    fn arrivals(number: u64) -> Arrivals {
        Arrivals::FIRST.plus(number)
    }

    #[test]
    fn a_barrier_is_complete_at_its_goal_and_stays_so() {
        let account = account(3, 1);
        // The third arrival wraps the count.
        assert_eq!(account.goal(), arrivals(7));
        assert_eq!((arrivals(3), arrivals(7).since(arrivals(2))), (Arrivals(0), 5));
        assert_eq!(account.at_barrier(word(7, 0, 2), arrivals(7), false), None);
        assert_eq!(account.at_barrier(word(7, 0, 6), arrivals(7), false), None);
        assert_eq!(account.at_barrier(word(7, 0, 7), arrivals(7), false), Some(Ok(())));
        assert_eq!(account.at_barrier(word(8, 0, 8), arrivals(7), false), Some(Ok(())), "others are past it, even gone");
        assert_eq!(account.at_barrier(word(7, 0, 2), arrivals(2), false), Some(Ok(())));
        assert_eq!(account.at_barrier(word(7, 0, 3), arrivals(2), false), Some(Ok(())), "one more, with the wrap between them");
    }

    #[test]
    fn a_barrier_that_somebody_left_out_is_seen_by_those_who_wait() {
        let account = account(3, 0);
        assert_eq!(account.at_barrier(word(8, 0, 3), arrivals(4), false), Some(Err(Broken::Deserted)), "a bee has left");
        let head_gone = word(7, Word::HEAD_ASLEEP, 3);
        assert_eq!(account.at_barrier(head_gone, arrivals(4), false), Some(Err(Broken::Deserted)));
        assert_eq!(account.at_barrier(word(8, 0, 3), arrivals(4), true), Some(Err(Broken::Poisoned)));
    }

    #[test]
    fn a_region_has_ended_when_all_bees_have_left() {
        let account = account(3, 0);
        assert_eq!(account.clean_end(), word(9, 0, 1));
        assert_eq!(account.at_end(word(8, 0, 1), false), None);
        assert_eq!(account.at_end(word(9, 0, 1), false), Some(End::Clean));
        assert_eq!(account.at_end(word(9, Word::DOZING, 1), false), Some(End::Clean), "taken down late");
        assert_eq!(account.at_end(word(9, 0, 2), true), Some(End::Poisoned));
        assert_eq!(account.at_end(word(8, 0, 2), false), Some(End::Deserter));
        assert_eq!(account.at_end(word(8, 0, 3), false), Some(End::Deserter), "with the wrap between them");
        assert_eq!(account.at_end(word(8, 0, 2), true), None, "they are on their way out");
    }

    #[test]
    fn a_poisoned_region_leaves_no_trace_in_the_next() {
        let muster = Muster::new();
        // Somebody has come to a barrier, and left it because of a panic.
        let account = Account { size: 2, is_gathered: false, base: Base::first(), passed: 0 };
        muster.arrive(&account, std::iter::empty());
        let _ = muster.leave();
        assert_eq!(muster.conclude(&account, End::Poisoned), Base(word(0, 0, 0)));
        assert_eq!(muster.word.load(Ordering::Relaxed), word(0, 0, 0).0);
    }

    #[test]
    fn the_count_of_those_who_left_starts_anew_before_it_reaches_the_flags() {
        let muster = Muster::new();
        let account = Account { size: MAX_TEAM, is_gathered: false, base: Base::first(), passed: 1 };
        muster.word.store(account.clean_end().0, Ordering::Relaxed);
        assert!(!account.clean_end().has(Word::DOZING | Word::HEAD_ASLEEP));
        assert_eq!(account.at_end(account.clean_end(), false), Some(End::Clean));
        assert_eq!(muster.conclude(&account, End::Clean), Base(word(0, 0, 0)));
        assert_eq!(muster.word.load(Ordering::Relaxed), word(0, 0, 0).0);
    }

    /// After 2^45 arrivals, some days of barriers in one region, the count comes to where it began.
    #[test]
    fn however_many_arrivals_there_are_in_a_region_its_barriers_hold() {
        for patience in [Duration::ZERO, Duration::from_millis(5)] {
            meet_across_the_wrap(&WaitPolicy::new(patience, None, usize::MAX, CpuMask::new()));
        }
    }

    fn meet_across_the_wrap(policy: &WaitPolicy) {
        const SIZE: u32 = 3;
        let slots = [0, 1, 2].map(|id| Slot::new(id, State::Awake));
        // The count has wrapped twice, and is fifteen arrivals before it does so again.
        let passed = (3 << 45) / u64::from(SIZE) - 4;
        let before = Account { size: SIZE, is_gathered: false, base: Base::first(), passed };
        let muster = Muster { word: AtomicU64::new(before.arrivals_passed().0 | before.base.0.left()) };
        let come = std::sync::atomic::AtomicU64::new(0);
        let meet_often = |own| {
            for round in 1..=100 {
                // Relaxed: the barrier orders it.
                come.fetch_add(1, Ordering::Relaxed);
                muster.meet(&Account { passed: passed + round - 1, ..before }, own, slots.iter(), policy, || false).unwrap();
                assert!(come.load(Ordering::Relaxed) >= round * u64::from(SIZE), "barrier {round}");
            }
        };
        thread::scope(|scope| slots.iter().for_each(|own| drop(scope.spawn(|| meet_often(own)))));
    }
}
