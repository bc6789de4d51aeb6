//! A hive as a thread pool of paralight's iterators: `with_thread_pool(&hive)`.
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
//! # Ok::<(), hive::BuildError>(())
//! ```
//!
//! A pipeline is one [region](Hive::spmd) of all bees that the hive has, or of one bee for each item where those are fewer. The input is in equal shares at
//! first; who is done with its own takes half of what another has left, so that items may take unequal time. In which order items are put together is
//! left open, as paralight has it.
//!
//! A pipeline inside a region of the same hive runs on its caller alone. A panic in what is done with an item reaches the caller when the other bees have done the
//! other items; with it, each item of an input by value is dropped once.

#![expect(unsafe_code, reason = "promises paralight that each index is used once")]

use std::mem;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::panicking;

use paralight::iter::{Accumulator, ExactSizeAccumulator, GenericThreadPool, SourceCleanup};

use crate::adapters::work_ranges::WorkRanges;
use crate::pool::handle::Hive;
use crate::protocol::region::panics::ignore_panic;
use crate::region::no_double_panic::NoDoublePanic;

// SAFETY: both pipelines pass on what `PipelineInput` hands out: indices of its length, each either to be processed or to be cleaned up.
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
        // The lowest index whose item was the last that was wanted.
        let bound = AtomicUsize::new(usize::MAX);
        let outputs = run_pipeline(self, input_len, cleanup, |mut items| {
            let mut accumulator = init();
            // Relaxed, here and below: only spares work. The end of the region hands on what was found.
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

/// Runs `part` on the bees of `hive`, each with the items that it is to process. What they return, in their order.
fn run_pipeline<R: Send, C: SourceCleanup + Sync>(
    hive: &Hive,
    input_len: usize,
    cleanup: &C,
    body: impl Fn(Items<'_, C>) -> R + Sync,
) -> Vec<NoDoublePanic<R>> {
    let bees = hive.bees().min(input_len).max(1);
    let input = PipelineInput { ranges: WorkRanges::new(input_len, bees), bees, cleanup };
    hive.spmd_map(bees, |bee| NoDoublePanic::new(body(Items { input: &input, bee: bee.id(), claimed: 0..0 })))
}

/// A pipeline's input. Dropped, it cleans up what no bee has taken: of a region that was not to be, or that had one bee because it was nested.
struct PipelineInput<'c, C: SourceCleanup> {
    ranges: WorkRanges,
    bees: usize,
    cleanup: &'c C,
}

impl<C: SourceCleanup> PipelineInput<'_, C> {
    /// Has items cleaned up that have been taken and will not be processed; quietly if a panic goes on.
    fn discard(&self, items: Range<usize>) {
        if C::NEEDS_CLEANUP && !items.is_empty() {
            // SAFETY: who takes indices from the shares has them for itself, and they are below the input's length.
            let clean_up = || unsafe { self.cleanup.cleanup_item_range(items) };
            if panicking() { ignore_panic(clean_up) } else { clean_up() }
        }
    }

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

/// The indices of the items that a bee is to process. Dropped before its end, by a panic too, it cleans up the bee's others.
struct Items<'i, C: SourceCleanup> {
    input: &'i PipelineInput<'i, C>,
    bee: usize,
    /// Taken, and not yet handed out.
    claimed: Range<usize>,
}

impl<C: SourceCleanup> Items<'_, C> {
    /// The next index that is not above `binding`; those above it are skipped.
    fn next_up_to(&mut self, bound: usize) -> Option<usize> {
        while self.refill() {
            if self.claimed.start <= bound {
                return self.claimed.next();
            }
            self.input.discard(mem::take(&mut self.claimed));
        }
        None
    }

    /// Sees that there are indices in the piece, as long as there are any.
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
                for index in self.claimed.by_ref() {
                    folded = fold(folded, index);
                }
            } else {
                // A loop that the compiler knows the end of: no panic leaves anything to clean up.
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
