//! What the head of groups does for those in them: passes a region's start on, gathers them at its barriers, waits for them at its end.
//!
//! The queen heads the widest group. A bee that heads any listens in a wider one, and there it stands for all that it heads: it arrives at a barrier when they
//! have, and leaves when they have left. At a barrier the groups' own counts do the release: the head arrives last, when it has been let go itself.

use std::array;
use std::ops::Range;

use crate::protocol::Team;
use crate::protocol::region::barrier::{Barrier, BarrierError, BaseCount, RegionEnd, View};
use crate::protocol::region::groups::{Group, GroupBases};
use crate::protocol::region::region_context::RegionContext;
use crate::protocol::region::shape::{MAX_LEVELS, Shape};
use crate::protocol::region::start_line::StartLine;
use crate::sync::{Activity, within_region};

/// The groups that a bee heads, the widest first, and their books. The bee alone has it; of the queen, who holds the turn.
pub(crate) struct Tree {
    groups: Range<u32>,
    /// In the order of the groups. Not on the heap, where their neighbours might be what others read: they are written in every region.
    bases: [GroupBases; MAX_LEVELS],
}

impl Tree {
    pub(crate) fn new(shape: &Shape, bee: u32) -> Self {
        let groups = shape.led_groups(bee);
        Self { bases: array::from_fn(|_| GroupBases::new()), groups }
    }

    /// Whether it is of no group.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    #[inline(always)]
    pub(crate) fn base_mut(&mut self, group_id: u32, bees: u32) -> &mut BaseCount {
        self.bases[(group_id - self.groups.start) as usize].base_mut(bees)
    }

    /// The groups in which there are others of a team of `team`, the widest first, as they are when its region begins.
    pub(crate) fn children<'c>(&mut self, team: &'c Team, bees: u32) -> Children<'c> {
        let mut children = Children::NONE;
        let groups = self.groups.clone();
        let parts = groups.map(|group_id| GroupPart {
            is_collected: true,
            ..self.leader_part(team, group_id, team.group(group_id).start_line(), bees)
        });
        parts.filter(|part| part.bees > 1).zip(&mut children.0).for_each(|(part, entry)| *entry = Some(part));
        children
    }

    /// What one of the groups, that nobody gathers, has of such a team. `start_line` is the group's.
    #[inline(always)]
    pub(crate) fn leader_part<'c>(
        &mut self,
        team: &'c Team,
        group_id: u32,
        start_line: &'c StartLine,
        bees: u32,
    ) -> GroupPart<'c> {
        let part_bees = team.fixed.shape.count_within(group_id, bees);
        GroupPart {
            group_id,
            bees: part_bees,
            is_collected: false,
            base: *self.base_mut(group_id, part_bees),
            barrier: team.group(group_id).barrier(start_line, part_bees),
        }
    }
}

/// A group's part of a team.
#[derive(Clone, Copy)]
pub(crate) struct GroupPart<'c> {
    pub(crate) group_id: u32,
    pub(crate) bees: u32,
    /// Whether its head stands for it in a wider one.
    pub(crate) is_collected: bool,
    pub(crate) base: BaseCount,
    pub(crate) barrier: &'c Barrier,
}

impl GroupPart<'_> {
    #[inline(always)]
    pub(crate) fn view(&self, barriers_passed: u64) -> View {
        View { bees: self.bees, is_collected: self.is_collected, base: self.base, barriers_passed }
    }
}

/// The groups of one region that a bee heads, the widest first.
#[derive(Clone, Copy)]
pub(crate) struct Children<'c>([Option<GroupPart<'c>>; MAX_LEVELS]);

impl<'c> Children<'c> {
    pub(crate) const NONE: Self = Self([None; MAX_LEVELS]);

    /// The widest of them, taken out: the queen's, that nobody gathers.
    pub(crate) fn take_widest(&mut self) -> Option<GroupPart<'c>> {
        self.0.rotate_left(1);
        self.0[MAX_LEVELS - 1].take().map(|widest| GroupPart { is_collected: false, ..widest })
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &GroupPart<'c>> + Clone {
        self.0.iter().flatten()
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.0[0].is_none()
    }
}

/// The part of `member` has ended, and others of its team wait at this barrier.
#[cold]
fn panic_on_mismatch(region: &RegionContext<'_>, barrier: u64) -> ! {
    panic!(
        "the part of member {} of {} has ended, and another member waits at barrier number {barrier}, which it will not come to; all members must call \
         barrier() equally often, counting the collective operations, each of which is one",
        region.id(),
        region.bees(),
    )
}

impl Team {
    /// The part of a team of `team` that is in a bee's own group.
    pub(crate) fn worker_part<'c>(
        &'c self,
        group_id: u32,
        group: &'c Group,
        bees: u32,
        base: BaseCount,
    ) -> GroupPart<'c> {
        let shape = &self.fixed.shape;
        let part_bees = shape.count_within(group_id, bees);
        let leader = shape.bees_of(group_id)[0];
        // The queen gathers all that she heads but the widest in which there are others.
        let is_collected =
            leader > 0 || shape.led_groups(0).find(|&wide| shape.count_within(wide, bees) > 1) != Some(group_id);
        GroupPart {
            group_id,
            bees: part_bees,
            is_collected,
            base,
            barrier: group.barrier(group.start_line(), part_bees),
        }
    }

    /// Brings `member` and all that it heads to their next barrier and over it.
    #[inline]
    pub(crate) fn wait_at_barrier(&self, region: &RegionContext<'_>) -> Result<(), BarrierError> {
        let (id, barriers_passed) = (region.id(), region.barriers_passed());
        self.set_activity(id, || Activity::AtBarrier(barriers_passed as u32 + 1));
        let outcome =
            if region.children().is_empty() { self.wait_in_own_group(region) } else { self.wait_with_children(region) };
        self.set_activity(id, || Activity::InRegion(barriers_passed as u32 + 1));
        outcome
    }

    #[inline(always)]
    fn wait_in_own_group(&self, region: &RegionContext<'_>) -> Result<(), BarrierError> {
        let (own_group, view) = (region.own_group(), region.view());
        let is_poisoned = || self.poison.is_set_for(region.epoch());
        own_group.barrier.wait(
            &view,
            self.slot(region.id()),
            self.group_slots(own_group.group_id),
            self.policy(),
            is_poisoned,
        )
    }

    fn wait_with_children(&self, region: &RegionContext<'_>) -> Result<(), BarrierError> {
        let is_poisoned = || self.poison.is_set_for(region.epoch());
        for part in region.children().iter().rev() {
            let view = part.view(region.barriers_passed());
            part.barrier.collect(&view, self.slot(region.id()), self.policy(), is_poisoned)?;
        }
        self.wait_in_own_group(region)?;
        for part in region.children().iter() {
            let view = part.view(region.barriers_passed());
            part.barrier.arrive(&view, self.group_slots(part.group_id));
        }
        Ok(())
    }

    /// Waits until all others of `part`, a group that `member` heads, have left it. `some_asleep`: some were asleep when they were started.
    #[inline]
    pub(crate) fn wait_for_group(
        &self,
        region: &RegionContext<'_>,
        part: &GroupPart<'_>,
        some_asleep: bool,
    ) -> RegionEnd {
        let view = part.view(region.barriers_passed());
        let wait = || {
            let is_poisoned = || self.poison.is_set_for(region.epoch());
            part.barrier.wait_for_end(&view, self.slot(region.id()), self.policy(), some_asleep, is_poisoned)
        };
        match wait() {
            RegionEnd::Mismatch => {
                self.policy().abort_if_forked();
                // Before the panic hook runs: the program's code might wait for those who wait at the barrier.
                self.poison_region(region.epoch());
                self.run_catching_panic(region, || {
                    within_region(region, || panic_on_mismatch(region, view.barriers_passed + 1))
                });
                wait()
            }
            end => end,
        }
    }

    /// Waits for all in the groups that `member`, a bee, heads, and closes their books. `some_asleep`: some were asleep when they were started.
    pub(crate) fn finish_children(&self, tree: &mut Tree, region: &RegionContext<'_>, some_asleep: bool) {
        for part in region.children().iter().rev() {
            let end = self.wait_for_group(region, part, some_asleep);
            self.finish_group(tree, region, part, end);
        }
    }
}
