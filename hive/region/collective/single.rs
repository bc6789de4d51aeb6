//! `Bee::single`: work that one bee of the team does for all, namely the first that arrives.

use crate::protocol::region::exchange::Exchanged;
use crate::protocol::region::exchange_slots::Operation;
use crate::region::bee::Bee;

impl Bee<'_> {
    /// Runs `work` on the bee that arrives here first, and returns its result on all bees when it is done: OpenMP's
    /// `single`. (In a destructor [that must not panic](Self::barrier), and in a team of one, a bee runs `work`
    /// itself.)
    ///
    /// All bees must call it. It is a barrier as well: what `work` did is visible to all bees afterwards.
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
    /// As [`all_reduce`](Self::all_reduce). If `work` panics, the region has failed, whatever is caught: see
    /// [`barrier`](Self::barrier). What is to be caught is caught in `work`.
    #[inline]
    #[track_caller]
    #[doc(alias("omp single", "copyprivate", "once"))]
    pub fn single<T: Copy + Send + 'static>(&self, work: impl FnOnce() -> T) -> T {
        let call = self.context.begin_call(Operation::Single);
        // The first bee does the work before the barrier and shows the result; the others show nothing.
        let (own, work) = if self.context.claim_single() { (Some(work()), None) } else { (None, Some(work)) };
        let slots = self.exchange(Operation::Single, own.as_slice());
        let value_of_first = || slots.and_then(|slots| first_value(&slots, self.context.bees()));
        // Only in a destructor that must not panic, on a bee that gets nothing from the first one.
        let run_own = || work.map(|work| work()).unwrap_or_else(|| unreachable!("the first has done it"));
        let result = own.or_else(value_of_first).unwrap_or_else(run_own);
        call.end();
        result
    }
}

/// The value of the bee that has shown one: the slots of the bees are read in turn until it is found. None in a
/// destructor that must not panic.
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
