//! A region and a loop over slices that the bees write to, in one call: `Hive::par_for_mut` and `Hive::par_rows_mut`
//! for one slice, `Hive::par_zip_mut` for several. Built on `Hive::par_for`. That no element is given out twice relies
//! on the proof in `docs/loops.md` that a loop runs each index at most once.

#![expect(unsafe_code, reason = "hands out parts of slices, which a loop deals out once each")]

use std::convert::identity;
use std::ops::Range;

use crate::loops::slice_schedule::SliceSchedule;
use crate::memory::numa_vec::NumaVec;
use crate::pool::handle::Hive;
use crate::region::bee::Bee;
use crate::region::no_double_panic::NoDoublePanic;
use crate::slices::count_rows;

/// The start of rows that all have the same width, for all bees of a region.
pub struct RowsPtr<T> {
    data: *mut T,
    width: usize,
}

// SAFETY: all that a shared `RowsPtr` gives out are rows of a slice, or tiles. By the contract of `rows_mut`, and by
// that of tiles, they do not overlap, so each element is accessed by one thread at a time, which `T: Send` allows.
unsafe impl<T: Send> Sync for RowsPtr<T> {}

impl<T> RowsPtr<T> {
    pub(super) fn new(data: &mut [T], width: usize) -> Self {
        Self { data: data.as_mut_ptr(), width }
    }

    /// Where the element at `index` is. By a method, so that a closure captures all of `self`.
    pub(super) fn at(&self, index: usize) -> *mut T {
        self.data.wrapping_add(index)
    }

    /// The elements of these rows, to write to.
    ///
    /// # Safety
    /// - The slice has these rows.
    /// - The slice stays mutably borrowed for `'s`.
    /// - Nobody else gets any of these elements during `'s`.
    #[inline(always)]
    unsafe fn rows_mut<'s>(&self, rows: Range<usize>) -> &'s mut [T] {
        let (start, len) = (rows.start * self.width, rows.len() * self.width);
        // SAFETY: the caller promises that the rows lie in the slice, that the slice lives for `'s`, and that nobody
        // else has these elements.
        unsafe { std::slice::from_raw_parts_mut(self.data.wrapping_add(start), len) }
    }
}

/// A slice as rows of `width` elements, for [`par_zip_mut`](Hive::par_zip_mut) over slices whose rows are of different
/// widths.
///
/// ```
/// use hive::{Rows, Schedule};
///
/// // Forces on 100 bodies, from their positions in three dimensions, and their energies.
/// let x = vec![2.0; 300];
/// let (mut force, mut energy) = (vec![0.0; 300], vec![0.0; 100]);
/// hive::par_zip_mut((Rows::new(&mut force, 3), &mut energy), Schedule::Static, |bodies, (force, energy), _| {
///     let x = &x[3 * bodies.start..3 * bodies.end];
///     for ((x, force), energy) in x.chunks_exact(3).zip(force.chunks_exact_mut(3)).zip(energy) {
///         force.copy_from_slice(&[-x[0], -x[1], -x[2]]);
///         *energy = x.iter().map(|x| x * x / 2.0).sum();
///     }
/// });
/// assert_eq!((force[299], energy[99]), (-2.0, 6.0));
/// ```
#[derive(Debug)]
pub struct Rows<'a, T> {
    data: &'a mut [T],
    width: usize,
}

impl<'a, T> Rows<'a, T> {
    /// `data` as rows of `width` elements.
    ///
    /// # Panics
    /// If `width` is 0, or the last row is incomplete.
    #[track_caller]
    pub fn new(data: &'a mut [T], width: usize) -> Self {
        count_rows(data.len(), width);
        Self { data, width }
    }

    /// `data` as rows of one element.
    fn single(data: &'a mut [T]) -> Self {
        Self { data, width: 1 }
    }
}

/// What a loop writes to at once: a tuple of two to eight, each a `&mut` slice, vector, array or [`NumaVec`], or
/// [`Rows`]. [`par_zip_mut`](Hive::par_zip_mut) takes it.
///
/// ```
/// let (mut x, mut y) = (vec![0.0; 100], [1_u8; 100]);
/// hive::par_zip_mut((&mut x, &mut y), hive::Schedule::Static, |range, (x, y), _| {
///     assert_eq!((x.len(), y.len()), (range.len(), range.len()));
/// });
/// ```
pub trait MutSlices: Slices {}

#[diagnostic::do_not_recommend]
impl<S: Slices> MutSlices for S {}

/// The rows of one slice. Programs cannot name this trait and the next one, and so not add to them.
#[diagnostic::on_unimplemented(
    message = "what a loop writes to is a `&mut` slice, vector, array or `NumaVec`, or `Rows`, not a `{Self}`",
    note = "what the body only reads it captures and indexes by its range: `&x[range]`"
)]
pub trait MutRows {
    type Item: Send;
    /// The elements of some rows.
    type Part;

    /// The rows, and how many there are.
    fn into_rows(self) -> (RowsPtr<Self::Item>, usize);

    /// The elements of these rows.
    ///
    /// # Safety
    /// `pointer` is what `into_rows` has returned, of a value that has so many rows, and no other call gets any of
    /// them.
    unsafe fn part(pointer: &RowsPtr<Self::Item>, rows: Range<usize>) -> Self::Part;
}

/// A tuple of them.
#[diagnostic::on_unimplemented(
    message = "a loop writes to a tuple of two to eight: `&mut` slices, vectors, arrays, `NumaVec`s, or `Rows`",
    label = "not such a tuple",
    note = "for a single slice: `par_for_mut`; for more than eight: one slice of structs, or `Parts` of each, made \
            before, and `parts.part_mut(bee, i)` in a `par_for`"
)]
pub trait Slices {
    /// The rows of all slices.
    type Pointers: Sync;
    /// The elements of one range of rows.
    type Part;

    /// The pointers, the numbers of rows, of which there are as many as there are slices, and how many elements a
    /// row of each has together.
    fn into_pointers(self) -> (Self::Pointers, Vec<usize>, usize);

    /// The elements of `rows` in all slices.
    ///
    /// # Safety
    /// Each of the slices has these rows, and no other call gets any of them.
    unsafe fn part(pointers: &Self::Pointers, rows: Range<usize>) -> Self::Part;
}

macro_rules! mut_rows {
    ($($slice:ty $(, $len:ident)? => $into_rows:expr;)*) => {
        $(impl<'a, T: Send $(, const $len: usize)?> MutRows for $slice {
            type Item = T;
            type Part = &'a mut [T];

            fn into_rows(self) -> (RowsPtr<T>, usize) {
                let Rows { data, width } = $into_rows(self);
                (RowsPtr::new(data, width), data.len() / width)
            }

            #[inline(always)]
            unsafe fn part(pointer: &RowsPtr<T>, rows: Range<usize>) -> &'a mut [T] {
                // SAFETY: the caller promises that the slice has the rows, and that nobody else gets them. `into_rows`
                // has taken the mutable borrow, so they are nobody else's for that long.
                unsafe { pointer.rows_mut(rows) }
            }
        })*
    };
}

mut_rows! {
    &'a mut [T] => Rows::single;
    &'a mut Vec<T> => Rows::single;
    &'a mut NumaVec<T> => Rows::single;
    &'a mut [T; N], N => Rows::single;
    Rows<'a, T> => identity;
}

macro_rules! slices {
    ($($name:ident $place:tt),*) => {
        impl<$($name: MutRows),*> Slices for ($($name,)*) {
            type Pointers = ($(RowsPtr<$name::Item>,)*);
            type Part = ($($name::Part,)*);

            fn into_pointers(self) -> (Self::Pointers, Vec<usize>, usize) {
                let rows = ($(self.$place.into_rows(),)*);
                let (counts, width) = (vec![$(rows.$place.1),*], 0_usize $(.saturating_add(rows.$place.0.width))*);
                (($(rows.$place.0,)*), counts, width)
            }

            #[inline(always)]
            unsafe fn part(pointers: &Self::Pointers, rows: Range<usize>) -> Self::Part {
                // SAFETY: the caller promises what each of the slices asks for.
                ($(unsafe { $name::part(&pointers.$place, rows.clone()) },)*)
            }
        }
    };
}

slices!(A 0, B 1);
slices!(A 0, B 1, C 2);
slices!(A 0, B 1, C 2, D 3);
slices!(A 0, B 1, C 2, D 3, E 4);
slices!(A 0, B 1, C 2, D 3, E 4, F 5);
slices!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
slices!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);

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
        let body = NoDoublePanic::new(body);
        let work = schedule.loop_over(count_rows(data.len(), width));
        let slice = RowsPtr::new(data, width);
        self.run_weighted(work, width, move |rows, bee| {
            // SAFETY: `loop_over` has made sure that the loop passes only rows below their number, so the slice has
            // them. The slice stays borrowed, since `run_weighted` returns only after all bees are done. And the loop
            // runs each row at most once, so nobody else gets these elements.
            let part = unsafe { slice.rows_mut(rows.clone()) };
            body(rows, part, bee);
        });
    }

    /// As [`par_for_mut`](Self::par_for_mut), for a loop that writes to two to eight slices of the same length: `body`
    /// gets a range of indices, a tuple of the elements with these indices, and the bee. A slice with several
    /// elements for each index is wrapped in [`Rows`]: then the range counts its rows, and `body` gets all elements of
    /// these, as one slice.
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
    /// If the slices are not of the same length, or have not the same number of rows, and as
    /// [`par_for_mut`](Self::par_for_mut).
    #[track_caller]
    #[doc(alias("zip", "par_iter_mut", "izip", "multizip"))]
    pub fn par_zip_mut<S: MutSlices, F>(&self, slices: S, schedule: impl SliceSchedule, body: F)
    where
        F: Fn(Range<usize>, S::Part, &Bee<'_>) + Sync,
    {
        let body = NoDoublePanic::new(body);
        let (pointers, lengths, width) = slices.into_pointers();
        let len = lengths[0];
        assert!(lengths.iter().all(|other| *other == len), "different numbers of elements, or of rows: {lengths:?}");
        let work = schedule.loop_over(len);
        self.run_weighted(work, width, move |range, bee| {
            // SAFETY: `loop_over` has made sure that the loop passes only indices below `len`, the number of rows of
            // each slice. The loop runs each index at most once.
            let part = unsafe { S::part(&pointers, range.clone()) };
            body(range, part, bee);
        });
    }
}
