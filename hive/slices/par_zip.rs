//! Loops that write to several slices at once: `Hive::par_zip_mut`. As `par_rows.rs`, which has the pointers that it
//! shares among the bees.

#![expect(unsafe_code, reason = "hands out parts of slices, which a loop deals out once each")]

use std::ops::Range;

use crate::loops::slice_schedule::SliceSchedule;
use crate::memory::numa_vec::NumaVec;
use crate::pool::handle::Hive;
use crate::region::bee::Bee;
use crate::slices::par_rows::SlicePtr;

/// Two to four slices of the same length that a loop writes to: a tuple of `&mut` slices, vectors, arrays or
/// [`NumaVec`]s. [`par_zip_mut`](Hive::par_zip_mut) takes it.
///
/// ```
/// let (mut x, mut y) = (vec![0.0; 100], [1_u8; 100]);
/// hive::par_zip_mut((&mut x, &mut y), hive::Schedule::Static, |range, (x, y), _| {
///     assert_eq!((x.len(), y.len()), (range.len(), range.len()));
/// });
/// ```
pub trait MutSlices: sealed::Slices {}

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
