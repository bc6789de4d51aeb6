//! Where the members of one region put what they return: a slot each, written without a lock.
//!
//! Each slot has cache lines of its own, and nobody but its member touches it before the region is over: a line that two write to, or that the caller
//! had written to before, would have to go back and forth.

#![allow(unsafe_code)]

use std::cell::{Cell, UnsafeCell};
use std::mem::MaybeUninit;

/// One result a member.
pub(crate) struct Results<R> {
    slots: Box<[Slot<R>]>,
    /// The team of the region that has put results here, as its member 0 says. 0: none has run.
    team: Cell<usize>,
}

/// Not written before its member's part begins.
type Slot<R> = MaybeUninit<Padded<R>>;

/// A value, or None until there is one.
#[repr(align(128))]
struct Padded<R>(UnsafeCell<Option<R>>);

/// What the members share of it.
pub(crate) struct Inbox<'r, R> {
    slots: &'r [Slot<R>],
    team: &'r Cell<usize>,
}

// SAFETY: a slot is touched by one member only, and `team` by member 0 only, as `put_with` asks for; and results may change threads.
unsafe impl<R: Send> Sync for Inbox<'_, R> {}

impl<R> Results<R> {
    /// For a team of up to `members`.
    pub(crate) fn new(members: usize) -> Self {
        Self { slots: Box::new_uninit_slice(members), team: Cell::new(0) }
    }

    pub(crate) fn inbox(&self) -> Inbox<'_, R> {
        Inbox { slots: &self.slots, team: &self.team }
    }

    /// The results in order, up to the first member that returned none.
    pub(crate) fn into_vec(mut self) -> Vec<R> {
        let mut results = Vec::with_capacity(self.team.get());
        results.extend(self.written().map_while(Option::take));
        results
    }

    /// The slots of the members that have run.
    fn written(&mut self) -> impl Iterator<Item = &mut Option<R>> {
        let team = self.team.get();
        // SAFETY: a region has ended in which as many members ran `put_with`, which begins by writing the slot.
        self.slots[..team].iter_mut().map(|slot| unsafe { slot.assume_init_mut() }.0.get_mut())
    }
}

impl<R> Drop for Results<R> {
    fn drop(&mut self) {
        // What has not been taken, because a member panicked.
        self.written().for_each(|slot| drop(slot.take()));
    }
}

impl<R> Inbox<'_, R> {
    /// Keeps what `make` returns as the result of `member` in a team of `team`.
    ///
    /// # Safety
    /// All members of one region's team call this, each once and first of all; or none does. The results are left alone meanwhile.
    pub(crate) unsafe fn put_with(&self, member: usize, team: usize, make: impl FnOnce() -> R) {
        // SAFETY: the pointer is one into the slice; nothing is read.
        let slot = UnsafeCell::raw_get(unsafe { &raw const (*self.slots[member].as_ptr()).0 });
        if member == 0 {
            self.team.set(team);
        }
        // SAFETY: the caller's promise: no other reference to this slot exists.
        unsafe { slot.write(None) };
        let result = make();
        // SAFETY: as above; what is overwritten is None.
        unsafe { slot.write(Some(result)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_members() {
        let results = Results::new(3);
        for member in [2, 0, 1] {
            // SAFETY: one thread, each member once.
            unsafe { results.inbox().put_with(member, 3, || member * 10) };
        }
        assert_eq!(results.into_vec(), [0, 10, 20]);
    }

    #[test]
    fn a_team_smaller_than_the_slots_returns_as_many() {
        let results = Results::new(3);
        // SAFETY: one thread.
        unsafe { results.inbox().put_with(0, 1, || "alone") };
        assert_eq!(results.into_vec(), ["alone"]);
    }

    #[test]
    fn where_no_region_has_run_nothing_is_dropped() {
        drop(Results::<String>::new(2));
        assert!(Results::<String>::new(0).into_vec().is_empty());
    }

    #[test]
    fn what_is_not_taken_is_dropped() {
        let [first, last] = [(); 2].map(std::sync::Arc::new);
        let results = Results::new(2);
        // SAFETY: one thread, each member once.
        unsafe { results.inbox().put_with(1, 2, || last.clone()) };
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            // SAFETY: as above.
            unsafe { results.inbox().put_with(0, 2, || panic!("no {first:?}")) };
        }));
        assert!(panicked.is_err());
        drop(results);
        assert_eq!((std::sync::Arc::strong_count(&first), std::sync::Arc::strong_count(&last)), (1, 1));
    }
}
