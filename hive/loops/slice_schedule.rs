//! [`SliceSchedule`]: what the loops that write to a slice take, because they know the range of indices already.

use crate::loops::schedule::Schedule;
use crate::loops::shared_loop::Loop;

/// How a loop that writes to a slice divides it among the bees: a [`Schedule`]; a [`Plan`](crate::memory::plan::Plan),
/// by which each bee writes to what it owns; or a [`Loop`], which can say more and may leave out elements at both ends.
/// [`par_for_mut`](crate::pool::handle::Hive::par_for_mut) and its like take it.
///
/// ```
/// use hive::{Loop, Schedule};
///
/// let mut x = vec![1.0; 1000];
/// hive::par_for_mut(&mut x, Schedule::Dynamic(64), |_, x, _| x.iter_mut().for_each(|x| *x *= 2.0));
/// hive::par_for_mut(&mut x, &hive::global().plan(1000), |_, x, _| x.iter_mut().for_each(|x| *x += 1.0));
/// // All but the first and the last element, by few bees, as this is little work.
/// hive::par_for_mut(&mut x, Loop::from(1..999).min_work(500), |_, x, _| x.fill(0.0));
/// assert_eq!((x[0], x[1], x[998], x[999]), (3.0, 0.0, 0.0, 3.0));
/// ```
#[diagnostic::on_unimplemented(
    message = "a loop over a slice is divided by a `Schedule`, a `Loop` or a `&Plan`, not by a `{Self}`",
    label = "`Schedule::Static` is the usual choice",
    note = "a `Loop` goes over some of the indices: `Loop::from(1..999)`"
)]
pub trait SliceSchedule: LoopOver {}

#[diagnostic::do_not_recommend]
impl<S: LoopOver> SliceSchedule for S {}

/// Keeps programs from adding implementations, which could then not be changed any more.
pub trait LoopOver {
    /// The loop over the indices `0..len` of a slice, or over some of them.
    ///
    /// # Panics
    /// If there are other indices in it.
    fn loop_over(self, len: usize) -> Loop;
}

impl LoopOver for Schedule {
    #[inline]
    #[track_caller]
    fn loop_over(self, len: usize) -> Loop {
        Loop::new(0..len, self)
    }
}

impl LoopOver for Loop {
    #[inline]
    #[track_caller]
    fn loop_over(self, len: usize) -> Loop {
        let range = self.range();
        assert!(range.is_empty() || range.end <= len, "a loop over {range:?} does not fit a slice of {len}");
        self
    }
}
