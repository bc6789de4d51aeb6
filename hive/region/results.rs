//! Collects what the bees of one region return: each bee writes its result into a slot of its own, without a lock, and
//! the caller takes the results when the region is over. `Hive::spmd_map`, `Hive::spmd_reduce` and `Hive::broadcast`
//! use it, and `Hive::par_reduce`, in which the only bee of a team of one writes the results of all parts.
//! (A broadcast, in which each worker runs one task, counts as a region here, and a worker's number less one as the
//! number of its slot.)
//!
//! Each slot has cache lines of its own, and only its bee touches it before the region ends. A line that two bees
//! write, or that the caller had written before, would have to travel back and forth between cores.

#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr;

use crate::region::no_double_panic::NoDoublePanic;

/// Calls `run`, which runs a region of at most `bees` bees, and returns the results of that region in the order of the
/// bees' numbers: as many as the region's team has had bees, or none if `run` has run no region.
///
/// If `run` panics, the results that have been written are dropped.
pub(crate) fn collect_results<R>(bees: usize, run: impl FnOnce(ResultWriter<'_, R>)) -> Vec<R> {
    with_slots(bees, |mut results| {
        run(results.writer());
        results.take_all()
    })
}

/// As `collect_results`, but passes the results to `take`, one after another. If that panics, those that are left are
/// dropped. Allocates nothing for up to `MAX_ON_STACK` results of up to `MAX_BYTES_ON_STACK` bytes each.
pub(crate) fn take_results<R>(bees: usize, run: impl FnOnce(ResultWriter<'_, R>), take: impl FnMut(R)) {
    with_slots(bees, |mut results| {
        run(results.writer());
        results.take_each(take);
    });
}

/// Calls `run` with room for the results of `bees` bees.
#[inline]
fn with_slots<R, O>(bees: usize, run: impl FnOnce(ResultSlots<'_, R>) -> O) -> O {
    if bees <= MAX_ON_STACK && size_of::<R>() <= MAX_BYTES_ON_STACK {
        with_slots_on_stack(bees, run)
    } else {
        run(ResultSlots::new(&mut Box::new_uninit_slice(bees)))
    }
}

/// The case of few and small results, which lie on the caller's stack. A function of its own: inlined, it would take
/// this stack space in the other case as well, where results are large.
fn with_slots_on_stack<R, O>(bees: usize, run: impl FnOnce(ResultSlots<'_, R>) -> O) -> O {
    run(ResultSlots::new(&mut [const { MaybeUninit::uninit() }; MAX_ON_STACK][..bees]))
}

/// Up to this many results lie on the caller's stack, if each is no larger than `MAX_BYTES_ON_STACK`.
const MAX_ON_STACK: usize = 8;
const MAX_BYTES_ON_STACK: usize = 64;

/// The slots, one for each bee. The first is always initialised; the others are only when their bee has called
/// `write_with`, or the only bee has called `write_parts`. Dropping this drops the results that have not been taken.
struct ResultSlots<'s, R> {
    slots: &'s mut [MaybeUninit<ResultSlot<R>>],
}

/// One result. Except for the first slot, it is not written before its bee runs the region's body.
#[repr(align(128))]
struct ResultSlot<R> {
    /// How many results there are: the size of the team whose bee has written this slot, or the number of parts that
    /// the only bee of a team of one computes. In the first slot: 0 as long as no region has run.
    bees: usize,
    /// In the first slot: how many slots there are. Unused in the others.
    room: MaybeUninit<usize>,
    /// Whether `result` holds a value.
    is_written: bool,
    /// What the bee has returned.
    result: MaybeUninit<R>,
}

/// What the bees use to write their results. It is one word large, so that the start line's cache line has room for
/// what the region's body has captured.
pub(crate) struct ResultWriter<'r, R> {
    /// Bee `n` writes to slot `n` from here.
    first_slot: *mut MaybeUninit<ResultSlot<R>>,
    /// The writer borrows the slots from `collect_results` or `take_results`.
    slots: PhantomData<&'r mut [ResultSlot<R>]>,
}

// SAFETY: each slot is used by one bee only, as `write_with` requires; and a result may move to the caller's thread,
// because `R` is Send.
unsafe impl<R: Send> Sync for ResultWriter<'_, R> {}

impl<R> ResultSlot<R> {
    /// Initialises a slot with no result. It writes its fields one by one, because a slot that is made on the stack and
    /// moved would take a large result's space there.
    fn init_empty(slot: &mut MaybeUninit<Self>, bees: usize) -> &mut Self {
        let place = slot.as_mut_ptr();
        // SAFETY: `place` is valid for writes; this makes a pointer to a field of it and reads nothing.
        let bees_field = unsafe { &raw mut (*place).bees };
        // SAFETY: as above.
        let is_written_field = unsafe { &raw mut (*place).is_written };
        // SAFETY: the field's own place, valid for writes.
        unsafe { bees_field.write(bees) };
        // SAFETY: as above.
        unsafe { is_written_field.write(false) };
        // SAFETY: the other fields are written, and the two `MaybeUninit`s need no value.
        unsafe { slot.assume_init_mut() }
    }
}

impl<'s, R> ResultSlots<'s, R> {
    /// Slots without results. No region has run yet.
    fn new(slots: &'s mut [MaybeUninit<ResultSlot<R>>]) -> Self {
        let room = slots.len();
        if let Some(first) = slots.first_mut() {
            ResultSlot::init_empty(first, 0).room.write(room);
        }
        Self { slots }
    }

    /// What the bees of one region write with.
    fn writer(&mut self) -> ResultWriter<'_, R> {
        ResultWriter { first_slot: self.slots.as_mut_ptr(), slots: PhantomData }
    }

    /// The slots of the region's bees. Called when the region is over, or has not run.
    fn written_slots(&mut self) -> &mut [ResultSlot<R>] {
        // SAFETY: `new` has initialised the first slot.
        let bees = self.slots.first().map_or(0, |slot| unsafe { slot.assume_init_ref() }.bees);
        let slots: *mut [MaybeUninit<ResultSlot<R>>] = &raw mut self.slots[..bees];
        // SAFETY: a region of this many bees has ended, in which each bee has called `write_with`, which initialises
        // its slot first of all; or a region of one bee, which has called `write_parts`, which first initialises all of
        // these slots. If no region has run, the count is 0.
        unsafe { &mut *(slots as *mut [ResultSlot<R>]) }
    }

    /// Passes each result to `take`.
    fn take_each(&mut self, mut take: impl FnMut(R)) {
        for slot in self.written_slots() {
            assert!(slot.is_written, "a region returns when all parts are done");
            slot.is_written = false;
            // SAFETY: `is_written` was set, so there is a result; it has just been cleared, so nobody else takes or
            // drops the result.
            take(unsafe { slot.result.assume_init_read() });
        }
    }

    /// Moves the results into a vector. Not by `take_each`: a large result would pass over the stack.
    fn take_all(&mut self) -> Vec<R> {
        let written = self.written_slots();
        let mut taken = Vec::with_capacity(written.len());
        for slot in written {
            assert!(slot.is_written, "a region returns when all parts are done");
            let place = &mut taken.spare_capacity_mut()[0];
            // SAFETY: copies one initialised result to reserved space of another allocation. The slot is marked as
            // empty below, so the result is not dropped twice.
            unsafe { ptr::copy_nonoverlapping(&raw const slot.result, place, 1) };
            slot.is_written = false;
            // SAFETY: the vector has room for all results, and the one added has just been initialised.
            unsafe { taken.set_len(taken.len() + 1) };
        }
        taken
    }
}

impl<R> Drop for ResultSlots<'_, R> {
    fn drop(&mut self) {
        // These results have not been taken, because a bee or `take` has panicked. The thread unwinds, so a panic of a
        // result's own drop must not end the process.
        for slot in self.written_slots().iter_mut().filter(|slot| slot.is_written) {
            slot.is_written = false;
            // SAFETY: `is_written` was set, so there is a result; it has just been cleared, so nobody else takes or
            // drops the result.
            drop(NoDoublePanic::new(unsafe { slot.result.assume_init_read() }));
        }
    }
}

impl<R> ResultWriter<'_, R> {
    /// Calls `compute` and keeps what it returns as the result of bee `bee` of a team of `bees` bees. If `compute`
    /// panics, that bee has no result.
    ///
    /// # Safety
    /// - Either all bees of one region's team call this, each of them exactly once and before anything that can panic,
    ///   or none of them does.
    /// - The team is no larger than what `collect_results` or `take_results` was called with.
    /// - The region ends before the `run` of that function returns.
    pub(crate) unsafe fn write_with(&self, bee: usize, bees: usize, compute: impl FnOnce() -> R) {
        // SAFETY: the caller promises that there is a slot of this number, that nobody else uses it, and that the slots
        // outlive the region.
        let slot = unsafe { &mut *self.first_slot.wrapping_add(bee) };
        let slot = ResultSlot::init_empty(slot, bees);
        // SAFETY: writes to the slot's own field. (`MaybeUninit::write` would copy the result on the stack.)
        unsafe { ptr::write(slot.result.as_mut_ptr(), compute()) };
        slot.is_written = true;
    }

    /// As `write_with`, for work that is divided into as many parts as there are slots. Each bee of a team of so many
    /// computes one of them, and the only bee of a team of one computes all. `compute` gets the number of a part and
    /// the number of parts.
    ///
    /// # Safety
    /// As for `write_with`; and the team has either as many bees as that function was called with, or one.
    pub(crate) unsafe fn write_parts(&self, bee: usize, bees: usize, compute: impl Fn(usize, usize) -> R) {
        let (own, parts) = if bees == 1 {
            // SAFETY: the caller promises that there are slots, and only this bee uses them.
            let first = unsafe { &*self.first_slot };
            // SAFETY: `ResultSlots::new` has initialised the first slot.
            let first = unsafe { first.assume_init_ref() };
            // SAFETY: `ResultSlots::new` has written this field, and nobody writes to it after that.
            let room = unsafe { first.room.assume_init() };
            (0..room, room)
        } else {
            (bee..bee + 1, bees)
        };
        // All own slots before anything that can panic.
        for part in own.clone() {
            // SAFETY: as in `write_with`.
            ResultSlot::init_empty(unsafe { &mut *self.first_slot.wrapping_add(part) }, parts);
        }
        for part in own {
            // SAFETY: as above. `write_with` initialises the slot once more, with the same contents.
            unsafe { self.write_with(part, parts, || compute(part, parts)) };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_bees() {
        for bees in [3, 2 * MAX_ON_STACK] {
            let results = collect_results(bees, |writer| {
                for bee in (0..bees).rev() {
                    // SAFETY: one thread writes here, and each bee's slot once.
                    unsafe { writer.write_with(bee, bees, || bee * 10) };
                }
            });
            assert!(results.iter().copied().eq((0..bees).map(|bee| bee * 10)), "{results:?}");
        }
    }

    #[test]
    fn large_results_are_results_too() {
        // SAFETY: one thread writes the only slot.
        let results = collect_results(1, |writer| unsafe { writer.write_with(0, 1, || [7_u64; 1000]) });
        assert_eq!(results, [[7; 1000]]);
    }

    #[test]
    fn a_team_smaller_than_the_slots_returns_one_result_a_bee() {
        // SAFETY: one thread writes the only slot of a team of one.
        let results = collect_results(3, |writer| unsafe { writer.write_with(0, 1, || "alone") });
        assert_eq!(results, ["alone"]);
    }

    #[test]
    fn where_no_region_has_run_there_are_none() {
        assert!(collect_results::<String>(2, |_| ()).is_empty() && collect_results::<String>(0, |_| ()).is_empty());
    }

    #[test]
    fn results_are_passed_on_in_order_and_those_after_a_panic_are_dropped() {
        for bees in [3, 2 * MAX_ON_STACK] {
            let (taken, result) = (Mutex::new(Vec::new()), Arc::new(()));
            let take_until = |end| {
                taken.lock().unwrap().clear();
                take_results(
                    bees,
                    |writer| {
                        for bee in (0..bees).rev() {
                            // SAFETY: one thread writes here, and each bee's slot once.
                            unsafe { writer.write_with(bee, bees, || (bee, Arc::clone(&result))) };
                        }
                    },
                    |(bee, _)| {
                        assert!(bee < end, "bee {bee}");
                        taken.lock().unwrap().push(bee);
                    },
                );
            };
            take_until(bees);
            assert!(taken.lock().unwrap().iter().copied().eq(0..bees));
            assert!(catch_unwind(AssertUnwindSafe(|| take_until(1))).is_err());
            assert_eq!((&*taken.lock().unwrap(), Arc::strong_count(&result)), (&vec![0], 1));
        }
    }

    #[test]
    fn what_is_not_taken_is_dropped() {
        let [first, last] = [(); 2].map(Arc::new);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            collect_results(2, |writer| {
                // SAFETY: one thread writes here, and each bee's slot once.
                unsafe { writer.write_with(1, 2, || last.clone()) };
                // SAFETY: as above.
                unsafe { writer.write_with(0, 2, || panic!("no {first:?}")) };
            })
        }));
        assert!(panicked.is_err());
        assert_eq!((Arc::strong_count(&first), Arc::strong_count(&last)), (1, 1));
    }
}
