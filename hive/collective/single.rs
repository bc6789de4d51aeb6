//! What only one member does.

use crate::region::Bee;

impl Bee<'_> {
    /// Runs `work` on the member that comes here first, and returns what it returned on all of them, when it is done: OpenMP's `single`.
    ///
    /// All members must call it. It is a barrier as well: what `work` did is visible to all afterwards.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let runs = AtomicUsize::new(0);
    /// hive::spmd(4, |bee| {
    ///     let who = bee.single(|| {
    ///         runs.fetch_add(1, Ordering::Relaxed);
    ///         bee.id()
    ///     });
    ///     assert!(who < 4);
    /// });
    /// assert_eq!(runs.into_inner(), 1);
    /// ```
    ///
    /// # Panics
    /// As [`all_reduce`](Self::all_reduce). A panic of `work` is the region's.
    #[inline]
    #[track_caller]
    pub fn single<T: Copy + Send + 'static>(&self, work: impl FnOnce() -> T) -> T {
        let mut result = self.member.is_first().then(work);
        let shown = self.member.show(result.as_slice());
        let of_others =
            || shown.and_then(|shown| (0..self.member.team()).find(|id| shown.count(*id) > 0).map(|id| shown.value(id, 0)));
        match result.take().or_else(of_others) {
            Some(result) => result,
            None => super::broken(),
        }
    }
}
