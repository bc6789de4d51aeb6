//! Loops that end early: a word that somebody sets, or a deadline, which they look at between chunks (`Stop`), and the
//! search for an index (`Hive::par_find`), whose word is the best index that has been found.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::loops::range_body::RangeBody;
use crate::loops::schedule::Schedule;
use crate::loops::shared_loop::{IntoLoop, Loop};
use crate::pool::handle::Hive;
use crate::pool::loop_costs::LoopKind;
use crate::region::bee::Bee;
use crate::region::no_double_panic::NoDoublePanic;

/// Into how many pieces a chunk is cut, between which the loop looks whether it is to end.
const PIECES: usize = 32;

/// Says that work is to end early: because somebody has called [`stop`](Self::stop), on whatever thread, or because a
/// deadline has passed. [`Hive::par_for_until`] asks between two chunks; any other work may ask for itself.
///
/// ```
/// use std::time::Duration;
///
/// // As many terms as there is time for, on two bees.
/// let stop = hive::Stop::after(Duration::from_millis(2));
/// let terms = hive::spmd_map(2, |bee| {
///     (bee.id()..).step_by(bee.bees()).take_while(|_| !stop.is_stopped()).map(|i| 1.0 / (i + 1) as f64).sum::<f64>()
/// });
/// println!("{} after 2 ms", terms.iter().sum::<f64>());
/// ```
#[derive(Debug, Default)]
#[doc(alias("cancel", "CancellationToken", "deadline", "timeout"))]
pub struct Stop {
    is_stopped: AtomicBool,
    deadline: Option<Instant>,
}

impl Stop {
    /// Nobody has stopped anything yet, and no time will.
    pub const fn new() -> Self {
        Self { is_stopped: AtomicBool::new(false), deadline: None }
    }

    /// Stops at `deadline`, if nobody does so before.
    pub const fn at(deadline: Instant) -> Self {
        Self { is_stopped: AtomicBool::new(false), deadline: Some(deadline) }
    }

    /// Stops after so long a time, counted from now. A time that is too long for the clock is none.
    pub fn after(time: Duration) -> Self {
        Self { is_stopped: AtomicBool::new(false), deadline: Instant::now().checked_add(time) }
    }

    /// Stops whatever goes by this, for good.
    pub fn stop(&self) {
        // Release: pairs with the Acquire in `is_stopped`; who finds the work stopped sees why.
        self.is_stopped.store(true, Ordering::Release);
    }

    /// Whether the work is to end. With a deadline this reads a clock, which takes some 30 ns; without one it takes one
    /// load.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.is_noted() || self.deadline.is_some_and(|deadline| self.has_passed(deadline))
    }

    /// Whether somebody has called `stop`, or found the deadline passed.
    #[inline]
    fn is_noted(&self) -> bool {
        // Acquire: pairs with the Release in `stop`.
        self.is_stopped.load(Ordering::Acquire)
    }

    #[cold]
    fn has_passed(&self, deadline: Instant) -> bool {
        let has_passed = Instant::now() >= deadline;
        if has_passed {
            self.stop();
        }
        has_passed
    }
}

impl Hive {
    /// As [`par_for`](Self::par_for), but once `stop` [is stopped](Stop::is_stopped), no bee begins with more indices.
    /// True: it has not been stopped, so all have been run. False: it has, even if that was in the last of them.
    ///
    /// A bee asks 32 times in each chunk, between pieces of it; so `body` is called for shorter ranges than the
    /// schedule says. With a bare range or [`Schedule::Static`] a bee's chunk is all of its part: where a deadline is
    /// to be kept, give the loop [`Schedule::Dynamic`] and chunks a thirty-second part of which takes much less than it
    /// may be late.
    ///
    /// ```
    /// use hive::{Schedule, Stop};
    ///
    /// // A check that ends with the first fault that anybody finds.
    /// let data: Vec<u32> = (0..100_000).map(|i| i % 50_000).collect();
    /// let stop = Stop::new();
    /// let is_done = hive::par_for_until((0..data.len(), Schedule::Dynamic(1024)), &stop, |range, _| {
    ///     if range.clone().any(|i| data[i] != i as u32) {
    ///         stop.stop();
    ///     }
    /// });
    /// assert!(!is_done);
    /// ```
    ///
    /// # Panics
    /// As [`par_for`](Self::par_for).
    #[track_caller]
    #[doc(alias("cancellation", "omp cancel", "try_for_each", "break"))]
    pub fn par_for_until<F>(&self, work: impl IntoLoop, stop: &Stop, body: F) -> bool
    where
        F: Fn(Range<usize>, &Bee<'_>) + Sync,
    {
        let body = NoDoublePanic::new(body);
        self.run_until(work.into(), |_| stop.is_stopped(), |piece, bee| body(piece, bee));
        // A deadline that nobody has met while indices were left has stopped nothing.
        !stop.is_noted()
    }

    /// The first index of `range` for which `is_it` returns true. Bees that are ahead of one that has been found stop;
    /// which indices are tried besides is chance. The range is dealt out in short chunks, whatever `is_it` takes.
    ///
    /// ```
    /// let data: Vec<u64> = (0..100_000).map(|i| i * i % 9973).collect();
    /// assert_eq!(hive::par_find(0..data.len(), |i| data[i] == 8), data.iter().position(|x| *x == 8));
    /// assert_eq!(hive::par_find(0..data.len(), |i| data[i] == 9973), None);
    /// ```
    ///
    /// # Panics
    /// As [`par_for`](Self::par_for).
    #[track_caller]
    #[doc(alias("find_first", "position_first", "position_any", "any", "all", "search"))]
    pub fn par_find(&self, range: Range<usize>, is_it: impl Fn(usize) -> bool + Sync) -> Option<usize> {
        /// Longer chunks would be searched in vain after the index has been found.
        const LONGEST_CHUNK: usize = 4096;
        let is_it = NoDoublePanic::new(is_it);
        let chunk = (range.len() / 64).clamp(1, LONGEST_CHUNK);
        let first = AtomicUsize::new(usize::MAX);
        // Relaxed, both: the index is all that there is, and the loop's end orders it.
        let is_over = |index| index > first.load(Ordering::Relaxed);
        self.run_until(Loop::new(range, Schedule::Dynamic(chunk)), is_over, |mut piece, _| {
            if let Some(index) = piece.find(|index| is_it(*index)) {
                first.fetch_min(index, Ordering::Relaxed);
            }
        });
        Some(first.into_inner()).filter(|index| *index < usize::MAX)
    }

    /// Runs a loop, each bee until `is_over` returns true for an index that it comes to.
    #[track_caller]
    fn run_until<F>(&self, mut work: Loop, is_over: impl Fn(usize) -> bool + Sync, body: F)
    where
        F: Fn(Range<usize>, &Bee<'_>) + Sync,
    {
        let cost = work.work(work.range().len(), LoopKind::OfBees);
        let bees = work.take_words(self.bees());
        self.run_parts(bees, cost, |bee| {
            work.run(None, &bee.context, &mut InPieces { is_over: &is_over, run: |piece| body(piece, bee) });
        });
        work.put_words_back();
    }
}

/// Runs ranges in pieces, and asks before each of them whether it is over.
struct InPieces<'o, O, F> {
    is_over: &'o O,
    run: F,
}

impl<O: Fn(usize) -> bool, F: FnMut(Range<usize>)> RangeBody for InPieces<'_, O, F> {
    fn run_range(&mut self, range: Range<usize>) {
        pieces(range).take_while(|piece| !(self.is_over)(piece.start)).for_each(&mut self.run);
    }

    fn is_over_from(&self, index: usize) -> bool {
        (self.is_over)(index)
    }

    fn run_each_index(&mut self, indices: Range<usize>) {
        indices.take_while(|index| !(self.is_over)(*index)).for_each(|index| (self.run)(index..index + 1));
    }
}

/// The pieces of a range, none of which is empty.
fn pieces(range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let len = range.len().div_ceil(PIECES).max(1);
    let end = range.end;
    range.step_by(len).map(move |start| start..end.min(start.saturating_add(len)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_a_range() {
        for range in [0..0, 5..6, 3..34, 0..1000, usize::MAX - 70..usize::MAX] {
            let all: Vec<_> = pieces(range.clone()).collect();
            assert!(all.len() <= PIECES && all.iter().all(|piece| !piece.is_empty()));
            assert!(all.into_iter().flatten().eq(range));
        }
    }
}
