//! The queen's side of a region: she starts the team, runs the body herself, and waits until all workers have left.
//!
//! `pool/regions.rs` calls `Team::run_region` on the thread that holds the queen lock. The workers' side is
//! `worker/main_loop.rs`; a worker that leads groups uses `start_led_groups` from here. Waking the workers of a team
//! that are asleep is in `worker/wake.rs`.
//!
//! The steps and their proofs are in `docs/start.md`, and for teams of several groups in `docs/shape.md`.

use crate::protocol::abort_on_unwind::AbortOnUnwind;
use crate::protocol::region::barrier_word::RegionEnd;
use crate::protocol::region::body::{BodyFn, FarBody, RegionBody};
use crate::protocol::region::group_part::LedParts;
use crate::protocol::region::region_context::RegionContext;
use crate::protocol::region::stand_in::LentBody;
use crate::protocol::region::start_line::{StartOrder, StartWord};
use crate::protocol::worker::wake::Sleepers;
use crate::protocol::{QueenGuard, Team};
use crate::sync::{Counter, Event, EventKind, Ordering, PartTime};

/// A body as it is when its region starts. Code off the shortest path takes a `dyn StartBody`: a program has that code
/// once, and not once for each of its loops. The body itself travels to the workers all the same, not its address.
pub(crate) trait StartBody: RegionBody {
    /// Runs the region: see [`Team::run_region_timed_if`].
    fn start(&mut self, team: &Team, must_time: bool, queen_guard: &mut QueenGuard<'_>, bees: u32);

    /// The same body, of a type that is not known.
    fn as_dyn(&mut self) -> &mut dyn StartBody;
}

impl<P: RegionBody> StartBody for P {
    #[inline(always)]
    fn start(&mut self, team: &Team, must_time: bool, queen_guard: &mut QueenGuard<'_>, bees: u32) {
        team.run_region_of(must_time, queen_guard, bees, self);
    }

    #[inline(always)]
    fn as_dyn(&mut self) -> &mut dyn StartBody {
        self
    }
}

impl Team {
    /// Runs `body` once on each of the first `bees` bees, on the calling thread as bee 0, and returns when all have
    /// ended.
    ///
    /// The caller holds the queen lock, and `bees` is at least 2. The hive has had as many: if it has been made smaller
    /// since, the surplus workers take part all the same.
    ///
    /// # Panics
    /// With the panic of the bee with the lowest id among those that panicked; see `RegionPanics::end_region`.
    #[inline]
    pub(crate) fn run_region<P: StartBody + ?Sized>(&self, queen_guard: &mut QueenGuard<'_>, bees: u32, body: &mut P) {
        self.run_region_timed_if(false, queen_guard, bees, body);
    }

    /// `run_region`; `must_time`: whether the queen's own part is timed in any case, as that of some loops is.
    #[inline(always)]
    pub(crate) fn run_region_timed_if<P: StartBody + ?Sized>(
        &self,
        must_time: bool,
        queen_guard: &mut QueenGuard<'_>,
        bees: u32,
        body: &mut P,
    ) {
        body.start(self, must_time, queen_guard, bees);
    }

    /// `run_region_timed_if` for a body whose type is known, which is stored for the workers as it is if the team is in
    /// one group.
    #[inline(always)]
    #[expect(unsafe_code, reason = "lays the caller's part where the team finds it")]
    fn run_region_of<P: RegionBody>(&self, must_time: bool, queen_guard: &mut QueenGuard<'_>, bees: u32, body: &mut P) {
        debug_assert!(bees > 1, "a team of one meets nobody");
        let start_line = self.root_line();
        let own_group = queen_guard.led_groups.leader_part(self, self.fixed.root_group, bees);
        // Most teams are all in one group. This function is for those.
        if own_group.bees < bees {
            let body = FarBody::new(self.body_fn_in_mode_of::<&P>(queen_guard), body);
            return self.run_region_in_groups(must_time, queen_guard, bees, body);
        }
        let runs_anywhere = body.runs_anywhere();
        let body_fn = self.body_fn_in_mode_of::<P>(queen_guard);
        let abort_guard = AbortOnUnwind::new("between the start of a region and its end");
        let closure_cell = &start_line.closure_cell;
        // SAFETY: the cell is empty, because the queen of each earlier region took her closure back before she released
        // the queen lock. `body` is used by the workers of this region only, and `stored` is dropped after all of them
        // have left.
        let stored = unsafe { closure_cell.store(body) };
        let word = self.region_word().next(bees);
        // SAFETY: the caller holds the queen lock, and each queen before her kept it until all workers of her team had
        // left.
        unsafe { start_line.publish(word, StartOrder { body_fn, base: own_group.base }) };
        // From here on the workers that are awake run the body. Those that sleep are woken, or stood in for.
        let Sleepers { some_asleep, is_timed } = self.wake_if_asleep(word, body_fn, [&own_group]);
        let queen = RegionContext::new(self, 0, bees, word.epoch(), own_group);
        // The queen's own run of the body, as bee 0.
        self.panics.begin_region(word.epoch());
        self.slot(0).counters.increment(Counter::Regions);
        self.set_activity(0, || Event::begin(EventKind::Region));
        let cold_part = self.cold_parts.begin_if(is_timed | must_time);
        // SAFETY: `store` has put a `P` there, and it stays until `stored` is dropped below.
        self.run_catching_panic(&queen, || unsafe { closure_cell.with(|body: &P| body.run_part(&queen)) });
        if let Some(part) = self.cold_parts.end(cold_part) {
            self.end_cold_part(&queen, body_fn, runs_anywhere, part);
        }
        self.set_activity(0, || Event::begin(EventKind::QueenWait));
        // Her own body has ended. She waits for the workers, takes the closure back, and notes where the barrier's
        // counts stand.
        // SAFETY: the body is there until `stored` is dropped.
        let lent_body = runs_anywhere.then(|| unsafe { LentBody::new(BodyFn::of::<P>(), closure_cell) });
        let end = self.wait_for_group(&queen, &own_group, some_asleep, lent_body);
        drop(stored);
        queen_guard.led_groups.finish(&queen, &own_group, end);
        self.set_activity(0, || Event::end(EventKind::Region));
        // No worker uses her stack any more, so a panic of the region may now unwind it.
        abort_guard.disarm();
        if end == RegionEnd::Poisoned {
            self.end_poisoned_region(&queen);
        }
    }

    /// `run_region_of` for a team that is spread over several groups.
    // Kept out of line: inlined, it would take registers from `run_region`, which is the common case.
    #[inline(never)]
    #[expect(unsafe_code, reason = "runs the body by its address")]
    fn run_region_in_groups(&self, must_time: bool, queen_guard: &mut QueenGuard<'_>, bees: u32, body: FarBody) {
        let abort_guard = AbortOnUnwind::new("between the start of a region of several groups and its end");
        let (own_group, led_parts) = queen_guard.led_groups.queens_parts(self, bees);
        let word = self.region_word().next(bees);
        let queen = RegionContext::new(self, 0, bees, word.epoch(), own_group).with_led_parts(&led_parts);
        // SAFETY: the body stays where it is until the region has ended, and the caller holds the queen lock.
        let Sleepers { some_asleep, is_timed } = unsafe { self.start_groups(&queen, word, body) };
        self.panics.begin_region(word.epoch());
        self.slot(0).counters.increment(Counter::Regions);
        self.set_activity(0, || Event::begin(EventKind::Region));
        let cold_part = self.cold_parts.begin_if(is_timed | must_time);
        // SAFETY: `body_fn` was made for the reference that is stored in the root line's cell, and the reference stays
        // there until the region has ended.
        self.run_catching_panic(&queen, || unsafe { body.body_fn.run(&self.root_line().closure_cell, &queen) });
        if let Some(part) = self.cold_parts.end(cold_part) {
            self.end_cold_part(&queen, body.body_fn, body.runs_anywhere, part);
        }
        let is_poisoned = self.end_groups(queen_guard, &queen, body, some_asleep);
        abort_guard.disarm();
        if is_poisoned {
            self.end_poisoned_region(&queen);
        }
    }

    /// Starts the region of `word` in `queen`'s own group and in those of her `led_parts`, and wakes the bees that
    /// sleep there. Workers that lead further groups start these themselves: `start_led_groups`.
    ///
    /// `queen`: the context of the part that she is running now. It is her own, or one in a worker's name if the loop
    /// is started late (`late_start.rs`); it has her groups in any case.
    ///
    /// # Safety
    /// The calling thread holds the queen lock. The body stays where it is until the region has ended.
    #[expect(unsafe_code, reason = "tells the team where the caller's part is")]
    pub(crate) unsafe fn start_groups(&self, queen: &RegionContext<'_>, word: StartWord, body: FarBody) -> Sleepers {
        let FarBody { body_fn, address, runs_anywhere } = body;
        if runs_anywhere {
            // Before the start: the workers that lead groups ask this, to know whether they may stand in for others.
            // Relaxed: the start word publishes it.
            self.last_loop.store(word.epoch(), Ordering::Relaxed);
        }
        let parts = [&queen.own_group].into_iter().chain(queen.led_parts.iter());
        for part in parts.clone() {
            let start_line = self.group(part.group_id).start_line();
            // SAFETY: no region is running, and each earlier queen has taken her closure back.
            unsafe { start_line.closure_cell.store_pointer(address) };
            // SAFETY: the caller holds the queen lock, and each queen before her kept it until all workers of her team
            // had left.
            unsafe { start_line.publish(word, StartOrder { body_fn, base: part.base }) };
        }
        self.wake_if_asleep(word, body_fn, parts)
    }

    /// Waits until all workers of a region that `start_groups` has started have left it, and takes the closure back.
    /// Returns whether the region was poisoned.
    #[expect(unsafe_code, reason = "runs the body in the name of others")]
    pub(crate) fn end_groups(
        &self,
        queen_guard: &mut QueenGuard<'_>,
        queen: &RegionContext<'_>,
        body: FarBody,
        some_asleep: bool,
    ) -> bool {
        self.set_activity(0, || Event::begin(EventKind::QueenWait));
        // SAFETY: the body stays where it is until the region has ended.
        let lend = || unsafe { LentBody::new(body.body_fn, &self.root_line().closure_cell) };
        let lent_body = body.runs_anywhere.then(lend);
        self.finish_led_groups(&mut queen_guard.led_groups, queen, some_asleep, lent_body);
        // The widest group comes last: the leaders in it leave it only after they have waited for their own groups. So
        // who has poisoned the region, in whatever group, has done so before.
        let end = self.wait_for_group(queen, &queen.own_group, some_asleep, lent_body);
        queen_guard.led_groups.finish(queen, &queen.own_group, end);
        self.set_activity(0, || Event::end(EventKind::Region));
        end == RegionEnd::Poisoned
    }

    /// Called when the queen's part of a region has ended in which a worker was asleep. Records how long it has taken,
    /// unless the region is a loop.
    #[cold]
    fn end_cold_part(&self, queen: &RegionContext<'_>, body_fn: BodyFn, runs_anywhere: bool, part: PartTime) {
        if !runs_anywhere {
            self.cold_parts.record(body_fn.hash(), part.work(queen.barriers_passed() > 0));
        }
    }

    /// Passes the region of `word`, which includes the calling worker, on to the groups that it leads. `from_group` is
    /// the group in which the worker itself was started.
    ///
    /// Returns whether any worker had to be woken.
    #[expect(unsafe_code, reason = "tells the team where the caller's part is")]
    pub(crate) fn start_led_groups(
        &self,
        word: StartWord,
        order: StartOrder,
        from_group: u32,
        led_parts: &LedParts<'_>,
    ) -> bool {
        if led_parts.is_empty() {
            // Not even the address may be read then: in a team that is all in one group, the closure itself is in the
            // cell, and may have no bytes at all.
            return false;
        }
        // SAFETY: a worker that leads parts of groups is in a team of several groups. There, the cell of each group
        // that has a part in the team holds the address of the body.
        let body = unsafe { self.group(from_group).start_line().closure_cell.load_pointer() };
        for part in led_parts.iter() {
            let start_line = self.group(part.group_id).start_line();
            // SAFETY: the workers of this group read the cell only after the word has been published, below.
            unsafe { start_line.closure_cell.store_pointer(body) };
            // SAFETY: the caller leads the group. At the end of the last region that had workers in it, the caller
            // waited until all of them had left.
            unsafe { start_line.publish(word, StartOrder { base: part.base, ..order }) };
        }
        self.wake_if_asleep(word, order.body_fn, led_parts.iter()).some_asleep
    }
}
