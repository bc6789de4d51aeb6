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

use crate::loops::chunks::UnitMap;
use crate::loops::dispatch::Dispatch;
use crate::loops::work_range::{MAX_UNITS, WorkRange};
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
        outputs.reduce(reduce).unwrap_or_else(|| unreachable!("a region has a bee"))
    }

    /// Each bee accumulates its own items, and the calling thread reduces the bees' results.
    fn iter_pipeline<Output, Accum: Send>(
        self,
        input_len: usize,
        accum: impl Accumulator<usize, Accum> + Sync,
        reduce: impl ExactSizeAccumulator<Accum, Output>,
        cleanup: &(impl SourceCleanup + Sync),
    ) -> Output {
        let outputs = run_pipeline(self, input_len, cleanup, |items| accum.accumulate(items));
        reduce.accumulate_exact(outputs)
    }
}

/// Runs `body` on the bees of `hive`, each with the items that it is to process. Returns the results in the order of
/// the bees.
fn run_pipeline<R: Send, C: SourceCleanup + Sync>(
    hive: &Hive,
    input_len: usize,
    cleanup: &C,
    body: impl Fn(Items<'_, C>) -> R + Sync,
) -> impl ExactSizeIterator<Item = R> {
    // An empty input has a region of one bee, because paralight needs one result.
    let bees = hive.bees().min(input_len).max(1);
    let input = PipelineInput { ranges: WorkRanges::new(input_len, bees), cleanup };
    let kind = LoopKind::OfBees(Sharing::AsTheyCome);
    let results = hive.map_parts(bees, LoopWork { indices: input_len, kind, is_planned: false }, |bee| {
        NoDoublePanic::new(body(Items { input: &input, bee: bee.id(), claimed: 0..0 }))
    });
    results.into_iter().map(NoDoublePanic::into_inner)
}

/// The input of one pipeline, as indices. When it is dropped it cleans up the items that no bee has taken: those of a
/// region that could not start, and those meant for bees that a nested region, a team of one, does not have.
struct PipelineInput<'c, C: SourceCleanup> {
    /// The indices that no bee has taken yet.
    ranges: WorkRanges,
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
        self.discard(self.ranges.claim_rest(bee).unwrap_or_default());
    }
}

impl<C: SourceCleanup> Drop for PipelineInput<'_, C> {
    fn drop(&mut self) {
        (0..self.ranges.ranges.len()).for_each(|bee| self.discard_rest(bee));
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

/// A bee claims this fraction, one eighth, of what its block has left. The rest stays in the block for other bees to
/// steal.
const CLAIM_DIVISOR: u32 = 8;

/// The number of the only round that a pipeline has. A loop's ranges are used for many rounds.
const ROUND: u16 = 0;

/// The block for rounds to come, which `WorkRange` asks for. There are none.
const NO_BLOCK: Range<u32> = 0..0;

/// The indices of a pipeline that no bee has taken yet, in one block for each bee. A bee takes from the front of its
/// own block, in ever smaller pieces, and then steals half of the largest block.
///
/// The blocks are those of the hive's own loops (`loops/work_range.rs`). Two things differ from a loop: a bee asks for
/// its next indices, as an iterator does, and it may stop before none are left.
struct WorkRanges {
    /// One block for each bee, in units.
    ranges: Box<[WorkRange]>,
    /// The indices in units. A unit is one index unless there are more indices than a `WorkRange` can count.
    units: UnitMap,
}

impl WorkRanges {
    /// All indices below `len`, in equal blocks for `bees` bees.
    fn new(len: usize, bees: usize) -> Self {
        let units = UnitMap::new(len, MAX_UNITS);
        let range = |bee| WorkRange::with_units(ROUND, &Dispatch::block(bee as u32, bees, units.count as u32));
        Self { ranges: (0..bees).map(range).collect(), units }
    }

    /// The next indices for `bee`, from its own block or stolen from another. None: all indices are taken.
    fn claim(&self, bee: usize) -> Option<Range<usize>> {
        self.claim_own(bee, claim_amount).or_else(|| self.steal(bee))
    }

    /// All that is left of the block of `bee`.
    fn claim_rest(&self, bee: usize) -> Option<Range<usize>> {
        self.claim_own(bee, |left| left)
    }

    /// Takes indices from the front of the block of `bee`. `amount` says how many units, given how many are left.
    fn claim_own(&self, bee: usize, amount: impl Fn(u32) -> u32) -> Option<Range<usize>> {
        self.ranges[bee].claim(ROUND, &NO_BLOCK, amount).map(|units| self.indices_of(units))
    }

    /// Takes half of the largest block. Returns the first piece of that half; the rest becomes the new block of `bee`,
    /// whose own block must be empty.
    #[cold]
    fn steal(&self, bee: usize) -> Option<Range<usize>> {
        loop {
            let remaining = |other: usize| self.ranges[other].remaining(ROUND, &NO_BLOCK).len();
            let (len, victim) = (0..self.ranges.len()).map(|other| (remaining(other), other)).max()?;
            if len == 0 {
                return None;
            }
            // Another bee may have taken the last of that block meanwhile; then look again.
            let Some(taken) = self.ranges[victim].steal(ROUND, &NO_BLOCK) else { continue };
            let middle = taken.start + claim_amount(taken.end - taken.start);
            // The own block is empty, so no other bee can take from it, and the new one can simply be stored.
            let is_published = self.ranges[bee].publish(ROUND, &(middle..taken.end));
            debug_assert!(is_published, "nobody is in another round");
            return Some(self.indices_of(taken.start..middle));
        }
    }

    fn indices_of(&self, units: Range<u32>) -> Range<usize> {
        self.units.chunks_of(units.start as usize..units.end as usize)
    }
}

/// How many units a bee claims at once, of a block with `remaining` units.
fn claim_amount(remaining: u32) -> u32 {
    remaining.div_ceil(CLAIM_DIVISOR)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::region::split;

    /// Everything that `bee` gets when no other bee takes anything.
    fn drain(ranges: &WorkRanges, bee: usize) -> Vec<Range<usize>> {
        std::iter::from_fn(|| ranges.claim(bee)).collect()
    }

    #[test]
    fn one_bee_claims_everything_in_falling_pieces() {
        let mut taken = drain(&WorkRanges::new(1000, 1), 0);
        assert!(taken.is_sorted_by(|a, b| a.end == b.start && a.len() >= b.len()), "{taken:?}");
        assert_eq!((taken[0].clone(), taken.pop().unwrap()), (0..125, 999..1000));
    }

    #[test]
    fn the_first_piece_is_of_the_own_range_and_the_others_are_stolen() {
        for (len, bees) in [(0, 3), (1, 3), (7, 3), (1000, 3), (1000, 7)] {
            let ranges = WorkRanges::new(len, bees);
            let mut taken = drain(&ranges, bees - 1);
            let own = split::block(0..len, bees - 1, bees);
            assert!(own.is_empty() || taken[0].start == own.start, "{len} of {bees}: {taken:?}");
            taken.sort_by_key(|range| range.start);
            assert!(taken.into_iter().flatten().eq(0..len));
            assert!((0..bees).all(|bee| ranges.claim(bee).is_none()));
        }
    }

    #[test]
    fn the_rest_of_a_range_is_claimed_once() {
        let ranges = WorkRanges::new(100, 2);
        assert_eq!(ranges.claim(1), Some(50..57));
        assert_eq!((ranges.claim_rest(1), ranges.claim_rest(1)), (Some(57..100), None));
        assert_eq!(drain(&ranges, 1).iter().map(Range::len).sum::<usize>(), 50);
    }

    #[test]
    fn lengths_of_more_indices_than_units_are_in_larger_units() {
        for len in [MAX_UNITS, MAX_UNITS + 1, (1 << 40) + 12_345, usize::MAX] {
            let ranges = WorkRanges::new(len, 3);
            let mut taken: Vec<_> = (0..3).filter_map(|bee| ranges.claim_rest(bee)).collect();
            taken.sort_by_key(|range| range.start);
            assert_eq!((taken.len(), taken[0].start, taken[2].end), (3, 0, len));
            assert!(taken.windows(2).all(|pair| pair[0].end == pair[1].start), "{taken:?}");
        }
    }

    #[test]
    fn stress_each_index_goes_to_one_of_several_bees() {
        const LEN: usize = 20_000;
        for _ in 0..20 {
            let ranges = WorkRanges::new(LEN, 4);
            let (ranges, mut taken) = (&ranges, Vec::new());
            thread::scope(|scope| {
                let threads: Vec<_> = (0..4).map(|bee| scope.spawn(move || drain(ranges, bee))).collect();
                threads.into_iter().for_each(|thread| taken.extend(thread.join().unwrap()));
            });
            taken.sort_by_key(|range| range.start);
            assert!(taken.into_iter().flatten().eq(0..LEN));
        }
    }
}
