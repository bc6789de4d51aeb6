//! Where the members of one region put what they return: a slot each, written without a lock.

#![allow(unsafe_code)]

use std::cell::UnsafeCell;

/// One result a member.
pub(crate) struct Results<R> {
    slots: Box<[Slot<R>]>,
}

struct Slot<R>(UnsafeCell<Option<R>>);

// SAFETY: a slot is written by one member only, as `put` asks for, and results may change threads.
unsafe impl<R: Send> Sync for Slot<R> {}

impl<R> Results<R> {
    /// For a team of `members`.
    pub(crate) fn new(members: usize) -> Self {
        Self { slots: (0..members).map(|_| Slot(UnsafeCell::new(None))).collect() }
    }

    /// Keeps what `member` returned.
    ///
    /// # Safety
    /// Each member's slot is put to by one thread, while nobody else has the results but to put to other slots.
    pub(crate) unsafe fn put(&self, member: usize, result: R) {
        // SAFETY: the caller's promise: no other reference to this slot exists.
        let slot = unsafe { &mut *self.slots[member].0.get() };
        *slot = Some(result);
    }

    /// The results in order, up to the first member that returned none.
    pub(crate) fn into_vec(self) -> Vec<R> {
        self.slots.into_iter().map_while(|slot| slot.0.into_inner()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_members() {
        let results = Results::new(3);
        for member in [2, 0, 1] {
            // SAFETY: one thread, one slot each.
            unsafe { results.put(member, member * 10) };
        }
        assert_eq!(results.into_vec(), [0, 10, 20]);
    }

    #[test]
    fn a_team_smaller_than_the_slots_returns_as_many() {
        let results = Results::new(3);
        // SAFETY: one thread.
        unsafe { results.put(0, "alone") };
        assert_eq!(results.into_vec(), ["alone"]);
    }
}
