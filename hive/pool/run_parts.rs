//! Starts a region for a closure: `Hive::spmd` and `Hive::spmd_map`, and the same for loops, whose parts may run in
//! another bee's name. `Shared::spmd` (`regions.rs`) runs the region.

use crate::pool::error::Error;
use crate::pool::handle::Hive;
use crate::region::bee::{Bee, UserBody};
use crate::region::closure_size::is_large;
use crate::region::results;

impl Hive {
    /// As [`spmd`](Self::spmd) if `RUNS_ANYWHERE` is false. If it is true, a bee that is done runs the parts of those
    /// that are asleep or busy with a task, one after another, in their names: as bees of their numbers, but on its own
    /// thread. That is for loops, whose parts do not need each other.
    #[inline]
    #[track_caller]
    pub(crate) fn run_parts<const RUNS_ANYWHERE: bool, F: Fn(&Bee<'_>) + Sync>(&self, bees: usize, body: F) {
        if is_large(&body) {
            self.run_parts_boxed::<RUNS_ANYWHERE, F>(bees, body);
        } else {
            self.run_parts_inline::<RUNS_ANYWHERE, F>(bees, body);
        }
    }

    /// Runs the region. If it cannot start, it panics while `body` still exists, so that a panic in the drop of `body`
    /// cannot take the place of this message.
    #[inline]
    #[track_caller]
    fn run_parts_inline<const RUNS_ANYWHERE: bool, F: Fn(&Bee<'_>) + Sync>(&self, bees: usize, body: F) {
        let mut body = UserBody::<F, RUNS_ANYWHERE>::new(body);
        if let Err(error) = self.shared.spmd(bees, &mut body) {
            panic_no_region(bees, &error);
        }
    }

    /// For a body that is so large that every move of it counts. Without optimisation a copy of it would lie in each
    /// stack frame on its way; boxed, only the box moves.
    #[cold]
    #[track_caller]
    fn run_parts_boxed<const RUNS_ANYWHERE: bool, F: Fn(&Bee<'_>) + Sync>(&self, bees: usize, body: F) {
        let body = Box::new(body);
        self.run_parts_inline::<RUNS_ANYWHERE, _>(bees, move |bee: &Bee<'_>| body(bee));
    }

    /// As [`spmd_map`](Self::spmd_map), with `RUNS_ANYWHERE` as in [`run_parts`](Self::run_parts).
    #[track_caller]
    #[expect(unsafe_code, reason = "each bee writes its own result without a lock")]
    pub(crate) fn map_parts<const RUNS_ANYWHERE: bool, R, F>(&self, bees: usize, body: F) -> Vec<R>
    where
        R: Send,
        F: Fn(&Bee<'_>) -> R + Sync,
    {
        // Room for no more results than there can be bees: a region of more bees is refused.
        results::collect_results(bees.min(self.max_bees()), |slots| {
            self.run_parts::<RUNS_ANYWHERE, _>(bees, move |bee| {
                // SAFETY: a region has exactly one bee of each number below its size, every one of them calls this once
                // and first of all, and the size is at most what `collect_results` has room for. The region ends before
                // this closure does.
                unsafe { slots.write_with(bee.id(), bee.bees(), || body(bee)) };
            });
        })
    }
}

/// Panics because a region of `bees` bees could not start. Kept out of the callers' code.
#[cold]
#[track_caller]
pub(crate) fn panic_no_region(bees: usize, error: &Error) -> ! {
    panic!("no region of {bees}: {error}. (try_spmd returns this as an error.)")
}
