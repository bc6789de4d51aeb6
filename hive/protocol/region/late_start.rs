//! Loops that are started only if they turn out to be long. The parts of a loop do not need each other, so the queen
//! can run them all, one after another, in the names of the bees. She does so where the workers sleep and the loop is
//! expected to be too short to wake them for (`pool/lone_loops.rs`): then the workers never hear of it.
//!
//! She starts it on the workers after all, as any other region, when it takes longer than was expected. They then run
//! the parts that she has not begun. The steps and why they are right are in `docs/lone-loops.md`.

#![allow(unsafe_code)]

use std::cell::Cell;
use std::ptr;

use crate::protocol::abort_on_unwind::AbortOnUnwind;
use crate::protocol::region::body::{FarBody, RegionBody};
use crate::protocol::region::group_part::Unstarted;
use crate::protocol::region::region_context::RegionContext;
use crate::protocol::region::start_line::StartWord;
use crate::protocol::{QueenGuard, Team};
use crate::sync::{AtomicU32, Counter, Deadline, Event, EventKind, Ordering};

/// How a region is started that its queen has begun alone.
struct LateOrder {
    /// The start word that the region has if it is started.
    word: StartWord,
    /// The `RestOfLoop`.
    rest: FarBody,
}

/// What the workers run of a region that is started late.
struct RestOfLoop<'b, P> {
    body: &'b P,
    /// The queen has begun the parts of the bees with lower ids. Written by her before the start, which publishes it.
    begun: AtomicU32,
}

impl<P: RegionBody> RegionBody for RestOfLoop<'_, P> {
    #[inline(always)]
    fn runs_anywhere(&self) -> bool {
        true
    }

    fn run(&self, region: &RegionContext<'_>) {
        // Relaxed: the start word has published it.
        if region.id >= self.begun.load(Ordering::Relaxed) {
            self.body.run(region);
        }
    }
}

impl Team {
    /// Runs `body` once as each of the first `bees` bees, on the calling thread until `deadline`, and returns when all
    /// have ended. Returns whether it has been started on the workers. Otherwise as `run_region`.
    // Not marked as cold: where the processor has slept, each page of code costs as much as many instructions, and cold
    // functions have pages of their own.
    #[inline(never)]
    pub(crate) fn run_region_if_long<P: RegionBody>(
        &self,
        queen_guard: &mut QueenGuard<'_>,
        bees: u32,
        body: &P,
        deadline: Deadline,
    ) -> bool {
        debug_assert!(body.runs_anywhere(), "its parts may need each other");
        let abort_guard = AbortOnUnwind::new("in a loop whose parts the queen runs");
        let (own_group, led_parts) = queen_guard.led_groups.queens_parts(self, bees);
        let word = self.region_word().next(bees);
        let rest = RestOfLoop { body, begun: AtomicU32::new(1) };
        let far_rest = FarBody::new(self.body_fn_in_mode_of::<&RestOfLoop<'_, P>>(queen_guard), &rest);
        let order = LateOrder { word, rest: far_rest };
        let unstarted = Unstarted { deadline, some_asleep: Cell::new(None), order: ptr::from_ref(&order).cast() };
        let led_parts = led_parts.with_unstarted(&unstarted);
        let queen = RegionContext::new(self, 0, bees, word.epoch(), own_group).with_led_parts(&led_parts);
        self.panics.begin_region(word.epoch());
        self.slot(0).counters.increment(Counter::Regions);
        self.last_unstarted.set(word);
        self.set_activity(0, || Event::begin(EventKind::Region));
        self.run_catching_panic(&queen, || body.run_part(&queen));
        // The other bees' parts as well, as long as the region has not been started.
        for id in 1..bees {
            self.start_if_long(&queen, &unstarted);
            if unstarted.is_started() {
                break;
            }
            // Relaxed: the start publishes it.
            rest.begun.store(id + 1, Ordering::Relaxed);
            self.run_part_of(id, &queen, &queen.own_group, queen.led_parts, |region| body.run_part(region));
        }
        let is_poisoned = match unstarted.some_asleep.get() {
            Some(some_asleep) => self.end_groups(queen_guard, &queen, far_rest, some_asleep),
            None => self.end_unstarted(&queen),
        };
        abort_guard.disarm();
        if is_poisoned {
            self.end_poisoned_region(&queen);
        }
        unstarted.is_started()
    }

    /// Ends a region that has not been started. Returns whether it was poisoned.
    fn end_unstarted(&self, queen: &RegionContext<'_>) -> bool {
        // A child that was forked in the last part is not to return from the region either: see `docs/fork.md`.
        self.policy().abort_if_forked();
        self.set_activity(0, || Event::end(EventKind::Region));
        self.poison.is_set_for(queen.epoch)
    }

    /// Starts the region on the workers if it has not been started yet and has taken longer than was expected.
    #[inline(never)]
    pub(crate) fn start_if_long(&self, region: &RegionContext<'_>, unstarted: &Unstarted) {
        if !unstarted.is_started() && unstarted.deadline.has_passed() {
            self.start_late(region, unstarted);
        }
    }

    /// Starts the region on the workers. `region` is the part that the queen is running: her own, or one that she runs
    /// in a worker's name.
    #[cold]
    fn start_late(&self, region: &RegionContext<'_>, unstarted: &Unstarted) {
        // A forked child has none of the workers.
        self.policy().abort_if_forked();
        // SAFETY: the order lies on the stack of `run_region_if_long`, which has made `unstarted` and has not returned.
        let &LateOrder { word, rest } = unsafe { &*unstarted.order.cast() };
        // SAFETY: the queen of an unstarted region holds the queen lock, and the rest of the loop is in its place.
        let sleepers = unsafe { self.start_groups(region, word, rest) };
        unstarted.some_asleep.set(Some(sleepers.some_asleep));
    }

    /// The start word of the region that is running, or of the last one if none is. Of a region that is not started on
    /// the workers, the start line says nothing; its epoch is used up nevertheless.
    #[inline(always)]
    pub(crate) fn region_word(&self) -> StartWord {
        let (started, unstarted) = (self.root_line().load(), self.last_unstarted.get());
        if unstarted.is_after(started) { unstarted } else { started }
    }
}
