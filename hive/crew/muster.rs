//! Where the members of a team meet: at the barriers inside a region, and at its end. One atomic word counts both.
//!
//! Each arrival is one addition. Nothing is reset between barriers or regions, so an arrival is also the release: the last
//! to arrive brings the count to the goal that the others wait for. And because one word holds both counts, whoever
//! waits at a barrier sees a member that has left without coming to it, and panics instead of waiting for ever.

use std::fmt;

use super::slot::Slot;
use crate::sync::{AtomicU64, Ordering, WaitPolicy};

/// The muster's word.
///
/// ```text
///   63        48  47   46   45  44                           0
///  ┌────────────┬────┬────┬────┬──────────────────────────────┐
///  │    left    │ P  │ Q  │ D  │          arrivals            │
///  └────────────┴────┴────┴────┴──────────────────────────────┘
/// ```
///
/// - `left`: bees that have come to the end of their region, over the hive's life, modulo 2^16 (it wraps off the top; a
///   team is smaller than that).
/// - `P`: poisoned. A member has panicked, and the others leave the region's barriers by unwinding.
/// - `Q`: the queen has come to the end of her own part and sleeps; who makes `left` complete posts her semaphore.
/// - `D`: members may doze at a barrier; who lets them go, or leaves, wakes them.
/// - `arrivals`: members that have come to a barrier, counted on from the hive's birth or its last poisoned region.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word(u64);

impl Word {
    const ARRIVAL: u64 = 1;
    const DOZING: u64 = 1 << 45;
    const QUEEN_ASLEEP: u64 = 1 << 46;
    const POISONED: u64 = 1 << 47;
    const LEFT: u64 = 1 << 48;

    fn arrivals(self) -> u64 {
        self.0 & (Self::DOZING - 1)
    }

    fn left(self) -> u16 {
        (self.0 >> 48) as u16
    }

    /// Whether any of these flags is up.
    fn has(self, flags: u64) -> bool {
        self.0 & flags != 0
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Word")
            .field("left", &self.left())
            .field("poisoned", &self.has(Self::POISONED))
            .field("queen_asleep", &self.has(Self::QUEEN_ASLEEP))
            .field("dozing", &self.has(Self::DOZING))
            .field("arrivals", &self.arrivals())
            .finish()
    }
}

/// What a muster's word is as a region begins: the counts, and no flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Base(Word);

impl Base {
    /// Of a muster that nobody has used.
    pub(crate) fn first() -> Self {
        Self(Word(0))
    }
}

/// What a member needs to know to make sense of the word: its team, where the counts began and how many barriers it has passed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Account {
    pub(crate) team: u32,
    pub(crate) base: Base,
    pub(crate) passed: u64,
}

impl Account {
    /// The arrivals at which the barriers passed so far were complete.
    fn arrivals_passed(&self) -> u64 {
        self.base.0.arrivals() + self.passed * u64::from(self.team)
    }

    /// The arrivals that complete the next barrier.
    fn goal(&self) -> u64 {
        self.arrivals_passed() + u64::from(self.team)
    }

    /// The word when all bees of the team have come to the region's end and nothing is amiss.
    #[inline(always)]
    fn clean_end(&self) -> Word {
        let bees = u64::from(self.team - 1);
        // `left` wraps off the top.
        Word(self.base.0.0.wrapping_add(bees * Word::LEFT).wrapping_add(self.passed * u64::from(self.team)))
    }

    /// What a member waiting for the next barrier makes of the word; None: wait on.
    #[inline(always)]
    fn at_barrier(&self, word: Word) -> Option<Result<(), Broken>> {
        if word.has(Word::POISONED) {
            Some(Err(Broken::Poisoned))
        } else if word.arrivals() >= self.goal() {
            Some(Ok(()))
        } else if word.left() != self.base.0.left() || word.has(Word::QUEEN_ASLEEP) {
            // Somebody's body has returned, and the barrier is not complete: it will never be.
            Some(Err(Broken::Deserted))
        } else {
            None
        }
    }

    /// What the queen, past her own part, makes of the word; None: wait on.
    #[inline(always)]
    fn at_end(&self, word: Word) -> Option<End> {
        let clean = self.clean_end();
        if word == clean {
            Some(End::Clean)
        } else if word.left() == clean.left() {
            // D may still be up: who has yet to take it down is late, and the next region can bear it.
            Some(if word.has(Word::POISONED) { End::Poisoned } else { End::Clean })
        } else if word.arrivals() > clean.arrivals() && !word.has(Word::POISONED) {
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

/// How the queen's wait at the end of a region went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// All bees have left.
    Clean,
    /// All bees have left, and a member panicked.
    Poisoned,
    /// A bee waits at a barrier that the queen's body did not come to. The region is not over.
    Deserter,
}

/// A meeting point. Which cache line it lies in is its owner's choice: see `Signal::near`.
pub(crate) struct Muster {
    word: AtomicU64,
}

impl Muster {
    pub(crate) fn new() -> Self {
        Self { word: AtomicU64::new(0) }
    }

    /// Comes to the next barrier and waits there for the whole team. `slots` are all members', `own` the caller's.
    #[inline]
    pub(crate) fn meet<'s>(
        &self,
        account: &Account,
        own: &Slot,
        slots: impl Iterator<Item = &'s Slot>,
        policy: &WaitPolicy,
    ) -> Result<(), Broken> {
        // AcqRel: pairs with itself, and with the Acquire in `await_barrier`; everything before any member's arrival
        // happens before everything after the barrier, on every member.
        let before = Word(self.word.fetch_add(Word::ARRIVAL, Ordering::AcqRel));
        if before.has(Word::POISONED) {
            return Err(Broken::Poisoned);
        }
        if before.arrivals() + 1 == account.goal() {
            if before.has(Word::DOZING) {
                self.wake_dozers(slots);
            }
            return Ok(());
        }
        self.await_barrier(account, own, policy)
    }

    #[inline]
    fn await_barrier(&self, account: &Account, own: &Slot, policy: &WaitPolicy) -> Result<(), Broken> {
        let mut patience = policy.patience();
        loop {
            // Acquire: pairs with the AcqRel of each arrival and the Release in `poison`.
            let word = Word(self.word.load(Ordering::Acquire));
            if let Some(met) = account.at_barrier(word) {
                return met;
            }
            if !patience.poll_again() {
                self.doze(account, own);
                patience = policy.patience();
            }
        }
    }

    /// Sleeps until somebody changes the word in a way that may concern a member at a barrier.
    #[cold]
    fn doze(&self, account: &Account, own: &Slot) {
        // Relaxed: published by the Release below.
        own.dozing.store(true, Ordering::Relaxed);
        // Release: pairs with the Acquire in `wake_dozers`, so that whoever sees D sees `dozing`. Failure is Relaxed: the
        // caller looks again, with Acquire.
        let announced = self.word.fetch_update(Ordering::Release, Ordering::Relaxed, |word| {
            account.at_barrier(Word(word)).is_none().then_some(word | Word::DOZING)
        });
        // Relaxed: who turns `dozing` off decides only who owes the post, and the semaphore orders the rest.
        if announced.is_err() && own.dozing.swap(false, Ordering::Relaxed) {
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

    /// A member's panic: lets everybody at a barrier go, now and until the region is over.
    #[cold]
    pub(crate) fn poison<'s>(&self, slots: impl Iterator<Item = &'s Slot>) {
        // Release: pairs with the Acquire loads of the waiting members and of the queen; publishes
        // what the panicking member did before.
        let before = Word(self.word.fetch_or(Word::POISONED, Ordering::Release));
        if before.has(Word::DOZING) {
            self.wake_dozers(slots);
        }
    }

    /// Whether a member of the region that is on has panicked.
    pub(crate) fn is_poisoned(&self) -> bool {
        // Acquire: pairs with the Release in `poison`; what the panicking member did before is visible to who leaves because of it.
        Word(self.word.load(Ordering::Acquire)).has(Word::POISONED)
    }

    /// A bee's arrival at the end of its region. Says whether somebody sleeps whom it may have to wake: see `wake_sleepers`.
    /// Afterwards the bee touches nothing that belongs to the region's caller.
    #[inline(always)]
    pub(crate) fn leave(&self) -> Option<Left> {
        // Release: pairs with the Acquire in `await_end`; what this bee did happens before the region's return.
        let before = Word(self.word.fetch_add(Word::LEFT, Ordering::Release));
        before.has(Word::QUEEN_ASLEEP | Word::DOZING).then_some(Left { before })
    }

    /// Wakes the queen, if this bee was the last to leave, and whoever dozes at a barrier that will not be completed.
    #[cold]
    pub(crate) fn wake_sleepers<'s>(
        &self,
        Left { before }: Left,
        account: &Account,
        queen: &Slot,
        slots: impl Iterator<Item = &'s Slot>,
    ) {
        if before.has(Word::QUEEN_ASLEEP) && before.left().wrapping_add(1) == account.clean_end().left() {
            queen.bed.post();
        }
        if before.has(Word::DOZING) {
            self.wake_dozers(slots);
        }
    }

    /// Whether all bees of the queen's team have left.
    pub(crate) fn has_ended(&self, account: &Account) -> bool {
        // Acquire: as in `await_end`.
        account.at_end(Word(self.word.load(Ordering::Acquire))) == Some(End::Clean)
    }

    /// The queen's wait for the bees of her team, after her own part. `late`: some were asleep when she started them.
    #[inline]
    pub(crate) fn await_end(&self, account: &Account, own: &Slot, policy: &WaitPolicy, late: bool) -> End {
        let mut patience = if late { policy.patience_with_sleepers() } else { policy.patience() };
        loop {
            // Acquire: pairs with the Release in `leave` and in `poison`.
            let word = Word(self.word.load(Ordering::Acquire));
            if let Some(end) = account.at_end(word) {
                return end;
            }
            if !patience.poll_again() {
                self.sleep_till_end(account, own);
                patience = policy.patience();
            }
        }
    }

    #[cold]
    fn sleep_till_end(&self, account: &Account, own: &Slot) {
        // Relaxed: the flag alone is handed over; the queen looks again, with Acquire, when she is back.
        let announced = self.word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |word| {
            account.at_end(Word(word)).is_none().then_some(word | Word::QUEEN_ASLEEP)
        });
        if announced.is_ok() {
            own.doze();
            // Relaxed: no member of the region is left to read it.
            self.word.fetch_and(!Word::QUEEN_ASLEEP, Ordering::Relaxed);
        }
    }

    /// The base of the next region, after one in which the queen held this account and which ended so.
    ///
    /// Call when all have left.
    #[inline(always)]
    pub(crate) fn conclude(&self, account: &Account, end: End) -> Base {
        let clean = account.clean_end();
        // A poisoned region leaves an odd number of arrivals and P; and the count must not grow into the flags.
        if end == End::Clean && clean.arrivals() < Word::DOZING / 2 { Base(clean) } else { self.restart(clean.left()) }
    }

    #[cold]
    fn restart(&self, left: u16) -> Base {
        let word = Word(u64::from(left) * Word::LEFT);
        // Relaxed: no member is left; the next region's start word publishes it.
        self.word.store(word.0, Ordering::Relaxed);
        Base(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(left: u16, flags: u64, arrivals: u64) -> Word {
        Word((u64::from(left) * Word::LEFT) | flags | arrivals)
    }

    fn account(team: u32, passed: u64) -> Account {
        Account { team, base: Base(word(u16::MAX, 0, 10)), passed }
    }

    #[test]
    fn a_barrier_is_complete_at_its_goal_and_stays_so() {
        let account = account(3, 1);
        assert_eq!(account.goal(), 16);
        assert_eq!(account.at_barrier(word(u16::MAX, 0, 15)), None);
        assert_eq!(account.at_barrier(word(u16::MAX, 0, 16)), Some(Ok(())));
        assert_eq!(account.at_barrier(word(0, 0, 17)), Some(Ok(())), "others are past it, even gone");
    }

    #[test]
    fn a_barrier_that_somebody_left_out_is_seen_by_those_who_wait() {
        let account = account(3, 0);
        assert_eq!(account.at_barrier(word(0, 0, 12)), Some(Err(Broken::Deserted)), "a bee has left");
        let queen_gone = word(u16::MAX, Word::QUEEN_ASLEEP, 12);
        assert_eq!(account.at_barrier(queen_gone), Some(Err(Broken::Deserted)));
        assert_eq!(account.at_barrier(word(0, Word::POISONED, 12)), Some(Err(Broken::Poisoned)));
    }

    #[test]
    fn the_count_of_those_who_left_wraps() {
        let account = account(3, 0);
        assert_eq!(account.clean_end(), word(1, 0, 10));
        assert_eq!(account.at_end(word(0, 0, 10)), None);
        assert_eq!(account.at_end(word(1, 0, 10)), Some(End::Clean));
        assert_eq!(account.at_end(word(1, Word::DOZING, 10)), Some(End::Clean), "taken down late");
        assert_eq!(account.at_end(word(1, Word::POISONED, 11)), Some(End::Poisoned));
        assert_eq!(account.at_end(word(0, 0, 11)), Some(End::Deserter));
        assert_eq!(account.at_end(word(0, Word::POISONED, 11)), None, "they are on their way out");
    }

    #[test]
    fn a_poisoned_region_leaves_no_trace_in_the_next() {
        let muster = Muster::new();
        let slots = [Slot::new(0, super::super::slot::State::Awake)];
        muster.poison(slots.iter());
        let account = Account { team: 1, base: Base::first(), passed: 0 };
        assert_eq!(muster.conclude(&account, End::Poisoned), Base::first());
        assert_eq!(muster.word.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn the_count_of_arrivals_starts_anew_before_it_reaches_the_flags() {
        let muster = Muster::new();
        let account = Account { team: 2, base: Base(word(3, 0, Word::DOZING / 2)), passed: 1 };
        assert_eq!(muster.conclude(&account, End::Clean), Base(word(4, 0, 0)));
    }
}
