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
//! A pipeline is one [region](Hive::spmd) of all members that the hive has, or of one member for each item where those are fewer. The input is in equal shares at
//! first; who is done with its own takes half of what another has left, so that items may take unequal time. In which order items are put together is
//! left open, as paralight has it.
//!
//! A pipeline inside a region of the same hive runs on its caller alone. A panic in what is done with an item reaches the caller when the other members have done the
//! other items; with it, each item of an input by value is dropped once.

#![expect(unsafe_code, reason = "promises paralight that each index is used once")]

use std::mem;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::panicking;

use paralight::iter::{Accumulator, ExactSizeAccumulator, GenericThreadPool, SourceCleanup};

use super::shares::Shares;
use crate::crew::quietly;
use crate::hive::Hive;
use crate::quiet::Quiet;

// SAFETY: both pipelines pass on what `Input` hands out: indices of its length, each either to be processed or to be cleaned up.
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
        let outputs = run(self, input_len, cleanup, |mut items| {
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
        outputs.into_iter().map(Quiet::into_inner).reduce(reduce).unwrap_or_else(|| unreachable!("a region has a member"))
    }

    fn iter_pipeline<Output, Accum: Send>(
        self,
        input_len: usize,
        accum: impl Accumulator<usize, Accum> + Sync,
        reduce: impl ExactSizeAccumulator<Accum, Output>,
        cleanup: &(impl SourceCleanup + Sync),
    ) -> Output {
        let outputs = run(self, input_len, cleanup, |items| accum.accumulate(items));
        reduce.accumulate_exact(outputs.into_iter().map(Quiet::into_inner))
    }
}

/// Runs `part` on the members of `hive`, each with the items that it is to process. What they return, in their order.
fn run<R: Send, C: SourceCleanup + Sync>(
    hive: &Hive,
    input_len: usize,
    cleanup: &C,
    part: impl Fn(Items<'_, C>) -> R + Sync,
) -> Vec<Quiet<R>> {
    let members = hive.bees().min(input_len).max(1);
    let input = Input { shares: Shares::new(input_len, members), members, cleanup };
    hive.spmd_map(members, |bee| Quiet::new(part(Items { input: &input, member: bee.id(), piece: 0..0 })))
}

/// A pipeline's input. Dropped, it cleans up what no member has taken: of a region that was not to be, or that had one member because it was nested.
struct Input<'c, C: SourceCleanup> {
    shares: Shares,
    members: usize,
    cleanup: &'c C,
}

impl<C: SourceCleanup> Input<'_, C> {
    /// Has items cleaned up that have been taken and will not be processed; quietly if a panic goes on.
    fn skip(&self, items: Range<usize>) {
        if C::NEEDS_CLEANUP && !items.is_empty() {
            // SAFETY: who takes indices from the shares has them for itself, and they are below the input's length.
            let clean_up = || unsafe { self.cleanup.cleanup_item_range(items) };
            if panicking() { quietly(clean_up) } else { clean_up() }
        }
    }

    fn skip_share(&self, member: usize) {
        if let Some(items) = self.shares.take_rest(member) {
            self.skip(items);
        }
    }
}

impl<C: SourceCleanup> Drop for Input<'_, C> {
    fn drop(&mut self) {
        (0..self.members).for_each(|member| self.skip_share(member));
    }
}

/// The indices of the items that a member is to process. Dropped before its end, by a panic too, it cleans up the member's others.
struct Items<'i, C: SourceCleanup> {
    input: &'i Input<'i, C>,
    member: usize,
    /// Taken, and not yet handed out.
    piece: Range<usize>,
}

impl<C: SourceCleanup> Items<'_, C> {
    /// The next index that is not above `bound`; those above it are skipped.
    fn next_up_to(&mut self, bound: usize) -> Option<usize> {
        while self.refill() {
            if self.piece.start <= bound {
                return self.piece.next();
            }
            self.input.skip(mem::take(&mut self.piece));
        }
        None
    }

    /// Sees that there are indices in the piece, as long as there are any.
    #[inline]
    fn refill(&mut self) -> bool {
        if self.piece.is_empty() {
            self.piece = self.input.shares.take(self.member).unwrap_or_default();
        }
        !self.piece.is_empty()
    }
}

impl<C: SourceCleanup> Iterator for Items<'_, C> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.refill() { self.piece.next() } else { None }
    }

    #[inline]
    fn fold<B, F: FnMut(B, usize) -> B>(mut self, init: B, mut fold: F) -> B {
        let mut folded = init;
        while self.refill() {
            if C::NEEDS_CLEANUP {
                for index in self.piece.by_ref() {
                    folded = fold(folded, index);
                }
            } else {
                // A loop that the compiler knows the end of: no panic leaves anything to clean up.
                folded = mem::take(&mut self.piece).fold(folded, &mut fold);
            }
        }
        folded
    }
}

impl<C: SourceCleanup> Drop for Items<'_, C> {
    fn drop(&mut self) {
        self.input.skip(mem::take(&mut self.piece));
        self.input.skip_share(self.member);
    }
}
