//! What a bee knows of the region that it runs a part of.

use std::cell::Cell;
use std::fmt;

use crate::protocol::Team;
use crate::protocol::region::barrier::{BarrierError, BaseCount, View};
use crate::protocol::region::panics;
use crate::protocol::region::panics::Unfinished;
use crate::protocol::region::start_line::MAX_BEES;
use crate::protocol::region::tree::{Children, GroupPart};
use crate::sync::{Event, is_unwinding, serialize_poll};

/// Looks at a condition between two looks at all else.
const POLLS_BETWEEN_CHECKS: u32 = 8;

#[inline(always)]
fn poll_condition(condition: &mut impl FnMut() -> bool) -> bool {
    let holds = condition();
    if !holds {
        serialize_poll();
    }
    holds
}

/// One bee of one region's team.
pub(crate) struct RegionContext<'c> {
    team: &'c Team,
    id: u32,
    bees: u32,
    /// The epoch of its region; 0: its team is its caller alone.
    epoch: u64,
    /// The group that it meets others in.
    own_group: GroupPart<'c>,
    /// Those that it heads.
    children: &'c Children<'c>,
    /// The barriers passed so far.
    barriers_passed: Cell<u64>,
    /// Whether it has left a barrier without passing it. Others may have passed that one, and read what it has shown there.
    has_left_barrier: Cell<bool>,
    /// The size that its body wants the hive to have afterwards. 0: none. And, of a team of one, `SUPPRESSED_PANIC`: all that is
    /// to be looked at when that has ended is in this word.
    pending_resize: Cell<u32>,
}

/// A team of one has gone on after a call that should have panicked.
const SUPPRESSED_PANIC: u32 = 1 << 31;
const _: () = assert!(MAX_BEES < SUPPRESSED_PANIC);

impl<'c> RegionContext<'c> {
    #[inline(always)]
    pub(crate) fn new(team: &'c Team, id: u32, bees: u32, epoch: u64, own_group: GroupPart<'c>) -> Self {
        let (barriers_passed, has_left_barrier, pending_resize) = (Cell::new(0), Cell::new(false), Cell::new(0));
        Self {
            team,
            id,
            bees,
            epoch,
            own_group,
            children: &Children::NONE,
            barriers_passed,
            has_left_barrier,
            pending_resize,
        }
    }

    /// The same at the head of these groups.
    pub(crate) fn with_children(self, children: &'c Children<'c>) -> Self {
        Self { children, ..self }
    }

    /// The bee of a team that is only its caller: it starts and meets nobody.
    pub(crate) fn alone(team: &'c Team) -> Self {
        let own_group = GroupPart {
            group_id: 0,
            bees: 1,
            is_collected: false,
            base: BaseCount::first(),
            barrier: &team.fixed.no_barrier,
        };
        Self::new(team, 0, 1, 0, own_group)
    }

    pub(crate) fn team(&self) -> &'c Team {
        self.team
    }

    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    pub(crate) fn bees(&self) -> u32 {
        self.bees
    }

    /// The epoch of its region: no two regions of a team have the same, but those of a team of one, which have 0.
    #[inline(always)]
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// A number for its region that those of other regions do not have, be it of other teams.
    #[inline(always)]
    pub(crate) fn region_key(&self) -> u64 {
        // Odd factors far from one another and from small numbers: that two regions have the same, or two phases, is a chance of 2^-64.
        let team_key = self.team.fixed.unique_number.wrapping_mul(0xd6e8_feb8_6659_fd93);
        self.epoch.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(team_key)
    }

    /// A number for the phase of its region that it is in, from one barrier to the next. The other bees have the same there, and no other phase has it, of whatever region.
    #[inline(always)]
    pub(crate) fn phase_key(&self) -> u64 {
        self.region_key().wrapping_add(self.barriers_passed())
    }

    /// The barriers that it has passed in its region.
    #[inline(always)]
    pub(crate) fn barriers_passed(&self) -> u64 {
        self.barriers_passed.get()
    }

    /// Whether it has left a barrier of its region without passing it. It will pass none after that: the region is poisoned.
    #[inline(always)]
    pub(crate) fn has_left_barrier(&self) -> bool {
        self.has_left_barrier.get()
    }

    /// Notes a size that the hive is to have after this region, whose team is its caller alone.
    pub(crate) fn set_pending_resize(&self, bees: u32) {
        self.pending_resize.set(self.pending_resize.get() & SUPPRESSED_PANIC | bees);
    }

    /// The wish noted last.
    pub(crate) fn pending_resize(&self) -> Option<u32> {
        let bees = self.pending_resize.get() & !SUPPRESSED_PANIC;
        (bees > 0).then_some(bees)
    }

    /// Whether it has gone on after a call that should have panicked: asked of a team of one, at its end.
    pub(crate) fn has_suppressed_panic(&self) -> bool {
        self.pending_resize.get() & SUPPRESSED_PANIC > 0
    }

    /// Whether there is neither a wish nor anything amiss.
    #[inline(always)]
    pub(crate) fn has_nothing_pending(&self) -> bool {
        self.pending_resize.get() == 0
    }

    #[inline(always)]
    pub(crate) fn own_group(&self) -> &GroupPart<'c> {
        &self.own_group
    }

    #[inline(always)]
    pub(crate) fn children(&self) -> &Children<'c> {
        self.children
    }

    #[inline(always)]
    pub(crate) fn view(&self) -> View {
        self.own_group.view(self.barriers_passed())
    }

    /// Lets the others go from the barriers of its region by unwinding, as a panic of this bee would.
    #[cold]
    pub(crate) fn poison(&self) {
        if self.bees > 1 {
            self.team.poison_region(self.epoch);
        }
    }

    /// In a forked child, which has none of the other bees: the calling one will wait for them in vain at the end of its region, also for those who have come to it already. So a child that
    /// comes back there does not depend on how far they were.
    pub(crate) fn forget_others(&self) {
        if self.bees > 1 {
            [&self.own_group].into_iter().chain(self.children.iter()).for_each(|part| part.barrier.prevent_end());
        }
    }

    /// Waits for the whole team.
    ///
    /// # Panics
    /// If a bee's body has returned without coming to this barrier. Unwinds, as a part of another bee's panic, if that has
    /// panicked. Where it [may not unwind](Self::may_unwind), returns instead.
    #[inline]
    #[track_caller]
    pub(crate) fn barrier(&self) {
        if self.bees > 1
            && let Err(error) = self.team.wait_at_barrier(self)
        {
            return self.leave_broken_barrier(error);
        }
        self.barriers_passed.set(self.barriers_passed.get() + 1);
    }

    /// Waits for `condition`, which another bee of the team brings about inside its part.
    ///
    /// # Panics
    /// Unwinds, as a part of another bee's panic, if that has panicked. Where it [may not unwind](Self::may_unwind), returns instead.
    #[inline]
    pub(crate) fn wait_until(&self, mut condition: impl FnMut() -> bool) {
        if condition() {
            return;
        }
        self.log(|| Event::WaitBegin);
        let outcome = self.poll_until(condition);
        self.log(|| Event::WaitEnd);
        if let Err(error) = outcome {
            self.leave_broken_barrier(error);
        }
    }

    /// A team of one logs nothing: the log of its number is the queen's, who has the turn, and may be at it.
    fn log(&self, event: impl FnOnce() -> Event) {
        if self.bees > 1 {
            self.team.log(self.id, event);
        }
    }

    #[inline]
    fn poll_until(&self, mut condition: impl FnMut() -> bool) -> Result<(), BarrierError> {
        let mut spinner = self.team.policy().spinner();
        // Seldom more than the condition: what it waits for may be a handing over from bee to bee.
        while !(0..POLLS_BETWEEN_CHECKS).any(|_| poll_condition(&mut condition)) {
            if self.team.poison.is_set_for(self.epoch) {
                return Err(BarrierError::Poisoned);
            }
            if !spinner.spin_once() {
                // Nobody knows whom to wake, so nobody sleeps.
                self.team.policy().yield_core();
                spinner = self.team.policy().spinner();
            }
        }
        Ok(())
    }

    #[cold]
    #[track_caller]
    fn leave_broken_barrier(&self, error: BarrierError) {
        self.team.policy().abort_if_forked();
        if error == BarrierError::Mismatch {
            // At once: the body may catch the panic below, and the counts are uneven from here on.
            self.team.poison_region(self.epoch);
        }
        self.has_left_barrier.set(true);
        if !self.may_unwind() {
            return self.team.panics.record_unfinished(self.id, Unfinished::Barrier);
        }
        match error {
            BarrierError::Poisoned => panics::unwind_out_of_region(self.region_key()),
            BarrierError::Mismatch => panic!(
                "member {} of {} waits at its barrier number {}, which another member will not come to: its part of the \
                 region has ended; all members must call barrier() equally often, counting the collective operations, each of which is one",
                self.id,
                self.bees,
                self.barriers_passed.get() + 1,
            ),
        }
    }

    /// Whether its part may be unwound from where it is. Not where a destructor runs because the part is being unwound already: two panics at once end the process.
    ///
    /// The queen's may in a region that was begun by such a destructor, of some other unwinding; and there a destructor that runs because the part is being unwound as well
    /// cannot be told from the part itself.
    pub(crate) fn may_unwind(&self) -> bool {
        let was_begun_while_unwinding = || self.id == 0 && self.team.panics.was_begun_while_unwinding(self.epoch);
        !is_unwinding() || was_begun_while_unwinding()
    }

    /// Complains by a panic. Where it [may not unwind](Self::may_unwind), sees instead that its region does not end as if nothing had been, and returns.
    #[cold]
    #[track_caller]
    pub(crate) fn panic_or_poison(&self, message: fmt::Arguments<'_>) {
        if self.may_unwind() {
            panic!("{message}");
        }
        if self.bees == 1 {
            // Nobody waits for it.
            return self.pending_resize.set(self.pending_resize.get() | SUPPRESSED_PANIC);
        }
        self.has_left_barrier.set(true);
        self.team.panics.record_unfinished(self.id, Unfinished::Barrier);
        self.poison();
    }
}
