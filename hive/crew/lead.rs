//! What the head of groups does for those in them: passes a region's start on, gathers them at its barriers, waits for them at its end.
//!
//! The queen heads the widest group. A bee that heads any listens in a wider one, and there it stands for all that it heads: it arrives at a barrier when they
//! have, and leaves when they have left. At a barrier the groups' own counts do the release: the head arrives last, when it has been let go itself.

use std::array;
use std::ops::Range;

use super::group::{Group, Ledger};
use super::muster::{Account, Base, Broken, End, Muster};
use super::shape::{LEVELS, Shape};
use super::signal::Signal;
use super::{Crew, Member};
use crate::sync::{Activity, within_region};

/// The groups that a member heads, the widest first, and their books. The member alone has it; of the queen, who holds the turn.
pub(crate) struct Lead {
    groups: Range<u32>,
    /// In the order of the groups. Not on the heap, where their neighbours might be what others read: they are written in every region.
    ledgers: [Ledger; LEVELS],
}

impl Lead {
    pub(super) fn new(shape: &Shape, member: u32) -> Self {
        let groups = shape.heads(member);
        Self { ledgers: array::from_fn(|_| Ledger::new()), groups }
    }

    /// Whether it is of no group.
    #[inline(always)]
    pub(super) fn is_idle(&self) -> bool {
        self.groups.is_empty()
    }

    #[inline(always)]
    pub(super) fn base(&mut self, group: u32, size: u32) -> &mut Base {
        self.ledgers[(group - self.groups.start) as usize].base(size)
    }

    /// The groups in which there are others of a team of `team`, the widest first, as they are when its region begins.
    pub(super) fn open<'c>(&mut self, crew: &'c Crew, team: u32) -> Led<'c> {
        let mut led = Led::NONE;
        let groups = self.groups.clone();
        let parts =
            groups.map(|group| Section { is_gathered: true, ..self.part_of(crew, group, crew.group(group).signal(), team) });
        parts.filter(|part| part.size > 1).zip(&mut led.0).for_each(|(part, place)| *place = Some(part));
        led
    }

    /// What one of the groups, that nobody gathers, has of such a team. `signal` is the group's.
    #[inline(always)]
    pub(super) fn part_of<'c>(&mut self, crew: &'c Crew, group: u32, signal: &'c Signal, team: u32) -> Section<'c> {
        let size = crew.settled.shape.size(group, team);
        Section { group, size, is_gathered: false, base: *self.base(group, size), muster: crew.group(group).muster(signal, size) }
    }
}

/// A group's part of a team.
#[derive(Clone, Copy)]
pub(super) struct Section<'c> {
    pub(super) group: u32,
    pub(super) size: u32,
    /// Whether its head stands for it in a wider one.
    pub(super) is_gathered: bool,
    pub(super) base: Base,
    pub(super) muster: &'c Muster,
}

impl Section<'_> {
    #[inline(always)]
    pub(super) fn account(&self, passed: u64) -> Account {
        Account { size: self.size, is_gathered: self.is_gathered, base: self.base, passed }
    }
}

/// The groups of one region that a member heads, the widest first.
#[derive(Clone, Copy)]
pub(super) struct Led<'c>([Option<Section<'c>>; LEVELS]);

impl<'c> Led<'c> {
    pub(super) const NONE: Self = Self([None; LEVELS]);

    /// The widest of them, taken out: the queen's, that nobody gathers.
    pub(super) fn take_widest(&mut self) -> Option<Section<'c>> {
        self.0.rotate_left(1);
        self.0[LEVELS - 1].take().map(|widest| Section { is_gathered: false, ..widest })
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Section<'c>> + Clone {
        self.0.iter().flatten()
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.0[0].is_none()
    }
}

/// The part of `member` has ended, and others of its team wait at this barrier.
#[cold]
fn complain_of_deserters(member: &Member<'_>, barrier: u64) -> ! {
    panic!(
        "the part of member {} of {} has ended, and another member waits at barrier number {barrier}, which it will not come to; all members must call \
         barrier() equally often, counting the collective operations, each of which is one",
        member.id(),
        member.team(),
    )
}

impl Crew {
    /// The part of a team of `team` that is in a bee's own group.
    pub(super) fn part_of<'c>(&'c self, group: u32, lines: &'c Group, team: u32, base: Base) -> Section<'c> {
        let shape = &self.settled.shape;
        let size = shape.size(group, team);
        let head = shape.members(group)[0];
        // The queen gathers all that she heads but the widest in which there are others.
        let is_gathered = head > 0 || shape.heads(0).find(|&wide| shape.size(wide, team) > 1) != Some(group);
        Section { group, size, is_gathered, base, muster: lines.muster(lines.signal(), size) }
    }

    /// Brings `member` and all that it heads to their next barrier and over it.
    #[inline]
    pub(super) fn meet(&self, member: &Member<'_>) -> Result<(), Broken> {
        let (id, passed) = (member.id(), member.passed());
        self.note(id, || Activity::Barrier(passed as u32 + 1));
        let met = if member.led().is_empty() { self.meet_in_own(member) } else { self.meet_with_led(member) };
        self.note(id, || Activity::Part(passed as u32 + 1));
        met
    }

    #[inline(always)]
    fn meet_in_own(&self, member: &Member<'_>) -> Result<(), Broken> {
        let (own, account) = (member.own(), member.account());
        let poisoned = || self.poison.is_in(member.region());
        own.muster.meet(&account, self.slot(member.id()), self.slots_of(own.group), self.policy(), poisoned)
    }

    fn meet_with_led(&self, member: &Member<'_>) -> Result<(), Broken> {
        let poisoned = || self.poison.is_in(member.region());
        for part in member.led().iter().rev() {
            let account = part.account(member.passed());
            part.muster.gather(&account, self.slot(member.id()), self.policy(), poisoned)?;
        }
        self.meet_in_own(member)?;
        for part in member.led().iter() {
            let account = part.account(member.passed());
            part.muster.arrive(&account, self.slots_of(part.group));
        }
        Ok(())
    }

    /// Waits until all others of `part`, a group that `member` heads, have left it. `late`: some were asleep when they were started.
    #[inline]
    pub(super) fn await_group(&self, member: &Member<'_>, part: &Section<'_>, late: bool) -> End {
        let account = part.account(member.passed());
        let wait = || {
            let poisoned = || self.poison.is_in(member.region());
            part.muster.await_end(&account, self.slot(member.id()), self.policy(), late, poisoned)
        };
        match wait() {
            End::Deserter => {
                self.policy().assert_at_home();
                // Before the panic hook runs: the program's code might wait for those who wait at the barrier.
                self.poison(member.region());
                self.perform(member, || within_region(member, || complain_of_deserters(member, account.passed + 1)));
                wait()
            }
            end => end,
        }
    }

    /// Waits for all in the groups that `member`, a bee, heads, and closes their books. `late`: some were asleep when they were started.
    pub(super) fn close(&self, lead: &mut Lead, member: &Member<'_>, late: bool) {
        for part in member.led().iter().rev() {
            let end = self.await_group(member, part, late);
            self.conclude(lead, member, part, end);
        }
    }
}
