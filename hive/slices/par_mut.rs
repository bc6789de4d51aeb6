//! A region and a loop over slices that the bees write to, in one call: `Hive::par_for_mut` and `Hive::par_rows_mut`
//! for one slice, `Hive::par_zip_mut` for several. Built on `Hive::par_for`. That no element is given out twice relies
//! on the proof in `docs/loops.md` that a loop runs each index at most once.

#![expect(unsafe_code, reason = "hands out parts of slices, which a loop deals out once each")]

use std::ops::Range;

use crate::loops::slice_schedule::SliceSchedule;
use crate::memory::numa_vec::NumaVec;
use crate::pool::handle::Hive;
use crate::region::bee::Bee;
use crate::slices::parts::count_rows;

/// A pointer to the start of the slice, for all bees of the region.
pub struct SlicePtr<T>(*mut T);

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
    unsafe fn range_mut<'s>(&self, range: Range<usize>) -> &'s mut [T] {
        // SAFETY: the caller promises that the range lies in the slice, that the slice lives for `'s`, and that nobody
        // else has these elements.
        unsafe { std::slice::from_raw_parts_mut(self.0.wrapping_add(range.start), range.len()) }
    }
}

/// Two to four slices of the same length that a loop writes to: a tuple of `&mut` slices, vectors, arrays or
/// [`NumaVec`]s. [`par_zip_mut`](Hive::par_zip_mut) takes it.
///
/// ```
/// let (mut x, mut y) = (vec![0.0; 100], [1_u8; 100]);
/// hive::par_zip_mut((&mut x, &mut y), hive::Schedule::Static, |range, (x, y), _| {
///     assert_eq!((x.len(), y.len()), (range.len(), range.len()));
/// });
/// ```
#[diagnostic::on_unimplemented(
    message = "a loop writes to a tuple of two, three or four `&mut` slices, vectors, arrays or `NumaVec`s of one length",
    label = "not such a tuple",
    note = "for more slices, or rows of different widths: `Parts` of each, made before, and `parts.part_mut(bee, i)` in \
            a `par_for`; or one slice of structs"
)]
pub trait MutSlices: sealed::Slices {}

#[diagnostic::do_not_recommend]
impl<S: sealed::Slices> MutSlices for S {}

/// What can be seen as one mutable slice. Programs cannot add to it.
mod sealed {
    use super::Range;

    /// Something that has a slice to write to.
    pub trait SliceLike {
        type Item: Send;

        fn slice(&mut self) -> &mut [Self::Item];
    }

    /// A tuple of them.
    pub trait Slices {
        /// Pointers to all slices.
        type Pointers: Sync;
        /// The elements of one range of indices.
        type Part;

        /// The pointers, and the lengths, of which there are as many as there are slices.
        fn into_pointers(self) -> (Self::Pointers, Vec<usize>);

        /// The elements of `range` in all slices.
        ///
        /// # Safety
        /// `range` lies in each of the slices, and no other call gets any of its indices.
        unsafe fn part(pointers: &Self::Pointers, range: Range<usize>) -> Self::Part;
    }
}

macro_rules! slice_like {
    ($($like:ty $(, $len:ident)?;)*) => {
        $(impl<T: Send $(, const $len: usize)?> sealed::SliceLike for $like {
            type Item = T;

            fn slice(&mut self) -> &mut [T] {
                self
            }
        })*
    };
}

slice_like!([T]; Vec<T>; NumaVec<T>; [T; N], N;);

macro_rules! slices {
    ($($name:ident $life:lifetime $place:tt),*) => {
        impl<$($life,)* $($name: sealed::SliceLike + ?Sized),*> sealed::Slices for ($(&$life mut $name,)*) {
            type Pointers = ($(SlicePtr<$name::Item>,)*);
            type Part = ($(&$life mut [$name::Item],)*);

            fn into_pointers(self) -> (Self::Pointers, Vec<usize>) {
                let slices = ($(self.$place.slice(),)*);
                let lengths = vec![$(slices.$place.len()),*];
                (($(SlicePtr(slices.$place.as_mut_ptr()),)*), lengths)
            }

            #[inline(always)]
            unsafe fn part(pointers: &Self::Pointers, range: Range<usize>) -> Self::Part {
                // SAFETY: the caller promises that the range lies in each slice, and that nobody else gets these
                // elements. `into_pointers` has taken the mutable borrows, so they are nobody else's for that long.
                ($(unsafe { pointers.$place.range_mut(range.clone()) },)*)
            }
        }
    };
}

slices!(A 'a 0, B 'b 1);
slices!(A 'a 0, B 'b 1, C 'c 2);
slices!(A 'a 0, B 'b 1, C 'c 2, D 'd 3);

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

    /// As [`par_for_mut`](Self::par_for_mut), for a loop that writes to two, three or four slices of the same length:
    /// `body` gets a range of indices, a tuple of the elements with these indices, and the bee.
    ///
    /// ```
    /// // A step of two vectors at once.
    /// let (mut position, mut speed) = (vec![0.0; 1000], vec![1.0; 1000]);
    /// hive::par_zip_mut((&mut position, &mut speed), hive::Schedule::Static, |_, (position, speed), _| {
    ///     for (x, v) in position.iter_mut().zip(speed) {
    ///         *v -= 0.1 * *x;
    ///         *x += 0.1 * *v;
    ///     }
    /// });
    /// assert_eq!((position[999], speed[999]), (0.1, 1.0));
    /// ```
    ///
    /// # Panics
    /// If the slices are not of the same length, and as [`par_for_mut`](Self::par_for_mut).
    #[track_caller]
    #[doc(alias("zip", "par_iter_mut", "izip", "multizip"))]
    pub fn par_zip_mut<S: MutSlices, F>(&self, slices: S, schedule: impl SliceSchedule, body: F)
    where
        F: Fn(Range<usize>, S::Part, &Bee<'_>) + Sync,
    {
        let (pointers, lengths) = slices.into_pointers();
        let len = lengths[0];
        assert!(lengths.iter().all(|other| *other == len), "slices of different lengths: {lengths:?}");
        self.run_weighted(schedule.loop_over(len), lengths.len(), move |range, bee| {
            // SAFETY: `loop_over` has made sure that the loop passes only indices below `len`, the length of each
            // slice. The loop runs each index at most once.
            let part = unsafe { S::part(&pointers, range.clone()) };
            body(range, part, bee);
        });
    }
}
