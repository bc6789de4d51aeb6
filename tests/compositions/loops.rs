//! Operations with loops and reductions, and with what the bees of a region do together.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use hive::{Bee, Loop, Reduction, Schedule};

use super::super::common::sys;
use super::expectation::Team;
use super::fault::{First, PartsRun};
use super::frames::{Entered, Frame, Wait};
use super::regions::{TeamRoll, record_bee};
use super::step::Step;
use super::surroundings::Surroundings;

/// What a loop does for some indices: it returns their sum. The bee that gets the first index runs the rest, within its
/// part of the region.
fn sum(step: &Step<'_>, range: Range<usize>, bee: usize, rest: impl FnOnce()) -> usize {
    let is_held = step.run.case.surroundings == Surroundings::Held;
    let (first, second) = if is_held { (1, 0) } else { (0, 1) };
    if range.contains(&first) {
        rest();
    } else if range.contains(&second) {
        step.run_concurrent_part(bee);
    }
    range.map(|index| index + 1).sum()
}

/// The sum of all indices.
fn whole_sum(indices: usize) -> usize {
    indices * (indices + 1) / 2
}

impl<'r> Step<'r> {
    /// As `team`, for a loop, which may also be run by the calling thread alone.
    fn loop_team(&self) -> Result<(usize, Team), usize> {
        let n = self.hive().bees();
        match self.view().loop_team(self.on, n) {
            Team::Never(why) => Err(self.not_called(why)),
            team => Ok((n, team)),
        }
    }

    /// Records that the thread calls a loop.
    fn wait_for_loop(&self, expected: Team) -> Entered<'r> {
        self.wait_for_region(if expected == Team::All { Team::Either } else { expected })
    }
}

/// How the indices are dealt out. If the workers are held, the second one belongs to a bee that the caller stands in
/// for.
fn schedule(step: &Step<'_>) -> Schedule {
    if step.run.case.surroundings == Surroundings::Held { Schedule::StaticChunk(1) } else { Schedule::Dynamic(1) }
}

pub(crate) fn par_for(step: &Step<'_>) -> usize {
    let (n, expected) = match step.loop_team() {
        Ok(team) => team,
        Err(reached) => return reached,
    };
    let (all, reached, parts) = (AtomicUsize::new(0), AtomicUsize::new(0), PartsRun::default());
    let part = |range: Range<usize>, bee: &Bee<'_>| {
        let rest = || {
            let _in = step.enter_region(bee);
            reached.fetch_add(step.run_rest(), Ordering::Relaxed);
        };
        all.fetch_add(sum(step, range, bee.id(), rest), Ordering::Relaxed);
    };
    let _waits = step.wait_for_loop(expected);
    let schedule = schedule(step);
    let region = || step.hive().par_for((0..4 * n, schedule), |range, bee| parts.run(bee.id(), || part(range, bee)));
    if step.call(&parts, First::Lowest, region).is_some() {
        let sum = all.into_inner();
        step.check(sum == whole_sum(4 * n), || format!("the indices add up to {sum}, not {}", whole_sum(4 * n)));
    }
    reached.into_inner()
}

pub(crate) fn par_reduce(step: &Step<'_>) -> usize {
    let (n, mut expected) = match step.loop_team() {
        Ok(team) => team,
        Err(reached) => return reached,
    };
    let view = step.view();
    if expected == Team::All && (view.is_mirrored || view.has_callers || view.is_concurrent) {
        // While another thread is queen, the caller may run it all alone.
        expected = Team::Either;
    }
    let (reached, parts, queen) = (AtomicUsize::new(0), PartsRun::default(), sys::tid());
    let bee_id = || if sys::tid() == queen { 0 } else { step.bee_that_runs_this() };
    let part = |range: Range<usize>| {
        let rest = || {
            // This closure is not given a bee. If the team may have one bee or all, the queen cannot tell here what she
            // is inside of. Another bee can: its existence shows that the team has several bees.
            let id = bee_id();
            if expected != Team::Either || id > 0 {
                let _in = step.enter_unnamed(if expected == Team::One { 1 } else { n }, id);
                reached.fetch_add(step.run_rest(), Ordering::Relaxed);
            }
        };
        sum(step, range, bee_id(), rest)
    };
    let _waits = step.wait_for_loop(expected);
    let add = Reduction::unordered(0, |a, b| a + b);
    let region =
        || step.hive().par_reduce((0..4 * n, schedule(step)), &add, |range| parts.run(bee_id(), || part(range)));
    if let Some(sum) = step.call(&parts, First::Lowest, region) {
        step.check(sum == whole_sum(4 * n), || format!("the sum is {sum}, not {}", whole_sum(4 * n)));
    }
    reached.into_inner()
}

impl<'r> Step<'r> {
    /// As `enter_region`, where the body is not told which bee of a team of `team` runs it.
    fn enter_unnamed(&self, team: usize, id: usize) -> Entered<'r> {
        let region = Frame::Region { hive: self.on, team, id };
        if id == 0 { self.enter(&[region]) } else { self.enter(&[self.bee_of_thread(id), region]) }
    }
}

/// A loop inside a region, between barriers.
pub(crate) fn for_each(step: &Step<'_>) -> usize {
    let (n, expected) = match step.team() {
        Ok(team) => team,
        Err(reached) => return reached,
    };
    let (all, reached, parts, roll) =
        (AtomicUsize::new(0), AtomicUsize::new(0), PartsRun::default(), TeamRoll::default());
    let shared = Loop::new(0..4 * n, Schedule::Guided(1));
    let part = |bee: &Bee<'_>| {
        let _in = step.enter_region(bee);
        record_bee(&roll, bee);
        // Recorded before the barrier: the bee that gets the first index must see that the others wait for it at the
        // end of the loop.
        let _waits = step.wait(Wait::Blocked);
        bee.barrier();
        bee.for_each(&shared, |range| {
            let rest = || _ = reached.fetch_add(step.run_rest(), Ordering::Relaxed);
            all.fetch_add(sum(step, range, bee.id(), rest), Ordering::Relaxed);
        });
        bee.barrier();
        let sum = all.load(Ordering::Relaxed);
        step.check(sum == whole_sum(4 * n), || {
            format!("after the barrier the indices add up to {sum}, not {}", whole_sum(4 * n))
        });
    };
    let _waits = step.wait_for_region(expected);
    let region = || step.hive().spmd(n, |bee| parts.run(bee.id(), || part(bee)));
    step.call(&parts, First::Lowest, region);
    step.check_team(expected, n, &roll);
    reached.into_inner()
}

/// One bee of a region runs the rest while the others wait for its result.
pub(crate) fn single(step: &Step<'_>) -> usize {
    let (n, expected) = match step.team() {
        Ok(team) => team,
        Err(reached) => return reached,
    };
    let (parts, roll) = (PartsRun::default(), TeamRoll::default());
    let reached = AtomicUsize::new(0);
    let part = |bee: &Bee<'_>| {
        let _in = step.enter_region(bee);
        record_bee(&roll, bee);
        // Recorded before the barrier: the bee that comes first must see that the others wait for it.
        let _waits = step.wait(Wait::Blocked);
        bee.barrier();
        let shown = bee.single(|| {
            reached.fetch_add(step.run_rest(), Ordering::Relaxed);
            reached.load(Ordering::Relaxed)
        });
        let is_right = shown == reached.load(Ordering::Relaxed);
        step.check(is_right, || format!("single returns {shown} to bee {}", bee.id()));
    };
    let _waits = step.wait_for_region(expected);
    let region = || step.hive().spmd(n, |bee| parts.run(bee.id(), || part(bee)));
    step.call(&parts, First::Lowest, region);
    step.check_team(expected, n, &roll);
    reached.into_inner()
}
