//! A barrier at which each bee shows the others something. All that bees compute together comes down to this. The proof is in
//! `docs/collectives.md`.

#![expect(unsafe_code, reason = "lays out and reads pages, which the barrier keeps apart")]

use std::marker::PhantomData;

use crate::protocol::region::exchange_slots::{Operation, Purpose};
use crate::protocol::region::region_context::RegionContext;

/// What the bees of a team have shown at a barrier. Can be read until this bee comes to its next one.
pub(crate) struct Exchanged<'m, T> {
    region: &'m RegionContext<'m>,
    barriers_passed: u64,
    purpose: Purpose,
    values: PhantomData<T>,
}

impl RegionContext<'_> {
    /// Shows `values` to the others, who are to call the same `operation`, and waits for what they show at the same barrier. None where there is nobody else to see it: the team is this bee alone,
    /// or the barrier is broken and this is a destructor that must not panic.
    ///
    /// # Panics
    /// As [`RegionContext::barrier_shape`].
    #[inline]
    #[track_caller]
    pub(crate) fn exchange<T: Copy + Send + 'static>(
        &self,
        operation: Operation,
        values: &[T],
    ) -> Option<Exchanged<'_, T>> {
        self.exchange_for(Purpose::from_all::<T>(operation), values)
    }

    /// The same where only bee `root` has something to show, as all must agree.
    ///
    /// # Panics
    /// As [`RegionContext::barrier_shape`].
    #[inline]
    #[track_caller]
    pub(crate) fn exchange_from<T: Copy + Send + 'static>(
        &self,
        operation: Operation,
        root: u32,
        values: &[T],
    ) -> Option<Exchanged<'_, T>> {
        self.exchange_for(Purpose::from_root::<T>(operation, root), values)
    }

    #[inline]
    #[track_caller]
    fn exchange_for<T: Copy + Send + 'static>(&self, purpose: Purpose, values: &[T]) -> Option<Exchanged<'_, T>> {
        if self.bees() == 1 {
            return None;
        }
        if self.has_left_barrier() {
            // The others may still be reading what it has shown at the barrier that it left.
            self.barrier();
            return None;
        }
        let barriers_passed = self.barriers_passed();
        // SAFETY: this is the bee's own slot, it is in this region, has passed all barriers that it came to, and comes to that one next.
        unsafe { self.team().slot(self.id()).exchange_slots.write(self.epoch(), barriers_passed, purpose, values) };
        self.barrier();
        (self.barriers_passed() > barriers_passed).then_some(Exchanged {
            region: self,
            barriers_passed,
            purpose,
            values: PhantomData,
        })
    }
}

/// Where what is wanted is not there, these panic, or return None if this is a destructor that must not.
impl<T: Copy + 'static> Exchanged<'_, T> {
    /// The number of values that bee `id` has shown.
    ///
    /// # Panics
    /// If it came to the barrier for something else.
    #[inline]
    #[track_caller]
    pub(crate) fn count(&self, id: u32) -> Option<usize> {
        let region = self.region;
        // The pages may be laid out anew as soon as this bee comes to its next barrier.
        if region.barriers_passed() != self.barriers_passed + 1 || region.has_left_barrier() {
            region
                .panic_or_poison(format_args!("an operation on values of all bees must not wait for the bees itself"));
            return None;
        }
        // SAFETY: the bees are of one team; this one has passed the barrier and come to none since.
        let count =
            unsafe { region.team().slot(id).exchange_slots.count(region.epoch(), self.barriers_passed, self.purpose) };
        count.map_err(|other| self.panic_on_other_purpose(id, other)).ok()
    }

    /// Looks whether all have come for the same, also those whose values this bee has no use for: bee 0 at all others, and they at bee 0. That is a transfer more
    /// for each, so it is for builds with debug assertions.
    #[track_caller]
    pub(crate) fn check_all(&self) {
        let (own_id, bees) = (self.region.id(), self.region.bees());
        let others = if own_id == 0 { 1..bees } else { 0..1 };
        // The first of another kind is enough: nothing more can be had after it.
        others.map_while(|id| self.count(id)).for_each(drop);
    }

    /// Complains that bee `id` has come for another purpose.
    #[cold]
    #[track_caller]
    fn panic_on_other_purpose(&self, id: u32, other: Option<Purpose>) {
        let (region, number, own_name) = (self.region, self.barriers_passed + 1, self.purpose.operation().name());
        let same = other.filter(|other| other.operation() == self.purpose.operation());
        if let (Some(root), Some(other)) = (self.purpose.root(), same.and_then(Purpose::root))
            && root != other
        {
            return region.panic_or_poison(format_args!(
                "at barrier number {number} bee {} calls {own_name} with root {root}, bee {id} with root {other}: all bees of a team must name the same",
                region.id(),
            ));
        }
        let (theirs, of_type) = match (other, same) {
            (_, Some(_)) => (own_name, " with a value of another type"),
            (Some(other), None) => (other.operation().name(), ""),
            (None, None) => ("a barrier alone", ""),
        };
        region.panic_or_poison(format_args!(
            "member {id} came to barrier number {number} for something else than member {}: for {theirs}{of_type}, and not for {own_name}: all members of a team must call \
             the same operations, with the same types, in the same order",
            region.id(),
        ));
    }

    /// Value number `index` of bee `id`.
    ///
    /// # Panics
    /// As `count`, and if there are no more than `index`.
    #[inline]
    #[track_caller]
    pub(crate) fn value(&self, id: u32, index: usize) -> Option<T> {
        let count = self.count(id)?;
        if index >= count {
            self.region.panic_or_poison(format_args!("value {index} of the {count} that bee {id} has shown"));
            return None;
        }
        // SAFETY: as in `count`, and `index` is below it.
        Some(unsafe { self.region.team().slot(id).exchange_slots.read(self.barriers_passed, count, index) })
    }

    /// The first value of each of the first `members`, in order, combined.
    ///
    /// # Panics
    /// As `value`.
    #[inline]
    #[track_caller]
    pub(crate) fn combine(&self, bees: u32, op: impl Fn(T, T) -> T) -> Option<T> {
        let first = self.value(0, 0)?;
        (1..bees).try_fold(first, |combined, id| Some(op(combined, self.value(id, 0)?)))
    }
}
