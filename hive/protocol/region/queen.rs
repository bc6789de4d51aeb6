//! The queen's side of a region: she starts the team, runs the body herself, and waits until all workers have left.
//!
//! `pool/regions.rs` calls `Team::run_region` on the thread that holds the leader lock. The workers' side is
//! `worker/main_loop.rs`; a worker that leads groups uses `start_children` and `finish_group` from here. Waking the
//! workers of a team that are asleep is here, too.
//!
//! The steps and their proofs are in `docs/start.md`, for teams of several groups in `docs/shape.md`, and for waking in
//! `docs/resize.md`.

use std::ptr;

use crate::protocol::Team;
use crate::protocol::abort_on_unwind::AbortOnUnwind;
use crate::protocol::region::barrier::RegionEnd;
use crate::protocol::region::body::{BodyFn, RegionBody};
use crate::protocol::region::group_part::{Children, GroupPart};
use crate::protocol::region::leader_lock::LeaderGuard;
use crate::protocol::region::region_context::RegionContext;
use crate::protocol::region::start_line::{StartOrder, StartWord};
use crate::protocol::region::tree::Tree;
use crate::protocol::worker::slot::{Slot, SlotState};
use crate::sync::{Activity, Counter, Event, MAX_REGION_WAKES, Ordering, fence};

impl Team {
    /// Runs `body` once on each of the first `bees` bees, on the calling thread as bee 0, and returns when all have
    /// ended.
    ///
    /// The caller holds the leader lock, and the hive has at least `bees` bees (unless a shrink overtakes the start).
    /// `bees` is at least 2.
    ///
    /// # Panics
    /// With the panic of the bee with the lowest id among those that panicked; see `RegionPanics::end_region`.
    #[inline]
    #[expect(unsafe_code, reason = "lays the caller's part where the team finds it")]
    pub(crate) fn run_region<P: RegionBody>(&self, leadership: &mut LeaderGuard<'_, Tree>, bees: u32, body: &mut P) {
        debug_assert!(bees > 1, "a team of one meets nobody");
        let start_line = self.root_line();
        let own_group = leadership.leader_part(self, self.fixed.root_group, start_line, bees);
        // Most teams are all in one group. This function is for those.
        if own_group.bees < bees {
            return self.run_region_in_groups(leadership, bees, BodyFn::of::<&P>(), ptr::from_ref(body).cast());
        }
        let abort_guard = AbortOnUnwind::new("between the start of a region and its end");
        let closure_cell = &start_line.closure_cell;
        // SAFETY: the cell is empty, because the queen of each earlier region took her closure back before she released
        // the leader lock. `body` is used by the workers of this region only, and `stored` is dropped after all of them
        // have left.
        let stored = unsafe { closure_cell.store(body) };
        let word = start_line.load().next(bees);
        // SAFETY: the caller holds the leader lock, and each queen before her kept it until all workers of her team had
        // left.
        unsafe { start_line.publish(word, StartOrder { body_fn: BodyFn::of::<P>(), base: own_group.base }) };
        // From here on the workers that are awake run the body. Those that sleep are woken.
        let some_asleep = self.wake_if_asleep(bees, [&own_group]);
        let queen = RegionContext::new(self, 0, bees, word.epoch(), own_group);
        // The queen's own run of the body, as bee 0.
        self.panics.begin_region(word.epoch());
        self.slot(0).counters.increment(Counter::Regions);
        self.set_activity(0, || Activity::InRegion(0));
        // SAFETY: `store` has put a `P` there, and it stays until `stored` is dropped below.
        self.run_catching_panic(&queen, || unsafe { closure_cell.with(|body: &P| body.run(&queen)) });
        self.set_activity(0, || Activity::AtRegionEnd);
        // Her own body has ended. She waits for the workers, takes the closure back, and notes where the barrier's
        // counts stand.
        let end = self.wait_for_group(&queen, &own_group, some_asleep);
        drop(stored);
        self.finish_group(leadership, &queen, &own_group, end);
        self.set_activity(0, || Activity::LeftRegion);
        // No worker uses her stack any more, so a panic of the region may now unwind it.
        abort_guard.disarm();
        if end == RegionEnd::Poisoned {
            self.end_poisoned_region(&queen);
        }
    }

    /// As `run_region`, for a team that is spread over several groups. `body_fn` runs a reference to the body, and
    /// `body` is the address of that body.
    // Kept out of line: inlined, it would take registers from `run_region`, which is the common case.
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
        // The queen leads each of these groups. In the widest one nobody collects her, so she waits there as in a
        // region of one group.
        let own_group = children.take_widest().unwrap_or_else(|| unreachable!("a team of {bees} in no group"));
        let word = self.root_line().load().next(bees);
        let parts = [&own_group].into_iter().chain(children.iter());
        for part in parts.clone() {
            let start_line = self.group(part.group_id).start_line();
            // SAFETY: no region is running, and each earlier queen has taken her closure back.
            unsafe { start_line.closure_cell.store_pointer(body) };
            // SAFETY: the caller holds the leader lock, and each queen before her kept it until all workers of her team
            // had left.
            unsafe { start_line.publish(word, StartOrder { body_fn, base: part.base }) };
        }
        let some_asleep = self.wake_if_asleep(bees, parts);
        let queen = RegionContext::new(self, 0, bees, word.epoch(), own_group).with_children(&children);
        self.panics.begin_region(word.epoch());
        self.slot(0).counters.increment(Counter::Regions);
        self.set_activity(0, || Activity::InRegion(0));
        // SAFETY: `body_fn` was made for the reference that is stored in the root line's cell, and the reference stays
        // there until the region has ended.
        self.run_catching_panic(&queen, || unsafe { body_fn.run(&self.root_line().closure_cell, &queen) });
        self.set_activity(0, || Activity::AtRegionEnd);
        // The narrowest group comes first and the widest last: the leaders in a wider group leave it only after they
        // have waited for their own groups.
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

    /// Notes where the counts of a group's barrier stand, for the next region. The calling bee leads the group, and all
    /// others have left it.
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

    /// Passes the region of `word`, which includes the calling worker, on to the groups that it leads. `from_group` is
    /// the group in which the worker itself was started.
    ///
    /// Returns whether any worker had to be woken.
    #[expect(unsafe_code, reason = "tells the team where the caller's part is")]
    pub(crate) fn start_children(
        &self,
        word: StartWord,
        order: StartOrder,
        from_group: u32,
        children: &Children<'_>,
    ) -> bool {
        if children.is_empty() {
            // Not even the address may be read then: in a team that is all in one group, the closure itself is in the
            // cell, and may have no bytes at all.
            return false;
        }
        // SAFETY: a worker with children is in a team of several groups. There, the cell of each group that has a part
        // in the team holds the address of the body.
        let body = unsafe { self.group(from_group).start_line().closure_cell.load_pointer() };
        for part in children.iter() {
            let start_line = self.group(part.group_id).start_line();
            // SAFETY: the workers of this group read the cell only after the word has been published, below.
            unsafe { start_line.closure_cell.store_pointer(body) };
            // SAFETY: the caller leads the group. At the end of the last region that had workers in it, the caller
            // waited until all of them had left.
            unsafe { start_line.publish(word, StartOrder { base: part.base, ..order }) };
        }
        self.wake_if_asleep(word.bees(), children.iter())
    }

    /// Called after a start in the groups of `parts`, for a team of `bees`: makes sure that workers that are asleep
    /// come to the region. It wakes the workers that wait for starts in these groups. Those that lead further groups
    /// start them in turn.
    ///
    /// Returns whether any worker had to be woken.
    #[inline]
    fn wake_if_asleep<'s, 'c: 's>(&'c self, bees: u32, parts: impl IntoIterator<Item = &'s GroupPart<'c>>) -> bool {
        // SeqCst: pairs with the fences in `TaskContext::go_to_sleep` and `TaskContext::park`. Each worker that fell
        // asleep or parked without having seen the word is counted in what is read below: either its fence comes first,
        // and then so do its counts, or this one does, and then the worker's last look sees the word.
        // Step: fence
        fence(Ordering::SeqCst);
        // Step: occupancy
        let some_asleep = !self.occupancy.all_awake(bees);
        if some_asleep {
            parts.into_iter().for_each(|part| self.wake_group(part));
        }
        some_asleep
    }

    /// Makes sure that each worker of a group, as far as it has a part in the team just started, comes to the region.
    #[cold]
    fn wake_group(&self, part: &GroupPart<'_>) {
        // The first bee of the group is its leader, and is the caller.
        let bees = &self.fixed.shape.bees_of(part.group_id)[..part.bees as usize];
        self.log(bees[0], || Event::WakeBegin);
        self.wake_bees(&bees[1..]);
        self.log(bees[0], || Event::WakeEnd);
        // After the wake-ups, not before: on a core that has been idle each step takes long, and meanwhile the workers
        // wake up.
        self.policy().migrate_off_worker_cpus();
    }

    /// Wakes those of these bees that sleep. They are of one group, with ascending ids. If there are many, they are
    /// woken as by a tree: a worker that was asleep wakes half of the others.
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

    /// Called by a worker that has been woken, before it does anything else: wakes the bees that its waker has
    /// delegated to it.
    pub(crate) fn wake_region_range(&self, slot: &Slot) {
        let end = slot.wake_range.take();
        if end > 0 {
            // They are the bees after this one in its group, up to the id `end`.
            let bees = self.fixed.shape.bees_of(self.fixed.shape.start_group(slot.id));
            let from = |id| bees.partition_point(|&bee| bee < id);
            self.wake_bees(&bees[from(slot.id + 1)..from(end)]);
        }
    }

    /// If the first of these bees of one group is asleep, wakes it and delegates to it the waking of the others.
    /// Returns whether that has been done.
    fn delegate_wakes(&self, bees: &[u32]) -> bool {
        let (&[id, ..], &[.., last]) = (bees, bees) else { return true };
        let slot = self.slot(id);
        if slot.state() != SlotState::Asleep {
            return false;
        }
        // Written before the change of state, which hands it on to the worker.
        slot.wake_range.set(last + 1);
        let is_woken = self.wake(slot, SlotState::Asleep, SlotState::Notified);
        if !is_woken {
            // Another thread has woken the worker. The delegation is taken back, so that the worker does not find it at
            // a later wake-up.
            slot.wake_range.take();
        }
        is_woken
    }

    /// Wakes bee `id` if it is asleep or parked.
    ///
    /// A parked worker comes back as a surplus worker, does what it was woken for, and parks again. That happens if the
    /// hive has been made smaller while this region was being started, or if what the worker is woken for may be done
    /// by no other.
    pub(crate) fn wake_bee(&self, id: u32) {
        let slot = self.slot(id);
        loop {
            let is_done = match slot.state() {
                // Step: asleep
                SlotState::Asleep => self.wake(slot, SlotState::Asleep, SlotState::Notified),
                SlotState::Parked => {
                    // Counted before the change, so that the count is never below the number of surplus workers.
                    self.pending_parks.add();
                    // Step: parked
                    let won = self.wake(slot, SlotState::Parked, SlotState::Surplus);
                    if !won {
                        self.pending_parks.remove();
                    }
                    won
                }
                // It is awake, or its semaphore has been posted already. Before it sleeps again it looks at what it is
                // woken for.
                SlotState::Awake | SlotState::Notified | SlotState::Surplus => true,
                // It runs all tasks that are left before it ends.
                SlotState::Terminated => true,
            };
            // If not, its state has changed between the look and the change: look again.
            if is_done {
                return;
            }
        }
    }
}
