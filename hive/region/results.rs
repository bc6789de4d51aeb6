//! Where the bees of one region put what they return: a slot each, written without a lock.
//!
//! Each slot has cache lines of its own, and nobody but its bee touches it before the region is over: a line that two write to, or that the caller
//! had written to before, would have to go back and forth.

#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr;

use crate::region::no_double_panic::NoDoublePanic;

/// The results of the region that `run` runs, in order of the bees, for a team of up to `members`: one a bee; none if no region has run.
///
/// If `run` panics, they are dropped.
pub(crate) fn collect_results<R>(bees: usize, run: impl FnOnce(ResultWriter<'_, R>)) -> Vec<R> {
    if bees <= MAX_ON_STACK && size_of::<R>() <= MAX_BYTES_ON_STACK {
        collect_on_stack(bees, run)
    } else {
        run_into(&mut Box::new_uninit_slice(bees), run)
    }
}

/// Apart: where results are large, these would be on the stack that is not used.
fn collect_on_stack<R>(bees: usize, run: impl FnOnce(ResultWriter<'_, R>)) -> Vec<R> {
    run_into(&mut [const { MaybeUninit::uninit() }; MAX_ON_STACK][..bees], run)
}

/// So many results of so many bytes lie on the caller's stack.
const MAX_ON_STACK: usize = 8;
const MAX_BYTES_ON_STACK: usize = 64;

fn run_into<R>(slots: &mut [MaybeUninit<ResultSlot<R>>], run: impl FnOnce(ResultWriter<'_, R>)) -> Vec<R> {
    let mut results = ResultSlots { slots };
    let writer = results.writer();
    run(writer);
    results.take_results()
}

/// One result a bee.
struct ResultSlots<'s, R> {
    slots: &'s mut [MaybeUninit<ResultSlot<R>>],
}

/// Not written before its bee's part begins, but for the first.
#[repr(align(128))]
struct ResultSlot<R> {
    /// The team of the region that has put its result here. In the first: 0, if none has run.
    bees: usize,
    /// Whether there is a result.
    is_written: bool,
    result: MaybeUninit<R>,
}

/// What the bees share of it. One word, so that it leaves room in the signal's line for what the region's body has captured.
pub(crate) struct ResultWriter<'r, R> {
    first_slot: *mut MaybeUninit<ResultSlot<R>>,
    slots: PhantomData<&'r mut [ResultSlot<R>]>,
}

// SAFETY: a slot is touched by one bee only, as `write_with` asks for; and results may change threads.
unsafe impl<R: Send> Sync for ResultWriter<'_, R> {}

impl<R> ResultSlot<R> {
    /// Makes an empty slot, without one on the stack: results may be large.
    fn init_empty(slot: &mut MaybeUninit<Self>, bees: usize) -> &mut Self {
        let place = slot.as_mut_ptr();
        // SAFETY: it is there to be written to.
        let bees_field = unsafe { &raw mut (*place).bees };
        // SAFETY: as above.
        let is_written_field = unsafe { &raw mut (*place).is_written };
        // SAFETY: as above.
        unsafe { bees_field.write(bees) };
        // SAFETY: as above.
        unsafe { is_written_field.write(false) };
        // SAFETY: what else is in it needs no value.
        unsafe { slot.assume_init_mut() }
    }
}

impl<R> ResultSlots<'_, R> {
    fn writer(&mut self) -> ResultWriter<'_, R> {
        if let Some(first) = self.slots.first_mut() {
            ResultSlot::init_empty(first, 0);
        }
        ResultWriter { first_slot: self.slots.as_mut_ptr(), slots: PhantomData }
    }

    /// The slots of the bees that have run.
    fn written_slots(&mut self) -> &mut [ResultSlot<R>] {
        // SAFETY: `inbox` has written the first.
        let bees = self.slots.first().map_or(0, |slot| unsafe { slot.assume_init_ref() }.bees);
        // SAFETY: a region has ended in which as many bees ran `write_with`, which begins by writing the slot.
        unsafe { self.slots[..bees].assume_init_mut() }
    }

    /// The results, moved from where they were put to where they stay.
    fn take_results(&mut self) -> Vec<R> {
        let written = self.written_slots();
        let mut taken = Vec::with_capacity(written.len());
        for slot in written {
            assert!(slot.is_written, "a region returns when all parts are done");
            let place = &mut taken.spare_capacity_mut()[0];
            // SAFETY: one result from one place to another, in different allocations.
            unsafe { ptr::copy_nonoverlapping(&raw const slot.result, place, 1) };
            slot.is_written = false;
            // SAFETY: that is the one more; there is room for all.
            unsafe { taken.set_len(taken.len() + 1) };
        }
        taken
    }
}

impl<R> Drop for ResultSlots<'_, R> {
    fn drop(&mut self) {
        // What has not been taken, because a bee panicked.
        for slot in self.written_slots().iter_mut().filter(|slot| slot.is_written) {
            slot.is_written = false;
            // SAFETY: it is there, and nobody else sees it.
            drop(NoDoublePanic::new(unsafe { slot.result.assume_init_read() }));
        }
    }
}

impl<R> ResultWriter<'_, R> {
    /// Keeps what `make` returns as the result of `member` in a team of `team`.
    ///
    /// # Safety
    /// All bees of one region's team call this, each once and first of all; or none does. The team is no larger than `collect` was told. The region ends
    /// before `collect`'s `run` does.
    pub(crate) unsafe fn write_with(&self, bee: usize, bees: usize, compute: impl FnOnce() -> R) {
        // SAFETY: the caller's promise: there is a slot of that number, and nobody else uses it.
        let slot = unsafe { &mut *self.first_slot.wrapping_add(bee) };
        let slot = ResultSlot::init_empty(slot, bees);
        // SAFETY: the slot's own place. (`MaybeUninit::write` would have copies on the stack.)
        unsafe { ptr::write(slot.result.as_mut_ptr(), compute()) };
        slot.is_written = true;
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;

    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_bees() {
        for bees in [3, 2 * MAX_ON_STACK] {
            let results = collect_results(bees, |writer| {
                for bee in (0..bees).rev() {
                    // SAFETY: one thread, each bee once.
                    unsafe { writer.write_with(bee, bees, || bee * 10) };
                }
            });
            assert!(results.iter().copied().eq((0..bees).map(|bee| bee * 10)), "{results:?}");
        }
    }

    #[test]
    fn large_results_are_results_too() {
        // SAFETY: one thread.
        let results = collect_results(1, |writer| unsafe { writer.write_with(0, 1, || [7_u64; 1000]) });
        assert_eq!(results, [[7; 1000]]);
    }

    #[test]
    fn a_team_smaller_than_the_slots_returns_one_result_a_bee() {
        // SAFETY: one thread.
        let results = collect_results(3, |writer| unsafe { writer.write_with(0, 1, || "alone") });
        assert_eq!(results, ["alone"]);
    }

    #[test]
    fn where_no_region_has_run_there_are_none() {
        assert!(collect_results::<String>(2, |_| ()).is_empty() && collect_results::<String>(0, |_| ()).is_empty());
    }

    #[test]
    fn what_is_not_taken_is_dropped() {
        let [first, last] = [(); 2].map(Arc::new);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            collect_results(2, |writer| {
                // SAFETY: one thread, each bee once.
                unsafe { writer.write_with(1, 2, || last.clone()) };
                // SAFETY: as above.
                unsafe { writer.write_with(0, 2, || panic!("no {first:?}")) };
            })
        }));
        assert!(panicked.is_err());
        assert_eq!((Arc::strong_count(&first), Arc::strong_count(&last)), (1, 1));
    }
}
