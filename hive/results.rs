//! Where the members of one region put what they return: a slot each, written without a lock.
//!
//! Each slot has cache lines of its own, and nobody but its member touches it before the region is over: a line that two write to, or that the caller
//! had written to before, would have to go back and forth.

#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr;

use crate::quiet::Quiet;

/// The results of the region that `run` runs, in order of the members, for a team of up to `members`: one a member; none if no region has run.
///
/// If `run` panics, they are dropped.
pub(crate) fn collect<R>(members: usize, run: impl FnOnce(Inbox<'_, R>)) -> Vec<R> {
    if members <= FEW && size_of::<R>() <= SMALL {
        collect_few(members, run)
    } else {
        fill(&mut Box::new_uninit_slice(members), run)
    }
}

/// Apart: where results are large, these would be on the stack that is not used.
fn collect_few<R>(members: usize, run: impl FnOnce(Inbox<'_, R>)) -> Vec<R> {
    fill(&mut [const { MaybeUninit::uninit() }; FEW][..members], run)
}

/// So many results of so many bytes lie on the caller's stack.
const FEW: usize = 8;
const SMALL: usize = 64;

fn fill<R>(slots: &mut [MaybeUninit<Slot<R>>], run: impl FnOnce(Inbox<'_, R>)) -> Vec<R> {
    let mut results = Results { slots };
    let inbox = results.inbox();
    run(inbox);
    results.take()
}

/// One result a member.
struct Results<'s, R> {
    slots: &'s mut [MaybeUninit<Slot<R>>],
}

/// Not written before its member's part begins, but for the first.
#[repr(align(128))]
struct Slot<R> {
    /// The team of the region that has put its result here. In the first: 0, if none has run.
    team: usize,
    /// Whether there is a result.
    is_full: bool,
    result: MaybeUninit<R>,
}

/// What the members share of it. One word, so that it leaves room in the signal's line for what the region's body has captured.
pub(crate) struct Inbox<'r, R> {
    first: *mut MaybeUninit<Slot<R>>,
    slots: PhantomData<&'r mut [Slot<R>]>,
}

// SAFETY: a slot is touched by one member only, as `put_with` asks for; and results may change threads.
unsafe impl<R: Send> Sync for Inbox<'_, R> {}

impl<R> Slot<R> {
    /// Makes an empty slot, without one on the stack: results may be large.
    fn empty(slot: &mut MaybeUninit<Self>, of_team: usize) -> &mut Self {
        let place = slot.as_mut_ptr();
        // SAFETY: it is there to be written to.
        let team = unsafe { &raw mut (*place).team };
        // SAFETY: as above.
        let is_full = unsafe { &raw mut (*place).is_full };
        // SAFETY: as above.
        unsafe { team.write(of_team) };
        // SAFETY: as above.
        unsafe { is_full.write(false) };
        // SAFETY: what else is in it needs no value.
        unsafe { slot.assume_init_mut() }
    }
}

impl<R> Results<'_, R> {
    fn inbox(&mut self) -> Inbox<'_, R> {
        if let Some(first) = self.slots.first_mut() {
            Slot::empty(first, 0);
        }
        Inbox { first: self.slots.as_mut_ptr(), slots: PhantomData }
    }

    /// The slots of the members that have run.
    fn written(&mut self) -> &mut [Slot<R>] {
        // SAFETY: `inbox` has written the first.
        let team = self.slots.first().map_or(0, |slot| unsafe { slot.assume_init_ref() }.team);
        // SAFETY: a region has ended in which as many members ran `put_with`, which begins by writing the slot.
        unsafe { self.slots[..team].assume_init_mut() }
    }

    /// The results, moved from where they were put to where they stay.
    fn take(&mut self) -> Vec<R> {
        let written = self.written();
        let mut taken = Vec::with_capacity(written.len());
        for slot in written {
            assert!(slot.is_full, "a region returns when all parts are done");
            let place = &mut taken.spare_capacity_mut()[0];
            // SAFETY: one result from one place to another, in different allocations.
            unsafe { ptr::copy_nonoverlapping(&raw const slot.result, place, 1) };
            slot.is_full = false;
            // SAFETY: that is the one more; there is room for all.
            unsafe { taken.set_len(taken.len() + 1) };
        }
        taken
    }
}

impl<R> Drop for Results<'_, R> {
    fn drop(&mut self) {
        // What has not been taken, because a member panicked.
        for slot in self.written().iter_mut().filter(|slot| slot.is_full) {
            slot.is_full = false;
            // SAFETY: it is there, and nobody else sees it.
            drop(Quiet::new(unsafe { slot.result.assume_init_read() }));
        }
    }
}

impl<R> Inbox<'_, R> {
    /// Keeps what `make` returns as the result of `member` in a team of `team`.
    ///
    /// # Safety
    /// All members of one region's team call this, each once and first of all; or none does. The team is no larger than `collect` was told. The region ends
    /// before `collect`'s `run` does.
    pub(crate) unsafe fn put_with(&self, member: usize, team: usize, make: impl FnOnce() -> R) {
        // SAFETY: the caller's promise: there is a slot of that number, and nobody else uses it.
        let slot = unsafe { &mut *self.first.wrapping_add(member) };
        let slot = Slot::empty(slot, team);
        // SAFETY: the slot's own place. (`MaybeUninit::write` would have copies on the stack.)
        unsafe { ptr::write(slot.result.as_mut_ptr(), make()) };
        slot.is_full = true;
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;

    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_members() {
        for members in [3, 2 * FEW] {
            let results = collect(members, |inbox| {
                for member in (0..members).rev() {
                    // SAFETY: one thread, each member once.
                    unsafe { inbox.put_with(member, members, || member * 10) };
                }
            });
            assert!(results.iter().copied().eq((0..members).map(|member| member * 10)), "{results:?}");
        }
    }

    #[test]
    fn large_results_are_results_too() {
        // SAFETY: one thread.
        let results = collect(1, |inbox| unsafe { inbox.put_with(0, 1, || [7_u64; 1000]) });
        assert_eq!(results, [[7; 1000]]);
    }

    #[test]
    fn a_team_smaller_than_the_slots_returns_as_many() {
        // SAFETY: one thread.
        let results = collect(3, |inbox| unsafe { inbox.put_with(0, 1, || "alone") });
        assert_eq!(results, ["alone"]);
    }

    #[test]
    fn where_no_region_has_run_there_are_none() {
        assert!(collect::<String>(2, |_| ()).is_empty() && collect::<String>(0, |_| ()).is_empty());
    }

    #[test]
    fn what_is_not_taken_is_dropped() {
        let [first, last] = [(); 2].map(Arc::new);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            collect(2, |inbox| {
                // SAFETY: one thread, each member once.
                unsafe { inbox.put_with(1, 2, || last.clone()) };
                // SAFETY: as above.
                unsafe { inbox.put_with(0, 2, || panic!("no {first:?}")) };
            })
        }));
        assert!(panicked.is_err());
        assert_eq!((Arc::strong_count(&first), Arc::strong_count(&last)), (1, 1));
    }
}
