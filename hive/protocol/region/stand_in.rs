//! Standing in for latecomers. The parts of a loop do not need each other, so they need not run at the same time. When
//! the leader of a group has ended its own part of such a region, it runs the parts of those workers of its group that
//! have not begun: they are away (`worker/availability.rs`) because they are asleep, not back yet from their sleep, or
//! in the middle of a task, or they have no CPU. It arrives at the region's end in their name, and they have nothing to
//! do with that region any more.
//!
//! `Team::wait_for_group` (`led_groups.rs`) calls this, once in each region, if the leader has polled for a while or
//! knows that workers were asleep. The steps and the proof are in `docs/latecomers.md`.

#![expect(unsafe_code, reason = "runs the caller's closure, which the start signal lends")]

use crate::protocol::Team;
use crate::protocol::region::body::BodyFn;
use crate::protocol::region::closure_cell::ClosureCell;
use crate::protocol::region::group_part::{GroupPart, LedParts};
use crate::protocol::region::region_context::RegionContext;
use crate::sync::{Counter, Event, EventKind, HelpOfLoop, nanos, try_heavy_fence};

/// What to run in the name of those that are away.
#[derive(Clone, Copy)]
pub(crate) struct LentBody<'l> {
    body_fn: BodyFn,
    closure_cell: &'l ClosureCell,
}

impl<'l> LentBody<'l> {
    /// The body in `closure_cell` that `body_fn` was made for.
    ///
    /// # Safety
    /// The body is there as long as this exists.
    #[inline(always)]
    pub(crate) unsafe fn new(body_fn: BodyFn, closure_cell: &'l ClosureCell) -> Self {
        Self { body_fn, closure_cell }
    }

    /// Runs it as the bee of `region`.
    fn run(self, region: &RegionContext<'_>) {
        // SAFETY: whoever made this promised that the body is there.
        unsafe { self.body_fn.run(self.closure_cell, region) }
    }
}

impl Team {
    /// Runs the parts of those workers of `part`'s group that are away, on the thread of the group's leader, whose
    /// region is `leader` and whose own part has ended.
    ///
    /// `some_asleep`: some workers were asleep as the region was started.
    #[cold]
    pub(crate) fn stand_in(
        &self,
        leader: &RegionContext<'_>,
        part: &GroupPart<'_>,
        some_asleep: bool,
        body: LentBody<'_>,
    ) {
        let others = &self.fixed.shape.bees_of(part.group_id)[1..part.bees as usize];
        let begin = nanos();
        // The log of a traced hive says only that the leader is at the end of its own part.
        self.show_activity(leader.id, Event::begin(EventKind::Region));
        let wanted = others.iter().filter(|&&id| self.slot(id).availability.want(leader.epoch)).count();
        // Pairs with the light fence in `Availability::begin`. If it is refused, only those that are away are excused.
        let is_fenced = wanted > 0 && try_heavy_fence();
        let mut help = HelpOfLoop::new(&self.help, begin, some_asleep, wanted > 0);
        // One after another, since a worker may come while the part of another one is run.
        for &id in others {
            if self.slot(id).availability.try_excuse(leader.epoch, is_fenced) {
                let begin = nanos();
                self.stand_in_for(id, leader, part, body);
                help.note_part(begin);
            } else {
                help.note_worker();
            }
        }
        self.show_activity(leader.id, Event::begin(EventKind::QueenWait));
        help.end();
    }

    /// Runs the part of worker `id`, which has been excused, and of those that it leads.
    fn stand_in_for(&self, id: u32, leader: &RegionContext<'_>, part: &GroupPart<'_>, body: LentBody<'_>) {
        self.run_parts_led_by(id, leader, part, body);
        // It arrives for the one that was excused, and so for all that this one would have arrived for.
        self.arrive_at_end(part, &RegionContext::new(self, id, leader.bees, leader.epoch, *part));
    }

    /// Runs the part of bee `id`, and of the bees in the groups that it leads. These have not been started, and will
    /// not be, if the bee that would start them has been excused.
    fn run_parts_led_by(&self, id: u32, leader: &RegionContext<'_>, part: &GroupPart<'_>, body: LentBody<'_>) {
        self.run_part_of(id, leader, part, &LedParts::NONE, |region| body.run(region));
        let shape = &self.fixed.shape;
        for group_id in shape.led_groups(id) {
            for &led in &shape.bees_of(group_id)[1..shape.count_within(group_id, leader.bees) as usize] {
                self.run_parts_led_by(led, leader, part, body);
            }
        }
    }

    /// Runs the part of bee `id` by `run`, on the thread of `leader`. `led_parts`: those of the leader if it is the
    /// queen of a region that has not been started yet, because that may turn out to be long in this part. Else none.
    pub(crate) fn run_part_of(
        &self,
        id: u32,
        leader: &RegionContext<'_>,
        part: &GroupPart<'_>,
        led_parts: &LedParts<'_>,
        run: impl FnOnce(&RegionContext<'_>),
    ) {
        // A forked child has none of these bees, and must not run their parts: its parent does.
        self.policy().abort_if_forked();
        let region = RegionContext::new(self, id, leader.bees, leader.epoch, *part);
        let region = region.with_led_parts(led_parts).run_by(leader.id);
        if id != leader.id {
            self.slot(leader.id).counters.increment(Counter::StandIns);
        }
        self.run_catching_panic(&region, || run(&region));
    }
}
