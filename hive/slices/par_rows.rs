//! A region and a loop over a slice that the bees write to, in one call: `Hive::par_for_mut` and `Hive::par_rows_mut`.
//! Built on `Hive::par_for`. That no element is given out twice relies on the proof in `docs/loops.md` that a loop runs
//! each index at most once.

#![expect(unsafe_code, reason = "hands out parts of one slice, which a loop deals out once each")]

use std::ops::Range;

use crate::loops::slice_schedule::SliceSchedule;
use crate::pool::handle::Hive;
use crate::region::bee::Bee;
use crate::slices::parts::count_rows;

/// A pointer to the start of the slice, for all bees of the region.
pub struct SlicePtr<T>(pub(crate) *mut T);

// SAFETY: all that a shared `SlicePtr` gives out are parts of the slice. By the contract of `range_mut` they do not
// overlap, so each element is accessed by one thread at a time, which `T: Send` allows.
unsafe impl<T: Send> Sync for SlicePtr<T> {}

impl<T> SlicePtr<T> {
    /// The elements of `range`, to write to.
    ///
    /// # Safety
    /// - `range` lies in the slice.
    /// - The slice stays mutably borrowed for `'s`.
    /// - Nobody else gets any of these elements during `'s`.
    #[inline(always)]
    pub(crate) unsafe fn range_mut<'s>(&self, range: Range<usize>) -> &'s mut [T] {
        // SAFETY: the caller promises that the range lies in the slice, that the slice lives for `'s`, and that nobody
        // else has these elements.
        unsafe { std::slice::from_raw_parts_mut(self.0.wrapping_add(range.start), range.len()) }
    }
}

impl Hive {
    /// Runs `body` for all elements of `data`, which `schedule` divides among all bees of the hive: a
    /// [`Schedule`](crate::loops::schedule::Schedule), a [`Plan`](crate::memory::plan::Plan), by which each bee writes
    /// to what it owns, or a [`Loop`](crate::loops::shared_loop::Loop) over all or some of the indices. `body` gets a
    /// range of indices, the elements with these indices to write to, and the bee that it runs on.
    ///
    /// ```
    /// let x: Vec<f64> = (0..10_000).map(f64::from).collect();
    /// let mut y = vec![1.0; x.len()];
    /// hive::par_for_mut(&mut y, hive::Schedule::Static, |range, y, _| {
    ///     for (y, x) in y.iter_mut().zip(&x[range]) {
    ///         *y += 2.0 * x;
    ///     }
    /// });
    /// assert_eq!(y[100], 201.0);
    /// ```
    ///
    /// # Panics
    /// As [`par_for`](Self::par_for); and if a plan or a loop has indices that the slice does not have.
    #[inline]
    #[track_caller]
    #[doc(alias("par_iter_mut", "parallel for", "par_chunks_mut"))]
    pub fn par_for_mut<T: Send, F>(&self, data: &mut [T], schedule: impl SliceSchedule, body: F)
    where
        F: Fn(Range<usize>, &mut [T], &Bee<'_>) + Sync,
    {
        self.par_rows_mut(data, 1, schedule, body);
    }

    /// Like [`par_for_mut`](Self::par_for_mut), for rows of `width` elements, which are not cut: `body` gets the
    /// numbers of some neighbouring rows, all their elements, and the bee. Chunk lengths of the schedule are numbers of
    /// rows.
    ///
    /// ```
    /// let width = 300;
    /// let mut image = vec![0; width * 200];
    /// hive::par_rows_mut(&mut image, width, hive::Schedule::Dynamic(1), |rows, part, _| {
    ///     for (y, row) in rows.zip(part.chunks_exact_mut(width)) {
    ///         row.iter_mut().enumerate().for_each(|(x, pixel)| *pixel = x * y);
    ///     }
    /// });
    /// assert_eq!(image[17 * width + 4], 68);
    /// ```
    ///
    /// # Panics
    /// As [`par_for`](Self::par_for); and if `width` is 0, the last row is incomplete, or a plan or a loop has rows
    /// that the slice does not have.
    #[track_caller]
    #[doc(alias("par_chunks_mut", "par_chunks_exact_mut"))]
    pub fn par_rows_mut<T: Send, F>(&self, data: &mut [T], width: usize, schedule: impl SliceSchedule, body: F)
    where
        F: Fn(Range<usize>, &mut [T], &Bee<'_>) + Sync,
    {
        let rows = count_rows(data.len(), width);
        let slice = SlicePtr(data.as_mut_ptr());
        self.run_weighted(schedule.loop_over(rows), width, move |rows, bee| {
            // SAFETY: `loop_over` has made sure that the loop passes only rows below `rows`, so the range lies in the
            // slice. The slice stays borrowed, since `par_for` returns only after all bees are done. And the loop runs
            // each row at most once, so nobody else gets these elements.
            let part = unsafe { slice.range_mut(rows.start * width..rows.end * width) };
            body(rows, part, bee);
        });
    }
}
