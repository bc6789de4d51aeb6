//! Starts a region for a closure: `Hive::spmd` and `Hive::spmd_map`, and the same for loops, whose parts may run in
//! another bee's name, or all on the caller. `Shared::spmd` (`regions.rs`) runs a region, and `Shared::run_loop`
//! (`lone_loops.rs`) a loop.

use crate::pool::error::Error;
use crate::pool::handle::Hive;
use crate::pool::loop_kind::LoopKind;
use crate::protocol::region::body::RegionBody;
use crate::region::bee::{Bee, UserBody};
use crate::region::closure_size::is_large;
use crate::region::no_double_panic::NoDoublePanic;
use crate::region::results;
use crate::region::results::ResultWriter;

/// What a region is started for.
#[derive(Clone, Copy)]
pub(crate) enum Work {
    /// Each bee runs its part, as the program has asked for.
    Parts,
    /// The same on the bees that there are, but no more than are asked for.
    PresentParts,
    /// A loop over so many indices. The hive has had so many bees as are asked for.
    Loop(usize, LoopKind),
    /// The same in the blocks of a plan, which is for so many bees. The hive grows if it has fewer.
    PlannedLoop(usize, LoopKind),
}

impl Hive {
    /// Runs a region as [`spmd`](Self::spmd) does.
    #[inline]
    #[track_caller]
    pub(crate) fn run_exactly<F: Fn(&Bee<'_>) + Sync>(&self, bees: usize, body: F) {
        self.run_parts::<false, F>(bees, Work::Parts, body);
    }

    /// Runs a region as [`spmd_map`](Self::spmd_map) does.
    #[track_caller]
    pub(crate) fn map_exactly<R: Send, F: Fn(&Bee<'_>) -> R + Sync>(&self, bees: usize, body: F) -> Vec<R> {
        self.map_parts::<false, R, F>(bees, Work::Parts, body)
    }

    /// Runs a region as [`spmd_reduce`](Self::spmd_reduce) does.
    #[track_caller]
    pub(crate) fn reduce_exactly<R, F, C>(&self, bees: usize, body: F, combine: C) -> R
    where
        R: Send,
        F: Fn(&Bee<'_>) -> R + Sync,
        C: FnMut(R, R) -> R,
    {
        // Dropped in this order, neither can panic while the other one's panic unwinds.
        let mut combined = None;
        let mut combine = NoDoublePanic::new(combine);
        let run = |slots: ResultWriter<'_, R>| self.write_parts::<false, R, F>(bees, Work::Parts, slots, body);
        results::take_results(bees.min(self.max_bees()), run, |result| {
            combined = Some(NoDoublePanic::new(match combined.take().map(NoDoublePanic::into_inner) {
                Some(before) => combine(before, result),
                None => result,
            }));
        });
        drop(combine);
        combined.unwrap_or_else(|| unreachable!("a region of {bees} has no result")).into_inner()
    }

    /// As [`spmd`](Self::spmd) if `RUNS_ANYWHERE` is false. If it is true, a bee that is done runs the parts of those
    /// that are asleep or busy with a task, one after another, in their names: as bees of their numbers, but on its own
    /// thread. That is for loops, whose parts do not need each other.
    #[inline]
    #[track_caller]
    pub(crate) fn run_parts<const RUNS_ANYWHERE: bool, F>(&self, bees: usize, work: Work, body: F)
    where
        F: Fn(&Bee<'_>) + Sync,
    {
        if is_large(&body) {
            self.run_parts_boxed::<RUNS_ANYWHERE, F>(bees, work, body);
        } else {
            self.run_parts_inline::<RUNS_ANYWHERE, F>(bees, work, body);
        }
    }

    /// Runs the region. If it cannot start, it panics while `body` still exists, so that a panic in the drop of `body`
    /// cannot take the place of this message.
    #[inline]
    #[track_caller]
    fn run_parts_inline<const RUNS_ANYWHERE: bool, F>(&self, bees: usize, work: Work, body: F)
    where
        F: Fn(&Bee<'_>) + Sync,
    {
        let mut body = UserBody::<F, RUNS_ANYWHERE>::new(body);
        let outcome = match work {
            Work::Parts => self.shared.spmd(bees, &mut body),
            Work::PresentParts => self.shared.spmd_present(bees, &mut body),
            Work::Loop(indices, kind) => self.shared.run_loop((bees, false), indices, kind, &mut body),
            Work::PlannedLoop(indices, kind) => self.shared.run_loop((bees, true), indices, kind, &mut body),
        };
        if let Err(error) = outcome {
            panic_no_region(bees, &error);
        }
    }

    /// Runs a loop whose body is no closure, and which has no plan.
    #[inline]
    #[track_caller]
    pub(crate) fn run_loop_body<P: RegionBody>(&self, bees: usize, indices: usize, kind: LoopKind, body: &mut P) {
        if let Err(error) = self.shared.run_loop((bees, false), indices, kind, body) {
            panic_no_region(bees, &error);
        }
    }

    /// For a body that is so large that every move of it counts. Without optimisation a copy of it would lie in each
    /// stack frame on its way; boxed, only the box moves.
    #[cold]
    #[track_caller]
    fn run_parts_boxed<const RUNS_ANYWHERE: bool, F>(&self, bees: usize, work: Work, body: F)
    where
        F: Fn(&Bee<'_>) + Sync,
    {
        let body = Box::new(body);
        self.run_parts_inline::<RUNS_ANYWHERE, _>(bees, work, move |bee: &Bee<'_>| body(bee));
    }

    /// As [`spmd_map`](Self::spmd_map), with `RUNS_ANYWHERE` and `work` as in [`run_parts`](Self::run_parts).
    #[track_caller]
    pub(crate) fn map_parts<const RUNS_ANYWHERE: bool, R, F>(&self, bees: usize, work: Work, body: F) -> Vec<R>
    where
        R: Send,
        F: Fn(&Bee<'_>) -> R + Sync,
    {
        // Room for no more results than there can be bees: a region of more bees is refused.
        results::collect_results(bees.min(self.max_bees()), |slots| {
            self.write_parts::<RUNS_ANYWHERE, R, F>(bees, work, slots, body);
        })
    }

    /// Runs a region or loop in which each bee writes what `body` returns into its slot. There are as many slots as
    /// bees, or as the hive may have bees, if that is less.
    #[inline]
    #[track_caller]
    #[expect(unsafe_code, reason = "each bee writes its own result without a lock")]
    fn write_parts<const RUNS_ANYWHERE: bool, R, F>(&self, bees: usize, work: Work, slots: ResultWriter<'_, R>, body: F)
    where
        R: Send,
        F: Fn(&Bee<'_>) -> R + Sync,
    {
        self.run_parts::<RUNS_ANYWHERE, _>(bees, work, move |bee| {
            // SAFETY: a region has exactly one bee of each number below its size, every one of them calls this once and
            // first of all, and the size is at most what there are slots for. The region ends before this function
            // returns.
            unsafe { slots.write_with(bee.id(), bee.bees(), || body(bee)) };
        });
    }
}

/// Panics because a region of `bees` bees could not start. Kept out of the callers' code.
#[cold]
#[track_caller]
pub(crate) fn panic_no_region(bees: usize, error: &Error) -> ! {
    panic!("no region of {bees}: {error}. (try_spmd returns this as an error.)")
}
