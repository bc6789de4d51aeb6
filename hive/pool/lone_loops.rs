//! How a hive runs a loop, and when the calling thread runs all of it. `Hive::par_for` and its siblings end here, by
//! way of `run_parts.rs`. Of a short reduction, `lone_parts.rs` has run all parts or the first ones before.
//!
//! The parts of a loop do not need each other, so one thread can run them all. The caller does, if the workers are
//! asleep and the loop is too short to wake them for. If the loop's body cannot tell one bee from another, it also does
//! if another thread is queen, or if other such callers have taken the CPUs, and the loop ends sooner so.
//! `loop_costs.rs` knows how long the loop will take. In all other cases the loop is a region like any other
//! (`regions.rs`). See `docs/lone-loops.md`.

use std::sync::Arc;

use crate::pool::error::Error;
use crate::pool::loop_costs::{LoopSize, is_one_to_time};
use crate::pool::loop_kind::{CalledLoop, LoopKind, LoopTeam};
use crate::pool::regions::Start;
use crate::pool::shared::Shared;
use crate::pool::wake_decision::Stakes;
use crate::protocol::QueenGuard;
use crate::protocol::region::body::{BodyFn, RegionBody};
use crate::region::nesting;
use crate::sync::{Counter, Deadline};
use crate::sys::clock;
use crate::sys::cost_of_waking::NANOS_OF_WAKING;
use crate::sys::fork::with_abort_in_child;

/// A loop that takes longer than this asks for help even if that has been worth nothing of late: a worker without a CPU
/// gets one after a few milliseconds.
const NANOS_OF_LONG: u64 = 4_000_000;

impl Shared {
    /// Runs a loop over `indices` indices, as `spmd` runs a region of `bees` bees. `is_planned`: as in [`LoopTeam`].
    #[inline]
    pub(crate) fn run_loop<P: RegionBody>(
        self: &Arc<Self>,
        (bees, is_planned): (usize, bool),
        indices: usize,
        kind: LoopKind<'_>,
        body: &mut P,
    ) -> Result<(), Error> {
        let bees = self.checked_bees(bees)?;
        if bees == 1 {
            self.run_alone(body);
            return Ok(());
        }
        let team = LoopTeam { bees, is_planned };
        let size = || match kind {
            LoopKind::HandedOut(called) => LoopSize { sharing: kind.sharing(), ..called.size },
            _ => LoopSize { body: BodyFn::of::<P>().key(), indices, sharing: kind.sharing() },
        };
        if nesting::is_inside_any() {
            return self.nested_spmd(bees, body, Start::Loop { size: size(), is_planned });
        }
        let queen_guard = self.team.try_become_queen();
        let may_run_alone = !matches!(kind, LoopKind::OfBees(_));
        if may_run_alone && (queen_guard.is_none() || self.lone_callers.count() > 0) {
            return self.run_loop_beside_others(queen_guard, team, size(), kind, body);
        }
        let mut queen_guard = queen_guard.unwrap_or_else(|| self.team.become_queen());
        self.run_loop_as_queen(&mut queen_guard, team, size(), kind, body)
    }

    /// Runs a loop for the holder of the queen lock.
    #[inline]
    pub(crate) fn run_loop_as_queen<P: RegionBody>(
        self: &Arc<Self>,
        queen_guard: &mut QueenGuard<'_>,
        team: LoopTeam,
        size: LoopSize,
        kind: LoopKind<'_>,
        body: &mut P,
    ) -> Result<(), Error> {
        if let LoopKind::HandedOut(called) = kind {
            self.run_on_called_workers(queen_guard, team, CalledLoop { size, ..called }, body)
        } else if self.loop_costs.is_small(size, team.bees) {
            self.run_small_loop(queen_guard, team, size, kind, body)
        } else if !self.team.help.is_wanted() && self.loop_costs.expected(size).is_none_or(|it| it < NANOS_OF_LONG) {
            self.run_unhelped_loop(queen_guard, team, size, body)
        } else if self.team.all_workers_sleep() {
            self.run_cold_loop(queen_guard, team, size, kind, body)
        } else {
            // The usual case: some worker polls for the start. Or all have been parked.
            let is_timed = self.loop_costs.is_timing_due();
            if is_timed {
                self.team.cold_parts.clear_last();
            }
            let outcome = self.run_hot_loop(queen_guard, team, is_timed, body);
            if is_timed {
                self.learn_from_hot_loop(team, size);
            }
            if let Some(waited) = self.team.help.take_wait() {
                self.judge_wait(size, waited);
            }
            outcome
        }
    }

    /// Learns how much work a loop is that was timed.
    #[cold]
    fn learn_from_hot_loop(&self, team: LoopTeam, size: LoopSize) {
        if let Some(part) = self.team.cold_parts.last() {
            self.loop_costs.record_part(size, part, team.bees, 0);
        }
    }

    /// Runs a loop that is too short for a team.
    #[inline]
    fn run_small_loop<P: RegionBody>(
        self: &Arc<Self>,
        queen_guard: &mut QueenGuard<'_>,
        team: LoopTeam,
        size: LoopSize,
        kind: LoopKind<'_>,
        body: &mut P,
    ) -> Result<(), Error> {
        let begin = is_one_to_time(self.team.count_for_queen(Counter::LoneLoops)).then(clock::nanos);
        let deadline = Deadline::soon();
        if let LoopKind::OfBees(_) = kind {
            self.run_loop_if_long(queen_guard, team, body, deadline)?;
        } else {
            with_abort_in_child(|| self.run_alone(body));
        }
        match begin {
            Some(begin) => self.loop_costs.record(size, clock::nanos_since(begin)),
            // It is not short any more.
            None if deadline.has_passed() => self.loop_costs.record(size, NANOS_OF_WAKING),
            None => {}
        }
        Ok(())
    }

    /// Runs a loop at a time when the workers' help is worth nothing.
    #[inline(never)]
    fn run_unhelped_loop<P: RegionBody>(
        self: &Arc<Self>,
        queen_guard: &mut QueenGuard<'_>,
        team: LoopTeam,
        size: LoopSize,
        body: &mut P,
    ) -> Result<(), Error> {
        let begin = clock::nanos();
        self.run_cold_loop_alone(queen_guard, team, body, Deadline::new(begin, NANOS_OF_LONG))?;
        self.loop_costs.record(size, clock::nanos_since(begin));
        Ok(())
    }

    /// Learns from a loop at whose end the caller has waited so long. That may be because its parts are not equally
    /// long, so it counts as lost only if the whole loop is known to take less time on one thread.
    #[cold]
    fn judge_wait(&self, size: LoopSize, waited: u64) {
        if self.loop_costs.measured(size).is_some_and(|alone| waited > alone.max(NANOS_OF_WAKING)) {
            self.team.help.note_loss(waited);
        }
    }

    /// Runs a loop for the holder of the queen lock, who has found all workers asleep. Wakes them only if that pays.
    // Not marked as cold: see `Team::run_region_if_long`.
    #[inline(never)]
    fn run_cold_loop<P: RegionBody>(
        self: &Arc<Self>,
        queen_guard: &mut QueenGuard<'_>,
        team: LoopTeam,
        size: LoopSize,
        kind: LoopKind<'_>,
        body: &mut P,
    ) -> Result<(), Error> {
        let begin = clock::nanos();
        let is_handed_out = matches!(kind, LoopKind::Blocks(_));
        let stakes = self.stakes(team.bees, size, is_handed_out);
        if let Some(deadline) = stakes.and_then(|stakes| self.deadline_alone(stakes, begin)) {
            self.run_cold_loop_alone(queen_guard, team, body, deadline)?;
            self.loop_costs.record(size, clock::nanos_since(begin));
            return Ok(());
        }
        let called = self.call_workers(team.bees, size, begin);
        match kind {
            LoopKind::Blocks(called_if_long) if stakes.is_some_and(Stakes::is_long) => {
                called_if_long.set(Some(called));
                Ok(())
            }
            _ => self.run_on_called_workers(queen_guard, team, called, body),
        }
    }

    /// Calls the workers, at the time `now`, for a loop that has found all of them asleep.
    #[inline]
    pub(super) fn call_workers(&self, bees: u32, size: LoopSize, now: u64) -> CalledLoop {
        self.loop_costs.forget_missed_help();
        // To make threads for new workers would take much longer than to wake them.
        if bees <= self.team.bees() {
            self.team.wake_delay.note_call(now);
        }
        self.team.call_workers(bees);
        CalledLoop { size, called_at: now }
    }

    /// Runs a loop on the whole team, which has been called, and learns from it how long it is and how long the workers
    /// take to come.
    fn run_on_called_workers<P: RegionBody>(
        self: &Arc<Self>,
        queen_guard: &mut QueenGuard<'_>,
        team: LoopTeam,
        called: CalledLoop,
        body: &mut P,
    ) -> Result<(), Error> {
        let (cold_parts, wake_delay) = (&self.team.cold_parts, &self.team.wake_delay);
        cold_parts.clear_last();
        let preparation = clock::nanos_since(called.called_at);
        let outcome = self.run_called_loop(queen_guard, team, body);
        match cold_parts.last() {
            Some(part) => {
                // If nobody has come yet, she was alone all the time. If somebody has, then from the start of her part
                // until the delay was over, which began with the call.
                let is_alone = wake_delay.is_awaited();
                let alone = if is_alone { u64::MAX } else { wake_delay.nanos().saturating_sub(preparation) };
                self.loop_costs.record_part(called.size, part, team.bees, alone);
            }
            // There was no region.
            None => wake_delay.forget_call(),
        }
        outcome
    }

    /// Runs a loop for which it does not pay to wake the workers, unless that takes until after `deadline`.
    #[inline]
    fn run_cold_loop_alone<P: RegionBody>(
        self: &Arc<Self>,
        queen_guard: &mut QueenGuard<'_>,
        team: LoopTeam,
        body: &mut P,
        deadline: Deadline,
    ) -> Result<(), Error> {
        self.team.count_for_queen(Counter::LoneLoops);
        if P::RUNS_ANYWHERE {
            return self.run_loop_if_long(queen_guard, team, body, deadline);
        }
        // The bees of a team would meet at barriers in this loop, so no bee can run another one's part. But its body
        // does the whole loop if it is the only bee. A forked child fares as on the whole team.
        with_abort_in_child(|| self.run_alone(body));
        Ok(())
    }

    /// Runs a loop while other threads call loops and regions of this hive: alone, if it ends sooner so. `queen_guard`:
    /// None if another thread is queen.
    #[cold]
    fn run_loop_beside_others<P: RegionBody>(
        self: &Arc<Self>,
        queen_guard: Option<QueenGuard<'_>>,
        team: LoopTeam,
        size: LoopSize,
        kind: LoopKind<'_>,
        body: &mut P,
    ) -> Result<(), Error> {
        let kind = if let LoopKind::HandedOut(_) = kind {
            // The others have come after the call. Whom the workers come to is not known, so nothing is learned from
            // it. If they sleep again when this thread is queen, it is decided anew whether to wake them.
            self.team.wake_delay.forget_call();
            LoopKind::Anonymous(size.sharing)
        } else {
            kind
        };
        if self.is_sooner_alone(team.bees, size, queen_guard.is_none()) {
            drop(queen_guard);
            self.run_loop_alone(size, body);
            return Ok(());
        }
        let mut queen_guard = queen_guard.unwrap_or_else(|| self.team.become_queen());
        self.run_loop_as_queen(&mut queen_guard, team, size, kind, body)
    }

    /// Whether a loop on a team of `bees` ends sooner if its caller runs it alone, while other threads have loops and
    /// regions of the same hive. `is_busy`: one of these threads is queen.
    ///
    /// On the team, the loop ends after the loops before it, and the threads that run loops alone have CPUs of the
    /// team. All loops are taken to be as long as this one.
    fn is_sooner_alone(&self, bees: u32, size: LoopSize, is_busy: bool) -> bool {
        let (lone_callers, waiting) = (self.lone_callers.count(), self.team.waiting_queens());
        let are_cpus_enough = (lone_callers + bees) as usize <= self.machine_info.usable_cpus();
        if !is_busy && are_cpus_enough {
            return false;
        }
        // Let the whole team take two units of time for a loop; one thread then takes `2 * bees`. This is how long it
        // takes until the loop has ended on the team. Of the loop that runs now, half is left on average.
        let units_on_team = 2 * (1 + waiting + lone_callers) + u32::from(is_busy);
        let gain_on_team = |alone: u64| alone.saturating_sub(alone / (2 * u64::from(bees)) * u64::from(units_on_team));
        let enough_gain = if is_busy { NANOS_OF_WAKING } else { 0 };
        units_on_team >= 2 * bees
            || self.loop_costs.expected(size).is_some_and(|alone| gain_on_team(alone) <= enough_gain)
    }

    /// Runs a loop on the calling thread without the queen lock, and records how long that took.
    fn run_loop_alone<P: RegionBody>(self: &Arc<Self>, size: LoopSize, body: &P) {
        self.team.count_for_queen(Counter::LoneLoops);
        let _counted = self.count_beside_others(size);
        let begin = clock::nanos();
        with_abort_in_child(|| self.run_alone(body));
        self.loop_costs.record(size, clock::nanos_since(begin));
    }

    /// Counts the calling thread among those that run loops alone, until the result is dropped, and lets others go
    /// first if there are too many.
    pub(super) fn count_beside_others(&self, size: LoopSize) -> impl Drop + use<'_> {
        let counted = self.lone_callers.count_caller();
        self.yield_to_other_callers(size);
        counted
    }

    /// Yields the CPU to other threads that run loops alone, if there are more of these threads than CPUs and the loop
    /// is not short. The kernel would let this thread run for several milliseconds, and the others' loops would wait.
    fn yield_to_other_callers(&self, size: LoopSize) {
        let is_crowded = self.lone_callers.count() as usize > self.machine_info.usable_cpus();
        if is_crowded && self.loop_costs.expected(size).is_some_and(|expected| expected > NANOS_OF_WAKING) {
            self.team.policy().yield_core();
        }
    }
}
