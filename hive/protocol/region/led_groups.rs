//! The groups that a bee leads in a team, and what it does for their bees. It collects their arrivals at each
//! barrier, and waits for their exits at the region's end. (How it passes a region's start on to them is in
//! `queen.rs`.) `shape.rs` says which groups there are and who leads them, `barrier.rs` is the barrier of one group.
//! The protocol is in `docs/shape.md`.
//!
//! The queen leads the widest group, and maybe narrower ones. Each worker has one group, its *own*, in which it is
//! started and arrives. A worker that leads narrower groups represents them in its own group: it arrives there at a
//! barrier when all of them have arrived, and exits when all of them have exited. At a barrier it arrives in the groups
//! that it leads last, after it has been released in its own. Its arrival completes their barriers, so they need no
//! other signal.
//!
//! `queen.rs` and `worker/main_loop.rs` call this at the start and the end of a region, `RegionContext` at each
//! barrier.

use std::ops::Range;

use crate::protocol::Team;
use crate::protocol::region::barrier_word::{BarrierError, BaseCount, RegionEnd};
use crate::protocol::region::group_part::{GroupPart, LedParts};
use crate::protocol::region::groups::MAX_NEAR_BEES;
use crate::protocol::region::region_context::RegionContext;
use crate::protocol::region::shape::{MAX_LEVELS, Shape};
use crate::protocol::region::stand_in::LentBody;
use crate::sync::{Event, EventKind};

/// The groups that a bee leads, with the base counts of their barriers. A worker owns its own; the queen's is the value
/// that the queen lock protects.
pub(crate) struct LedGroups {
    /// The groups that the bee leads, the widest first. Empty if it leads none.
    groups: Range<u32>,
    /// The base counts of each of these groups, in the same order: those of its near barrier and of its far one. Only
    /// the groups' leader has them, and publishes the one that a region needs in its `StartOrder`. Written in every
    /// region, and therefore not on the heap, where they might share a cache line with data that other bees read.
    bases: [[BaseCount; 2]; MAX_LEVELS],
}

impl LedGroups {
    /// The groups that `bee` leads in `shape`, with barriers that have not been used yet.
    pub(crate) fn new(shape: &Shape, bee: u32) -> Self {
        let groups = shape.led_groups(bee);
        Self { bases: [[BaseCount::FIRST; 2]; MAX_LEVELS], groups }
    }

    /// Whether the bee leads no group.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The base count for a region with `bees` bees in the group `group_id`, which the bee leads: that of the barrier
    /// which [`Group::barrier`](crate::protocol::region::groups::Group::barrier) chooses.
    #[inline(always)]
    pub(crate) fn base_mut(&mut self, group_id: u32, bees: u32) -> &mut BaseCount {
        &mut self.bases[(group_id - self.groups.start) as usize][usize::from(bees > MAX_NEAR_BEES)]
    }

    /// The parts that these groups have in a region that is about to begin, whose team has `bees` bees. Groups in which
    /// the leader is the team's only bee are left out. Each part is marked as collected; the queen changes that of her
    /// widest one.
    pub(crate) fn parts<'c>(&mut self, team: &'c Team, bees: u32) -> LedParts<'c> {
        let groups = self.groups.clone();
        let parts = groups.map(|group_id| GroupPart { is_collected: true, ..self.leader_part(team, group_id, bees) });
        LedParts::new(parts.filter(|part| part.bees > 1))
    }

    /// The parts of the queen's groups in a region that is about to begin, whose team has `bees` bees: that of her own
    /// group, the widest, where nobody collects her, and those of the others.
    #[inline]
    pub(crate) fn queens_parts<'c>(&mut self, team: &'c Team, bees: u32) -> (GroupPart<'c>, LedParts<'c>) {
        // Most teams are all in one group. What comes after this would be slow where the processor has slept.
        let root_group = self.leader_part(team, team.fixed.root_group, bees);
        if root_group.bees == bees {
            return (root_group, LedParts::NONE);
        }
        let mut led_parts = self.parts(team, bees);
        let own_group = led_parts.take_widest().unwrap_or_else(|| unreachable!("a team of {bees} in no group"));
        (own_group, led_parts)
    }

    /// The part that one of these groups has in a region whose team has `bees` bees, as a part that is not collected.
    #[inline(always)]
    pub(crate) fn leader_part<'c>(&mut self, team: &'c Team, group_id: u32, bees: u32) -> GroupPart<'c> {
        let group = team.group(group_id);
        let part_bees = team.fixed.shape.count_within(group_id, bees);
        GroupPart {
            group_id,
            bees: part_bees,
            is_collected: false,
            base: *self.base_mut(group_id, part_bees),
            barrier: group.barrier(group.start_line(), part_bees),
        }
    }

    /// Notes where the counts of a group's barrier stand, for the next region, and makes a broken barrier whole. The
    /// bee of `region` leads the group, and all others have left it.
    #[inline(always)]
    pub(crate) fn finish(&mut self, region: &RegionContext<'_>, part: &GroupPart<'_>, end: RegionEnd) {
        let view = part.view(region.barriers_passed());
        *self.base_mut(part.group_id, part.bees) = part.barrier.finish_region(&view, end);
    }
}

/// Panics because the body of the bee of `region` has returned while other bees of its team wait at the barrier with
/// the number `barrier`, counted from 1, at which this bee will not arrive.
#[cold]
fn panic_on_mismatch(region: &RegionContext<'_>, barrier: u64) -> ! {
    panic!(
        "the part of bee {} of {} has ended, and another bee waits at barrier number {barrier}, \
         which it will not come to; all bees must call barrier() equally often, \
         counting the collective operations, each of which is one",
        region.id, region.bees,
    )
}

impl Team {
    /// The part that a worker's own group has in a region whose team has `bees` bees. `base` is from the region's
    /// order.
    pub(crate) fn worker_part(&self, group_id: u32, bees: u32, base: BaseCount) -> GroupPart<'_> {
        let (shape, group) = (&self.fixed.shape, self.group(group_id));
        let part_bees = shape.count_within(group_id, bees);
        let leader = shape.bees_of(group_id)[0];
        // Every leader but the queen represents its groups in a wider one. The queen's groups are collected too, except
        // her own, which is the widest that she leads with another bee of the team in it.
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

    /// Takes the bee of `region`, and the groups that it leads, through their next barrier.
    ///
    /// # Errors
    /// The barrier was not completed, for the reason that the error says.
    #[inline]
    pub(crate) fn wait_at_barrier(&self, region: &RegionContext<'_>) -> Result<(), BarrierError> {
        // The first barrier is number 1.
        let (id, number) = (region.id, region.barriers_passed() as u32 + 1);
        self.set_activity(id, || Event::numbered(EventKind::Barrier, number, 0));
        let outcome = if region.led_parts.is_empty() {
            self.wait_in_own_group(region)
        } else {
            self.wait_with_led_groups(region)
        };
        // The end has the number as well: by it the watchdog says before which barrier a bee is missing.
        self.set_activity(id, || Event { small: number, ..Event::end(EventKind::Barrier) });
        outcome
    }

    /// Arrives in the bee's own group and waits there. For a bee that leads no other group this is the whole barrier.
    #[inline(always)]
    fn wait_in_own_group(&self, region: &RegionContext<'_>) -> Result<(), BarrierError> {
        let (own_group, view) = (&region.own_group, region.view());
        let is_poisoned = || self.poison.is_set_for(region.epoch);
        own_group.barrier.wait(
            &view,
            self.slot(region.id),
            self.group_slots(own_group.group_id),
            self.policy(),
            is_poisoned,
            self.look_after_others(region.id, own_group),
        )
    }

    /// The barrier of a bee that leads groups beside its own.
    fn wait_with_led_groups(&self, region: &RegionContext<'_>) -> Result<(), BarrierError> {
        let is_poisoned = || self.poison.is_set_for(region.epoch);
        // Collect the arrivals in each group that the bee leads. The narrowest is complete first, because in a wider
        // one the other bees arrive only after they have collected groups of their own.
        for part in region.led_parts.iter().rev() {
            let view = part.view(region.barriers_passed());
            let look_after = self.look_after_others(region.id, part);
            part.barrier.collect(&view, self.slot(region.id), self.policy(), is_poisoned, look_after)?;
        }
        // All of them have arrived, so arrive for them in the wider group, and wait until the whole team has arrived.
        self.wait_in_own_group(region)?;
        // Release them, the widest group first, because its bees may have groups to release in turn.
        for part in region.led_parts.iter() {
            let view = part.view(region.barriers_passed());
            part.barrier.arrive(&view, self.group_slots(part.group_id));
        }
        Ok(())
    }

    /// Waits until all other bees of `part`, whose group the bee of `region` leads, have exited. `some_asleep`: some of
    /// them were asleep when they were started. `body`: what to run in the name of those that have not begun; None if
    /// each bee has to run its own part.
    ///
    /// If the wait finds a mismatch, the region is poisoned, the leader's panic is recorded, and the wait goes on. So
    /// the result is never `Mismatch`.
    #[inline]
    pub(crate) fn wait_for_group(
        &self,
        region: &RegionContext<'_>,
        part: &GroupPart<'_>,
        some_asleep: bool,
        mut body: Option<LentBody<'_>>,
    ) -> RegionEnd {
        let view = part.view(region.barriers_passed());
        let mut wait = || {
            let is_poisoned = || self.poison.is_set_for(region.epoch);
            let stand_in = || body.take().map(|body| self.stand_in(region, part, some_asleep, body)).is_some();
            let (slot, look_after) = (self.slot(region.id), self.look_after_others(region.id, part));
            part.barrier.wait_for_end(&view, slot, self.policy(), some_asleep, is_poisoned, (stand_in, look_after))
        };
        match wait() {
            RegionEnd::Mismatch => {
                self.policy().abort_if_forked();
                // Poison the region before the panic, so that the bees that wait at the barrier are released. The panic
                // runs the panic hook, which is the program's code and might wait for one of these bees.
                self.poison_region(region.epoch);
                self.run_catching_panic(region, || {
                    self.fixed.nesting.within_region(region, || panic_on_mismatch(region, view.barriers_passed + 1))
                });
                wait()
            }
            end => end,
        }
    }

    /// At the end of a bee's body: waits until all bees of the groups that it leads beside its own have exited, and
    /// notes the groups' next base counts in `led_groups`. `some_asleep`: some of these bees were asleep when they were
    /// started.
    pub(crate) fn finish_led_groups(
        &self,
        led_groups: &mut LedGroups,
        region: &RegionContext<'_>,
        some_asleep: bool,
        body: Option<LentBody<'_>>,
    ) {
        // The narrowest group ends first, because in a wider one the other bees exit only after groups of their own.
        for part in region.led_parts.iter().rev() {
            let end = self.wait_for_group(region, part, some_asleep, body);
            led_groups.finish(region, part, end);
        }
    }
}
