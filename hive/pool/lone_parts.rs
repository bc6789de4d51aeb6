//! How the calling thread runs a short loop by itself, part after part, outside of any region: if the loop is expected
//! to be too short for a team, or to wake the workers for, who are all asleep, and its body does not know which bee it
//! runs on. It needs neither the queen lock nor a region then.
//!
//! What a thread executes when the processor has slept it has to fetch anew from memory, line by line, and for a short
//! loop that takes longer than the loop. So there is little to be executed here. All other loops go to `lone_loops.rs`.
//!
//! What both files ask is here, too: whether workers who are all asleep are woken for a loop, by what is known of the
//! loop and of the delay of wake-ups. See `docs/lone-loops.md`.

use std::sync::Arc;

use crate::pool::loop_costs::{
    GAIN_OF_LONG, LOOPS_PER_TRIAL, LoopSize, NANOS_OF_START, Sharing, gain_of, is_one_in, is_one_to_time, is_small_gain,
};
use crate::pool::shared::Shared;
use crate::protocol::region::region_context::RegionContext;
use crate::region::nesting;
use crate::sync::{Counter, Deadline};
use crate::sys::clock;
use crate::sys::part_time::NANOS_OF_WAKING;

/// How far the calling thread has come with a loop by itself.
#[derive(Clone, Copy)]
pub(crate) enum RunAlone {
    /// So many parts have been run. The caller runs the others as another loop. 0: this loop is not for the calling
    /// thread alone, or cannot be run at all.
    Parts(usize),
    /// No part has been run: it pays to wake the workers, and the loop is to be handed out as they come.
    HandOut,
}

/// A loop in equal parts.
#[derive(Clone, Copy)]
pub(crate) struct LoopInParts {
    pub(crate) parts: usize,
    /// The size of the team that would run it.
    pub(crate) bees: usize,
    /// If the bees share it as they come, it may be cut into other parts.
    pub(crate) size: LoopSize,
}

impl LoopInParts {
    /// Whether this part can be left to others.
    fn can_be_shared(self, part: usize) -> bool {
        self.size.sharing == Sharing::AsTheyCome || part + 1 < self.parts
    }
}

/// What is known of a loop that finds all workers asleep. All times are in nanoseconds.
#[derive(Clone, Copy)]
pub(crate) struct Stakes {
    /// How long one thread takes for it.
    expected: u64,
    /// How much sooner it would end on workers that are awake.
    gain: u64,
    /// How much later it would end than that, because they have to be woken.
    loss: u64,
    /// How long they take to come.
    delay: u64,
}

impl Stakes {
    /// Whether the workers would be woken for this loop by itself, without those before it.
    pub(crate) fn is_long(self) -> bool {
        self.gain > self.loss
    }
}

/// Runs one part of a loop. Gets the number of the part, and the team of one as which the thread runs it.
pub(crate) trait RunPart: FnMut(usize, &RegionContext<'_>) {}
impl<F: FnMut(usize, &RegionContext<'_>)> RunPart for F {}

impl Shared {
    /// Runs parts of a loop, one after another, until all have been run or that has taken longer than was expected.
    #[inline]
    pub(crate) fn run_parts_alone(self: &Arc<Self>, work: LoopInParts, run_part: impl RunPart) -> RunAlone {
        if nesting::is_inside_any() || !matches!(self.checked_bees(work.bees), Ok(2..)) {
            return RunAlone::Parts(0);
        }
        let gain = self.loop_costs.gain(work.size, work.bees as u32);
        let is_small = gain.is_some_and(is_small_gain);
        if is_small || gain.is_some_and(|gain| self.is_one_to_try_alone(gain, work.bees as u32, work.size)) {
            self.run_small_parts(work, !is_small, run_part)
        } else if self.team.all_workers_sleep() {
            self.run_cold_parts(work, run_part)
        } else {
            RunAlone::Parts(0)
        }
    }

    /// Whether this loop, one in many, is run alone and timed: it gains little by the team, or is guessed to be short.
    /// Guesses come from parts that wait for cache lines from workers: by these alone no loop would be found to be too
    /// short for a team.
    #[inline(always)]
    pub(super) fn is_one_to_try_alone(&self, gain: u64, bees: u32, size: LoopSize) -> bool {
        let number = self.team.loops_of_queen();
        // The larger the team, the more a loop loses that gains by it after all.
        let is_guess = || self.loop_costs.is_short_guess(size) && is_one_in(LOOPS_PER_TRIAL * u64::from(bees), number);
        is_one_in(LOOPS_PER_TRIAL, number) && (gain <= 4 * NANOS_OF_START || is_guess())
    }

    /// `run_parts_alone` for a loop that is too short for a team, or is tried without one.
    #[inline]
    fn run_small_parts(self: &Arc<Self>, work: LoopInParts, is_trial: bool, run_part: impl RunPart) -> RunAlone {
        let number = self.team.count_for_queen(Counter::LoneLoops);
        let begin = (is_trial || is_one_to_time(number)).then(clock::nanos);
        let done = self.run_parts_until(&Deadline::soon(), work, run_part);
        if let Some(begin) = begin {
            self.record_parts(work, begin, done);
        } else if done < work.parts {
            // The loop is not short any more.
            self.record_parts(work, clock::nanos().saturating_sub(NANOS_OF_WAKING), done);
        }
        RunAlone::Parts(done)
    }

    /// `run_parts_alone` for a loop all of whose workers sleep.
    // Not marked as cold: see `Team::run_region_if_long`.
    #[inline(never)]
    fn run_cold_parts(self: &Arc<Self>, work: LoopInParts, run_part: impl RunPart) -> RunAlone {
        let Some(stakes) = self.stakes(work.bees as u32, work.size) else { return RunAlone::Parts(0) };
        let is_shared = work.size.sharing == Sharing::AsTheyCome;
        if is_shared && stakes.is_long() {
            return RunAlone::HandOut;
        }
        // Between very short loops there is nothing to be divided, and to count their callers would cost more.
        let _counted = (stakes.expected > NANOS_OF_WAKING).then(|| self.count_beside_others(work.size));
        let begin = clock::nanos();
        // Where the workers have no CPU, it would pay to wake them only for a long loop.
        let is_unwanted = || stakes.gain < GAIN_OF_LONG && self.team.help.time_if_unwanted().is_some();
        let unwanted = || is_unwanted().then(|| Deadline::new(begin, GAIN_OF_LONG));
        let Some(deadline) = self.deadline_alone(stakes, begin).or_else(unwanted) else {
            return if is_shared { RunAlone::HandOut } else { RunAlone::Parts(0) };
        };
        self.team.count_for_queen(Counter::LoneLoops);
        let done = self.run_parts_until(&deadline, work, run_part);
        self.record_parts(work, begin, done);
        RunAlone::Parts(done)
    }

    /// Runs parts until all have been run or the deadline has passed. Returns how many have been run.
    #[inline]
    fn run_parts_until(self: &Arc<Self>, deadline: &Deadline, work: LoopInParts, mut run_part: impl RunPart) -> usize {
        let bees_before = self.team.bees();
        self.as_solo_team(|context| {
            let mut done = 0;
            // If the hive has been made smaller since, or a part has asked for another size, which it gets after this,
            // all of the loop is run here: another loop would be one on a team of the old size.
            let is_resized = || self.team.bees() < bees_before || context.resize_at_region_end().is_some();
            let goes_on = || !deadline.has_passed() || is_resized();
            while done < work.parts && (done == 0 || !work.can_be_shared(done) || goes_on()) {
                run_part(done, context);
                done += 1;
            }
            done
        })
    }

    /// Records how long it took to run so many parts, which began at `begin`.
    #[inline]
    fn record_parts(&self, work: LoopInParts, begin: u64, done: usize) {
        let took = clock::nanos_since(begin).saturating_mul(work.parts as u64) / done as u64;
        self.loop_costs.record(work.size, took);
    }

    /// What is at stake for a loop on a team of `bees`. None: the loop has not run yet.
    #[inline]
    pub(crate) fn stakes(&self, bees: u32, size: LoopSize) -> Option<Stakes> {
        let (expected, delay) = (self.loop_costs.expected(size)?, self.team.wake_delay.nanos());
        let gain = gain_of(expected, bees);
        Some(Stakes { expected, gain, loss: loss_by_waking(delay, bees, size.sharing), delay })
    }

    /// Whether a loop on a team of `bees` finds all workers asleep and is known to be worth waking them for.
    pub(crate) fn is_to_wake_for(&self, bees: usize, size: LoopSize) -> bool {
        bees > 1 && self.team.all_workers_sleep() && self.stakes(bees as u32, size).is_some_and(Stakes::is_long)
    }

    /// If the caller is to run the loop, which begins at `begin`, alone: the time after which it has turned out to be
    /// long. None: the workers are to be woken for it.
    #[inline]
    pub(crate) fn deadline_alone(&self, stakes: Stakes, begin: u64) -> Option<Deadline> {
        let Stakes { expected, gain, loss, delay } = stakes;
        if self.loop_costs.pays_to_wake(gain, loss, begin) {
            return None;
        }
        if gain > NANOS_OF_WAKING {
            // It is alone because of the delay that was measured.
            self.team.wake_delay.doubt();
        }
        // To wake the workers after the delay costs no more than to have woken them at once for nothing.
        Some(Deadline::new(begin, expected.saturating_add(delay)))
    }
}

/// By how many nanoseconds a loop ends later than with workers that are awake, if they have to be woken for it, which
/// takes `delay`.
///
/// Where each bee has a part of its own, that is the whole delay. Where whoever is there runs more, what the queen does
/// meanwhile is done. How much that is depends on how much of the delay it takes her to wake them; half of it is
/// assumed.
#[inline]
fn loss_by_waking(delay: u64, bees: u32, sharing: Sharing) -> u64 {
    // The delay is that of the first worker. To wake several takes longer.
    let delay = if bees > 2 { delay.max(NANOS_OF_WAKING) } else { delay };
    match sharing {
        Sharing::EqualParts => delay,
        Sharing::AsTheyCome => delay - delay / (2 * u64::from(bees)),
    }
}
