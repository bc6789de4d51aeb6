//! A region and a loop over a slice that it writes to, in one call.

#![expect(unsafe_code, reason = "hands out parts of one slice, which a loop deals out once each")]

use std::ops::Range;

use crate::loops::schedule::Schedule;
use crate::pool::handle::Hive;
use crate::region::bee::Bee;
use crate::slices::parts::count_rows;

/// The slice, for all bees.
struct SlicePtr<T>(*mut T);

// SAFETY: bees get parts of the slice that do not overlap, each `&mut` on one thread.
unsafe impl<T: Send> Sync for SlicePtr<T> {}

impl<T> SlicePtr<T> {
    /// The elements of `range`.
    ///
    /// # Safety
    /// The range lies in the slice, whose borrow goes on, and nobody else gets any of its elements.
    #[inline(always)]
    unsafe fn range_mut<'s>(&self, range: Range<usize>) -> &'s mut [T] {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.0.wrapping_add(range.start), range.len()) }
    }
}

impl Hive {
    /// Runs `body` for all elements of `data`, dealt out by `schedule` to all bees that are awake: `body` gets the indices of some, and those elements to write to.
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
    /// As [`par_for`](Self::par_for).
    #[inline]
    #[track_caller]
    pub fn par_for_mut<T: Send, F>(&self, data: &mut [T], schedule: Schedule, body: F)
    where
        F: Fn(Range<usize>, &mut [T], &Bee<'_>) + Sync,
    {
        self.par_rows_mut(data, 1, schedule, body);
    }

    /// The same for rows of `width` elements, dealt out whole: `body` gets the numbers of some neighbouring rows, and all their elements. Chunks of the schedule are counted in rows.
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
    /// As [`par_for`](Self::par_for); if `width` is 0, or the last row incomplete.
    #[track_caller]
    pub fn par_rows_mut<T: Send, F>(&self, data: &mut [T], width: usize, schedule: Schedule, body: F)
    where
        F: Fn(Range<usize>, &mut [T], &Bee<'_>) + Sync,
    {
        let rows = count_rows(data.len(), width);
        let slice = SlicePtr(data.as_mut_ptr());
        self.par_for(0..rows, schedule, move |rows, bee| {
            // SAFETY: the rows are below their number, and the one region of this loop gets each once.
            let part = unsafe { slice.range_mut(rows.start * width..rows.end * width) };
            body(rows, part, bee);
        });
    }
}
