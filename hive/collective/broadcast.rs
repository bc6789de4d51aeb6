//! One member's value for all.

use crate::crew::Operation;
use crate::region::Bee;

impl Bee<'_> {
    /// What `make` returns on member `root`, for all members. The others do not call it, but for a destructor [that must not panic](Self::barrier) and in which the value of the
    /// root does not come.
    ///
    /// All members must call this, with the same `root` and type. It is a barrier as well. What is larger than a few words is better made by
    /// [`single`](Self::single) in a place that all can see.
    ///
    /// ```
    /// hive::spmd(4, |bee| {
    ///     let pivot = bee.broadcast_from(2, || bee.id() * 100);
    ///     assert_eq!(pivot, 200);
    /// });
    /// ```
    ///
    /// # Panics
    /// If there is no member `root`, if another member names another one, and as [`all_reduce`](Self::all_reduce).
    #[inline]
    #[track_caller]
    pub fn broadcast_from<T: Copy + Send + 'static>(&self, root: usize, make: impl FnOnce() -> T) -> T {
        assert!(root < self.count(), "there is no member {root} in a team of {}", self.count());
        self.broadcast_for(Operation::BroadcastFrom, root, make)
    }

    /// The same as a part of `operation`. There is a member `root`.
    #[inline]
    #[track_caller]
    pub(crate) fn broadcast_for<T: Copy + Send + 'static>(
        &self,
        operation: Operation,
        root: usize,
        make: impl FnOnce() -> T,
    ) -> T {
        let (made, make) = if root == self.id() { (Some(make()), None) } else { (None, Some(make)) };
        let shown = self.show_from(operation, root as u32, made.as_slice());
        if let Some(shown) = shown.as_ref().filter(|_| made.is_some() && root > 0) {
            // All others look at the root's page. So that no two roots go unseen, each looks at member 0's.
            shown.count(0);
        }
        let of_root = || shown.and_then(|shown| shown.value(root as u32, 0));
        // By itself in a destructor that gets nothing from the root.
        let by_itself = || make.map(|make| make()).unwrap_or_else(|| unreachable!("the root has made it"));
        made.or_else(of_root).unwrap_or_else(by_itself)
    }
}
