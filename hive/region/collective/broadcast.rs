//! `Bee::broadcast_from`: the value of one bee for all bees.

use crate::protocol::region::exchange_slots::Operation;
use crate::region::bee::Bee;

impl Bee<'_> {
    /// Calls `make` on bee `root` and returns its value on all bees. The other bees do not call `make`, with one
    /// exception: in a destructor [that must not panic](Self::barrier), if the value of the root does not arrive.
    ///
    /// All bees must call this, with the same `root` and type. It is a barrier as well. A value that is larger than a
    /// few words is better made by [`single`](Self::single), in a place that all bees can see.
    ///
    /// ```
    /// hive::spmd(4, |bee| {
    ///     let pivot = bee.broadcast_from(2, || bee.id() * 100);
    ///     assert_eq!(pivot, 200);
    /// });
    /// ```
    ///
    /// # Panics
    /// If there is no bee `root`, if another bee names another root, and as [`all_reduce`](Self::all_reduce).
    #[inline]
    #[track_caller]
    #[doc(alias("bcast", "copyprivate", "MPI_Bcast"))]
    pub fn broadcast_from<T: Copy + Send + 'static>(&self, root: usize, make: impl FnOnce() -> T) -> T {
        let call = self.context.begin_call(Operation::BroadcastFrom);
        assert!(root < self.bees(), "there is no bee {root} in a team of {}", self.bees());
        let value = self.broadcast_as(Operation::BroadcastFrom, root, make);
        call.end();
        value
    }

    /// The same as a part of `operation`, a call that has begun. `root` is below the number of bees.
    #[inline]
    #[track_caller]
    pub(crate) fn broadcast_as<T: Copy + Send + 'static>(
        &self,
        operation: Operation,
        root: usize,
        make: impl FnOnce() -> T,
    ) -> T {
        // The root makes its value before the barrier and shows it; the others show nothing.
        let (made, make) = if root == self.id() { (Some(make()), None) } else { (None, Some(make)) };
        let slots = self.exchange_from(operation, root as u32, made.as_slice());
        if let Some(slots) = slots.as_ref().filter(|_| made.is_some() && root > 0) {
            // All other bees read the root's slot. The root itself checks bee 0, so that two bees that both take
            // themselves for the root do not go unnoticed.
            slots.count(0);
        }
        let value_of_root = || slots.and_then(|slots| slots.value(root as u32, 0));
        // Only in a destructor that must not panic, on a bee that gets nothing from the root.
        let make_own = || make.map(|make| make()).unwrap_or_else(|| unreachable!("the root has made it"));
        made.or_else(value_of_root).unwrap_or_else(make_own)
    }
}
