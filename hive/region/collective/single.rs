//! What only one bee does.

use crate::protocol::region::exchange::Exchanged;
use crate::protocol::region::exchange_slots::Operation;
use crate::region::bee::Bee;

impl Bee<'_> {
    /// Runs `work` on the bee that comes here first, and returns what it returned on all of them, when it is done: OpenMP's `single_claim`. (In a destructor [that must not panic](Self::barrier),
    /// and where nobody meets, a bee runs it by itself.)
    ///
    /// All bees must call it. It is a barrier as well: what `work` did is visible to all afterwards.
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
        let (own, work) = if self.context.claim_single() { (Some(work()), None) } else { (None, Some(work)) };
        let slots = self.exchange(Operation::Single, own.as_slice());
        let value_of_first = || slots.and_then(|slots| first_value(&slots, self.context.bees()));
        // By itself in a destructor that gets nothing from the one who was first.
        let run_own = || work.map(|work| work()).unwrap_or_else(|| unreachable!("the first has done it"));
        own.or_else(value_of_first).unwrap_or_else(run_own)
    }
}

/// The value of the first of a team that has shown one.
#[inline]
#[track_caller]
fn first_value<T: Copy + 'static>(slots: &Exchanged<'_, T>, bees: u32) -> Option<T> {
    for id in 0..bees {
        if slots.count(id)? > 0 {
            return slots.value(id, 0);
        }
    }
    None
}
