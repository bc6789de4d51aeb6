//! How the calling thread runs a short loop by itself, part after part, outside of any region: if all workers are
//! asleep, the loop is expected to be too short to wake them for, and its body does not know which bee it runs on. It
//! needs neither the queen lock nor a region then.
//!
//! What a thread executes when the processor has slept it has to fetch anew from memory, line by line, and for a short
//! loop that takes longer than the loop. So there is little to be executed here. All other loops go to `lone_loops.rs`.
//! See `docs/lone-loops.md`.

use std::sync::Arc;

use crate::pool::loop_costs::{LoopSize, is_one_to_time};
use crate::pool::loop_kind::CalledLoop;
use crate::pool::shared::Shared;
use crate::protocol::region::region_context::RegionContext;
use crate::region::nesting;
use crate::sync::{Counter, Deadline};
use crate::sys::clock;
use crate::sys::cost_of_waking::NANOS_OF_WAKING;

/// How far the calling thread has come with a loop by itself.
#[derive(Clone, Copy)]
pub(crate) enum RunAlone {
    /// So many parts have been run. The caller runs the others as another loop. 0: this loop is not for the calling
    /// thread alone, or cannot be run at all.
    Parts(usize),
    /// The loop is long: no part has been run, and the workers have been called. The caller hands it out.
    Called(CalledLoop),
}

impl Shared {
    /// Runs parts of a loop of `parts` equal parts, one after another, until all have been run or that has taken longer
    /// than was expected. `may_be_handed_out`: whether the loop may be cut into other parts, which go to the bees as
    /// they come.
    ///
    /// `run_part` gets the number of the part, and the team of one as which the thread runs it.
    #[inline]
    pub(crate) fn run_parts_alone(
        self: &Arc<Self>,
        parts: usize,
        size: LoopSize,
        may_be_handed_out: bool,
        run_part: impl FnMut(usize, &RegionContext<'_>),
    ) -> RunAlone {
        if nesting::is_inside_any() || !matches!(self.checked_bees(parts), Ok(2..)) {
            RunAlone::Parts(0)
        } else if self.loop_costs.is_small(size, parts as u32) {
            self.run_small_parts(parts, size, may_be_handed_out, run_part)
        } else if self.team.all_workers_sleep() {
            self.run_or_call(parts, size, may_be_handed_out, run_part)
        } else {
            RunAlone::Parts(0)
        }
    }

    /// The same for a loop that is too short for a team.
    #[inline]
    fn run_small_parts(
        self: &Arc<Self>,
        parts: usize,
        size: LoopSize,
        may_be_handed_out: bool,
        run_part: impl FnMut(usize, &RegionContext<'_>),
    ) -> RunAlone {
        let begin = is_one_to_time(self.team.count_for_queen(Counter::LoneLoops)).then(clock::nanos);
        let done = self.run_parts_until(&Deadline::soon(), parts, may_be_handed_out, run_part);
        if let Some(begin) = begin {
            self.record_parts(size, begin, (done, parts));
        } else if done < parts {
            // It is not short any more.
            self.record_parts(size, clock::nanos().saturating_sub(NANOS_OF_WAKING), (done, parts));
        }
        RunAlone::Parts(done)
    }

    /// Records how long so many of so many parts took, which began at `begin`.
    #[inline]
    fn record_parts(&self, size: LoopSize, begin: u64, (done, parts): (usize, usize)) {
        self.loop_costs.record(size, (clock::nanos_since(begin) / done as u64).saturating_mul(parts as u64));
    }

    /// Runs parts until all have been run or the deadline has passed. Returns how many have been run.
    #[inline]
    fn run_parts_until(
        self: &Arc<Self>,
        deadline: &Deadline,
        parts: usize,
        may_be_handed_out: bool,
        mut run_part: impl FnMut(usize, &RegionContext<'_>),
    ) -> usize {
        let bees_before = self.team.bees();
        self.as_solo_team(|context| {
            let mut done = 0;
            // If the hive has been made smaller since, or a part has asked for another size, which it gets after this,
            // all of the loop is run here: another loop would be one on a team of the old size.
            let is_resized = || self.team.bees() < bees_before || context.resize_at_region_end().is_some();
            let goes_on = || !deadline.has_passed() || is_resized();
            // A single part could not be shared, except if it is cut anew.
            let is_last = |done| !may_be_handed_out && done + 1 == parts;
            while done < parts && (done == 0 || is_last(done) || goes_on()) {
                run_part(done, context);
                done += 1;
            }
            done
        })
    }

    /// The same for a loop on at least two bees, all of whose workers sleep.
    // Not marked as cold: see `Team::run_region_if_long`.
    #[inline(never)]
    fn run_or_call(
        self: &Arc<Self>,
        parts: usize,
        size: LoopSize,
        may_be_handed_out: bool,
        run_part: impl FnMut(usize, &RegionContext<'_>),
    ) -> RunAlone {
        let Some(stakes) = self.stakes(parts as u32, size, may_be_handed_out) else { return RunAlone::Parts(0) };
        if may_be_handed_out && stakes.is_long() {
            if self.team.has_queen() || self.lone_callers.count() > 0 {
                // It may be sooner alone, or have to wait.
                return RunAlone::Parts(0);
            }
            // Now, and not when the loop starts: what is to be done before that takes microseconds here.
            return RunAlone::Called(self.call_workers(parts as u32, size, clock::nanos()));
        }
        // Between very short loops there is nothing to be divided, and to count their callers would cost more.
        let _counted = stakes.outlasts_a_wake_up().then(|| self.count_beside_others(size));
        let begin = clock::nanos();
        let Some(deadline) = self.deadline_alone(stakes, begin) else { return RunAlone::Parts(0) };
        self.team.count_for_queen(Counter::LoneLoops);
        let done = self.run_parts_until(&deadline, parts, may_be_handed_out, run_part);
        self.record_parts(size, begin, (done, parts));
        RunAlone::Parts(done)
    }
}
