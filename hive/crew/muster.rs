//! Where the members of a group meet: at the barriers inside a region, and at its end. One atomic word counts both. A team is one group, or several
//! whose heads are groups again: see `lead.rs`.
//!
//! Each arrival is one addition. Nothing is reset between barriers or regions, so an arrival is also the release: the last
//! to arrive brings the count to the goal that the others wait for. And because one word holds both counts, whoever
//! waits at a barrier sees a member that has left without coming to it, and panics instead of waiting for ever.

use std::fmt;

use super::slot::Slot;
use crate::sync::{AtomicU64, Ordering, WaitPolicy, fence};

/// The muster's word.
///
/// ```text
///   63        48  47   46   45  44                           0
///  ┌────────────┬────┬────┬────┬──────────────────────────────┐
///  │    left    │ -  │ H  │ D  │          arrivals            │
///  └────────────┴────┴────┴────┴──────────────────────────────┘
/// ```
///
/// - `left`: bees that have come to the end of their region, over the hive's life, modulo 2^16 (it wraps off the top; a
///   team is smaller than that).
/// - `H`: the head has come to the end of its own part and sleeps; who makes `left` complete posts its semaphore.
/// - `D`: members may doze at a barrier; who lets them go, or leaves, wakes them.
/// - `arrivals`: members that have come to a barrier, counted on from the hive's birth or its last poisoned region.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word(u64);

impl Word {
    const ARRIVAL: u64 = 1;
    const DOZING: u64 = 1 << 45;
    const HEAD_ASLEEP: u64 = 1 << 46;
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
            .field("head_asleep", &self.has(Self::HEAD_ASLEEP))
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
    pub(crate) const fn first() -> Self {
        Self(Word(0))
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
    fn arrivals_passed(&self) -> u64 {
        self.base.0.arrivals() + self.passed * u64::from(self.size)
    }

    /// The arrivals that complete the next barrier.
    fn goal(&self) -> u64 {
        self.arrivals_passed() + u64::from(self.size)
    }

    /// The word when all but the head have come to the region's end and nothing is amiss.
    #[inline(always)]
    fn clean_end(&self) -> Word {
        let bees = u64::from(self.size - 1);
        // `left` wraps off the top.
        Word(self.base.0.0.wrapping_add(bees * Word::LEFT).wrapping_add(self.passed * u64::from(self.size)))
    }

    /// What a member that waits for `arrivals` makes of the word; None: wait on. `poisoned`: whether the region is, asked after the word was read. It goes
    /// before the count: whom it has let go may come again, in a destructor or because it caught what ended the barrier, and is counted again.
    #[inline(always)]
    fn at_barrier(&self, word: Word, arrivals: u64, poisoned: bool) -> Option<Result<(), Broken>> {
        if poisoned {
            Some(Err(Broken::Poisoned))
        } else if word.arrivals() >= arrivals {
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
        } else if word.arrivals() > clean.arrivals() && !poisoned {
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
        Self { word: AtomicU64::new(0) }
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
        if before.arrivals() + 1 == account.goal() {
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
        self.wait_for(account.goal() - 1, account, own, policy, poisoned)
    }

    /// Arrives at the next barrier. The last to do so lets the others go.
    #[inline]
    pub(crate) fn arrive<'s>(&self, account: &Account, slots: impl Iterator<Item = &'s Slot>) -> Word {
        // AcqRel: pairs with itself, and with the Acquire in `wait_for`; everything before any member's arrival
        // happens before everything after the barrier, on every member.
        let before = Word(self.word.fetch_add(Word::ARRIVAL, Ordering::AcqRel));
        // The last but one lets the head go that gathers the others.
        let missing = account.goal().wrapping_sub(before.arrivals() + 1);
        if missing <= u64::from(account.is_gathered) && before.has(Word::DOZING) {
            self.wake_dozers(slots);
        }
        before
    }

    #[inline]
    fn wait_for(
        &self,
        arrivals: u64,
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
    fn doze(&self, arrivals: u64, account: &Account, own: &Slot, poisoned: impl Fn() -> bool) {
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
        if before.has(Word::HEAD_ASLEEP) && before.left().wrapping_add(1) == account.clean_end().left() {
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
        let bees = word.left().wrapping_sub(account.base.0.left());
        u32::from(bees) + u32::from(word.has(Word::HEAD_ASLEEP))
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
        // A poisoned region leaves an odd number of arrivals; and the count must not grow into the flags.
        if end == End::Clean && clean.arrivals() < Word::DOZING / 2 { Base(clean) } else { self.restart(clean.left()) }
    }

    #[cold]
    fn restart(&self, left: u16) -> Base {
        let word = Word(u64::from(left) * Word::LEFT);
        // A swap, because somebody who has left may still be about to take D down. Relaxed: no member is left; the next region's start word publishes it.
        self.word.swap(word.0, Ordering::Relaxed);
        Base(word)
    }

    /// In a forked child: nobody comes to the end of the region any more, and one of those who have has not.
    pub(crate) fn forget_others(&self) {
        // Relaxed, both: the child has one thread.
        let word = self.word.load(Ordering::Relaxed);
        self.word.store(word.wrapping_sub(Word::LEFT), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(left: u16, flags: u64, arrivals: u64) -> Word {
        Word((u64::from(left) * Word::LEFT) | flags | arrivals)
    }

    fn account(size: u32, passed: u64) -> Account {
        Account { size, is_gathered: false, base: Base(word(u16::MAX, 0, 10)), passed }
    }

    #[test]
    fn a_barrier_is_complete_at_its_goal_and_stays_so() {
        let account = account(3, 1);
        assert_eq!(account.goal(), 16);
        assert_eq!(account.at_barrier(word(u16::MAX, 0, 15), 16, false), None);
        assert_eq!(account.at_barrier(word(u16::MAX, 0, 16), 16, false), Some(Ok(())));
        assert_eq!(account.at_barrier(word(0, 0, 17), 16, false), Some(Ok(())), "others are past it, even gone");
    }

    #[test]
    fn a_barrier_that_somebody_left_out_is_seen_by_those_who_wait() {
        let account = account(3, 0);
        assert_eq!(account.at_barrier(word(0, 0, 12), 13, false), Some(Err(Broken::Deserted)), "a bee has left");
        let head_gone = word(u16::MAX, Word::HEAD_ASLEEP, 12);
        assert_eq!(account.at_barrier(head_gone, 13, false), Some(Err(Broken::Deserted)));
        assert_eq!(account.at_barrier(word(0, 0, 12), 13, true), Some(Err(Broken::Poisoned)));
    }

    #[test]
    fn the_count_of_those_who_left_wraps() {
        let account = account(3, 0);
        assert_eq!(account.clean_end(), word(1, 0, 10));
        assert_eq!(account.at_end(word(0, 0, 10), false), None);
        assert_eq!(account.at_end(word(1, 0, 10), false), Some(End::Clean));
        assert_eq!(account.at_end(word(1, Word::DOZING, 10), false), Some(End::Clean), "taken down late");
        assert_eq!(account.at_end(word(1, 0, 11), true), Some(End::Poisoned));
        assert_eq!(account.at_end(word(0, 0, 11), false), Some(End::Deserter));
        assert_eq!(account.at_end(word(0, 0, 11), true), None, "they are on their way out");
    }

    #[test]
    fn a_poisoned_region_leaves_no_trace_in_the_next() {
        let muster = Muster::new();
        // Somebody has come to a barrier, and left it because of a panic.
        let account = Account { size: 2, is_gathered: false, base: Base::first(), passed: 0 };
        muster.arrive(&account, std::iter::empty());
        let _ = muster.leave();
        assert_eq!(muster.conclude(&account, End::Poisoned), Base(word(1, 0, 0)));
        assert_eq!(muster.word.load(Ordering::Relaxed), word(1, 0, 0).0);
    }

    #[test]
    fn the_count_of_arrivals_starts_anew_before_it_reaches_the_flags() {
        let muster = Muster::new();
        let account = Account { size: 2, is_gathered: false, base: Base(word(3, 0, Word::DOZING / 2)), passed: 1 };
        assert_eq!(muster.conclude(&account, End::Clean), Base(word(4, 0, 0)));
    }
}
