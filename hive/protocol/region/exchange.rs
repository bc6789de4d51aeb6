//! The exchange: a barrier at which each bee shows some values to the others. Everything that bees compute together is
//! built on it: reductions, scans, broadcasts (`region/collective/`, `reductions/`).
//!
//! A bee writes its values to its own exchange slot (`exchange_slots.rs`), waits at the barrier, and then reads the
//! slots of the others. The proof that nobody reads a slot while it is being written is in `docs/collectives.md`.

#![expect(unsafe_code, reason = "lays out and reads pages, which the barrier keeps apart")]

use std::marker::PhantomData;

use crate::protocol::region::exchange_slots::{Operation, Purpose};
use crate::protocol::region::region_context::RegionContext;

/// What the bees of a team have shown at one barrier. It can be read until this bee comes to its next barrier.
pub(crate) struct Exchanged<'m, T> {
    /// The reading bee.
    region: &'m RegionContext<'m>,
    /// How many barriers the bee had passed before the one of the exchange.
    barriers_passed: u64,
    /// What the bee came to that barrier for. The others must have come for the same.
    purpose: Purpose,
    values: PhantomData<T>,
}

impl RegionContext<'_> {
    /// Shows `values` to the other bees of the team, and waits at a barrier until they have shown theirs. All must call
    /// it with the same `operation`, the same type and the same `root`: the bee whose values alone are of use to the
    /// others, or `None` if each bee has values for them.
    ///
    /// Returns `None` where there is no other bee to read from: the team is this bee alone, or the barrier is broken
    /// and this bee is in a destructor that must not panic.
    ///
    /// # Panics
    /// As [`RegionContext::barrier`].
    #[inline]
    #[track_caller]
    pub(crate) fn exchange<T: Copy + Send + 'static>(
        &self,
        operation: Operation,
        root: Option<u32>,
        values: &[T],
    ) -> Option<Exchanged<'_, T>> {
        if self.bees == 1 {
            return None;
        }
        if self.has_failed() {
            // This bee has left a barrier without passing it. Others may have passed that barrier, and may still be
            // reading the slot that would be written next. This barrier will not be passed: it unwinds, or returns in a
            // destructor.
            self.barrier();
            return None;
        }
        let purpose = Purpose::new::<T>(operation, root);
        let barriers_passed = self.barriers_passed();
        // SAFETY: this is the bee's own slot; the bee is in this region, has passed every barrier that it came to, and
        // has not come to the next one yet.
        unsafe { self.team.slot(self.id).exchange_slots.write(self.epoch, barriers_passed, purpose, values) };
        self.meet();
        // In a destructor the barrier may have returned without having been passed; then there is nothing to read.
        (self.barriers_passed() > barriers_passed).then_some(Exchanged {
            region: self,
            barriers_passed,
            purpose,
            values: PhantomData,
        })
    }
}

/// Where what is asked for is not there, these functions panic; in a destructor that must not panic they return `None`.
impl<T: Copy + 'static> Exchanged<'_, T> {
    /// The number of values that bee `id` has shown.
    ///
    /// # Panics
    /// If bee `id` came to the barrier for another purpose, or if this bee has come to another barrier since the
    /// exchange.
    #[inline]
    #[track_caller]
    pub(crate) fn count(&self, id: u32) -> Option<usize> {
        let region = self.region;
        // The other bees may overwrite their slots as soon as this bee has come to its next barrier.
        if region.barriers_passed() != self.barriers_passed + 1 || region.has_failed() {
            region.panic_or_fail(format_args!("an operation on values of all bees must not itself wait for the bees"));
            return None;
        }
        // SAFETY: both bees are of one team; this one has passed the barrier of the exchange and has come to none
        // since.
        let count =
            unsafe { region.team.slot(id).exchange_slots.count(region.epoch, self.barriers_passed, self.purpose) };
        count.map_err(|other| self.panic_on_other_purpose(id, other)).ok()
    }

    /// Checks that all bees came to the barrier for the same purpose, including those whose values this bee has no use
    /// for: bee 0 checks all others, and they check bee 0. That costs each bee one more transfer of a cache line, so it
    /// is done only in builds with debug assertions.
    #[track_caller]
    pub(crate) fn check_all(&self) {
        let (own_id, bees) = (self.region.id, self.region.bees);
        let others = if own_id == 0 { 1..bees } else { 0..1 };
        // Stop at the first bee that came for something else: it has been reported, and nothing more can be read.
        others.map_while(|id| self.count(id)).for_each(drop);
    }

    /// Panics because bee `id` came to the barrier for `other`, or, if that is `None`, for no exchange at all.
    #[cold]
    #[track_caller]
    fn panic_on_other_purpose(&self, id: u32, other: Option<Purpose>) {
        let (region, number, own_name) = (self.region, self.barriers_passed + 1, self.purpose.operation.name());
        // The most precise message: the same operation with another root.
        let same = other.filter(|other| other.operation == self.purpose.operation);
        let roots = self.purpose.root().zip(same.and_then(Purpose::root));
        if let Some((root, other)) = roots.filter(|(root, other)| root != other) {
            return region.panic_or_fail(format_args!(
                "at barrier number {number} bee {} calls {own_name} with root {root}, bee {id} with root {other}: \
                 all bees of a team must name the same",
                region.id,
            ));
        }
        let (theirs, of_type) = match (other, same) {
            (_, Some(_)) => (own_name, " with a value of another type"),
            (Some(other), None) => (other.operation.name(), ""),
            (None, None) => ("a barrier alone", ""),
        };
        region.panic_or_fail(format_args!(
            "bee {id} came to barrier number {number} for something else than bee {}: \
             for {theirs}{of_type}, and not for {own_name}: all bees of a team must call the same operations, \
             with the same types, in the same order",
            region.id,
        ));
    }

    /// Value number `index`, counted from 0, of those that bee `id` has shown.
    ///
    /// # Panics
    /// As `count`, and if the bee has shown no more than `index` values.
    #[inline]
    #[track_caller]
    pub(crate) fn value(&self, id: u32, index: usize) -> Option<T> {
        let count = self.count(id)?;
        if index >= count {
            self.region.panic_or_fail(format_args!("value {index} of the {count} that bee {id} has shown"));
            return None;
        }
        // SAFETY: as in `count`, and `index` is below the number of values.
        Some(unsafe { self.region.team.slot(id).exchange_slots.read(self.barriers_passed, count, index) })
    }

    /// The first values of bees 0 to `bees - 1`, combined with `op` in the order of the ids.
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
