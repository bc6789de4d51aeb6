//! The queen's side of a region: start the team, run her own part, wait for the bees.

use std::ptr;

use crate::protocol::Team;
use crate::protocol::abort_on_unwind::AbortOnUnwind;
use crate::protocol::region::barrier::RegionEnd;
use crate::protocol::region::body::{BodyFn, RegionBody};
use crate::protocol::region::leader_lock::LeaderGuard;
use crate::protocol::region::region_context::RegionContext;
use crate::protocol::region::start_line::{StartOrder, StartWord};
use crate::protocol::region::tree::{Children, GroupPart, Tree};
use crate::protocol::worker::slot::{Slot, SlotState};
use crate::sync::{Activity, Counter, Event, MAX_REGION_WAKES, Ordering, fence};

impl Team {
    /// Runs `part` once on each of the first `team` bees, the calling thread as bee 0, and returns when all are done.
    ///
    /// # Panics
    /// With the panic of the lowest bee that panicked; see `RegionPanics::end`.
    #[inline]
    #[expect(unsafe_code, reason = "lays the caller's part where the team finds it")]
    pub(crate) fn run_region<P: RegionBody>(&self, leadership: &mut LeaderGuard<'_, Tree>, bees: u32, body: &mut P) {
        debug_assert!(bees > 1, "a team of one meets nobody");
        let start_line = self.root_line();
        let own_group = leadership.leader_part(self, self.fixed.root_group, start_line, bees);
        if own_group.bees < bees {
            return self.run_region_in_groups(leadership, bees, BodyFn::of::<&P>(), ptr::from_ref(body).cast());
        }
        let abort_guard = AbortOnUnwind::new("between the start of a region and its end");
        let closure_cell = &start_line.closure_cell;
        // SAFETY: what other regions laid there they took back before their queens gave the turn on; this one does when all bees have left.
        let stored = unsafe { closure_cell.store(body) };
        let word = start_line.load().next(bees);
        // SAFETY: the caller has the turn, and whoever had it before kept it until its team had left.
        unsafe { start_line.publish(word, StartOrder { body_fn: BodyFn::of::<P>(), base: own_group.base }) };
        let some_asleep = self.wake_if_asleep(bees, [&own_group]);
        let queen = RegionContext::new(self, 0, bees, word.epoch(), own_group);
        self.panics.begin_region(word.epoch());
        self.slot(0).counters.increment(Counter::Regions);
        self.set_activity(0, || Activity::InRegion(0));
        // SAFETY: it lies there until the end of the region.
        self.run_catching_panic(&queen, || unsafe { closure_cell.with(|body: &P| body.run(&queen)) });
        self.set_activity(0, || Activity::AtRegionEnd);
        let end = self.wait_for_group(&queen, &own_group, some_asleep);
        drop(stored);
        self.finish_group(leadership, &queen, &own_group, end);
        self.set_activity(0, || Activity::LeftRegion);
        abort_guard.disarm();
        if end == RegionEnd::Poisoned {
            self.end_poisoned_region(&queen);
        }
    }

    /// The same for a team of several groups, by a job for a reference to the part, which lies at this address.
    // Apart: inlined, it would take registers from the other.
    #[inline(never)]
    #[expect(unsafe_code, reason = "tells the team where the caller's part is")]
    fn run_region_in_groups(
        &self,
        leadership: &mut LeaderGuard<'_, Tree>,
        bees: u32,
        body_fn: BodyFn,
        body: *const (),
    ) {
        let abort_guard = AbortOnUnwind::new("between the start of a region of several groups and its end");
        let mut children = leadership.children(self, bees);
        let own_group = children.take_widest().unwrap_or_else(|| unreachable!("a team of {bees} in no group"));
        let word = self.root_line().load().next(bees);
        let parts = [&own_group].into_iter().chain(children.iter());
        for part in parts.clone() {
            let start_line = self.group(part.group_id).start_line();
            // SAFETY: no region is on, and what others laid there they have taken back.
            unsafe { start_line.closure_cell.store_pointer(body) };
            // SAFETY: the caller has the turn, and whoever had it before kept it until its team had left.
            unsafe { start_line.publish(word, StartOrder { body_fn, base: part.base }) };
        }
        let some_asleep = self.wake_if_asleep(bees, parts);
        let queen = RegionContext::new(self, 0, bees, word.epoch(), own_group).with_children(&children);
        self.panics.begin_region(word.epoch());
        self.slot(0).counters.increment(Counter::Regions);
        self.set_activity(0, || Activity::InRegion(0));
        // SAFETY: the job is for the reference that lies in the berth, until the end of the region.
        self.run_catching_panic(&queen, || unsafe { body_fn.run(&self.root_line().closure_cell, &queen) });
        self.set_activity(0, || Activity::AtRegionEnd);
        let mut is_poisoned = false;
        for part in children.iter().rev().chain([&own_group]) {
            let end = self.wait_for_group(&queen, part, some_asleep);
            is_poisoned |= end == RegionEnd::Poisoned;
            self.finish_group(leadership, &queen, part, end);
        }
        self.set_activity(0, || Activity::LeftRegion);
        abort_guard.disarm();
        if is_poisoned {
            self.end_poisoned_region(&queen);
        }
    }

    /// Closes the book of a group that `member` heads, whose others have left it.
    #[inline(always)]
    pub(crate) fn finish_group(
        &self,
        tree: &mut Tree,
        region: &RegionContext<'_>,
        part: &GroupPart<'_>,
        end: RegionEnd,
    ) {
        let view = part.view(region.barriers_passed());
        *tree.base_mut(part.group_id, part.bees) = part.barrier.finish_region(&view, end);
    }

    /// Passes the region of `word`, which calls a bee, on to the groups that this one heads. Says whether anybody had to be called.
    #[expect(unsafe_code, reason = "tells the team where the caller's part is")]
    pub(crate) fn start_children(
        &self,
        word: StartWord,
        order: StartOrder,
        from_group: u32,
        children: &Children<'_>,
    ) -> bool {
        if children.is_empty() {
            // The team may all be in one group, and then no pointer lies there but the part itself, of which there may
            // be no byte.
            return false;
        }
        // SAFETY: a bee that leads somebody is in a team of several groups, in which all berths but those of groups
        // that are no part of it point to the part.
        let body = unsafe { self.group(from_group).start_line().closure_cell.load_pointer() };
        for part in children.iter() {
            let start_line = self.group(part.group_id).start_line();
            // SAFETY: its bees run nothing until the word is published.
            unsafe { start_line.closure_cell.store_pointer(body) };
            // SAFETY: the caller heads the group, and has waited until all had left it at the end of the last region in which there was anybody.
            unsafe { start_line.publish(word, StartOrder { base: part.base, ..order }) };
        }
        self.wake_if_asleep(word.bees(), children.iter())
    }

    /// After a start in these groups of a team of `team`: sees that whoever sleeps there comes. Those are woken who hear of regions there, and they see to
    /// the groups that they head. Says whether anybody had to be called.
    #[inline]
    fn wake_if_asleep<'s, 'c: 's>(&'c self, bees: u32, parts: impl IntoIterator<Item = &'s GroupPart<'c>>) -> bool {
        // Every bee that went to bed without having seen the word is seen below. Pairs with the fences in `TaskContext::go_to_sleep`
        // and `TaskContext::count_parked`.
        // Step: fence
        fence(Ordering::SeqCst);
        // Step: attendance
        let some_asleep = !self.occupancy.all_awake(bees);
        if some_asleep {
            parts.into_iter().for_each(|part| self.wake_group(part));
        }
        some_asleep
    }

    /// Makes sure that each bee of a group of a team that has been started comes to its region.
    #[cold]
    fn wake_group(&self, part: &GroupPart<'_>) {
        let bees = &self.fixed.shape.bees_of(part.group_id)[..part.bees as usize];
        self.log(bees[0], || Event::WakeBegin);
        self.wake_bees(&bees[1..]);
        self.log(bees[0], || Event::WakeEnd);
        // After the calls: on a core that has been idle every step takes long, and the bees wake meanwhile.
        self.policy().migrate_off_worker_cpus();
    }

    /// Calls bees of one group, whose numbers ascend. Many are called as by a tree: one that sleeps is woken and calls half of the others.
    fn wake_bees(&self, mut bees: &[u32]) {
        while bees.len() > MAX_REGION_WAKES {
            let (near, far) = bees.split_at(bees.len() / 2);
            if !self.delegate_wakes(far) {
                self.wake_bees(far);
            }
            bees = near;
        }
        bees.iter().for_each(|&id| self.wake_bee(id));
    }

    /// Has a bee that has been woken call whom it was woken to call.
    pub(crate) fn wake_region_range(&self, slot: &Slot) {
        let end = slot.wake_range.take();
        if end > 0 {
            let bees = self.fixed.shape.bees_of(self.fixed.shape.start_group(slot.id));
            let from = |id| bees.partition_point(|&bee| bee < id);
            self.wake_bees(&bees[from(slot.id + 1)..from(end)]);
        }
    }

    /// Wakes the first of these bees of one group, if it is asleep, to call the others. Says whether it was.
    fn delegate_wakes(&self, bees: &[u32]) -> bool {
        let (&[id, ..], &[.., last]) = (bees, bees) else { return true };
        let slot = self.slot(id);
        if slot.state() != SlotState::Asleep {
            return false;
        }
        slot.wake_range.set(last + 1);
        let is_woken = self.wake(slot, SlotState::Asleep, SlotState::Notified);
        if !is_woken {
            // Not to be found when it is woken for something else.
            slot.wake_range.take();
        }
        is_woken
    }

    /// Wakes bee `id` if it is in bed. A parked one does what it is called for as a surplus bee and parks again: the hive was made smaller while this
    /// region started, or what it is called for may be done by no other.
    pub(crate) fn wake_bee(&self, id: u32) {
        let slot = self.slot(id);
        loop {
            let is_done = match slot.state() {
                // Step: asleep
                SlotState::Asleep => self.wake(slot, SlotState::Asleep, SlotState::Notified),
                SlotState::Parked => {
                    self.pending_parks.add();
                    // Step: parked
                    let won = self.wake(slot, SlotState::Parked, SlotState::Surplus);
                    if !won {
                        self.pending_parks.remove();
                    }
                    won
                }
                // Up, or posted already; and before it goes to bed again it looks at the word.
                SlotState::Awake | SlotState::Notified | SlotState::Surplus => true,
                // Runs what there is before it ends.
                SlotState::Terminated => true,
            };
            if is_done {
                return;
            }
        }
    }
}
