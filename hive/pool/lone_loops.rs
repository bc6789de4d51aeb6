//! How a hive runs a loop, and when the calling thread runs all of it. `Hive::par_for` and its siblings end here, by
//! way of `run_parts.rs`. Of a short reduction, only the parts come here that `lone_parts.rs` has left.
//!
//! The parts of a loop do not need each other, so one thread can run them all. The caller does, if the loop is too
//! short for a team, or the workers are asleep and it is too short to wake them for, or their help has been worth
//! nothing of late. If the loop's body cannot tell one bee from another, it also does if another thread is queen, or if
//! other such callers have taken the CPUs, and the loop ends sooner so. `loop_costs.rs` knows how long the loop will
//! take. In all other cases the loop is a region like any other (`regions.rs`). See `docs/lone-loops.md`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::on_drop::on_drop;
use crate::pool::error::Error;
use crate::pool::loop_costs::{GAIN_OF_LONG, LoopCall, LoopKind, LoopSize, Sharing, is_one_to_time, is_small_gain};
use crate::pool::regions::Start;
use crate::pool::shared::Shared;
use crate::protocol::QueenGuard;
use crate::protocol::region::body::{BodyFn, RegionBody};
use crate::protocol::region::parts_in_turn::PartsInTurn;
use crate::protocol::region::queen::StartBody;
use crate::region::nesting;
use crate::sync::{Counter, Deadline};
use crate::sys::clock;
use crate::sys::fork::with_abort_in_child;
use crate::sys::part_time::NANOS_OF_WAKING;

impl Shared {
    /// Runs a loop over `indices` indices, as `spmd` runs a region of `bees` bees. `is_planned`: as in [`LoopCall`].
    #[inline]
    pub(crate) fn run_loop<P: RegionBody>(
        self: &Arc<Self>,
        (bees, is_planned): (usize, bool),
        indices: usize,
        kind: LoopKind,
        body: &mut P,
    ) -> Result<(), Error> {
        let Some(bees) = self.team_to_start(bees, body)? else { return Ok(()) };
        let key = if let LoopKind::KnownBy(key, _) = kind { key } else { BodyFn::of::<P>().hash() };
        let size = LoopSize { body: key, indices, sharing: kind.sharing() };
        let may_run_as_one = !matches!(kind, LoopKind::OfBees(_));
        let mut call = LoopCall { bees, is_planned, may_run_as_one, size };
        let most = (self.team.policy().cpus.get() as u32).max(2);
        if body.runs_anywhere() && bees > most && !is_planned && self.pays_in_turn(size, most) {
            call.bees = most;
            call.size.sharing = Sharing::AsTheyCome;
            let next = AtomicU32::new(1);
            return self.run_call(call, &mut PartsInTurn::new(&|part| body.run_part(part), bees, &next));
        }
        self.run_call(call, body)
    }

    /// Whether a loop with more parts than there are CPUs ends sooner if a team of `most` bees runs the parts in turn.
    ///
    /// Not if it takes many time slices: then the kernel shares out the CPUs more evenly than whole parts can. Nor if
    /// the program has bound the bees: those with the first numbers may have the same CPU.
    fn pays_in_turn(&self, size: LoopSize, most: u32) -> bool {
        let is_long = self.loop_costs.gain(size, most).is_some_and(|gain| gain >= GAIN_OF_LONG);
        !is_long && self.team.policy().binds_no_worker()
    }

    /// Runs a loop of which everything is known.
    #[inline]
    fn run_call<P: RegionBody>(self: &Arc<Self>, call: LoopCall, body: &mut P) -> Result<(), Error> {
        let LoopCall { bees, may_run_as_one, .. } = call;
        // Inside a region or a task no lock is waited for: the caller runs the loop alone if another thread is queen,
        // or if a bee that the loop needs may be waiting for the caller.
        if nesting::is_inside_any() {
            return self.nested_spmd(bees, body, Start::Loop(call));
        }
        let queen_guard = self.team.try_become_queen();
        // Relaxed: a hint, as all uses of `lone_callers` are.
        if may_run_as_one && (queen_guard.is_none() || self.lone_callers.load(Ordering::Relaxed) > 0) {
            return self.run_loop_beside_others(queen_guard, call, body);
        }
        let mut queen_guard = queen_guard.unwrap_or_else(|| self.team.become_queen());
        self.run_loop_as_queen(&mut queen_guard, call, body)
    }

    /// Runs a loop for the holder of the queen lock.
    #[inline]
    pub(crate) fn run_loop_as_queen<P: StartBody + ?Sized>(
        self: &Arc<Self>,
        queen_guard: &mut QueenGuard<'_>,
        call: LoopCall,
        body: &mut P,
    ) -> Result<(), Error> {
        let gain = self.loop_costs.gain(call.size, call.bees);
        let may_go_without_help = body.runs_anywhere() && gain.is_some_and(|gain| gain < GAIN_OF_LONG);
        if gain.is_some_and(is_small_gain) {
            // Too short for a team.
            self.run_until_long(queen_guard, call, Deadline::soon(), None, body.as_dyn())
        } else if !call.is_planned && gain.is_some_and(|gain| self.is_one_to_try_alone(gain, call.bees, call.size)) {
            self.run_until_long(queen_guard, call, Deadline::soon(), Some(clock::nanos()), body.as_dyn())
        } else if let Some(begin) = self.team.help.time_if_unwanted().filter(|_| may_go_without_help) {
            // The workers' help is worth nothing at present.
            self.run_until_long(queen_guard, call, Deadline::new(begin, GAIN_OF_LONG), Some(begin), body.as_dyn())
        } else if self.team.all_workers_sleep() {
            self.run_cold_loop(queen_guard, call, gain, body.as_dyn())
        } else {
            // The usual case: some worker polls for the start. Or all have been parked.
            let is_timed = is_one_to_time(self.team.regions_of_queen());
            self.run_on_team(queen_guard, call, gain, is_timed.then_some(0), body)
        }
    }

    /// Runs a loop on the whole team, by which it gains so much, as far as is known. `woken_at`: None: it is not timed.
    /// 0: some workers are awake, or threads have to be made for them. Else when it was decided to wake the workers,
    /// who all sleep.
    #[inline]
    fn run_on_team<P: StartBody + ?Sized>(
        self: &Arc<Self>,
        queen_guard: &mut QueenGuard<'_>,
        call: LoopCall,
        gain: Option<u64>,
        woken_at: Option<u64>,
        body: &mut P,
    ) -> Result<(), Error> {
        let timed = woken_at.map(|woken_at| (woken_at, self.expect_part(call, woken_at)));
        self.team.help.begin_loop(gain.unwrap_or(0));
        let outcome = self.prepare_loop_team(call).map(|_apply_resize| {
            self.team.run_region_timed_if(timed.is_some(), queen_guard, call.bees, body);
        });
        if let Some((woken_at, begin)) = timed {
            self.learn_from_part(call, woken_at, begin);
        }
        outcome
    }

    /// Prepares for the time of the caller's part of a loop, and for the delay of the workers if they are woken.
    /// Returns when the loop begins, if it is one whose time on the team is to be learned.
    #[cold]
    fn expect_part(&self, call: LoopCall, woken_at: u64) -> Option<u64> {
        self.team.cold_parts.clear_last();
        if woken_at > 0 {
            self.team.wake_delay.note_loop(woken_at);
        }
        let is_awake = woken_at == 0 && call.bees <= self.team.bees() && !self.team.all_workers_sleep();
        is_awake.then(clock::nanos)
    }

    /// Learns from a loop whose caller's part was timed: how much work it is; what it has gained by waking the workers
    /// at `woken_at`, if that is not 0; and how long the team took for it, if that is asked for by when it began.
    #[cold]
    fn learn_from_part(&self, call: LoopCall, woken_at: u64, begin: Option<u64>) {
        let wake_delay = &self.team.wake_delay;
        let Some(part) = self.team.cold_parts.last() else {
            // There was no region.
            return wake_delay.forget_loop();
        };
        if woken_at > 0 {
            self.account_for(call, clock::nanos_since(woken_at));
        } else if let Some(begin) = begin {
            self.loop_costs.record_on_team(call.size, clock::nanos_since(begin), call.bees);
        }
        let delay = match woken_at {
            0 => 0,
            // Nobody has come yet.
            _ if wake_delay.is_awaited() => u64::MAX,
            // She was alone until the delay was over. Before her part began, she woke them: that takes about half of
            // the delay, as `loss_by_waking` assumes as well.
            _ => wake_delay.nanos() / 2,
        };
        self.loop_costs.record_part(call.size, part, call.bees, delay);
    }

    /// Enters into the account of help what a loop has gained or lost that took so long on the team.
    fn account_for(&self, call: LoopCall, took: u64) {
        if let Some(alone) = self.loop_costs.measured(call.size) {
            // It cannot have gained more, whatever was measured.
            let alone = alone.min(took.saturating_mul(call.bees.into()));
            self.team.help.settle(took.saturating_sub(alone), alone.saturating_sub(took));
        }
    }

    /// Runs a loop for the holder of the queen lock, who has found all workers asleep. Wakes them only if that pays.
    // Not marked as cold: see `Team::run_region_if_long`.
    #[inline(never)]
    fn run_cold_loop(
        self: &Arc<Self>,
        queen_guard: &mut QueenGuard<'_>,
        call: LoopCall,
        gain: Option<u64>,
        body: &mut dyn StartBody,
    ) -> Result<(), Error> {
        let begin = clock::nanos();
        let stakes = self.stakes(call.bees, call.size);
        if let Some(deadline) = stakes.and_then(|stakes| self.deadline_alone(stakes, begin)) {
            return self.run_until_long(queen_guard, call, deadline, Some(begin), body);
        }
        self.loop_costs.forget_missed_help();
        // To make threads for new workers would take much longer than to wake them, and says nothing of that.
        let woken_at = if call.bees <= self.team.bees() { begin } else { 0 };
        self.run_on_team(queen_guard, call, gain, Some(woken_at), body)
    }

    /// Runs a loop alone, unless that takes until after `deadline`. `begin`: when it begins; its time is recorded then.
    /// None: it is too short to be timed more than now and then. If the deadline passes all the same, it is recorded as
    /// one that is worth a team.
    #[inline(never)]
    fn run_until_long(
        self: &Arc<Self>,
        queen_guard: &mut QueenGuard<'_>,
        call: LoopCall,
        deadline: Deadline,
        begin: Option<u64>,
        body: &mut dyn StartBody,
    ) -> Result<(), Error> {
        let number = self.team.count_for_queen(Counter::LoneLoops);
        let is_short = begin.is_none();
        if !is_short {
            // If it turns out to be long and is started on the workers, what these gain is not counted.
            self.team.help.begin_loop(0);
        }
        let begin = begin.or_else(|| is_one_to_time(number).then(clock::nanos));
        let is_long = if body.runs_anywhere() && !(is_short && call.may_run_as_one) {
            let _apply_resize = self.prepare_loop_team(call)?;
            self.team.run_region_if_long(queen_guard, call.bees, &&*body, deadline)
        } else {
            // Where the bees of a team would meet at barriers, no bee can run another one's part. But the body does the
            // whole loop if it is the only bee, and for a short one that is the shortest way. A forked child fares as
            // on the whole team.
            with_abort_in_child(|| self.run_alone(body));
            deadline.has_passed()
        };
        match begin {
            Some(begin) => self.loop_costs.record(call.size, clock::nanos_since(begin)),
            None if is_long => self.loop_costs.record(call.size, NANOS_OF_WAKING),
            None => {}
        }
        Ok(())
    }

    /// Runs a loop while other threads call loops and regions of this hive: alone, if it ends sooner so. `queen_guard`:
    /// None if another thread is queen.
    #[cold]
    fn run_loop_beside_others(
        self: &Arc<Self>,
        queen_guard: Option<QueenGuard<'_>>,
        call: LoopCall,
        body: &mut dyn StartBody,
    ) -> Result<(), Error> {
        if self.is_sooner_alone(call.bees, call.size, queen_guard.is_none()) {
            drop(queen_guard);
            self.run_loop_alone(call.size, body);
            return Ok(());
        }
        let mut queen_guard = queen_guard.unwrap_or_else(|| self.team.become_queen());
        self.run_loop_as_queen(&mut queen_guard, call, body)
    }

    /// Whether a loop on a team of `bees` ends sooner if its caller runs it alone, while other threads have loops and
    /// regions of the same hive. `is_busy`: one of these threads is queen.
    ///
    /// On the team, the loop ends after the loops before it, and the threads that run loops alone have CPUs of the
    /// team. All loops are taken to be as long as this one.
    fn is_sooner_alone(&self, bees: u32, size: LoopSize, is_busy: bool) -> bool {
        let (lone_callers, waiting) = (self.lone_callers.load(Ordering::Relaxed), self.team.waiting_queens());
        let are_cpus_enough = (lone_callers + bees) as usize <= self.team.policy().cpus.get();
        if !is_busy && are_cpus_enough {
            return false;
        }
        // The team takes two units of time for a loop, and one thread `2 * bees`. On the team the loop ends after those
        // of the others and itself, two units each. If one runs now, half of it is left on average: one more unit.
        let units_on_team = 2 * (1 + waiting + lone_callers) + u32::from(is_busy);
        let gain_on_team = |alone: u64| alone.saturating_sub(alone / (2 * u64::from(bees)) * u64::from(units_on_team));
        // Who waits to be queen may sleep and have to be woken, so the team has to gain more than that costs.
        let enough_gain = if is_busy { NANOS_OF_WAKING } else { 0 };
        units_on_team >= 2 * bees
            || self.loop_costs.expected(size).is_some_and(|alone| gain_on_team(alone) <= enough_gain)
    }

    /// Runs a loop on the calling thread without the queen lock, and records how long that took.
    fn run_loop_alone(self: &Arc<Self>, size: LoopSize, body: &mut dyn StartBody) {
        self.team.count_for_queen(Counter::LoneLoops);
        let _counted = self.count_beside_others(size);
        let begin = clock::nanos();
        with_abort_in_child(|| self.run_alone(body));
        self.loop_costs.record(size, clock::nanos_since(begin));
    }

    /// Counts the calling thread among those that run loops alone, until the result is dropped, and lets others go
    /// first if there are too many.
    pub(super) fn count_beside_others(&self, size: LoopSize) -> impl Drop + use<'_> {
        self.lone_callers.fetch_add(1, Ordering::Relaxed);
        let counted = on_drop(|| _ = self.lone_callers.fetch_sub(1, Ordering::Relaxed));
        self.yield_to_other_callers(size);
        counted
    }

    /// Yields the CPU to other threads that run loops alone, if there are more of these threads than CPUs and the loop
    /// is not short. The kernel would let this thread run for several milliseconds, and the others' loops would wait.
    fn yield_to_other_callers(&self, size: LoopSize) {
        let is_crowded = self.lone_callers.load(Ordering::Relaxed) as usize > self.team.policy().cpus.get();
        if is_crowded && self.loop_costs.expected(size).is_some_and(|expected| expected > NANOS_OF_WAKING) {
            self.team.policy().yield_core();
        }
    }
}
