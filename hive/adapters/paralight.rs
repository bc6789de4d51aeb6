//! A hive as a thread pool for paralight's iterators: `with_thread_pool(&hive)`.
//!
//! ```
//! use paralight::prelude::*;
//!
//! let hive = hive::Hive::new(3)?;
//! let input: Vec<u64> = (0..10_000).collect();
//! let sum = input.par_iter().with_thread_pool(&hive).map(|x| x * x).sum::<u64>();
//! assert_eq!(sum, 333_283_335_000);
//! let first = input.par_iter().with_thread_pool(&hive).find_first(|x| **x > 77);
//! assert_eq!(first, Some(&78));
//! # Ok::<(), hive::Error>(())
//! ```
//!
//! A pipeline is one [region](Hive::spmd) with all bees of the hive, or with one bee for each item where there are
//! fewer items than bees. At first each bee has an equal block of the input. A bee that has finished its own block
//! takes half of what another bee has left, so the items may take unequal time. The order in which items are combined
//! is not specified, as paralight allows.
//!
//! A pipeline inside a region of the same hive runs on the calling thread alone. If the processing of an item panics,
//! the other bees still process the remaining items before the panic reaches the caller. Each item of an input by value
//! is dropped exactly once, also in that case.

#![expect(unsafe_code, reason = "promises paralight that each index is used once")]

use std::mem;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::panicking;

use paralight::iter::{Accumulator, ExactSizeAccumulator, GenericThreadPool, SourceCleanup};

use crate::adapters::work_ranges::WorkRanges;
use crate::pool::handle::Hive;
use crate::pool::loop_costs::{LoopKind, Sharing};
use crate::pool::run_parts::LoopWork;
use crate::protocol::region::panics::ignore_panic;
use crate::region::no_double_panic::NoDoublePanic;

// SAFETY: paralight requires that each index below the input's length is used exactly once, either processed or cleaned
// up. Both pipelines use only the indices that `PipelineInput` hands out, which fulfils this.
unsafe impl GenericThreadPool for &Hive {
    fn upper_bounded_pipeline<Output: Send, Accum>(
        self,
        input_len: usize,
        init: impl Fn() -> Accum + Sync,
        process_item: impl Fn(Accum, usize) -> ControlFlow<Accum, Accum> + Sync,
        finalize: impl Fn(Accum) -> Output + Sync,
        reduce: impl Fn(Output, Output) -> Output,
        cleanup: &(impl SourceCleanup + Sync),
    ) -> Output {
        // The lowest index whose item has ended the search (`ControlFlow::Break`). Items above it need not be
        // processed.
        let bound = AtomicUsize::new(usize::MAX);
        let outputs = run_pipeline(self, input_len, cleanup, |mut items| {
            let mut accumulator = init();
            // Relaxed, here and below: the bound only spares work, and no data depends on it. What the bees have found
            // is published by the end of the region.
            while let Some(index) = items.next_up_to(bound.load(Ordering::Relaxed)) {
                accumulator = match process_item(accumulator, index) {
                    ControlFlow::Continue(accumulator) => accumulator,
                    ControlFlow::Break(accumulator) => {
                        bound.fetch_min(index, Ordering::Relaxed);
                        accumulator
                    }
                };
            }
            finalize(accumulator)
        });
        outputs
            .into_iter()
            .map(NoDoublePanic::into_inner)
            .reduce(reduce)
            .unwrap_or_else(|| unreachable!("a region has a bee"))
    }

    fn iter_pipeline<Output, Accum: Send>(
        self,
        input_len: usize,
        accum: impl Accumulator<usize, Accum> + Sync,
        reduce: impl ExactSizeAccumulator<Accum, Output>,
        cleanup: &(impl SourceCleanup + Sync),
    ) -> Output {
        let outputs = run_pipeline(self, input_len, cleanup, |items| accum.accumulate(items));
        reduce.accumulate_exact(outputs.into_iter().map(NoDoublePanic::into_inner))
    }
}

/// Runs `body` on the bees of `hive`, each with the items that it is to process. Returns the results in the order of
/// the bees.
fn run_pipeline<R: Send, C: SourceCleanup + Sync>(
    hive: &Hive,
    input_len: usize,
    cleanup: &C,
    body: impl Fn(Items<'_, C>) -> R + Sync,
) -> Vec<NoDoublePanic<R>> {
    // An empty input has a region of one bee, because paralight needs one result.
    let bees = hive.bees().min(input_len).max(1);
    let input = PipelineInput { ranges: WorkRanges::new(input_len, bees), bees, cleanup };
    let kind = LoopKind::OfBees(Sharing::AsTheyCome);
    hive.map_parts(bees, LoopWork { indices: input_len, kind, is_planned: false }, |bee| {
        NoDoublePanic::new(body(Items { input: &input, bee: bee.id(), claimed: 0..0 }))
    })
}

/// The input of one pipeline, as indices. When it is dropped it cleans up the items that no bee has taken: those of a
/// region that could not start, and those meant for bees that a nested region, a team of one, does not have.
struct PipelineInput<'c, C: SourceCleanup> {
    /// The indices that no bee has taken yet.
    ranges: WorkRanges,
    /// The number of blocks in `ranges`.
    bees: usize,
    /// paralight's function that drops items which are not processed.
    cleanup: &'c C,
}

impl<C: SourceCleanup> PipelineInput<'_, C> {
    /// Cleans up items that have been taken but will not be processed. If the thread is panicking already, a panic of
    /// the cleanup is ignored.
    fn discard(&self, items: Range<usize>) {
        if C::NEEDS_CLEANUP && !items.is_empty() {
            // SAFETY: the indices are below the input's length. They were taken from `ranges`, so this thread alone has
            // them, and it does not process them.
            let clean_up = || unsafe { self.cleanup.cleanup_item_range(items) };
            if panicking() { ignore_panic(clean_up) } else { clean_up() }
        }
    }

    /// Takes all that is left of the block of `bee`, and cleans it up.
    fn discard_rest(&self, bee: usize) {
        if let Some(items) = self.ranges.claim_rest(bee) {
            self.discard(items);
        }
    }
}

impl<C: SourceCleanup> Drop for PipelineInput<'_, C> {
    fn drop(&mut self) {
        (0..self.bees).for_each(|bee| self.discard_rest(bee));
    }
}

/// An iterator over the indices of the items that one bee is to process. If it is dropped before its end, also by a
/// panic, it cleans up what the bee has claimed and what is left of the bee's block.
struct Items<'i, C: SourceCleanup> {
    input: &'i PipelineInput<'i, C>,
    bee: usize,
    /// Indices that the bee has claimed but not returned yet.
    claimed: Range<usize>,
}

impl<C: SourceCleanup> Items<'_, C> {
    /// The next index that is not above `bound`. Claimed items above `bound` are skipped and cleaned up.
    fn next_up_to(&mut self, bound: usize) -> Option<usize> {
        while self.refill() {
            if self.claimed.start <= bound {
                return self.claimed.next();
            }
            self.input.discard(mem::take(&mut self.claimed));
        }
        None
    }

    /// Claims more indices if none are left in `claimed`. Returns whether there are any.
    #[inline]
    fn refill(&mut self) -> bool {
        if self.claimed.is_empty() {
            self.claimed = self.input.ranges.claim(self.bee).unwrap_or_default();
        }
        !self.claimed.is_empty()
    }
}

impl<C: SourceCleanup> Iterator for Items<'_, C> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.refill() { self.claimed.next() } else { None }
    }

    #[inline]
    fn fold<B, F: FnMut(B, usize) -> B>(mut self, init: B, mut fold: F) -> B {
        let mut folded = init;
        while self.refill() {
            if C::NEEDS_CLEANUP {
                // Index by index, so that a panic leaves the rest in `claimed`, whose items `drop` then cleans up.
                for index in self.claimed.by_ref() {
                    folded = fold(folded, index);
                }
            } else {
                // The whole range at once, so that the compiler knows how often the loop runs. If there is a panic, no
                // item needs a cleanup.
                folded = mem::take(&mut self.claimed).fold(folded, &mut fold);
            }
        }
        folded
    }
}

impl<C: SourceCleanup> Drop for Items<'_, C> {
    fn drop(&mut self) {
        self.input.discard(mem::take(&mut self.claimed));
        self.input.discard_rest(self.bee);
    }
}
