//! What only one member does.

use crate::crew::{Operation, Shown};
use crate::region::Bee;

impl Bee<'_> {
    /// Runs `work` on the member that comes here first, and returns what it returned on all of them, when it is done: OpenMP's `single`. (In a destructor [that must not panic](Self::barrier),
    /// and where nobody meets, a member runs it by itself.)
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
        let (done, work) = if self.member.is_first() { (Some(work()), None) } else { (None, Some(work)) };
        let shown = self.show(Operation::Single, done.as_slice());
        let of_others = || shown.and_then(|shown| first_shown(&shown, self.member.team()));
        // By itself in a destructor that gets nothing from the one who was first.
        let by_itself = || work.map(|work| work()).unwrap_or_else(|| unreachable!("the first has done it"));
        done.or_else(of_others).unwrap_or_else(by_itself)
    }
}

/// The value of the first of a team that has shown one.
#[inline]
#[track_caller]
fn first_shown<T: Copy + 'static>(shown: &Shown<'_, T>, team: u32) -> Option<T> {
    for id in 0..team {
        if shown.count(id)? > 0 {
            return shown.value(id, 0);
        }
    }
    None
}
