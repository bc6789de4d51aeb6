//! One bee's value for all.

use crate::protocol::region::exchange_slots::Operation;
use crate::region::bee::Bee;

impl Bee<'_> {
    /// What `make` returns on bee `root`, for all bees. The others do not call it, but for a destructor [that must not panic](Self::barrier) and in which the value of the
    /// root does not come.
    ///
    /// All bees must call this, with the same `root` and type. It is a barrier as well. What is larger than a few words is better made by
    /// [`single_claim`](Self::single) in a place that all can see.
    ///
    /// ```
    /// hive::spmd(4, |bee| {
    ///     let pivot = bee.broadcast_from(2, || bee.id() * 100);
    ///     assert_eq!(pivot, 200);
    /// });
    /// ```
    ///
    /// # Panics
    /// If there is no bee `root`, if another bee names another one, and as [`all_reduce`](Self::all_reduce).
    #[inline]
    #[track_caller]
    pub fn broadcast_from<T: Copy + Send + 'static>(&self, root: usize, make: impl FnOnce() -> T) -> T {
        assert!(root < self.bees(), "there is no bee {root} in a team of {}", self.bees());
        self.broadcast_as(Operation::BroadcastFrom, root, make)
    }

    /// The same as a part of `operation`. There is a bee `root`.
    #[inline]
    #[track_caller]
    pub(crate) fn broadcast_as<T: Copy + Send + 'static>(
        &self,
        operation: Operation,
        root: usize,
        make: impl FnOnce() -> T,
    ) -> T {
        let (made, make) = if root == self.id() { (Some(make()), None) } else { (None, Some(make)) };
        let slots = self.exchange_from(operation, root as u32, made.as_slice());
        if let Some(slots) = slots.as_ref().filter(|_| made.is_some() && root > 0) {
            // All others look at the root's page. So that no two roots go unseen, each looks at bee 0's.
            slots.count(0);
        }
        let value_of_root = || slots.and_then(|slots| slots.value(root as u32, 0));
        // By itself in a destructor that gets nothing from the root.
        let make_own = || make.map(|make| make()).unwrap_or_else(|| unreachable!("the root has made it"));
        made.or_else(value_of_root).unwrap_or_else(make_own)
    }
}
