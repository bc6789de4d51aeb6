//! What a member knows of the region that it runs a part of.

use std::cell::Cell;
use std::fmt;

use super::Crew;
use super::lead::{Led, Section};
use super::muster::{Account, Base, Broken};
use super::panics::{self, Undone};
use super::signal::MAX_TEAM;
use crate::sync::{Event, is_unwinding, one_poll_at_a_time};

/// Looks at a condition between two looks at all else.
const LOOKS: u32 = 8;

#[inline(always)]
fn holds_or_settles(condition: &mut impl FnMut() -> bool) -> bool {
    let holds = condition();
    if !holds {
        one_poll_at_a_time();
    }
    holds
}

/// One member of one region's team.
pub(crate) struct Member<'c> {
    crew: &'c Crew,
    id: u32,
    team: u32,
    /// The epoch of its region; 0: its team is its caller alone.
    region: u64,
    /// The group that it meets others in.
    own: Section<'c>,
    /// Those that it heads.
    led: &'c Led<'c>,
    /// The barriers passed so far.
    passed: Cell<u64>,
    /// Whether it has left a barrier without passing it. Others may have passed that one, and read what it has shown there.
    is_astray: Cell<bool>,
    /// The size that its body wants the hive to have afterwards. 0: none. And, of a team of one, `GONE_WITHOUT`: all that is
    /// to be looked at when that has ended is in this word.
    wish: Cell<u32>,
}

/// A team of one has gone on without what it could not have.
const GONE_WITHOUT: u32 = 1 << 31;
const _: () = assert!(MAX_TEAM < GONE_WITHOUT);

impl<'c> Member<'c> {
    #[inline(always)]
    pub(super) fn new(crew: &'c Crew, id: u32, team: u32, region: u64, own: Section<'c>) -> Self {
        let (passed, is_astray, wish) = (Cell::new(0), Cell::new(false), Cell::new(0));
        Self { crew, id, team, region, own, led: &Led::NONE, passed, is_astray, wish }
    }

    /// The same at the head of these groups.
    pub(super) fn leading(self, led: &'c Led<'c>) -> Self {
        Self { led, ..self }
    }

    /// The member of a team that is only its caller: it starts and meets nobody.
    pub(crate) fn alone(crew: &'c Crew) -> Self {
        let own = Section { group: 0, size: 1, is_gathered: false, base: Base::first(), muster: &crew.settled.nowhere };
        Self::new(crew, 0, 1, 0, own)
    }

    pub(crate) fn crew(&self) -> &'c Crew {
        self.crew
    }

    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    pub(crate) fn team(&self) -> u32 {
        self.team
    }

    /// The epoch of its region: no two regions of a crew have the same, but those of a team of one, which have 0.
    #[inline(always)]
    pub(crate) fn region(&self) -> u64 {
        self.region
    }

    /// A number for its region that those of other regions do not have, be it of other crews.
    #[inline(always)]
    pub(crate) fn region_key(&self) -> u64 {
        // Odd factors far from one another and from small numbers: that two regions have the same, or two phases, is a chance of 2^-64.
        let crew = self.crew.settled.number.wrapping_mul(0xd6e8_feb8_6659_fd93);
        self.region.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(crew)
    }

    /// A number for the phase of its region that it is in, from one barrier to the next. The other members have the same there, and no other phase has it, of whatever region.
    #[inline(always)]
    pub(crate) fn phase_key(&self) -> u64 {
        self.region_key().wrapping_add(self.passed())
    }

    /// The barriers that it has passed in its region.
    #[inline(always)]
    pub(crate) fn passed(&self) -> u64 {
        self.passed.get()
    }

    /// Whether it has left a barrier of its region without passing it. It will pass none after that: the region is poisoned.
    #[inline(always)]
    pub(super) fn is_astray(&self) -> bool {
        self.is_astray.get()
    }

    /// Notes a size that the hive is to have after this region, whose team is its caller alone.
    pub(crate) fn make_wish(&self, bees: u32) {
        self.wish.set(self.wish.get() & GONE_WITHOUT | bees);
    }

    /// The wish noted last.
    pub(crate) fn wish(&self) -> Option<u32> {
        let bees = self.wish.get() & !GONE_WITHOUT;
        (bees > 0).then_some(bees)
    }

    /// Whether it has gone on without what it could not have: asked of a team of one, at its end.
    pub(crate) fn has_gone_without(&self) -> bool {
        self.wish.get() & GONE_WITHOUT > 0
    }

    /// Whether there is neither a wish nor anything amiss.
    #[inline(always)]
    pub(crate) fn has_ended_plainly(&self) -> bool {
        self.wish.get() == 0
    }

    #[inline(always)]
    pub(super) fn own(&self) -> &Section<'c> {
        &self.own
    }

    #[inline(always)]
    pub(super) fn led(&self) -> &Led<'c> {
        self.led
    }

    #[inline(always)]
    pub(super) fn account(&self) -> Account {
        self.own.account(self.passed())
    }

    /// Lets the others go from the barriers of its region by unwinding, as a panic of this member would.
    #[cold]
    pub(crate) fn poison(&self) {
        if self.team > 1 {
            self.crew.poison(self.region);
        }
    }

    /// In a forked child, which has none of the other members: the calling one will wait for them in vain at the end of its region, also for those who have come to it already. So a child that
    /// comes back there does not depend on how far they were.
    pub(crate) fn forget_others(&self) {
        if self.team > 1 {
            [&self.own].into_iter().chain(self.led.iter()).for_each(|section| section.muster.forget_others());
        }
    }

    /// Waits for the whole team.
    ///
    /// # Panics
    /// If a member's body has returned without coming to this barrier. Unwinds, as a part of another member's panic, if that has
    /// panicked. Where it [may not unwind](Self::may_unwind), returns instead.
    #[inline]
    #[track_caller]
    pub(crate) fn barrier(&self) {
        if self.team > 1
            && let Err(broken) = self.crew.meet(self)
        {
            return self.leave_barrier(broken);
        }
        self.passed.set(self.passed.get() + 1);
    }

    /// Waits for `condition`, which another member of the team brings about inside its part.
    ///
    /// # Panics
    /// Unwinds, as a part of another member's panic, if that has panicked. Where it [may not unwind](Self::may_unwind), returns instead.
    #[inline]
    pub(crate) fn wait_until(&self, mut condition: impl FnMut() -> bool) {
        if condition() {
            return;
        }
        self.log(|| Event::Wait);
        let come = self.poll_for(condition);
        self.log(|| Event::Come);
        if let Err(broken) = come {
            self.leave_barrier(broken);
        }
    }

    /// A team of one logs nothing: the log of its number is the queen's, who has the turn, and may be at it.
    fn log(&self, event: impl FnOnce() -> Event) {
        if self.team > 1 {
            self.crew.log(self.id, event);
        }
    }

    #[inline]
    fn poll_for(&self, mut condition: impl FnMut() -> bool) -> Result<(), Broken> {
        let mut patience = self.crew.policy().patience();
        // Seldom more than the condition: what it waits for may be a handing over from member to member.
        while !(0..LOOKS).any(|_| holds_or_settles(&mut condition)) {
            if self.crew.poison.is_in(self.region) {
                return Err(Broken::Poisoned);
            }
            if !patience.poll_again() {
                // Nobody knows whom to wake, so nobody sleeps.
                self.crew.policy().give_way();
                patience = self.crew.policy().patience();
            }
        }
        Ok(())
    }

    #[cold]
    #[track_caller]
    fn leave_barrier(&self, broken: Broken) {
        self.crew.policy().assert_at_home();
        if broken == Broken::Deserted {
            // At once: the body may catch the panic below, and the counts are uneven from here on.
            self.crew.poison(self.region);
        }
        self.is_astray.set(true);
        if !self.may_unwind() {
            return self.crew.panics.note(self.id, Undone::Meeting);
        }
        match broken {
            Broken::Poisoned => panics::release(self.region_key()),
            Broken::Deserted => panic!(
                "member {} of {} waits at its barrier number {}, which another member will not come to: its part of the \
                 region has ended; all members must call barrier() equally often, counting the collective operations, each of which is one",
                self.id,
                self.team,
                self.passed.get() + 1,
            ),
        }
    }

    /// Whether its part may be unwound from where it is. Not where a destructor runs because the part is being unwound already: two panics at once end the process.
    ///
    /// The queen's may in a region that was begun by such a destructor, of some other unwinding; and there a destructor that runs because the part is being unwound as well
    /// cannot be told from the part itself.
    pub(super) fn may_unwind(&self) -> bool {
        let has_begun_so = || self.id == 0 && self.crew.panics.has_begun_amid_unwinding(self.region);
        !is_unwinding() || has_begun_so()
    }

    /// Complains by a panic. Where it [may not unwind](Self::may_unwind), sees instead that its region does not end as if nothing had been, and returns.
    #[cold]
    #[track_caller]
    pub(crate) fn complain(&self, complaint: fmt::Arguments<'_>) {
        if self.may_unwind() {
            panic!("{complaint}");
        }
        if self.team == 1 {
            // Nobody waits for it.
            return self.wish.set(self.wish.get() | GONE_WITHOUT);
        }
        self.is_astray.set(true);
        self.crew.panics.note(self.id, Undone::Meeting);
        self.poison();
    }
}
