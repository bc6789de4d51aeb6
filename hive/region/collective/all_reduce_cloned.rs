//! `Bee::all_reduce_cloned`: a reduction of values that are not `Copy`, such as vectors.

#![expect(unsafe_code, reason = "reads values that other bees keep until all have read them")]

use crate::protocol::region::exchange_slots::Operation;
use crate::region::bee::Bee;
use crate::region::collective::end_with;

impl Bee<'_> {
    /// As [`all_reduce`](Self::all_reduce), for values that are not `Copy`: vectors, strings, large numbers. Each bee
    /// clones the values of all bees and combines them, so for long vectors in large teams a
    /// [`PerBee`](crate::slices::per_bee::PerBee), of which each bee sums up some indices, is faster.
    ///
    /// All bees must call it, with the same type and the same `op`. It is two barriers.
    ///
    /// ```
    /// let words = ["hive", "queen", "bee", "worker"];
    /// hive::spmd(2, |bee| {
    ///     let own: Vec<usize> = words[bee.split(0..4)].iter().map(|word| word.len()).collect();
    ///     let all = bee.all_reduce_cloned(own, |a, b| [a, b].concat());
    ///     assert_eq!(all, [4, 5, 3, 6]);
    /// });
    /// ```
    ///
    /// # Panics
    /// As [`all_reduce`](Self::all_reduce). If there is a panic, the value of each bee that had not finished is never
    /// dropped, because other bees may still be reading it.
    #[track_caller]
    #[doc(alias("allreduce", "allgather", "reduction", "MPI_Allreduce", "MPI_Allgather"))]
    pub fn all_reduce_cloned<T: Clone + Send + Sync + 'static>(&self, value: T, op: impl Fn(T, T) -> T) -> T {
        let call = self.context.begin_call(Operation::AllReduceCloned);
        if self.bees() == 1 {
            return end_with(call, value);
        }
        // Not owned by anything from here on: if this bee unwinds, others may still read the value.
        let own = Box::into_raw(Box::new(value));
        // SAFETY: a bee drops its value only after it has passed a later barrier, to which the others come when they
        // have cloned it, and are done with this reference. A clone cannot come to it, because a `T` of the program
        // that is 'static has borrowed no `Bee`.
        let shown: &'static T = unsafe { &*own };
        let shown = self.exchange(Operation::AllReduceCloned, None, &[shown]);
        // First all values, then `op`, which gets clones only.
        let values = shown.and_then(|shown| {
            let clone_of = |id| shown.value(id, 0).cloned();
            (0..self.context.bees).map(clone_of).collect::<Option<Vec<T>>>()
        });
        let combined = values.and_then(|values| values.into_iter().reduce(op));
        let passed_before = self.context.barriers_passed();
        if !self.context.has_failed() {
            self.context.meet();
        }
        if self.context.barriers_passed() == passed_before {
            // In a destructor that must not panic, nobody may have come to either barrier: then the value stays, and
            // this bee makes do with a clone of its own.
            // SAFETY: the value is dropped below only.
            end_with(call, combined.unwrap_or_else(|| unsafe { &*own }.clone()))
        } else {
            // SAFETY: the box is this bee's own, and all bees have come to the barrier after they have read the value.
            let own = unsafe { Box::from_raw(own) };
            end_with(call, combined.unwrap_or(*own))
        }
    }
}
