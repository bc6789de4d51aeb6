//! `Parts`: a mutable slice in parts, one for each bee, which bees may write to and read from each other. Each part has
//! a borrow state (`borrow.rs`) that is checked when a bee asks for the part.

#![expect(unsafe_code, reason = "hands out references into one slice, which the loans keep apart")]

use std::marker::PhantomData;
use std::ops::Range;
use std::{fmt, ptr};

use crate::memory::plan::Plan;
use crate::region::bee::Bee;
use crate::region::split;
use crate::slices::borrow::{BorrowError, BorrowStates, Borrower, PartsGuard, READ, WRITE};
use crate::slices::count_rows;
use crate::slices::guard::{Guard, PartMut, PartRef};

/// A mutable slice in contiguous parts, usually one for each bee. A bee may write to its own part and read those of the
/// others. Borrows are checked at run time: at any time a part is borrowed by one bee that writes to it, or by any
/// number of bees that read it.
///
/// In one phase, that is, between two barriers (a [signal](Bee::signal) is none), a part may be either written to or
/// read, whichever bees do it. There are two exceptions: a bee may write to its own part if nobody but itself has read
/// it in this phase; and in a team of one bee there are no phases. If one bee reads what its neighbour writes to in the
/// same phase, one of the two panics, whichever comes second. If two bees write to one part in the same phase, they
/// panic only if both have it at the same time: one may write after the other, and which of them comes last is chance.
/// So a stencil in place, which reads the neighbours' edges, is safe Rust:
///
/// ```
/// use hive::Parts;
///
/// let mut cells = vec![0.0; 90];
/// cells[0] = 1.0;
/// let (bees, len) = (3, cells.len());
/// let parts = Parts::new(&mut cells, bees);
/// hive::spmd(bees, |bee| {
///     let mut next = vec![0.0; parts.range(bee.id()).len()];
///     for _ in 0..50 {
///         {
///             let left = bee.id().checked_sub(1).map(|id| parts.part(bee, id)[..].last().copied().unwrap());
///             let right = (bee.id() + 1 < bee.bees()).then(|| parts.part(bee, bee.id() + 1)[0]);
///             let own = parts.part(bee, bee.id());
///             for (i, next) in next.iter_mut().enumerate() {
///                 let before = if i > 0 { Some(own[i - 1]) } else { left };
///                 let after = own.get(i + 1).copied().or(right);
///                 *next = (before.unwrap_or(1.0) + after.unwrap_or(0.0)) / 2.0;
///             }
///         }
///         bee.barrier(); // all have read
///         parts.own_mut(bee).copy_from_slice(&next);
///         bee.barrier(); // all have written
///     }
/// });
/// drop(parts);
/// assert!(cells.is_sorted_by(|a, b| a >= b) && cells[len - 1] < cells[0]);
/// ```
///
/// The parts cannot outlive the slice:
///
/// ```compile_fail,E0597
/// let parts = {
///     let mut cells = vec![0; 8];
///     hive::Parts::new(&mut cells, 2) // `cells` does not live long enough
/// };
/// hive::spmd(2, |bee| parts.own_mut(bee)[0] = 1);
/// ```
///
/// Nobody else can access the slice while there are parts of it:
///
/// ```compile_fail,E0502
/// let mut cells = vec![0; 8];
/// let parts = hive::Parts::new(&mut cells, 2);
/// hive::spmd(2, |bee| parts.own_mut(bee)[0] = cells[7]); // cannot borrow `cells`
/// ```
///
/// And the elements must be of a type that other threads may access:
///
/// ```compile_fail,E0277
/// let mut cells = vec![std::rc::Rc::new(0); 8];
/// let parts = hive::Parts::new(&mut cells, 2);
/// hive::spmd(2, |bee| drop(parts.own_mut(bee))); // `Rc<i32>` cannot be sent between threads safely
/// ```
#[doc(alias("par_chunks_mut", "split_at_mut"))]
pub struct Parts<'d, T> {
    data: *mut T,
    /// The index at which each part begins, and the end of the last part.
    cuts: Box<[usize]>,
    /// The borrow state of each part.
    borrows: BorrowStates,
    /// A `Parts` stands for a mutable borrow of the slice.
    slice: PhantomData<&'d mut [T]>,
}

// SAFETY: a shared `Parts` gives references to elements to several threads: a mutable one to one thread, which needs
// `T: Send`, or shared ones to several, which needs `T: Sync`. The borrow states keep the two apart.
unsafe impl<T: Send + Sync> Sync for Parts<'_, T> {}

// SAFETY: a `Parts` stands for a `&mut [T]`, which is `Send` if `T` is.
unsafe impl<T: Send> Send for Parts<'_, T> {}

impl<'d, T> Parts<'d, T> {
    /// Cuts `data` into `parts` parts, whose lengths differ by at most one, as [`Bee::split`] does.
    ///
    /// ```
    /// let mut x = vec![0.0; 1000];
    /// let bees = hive::bees();
    /// let parts = hive::Parts::new(&mut x, bees);
    /// hive::spmd(bees, |bee| parts.own_mut(bee).fill(1.0)); // each page near the bee that will use it
    /// ```
    ///
    /// # Panics
    /// If `parts` is 0.
    #[track_caller]
    pub fn new(data: &'d mut [T], parts: usize) -> Self {
        Self::rows(data, 1, parts)
    }

    /// Cuts `data` into `parts` parts of whole rows of `width` elements. The numbers of rows in the parts differ by at
    /// most one.
    ///
    /// ```
    /// let mut image = vec![0; 640 * 480];
    /// let parts = hive::Parts::rows(&mut image, 640, 7);
    /// assert!((0..7).all(|part| parts.range(part).len() % 640 == 0));
    /// ```
    ///
    /// # Panics
    /// If `parts` or `width` is 0, or if the last row is incomplete.
    #[track_caller]
    pub fn rows(data: &'d mut [T], width: usize, parts: usize) -> Self {
        assert!(parts > 0, "a slice cannot be cut into 0 parts");
        let rows = count_rows(data.len(), width);
        let cuts = (0..=parts).map(|part| width * split::blocks(0..rows, 0..part, parts).end);
        Self::with_cuts(data, cuts.collect())
    }

    /// Cuts `data` into parts that end at the indices `ends`: for work that is not spread evenly, such as the rows of a
    /// sparse matrix.
    ///
    /// ```
    /// use hive::Parts;
    ///
    /// // A triangular matrix: the fewer elements a row has, the more rows the bee gets.
    /// let mut rows = vec![0.0; 100];
    /// let parts = Parts::cut_at(&mut rows, &[58, 82, 100]);
    /// hive::spmd(3, |bee| {
    ///     let range = parts.range(bee.id());
    ///     parts.own_mut(bee).iter_mut().zip(range).for_each(|(row, i)| *row = (i + 1) as f64);
    /// });
    /// drop(parts);
    /// assert_eq!(rows.iter().sum::<f64>(), 5050.0);
    /// ```
    ///
    /// # Panics
    /// If `ends` is empty, if an end lies before the one before it, or if the last end is not the slice's length.
    #[track_caller]
    pub fn cut_at(data: &'d mut [T], ends: &[usize]) -> Self {
        assert!(ends.is_sorted(), "parts cannot end at {ends:?}: one would end before it begins");
        let Some(end) = ends.last() else { panic!("a slice cannot be cut into 0 parts") };
        assert!(*end == data.len(), "the last part ends at {end}, and the slice has {} elements", data.len());
        Self::with_cuts(data, std::iter::once(0).chain(ends.iter().copied()).collect())
    }

    /// Cuts `data` into parts as `plan` does: the part of each bee is what it owns.
    ///
    /// ```
    /// let plan = hive::global().plan(100);
    /// let mut data = vec![0; 100];
    /// assert_eq!(hive::Parts::by_plan(&mut data, &plan).range(0), plan.range(0));
    /// ```
    ///
    /// # Panics
    /// If the plan's number of indices is not the slice's length.
    #[track_caller]
    pub fn by_plan(data: &'d mut [T], plan: &Plan) -> Self {
        Self::cut_at(data, &plan.ends)
    }

    /// `cuts` must rise from 0 to the slice's length.
    fn with_cuts(data: &'d mut [T], cuts: Box<[usize]>) -> Self {
        let borrows = BorrowStates::new(cuts.len() - 1);
        Self { data: data.as_mut_ptr(), cuts, borrows, slice: PhantomData }
    }

    /// The number of parts.
    ///
    /// ```
    /// use hive::Parts;
    ///
    /// let mut x = vec![0.0; 1000];
    /// let parts = Parts::new(&mut x, 40);
    /// hive::par_for(0..parts.count(), |range, bee| range.for_each(|part| parts.part_mut(bee, part).fill(1.0)));
    /// ```
    pub fn count(&self) -> usize {
        self.cuts.len() - 1
    }

    /// The numbers of the parts that are the bee's to see to, whatever the size of its team: the first is its own, and
    /// in a team that is smaller than the number of parts, those of the bees that are missing are dealt out like cards.
    ///
    /// A region that is to have a bee for each part is one of [`count`](Self::count) bees. That is not always what
    /// `hive::bees()` says by then: the hive may have been resized. And nested regions are teams of one.
    ///
    /// ```
    /// use hive::Parts;
    ///
    /// let mut x = vec![0.0; 1000];
    /// let parts = Parts::new(&mut x, 4);
    /// hive::spmd_all(|bee| parts.of_bee(bee).for_each(|part| parts.part_mut(bee, part).fill(1.0)));
    /// drop(parts);
    /// assert_eq!(x, [1.0; 1000]);
    /// ```
    pub fn of_bee(&self, bee: &Bee<'_>) -> impl Iterator<Item = usize> + use<T> {
        (bee.id()..self.count()).step_by(bee.bees())
    }

    /// The indices of part `part`.
    ///
    /// ```
    /// let mut x = vec![0.0; 10];
    /// let parts = hive::Parts::new(&mut x, 3);
    /// assert_eq!((parts.range(0), parts.range(1), parts.range(2)), (0..4, 4..7, 7..10));
    /// ```
    ///
    /// # Panics
    /// If there is no part of that number.
    #[track_caller]
    pub fn range(&self, part: usize) -> Range<usize> {
        assert!(part < self.count(), "there is no part {part}: their numbers are below {}", self.count());
        self.cuts[part]..self.cuts[part + 1]
    }

    /// Borrows the calling bee's own part, the one with the bee's number, for writing. There are as many parts as bees.
    ///
    /// In a smaller team, such as a nested region, which is a team of one, nobody would have the other parts for its
    /// own. Code that may run there cuts by [`bees`](Bee::bees), goes through the parts [`of_bee`](Self::of_bee), or is
    /// a loop, by [`par_for_mut`](crate::pool::handle::Hive::par_for_mut).
    ///
    /// ```
    /// let mut x: Vec<f64> = (0..1000).map(f64::from).collect();
    /// let parts = hive::Parts::new(&mut x, 4);
    /// hive::spmd(4, |bee| parts.own_mut(bee).iter_mut().for_each(|x| *x = x.sqrt()));
    /// drop(parts);
    /// assert_eq!(x[900], 30.0);
    /// ```
    ///
    /// # Panics
    /// If the team has more or fewer bees than there are parts, if another has the part borrowed, or if another bee has
    /// read the part in this phase. In a destructor [that must not panic](Bee::barrier), where barriers do not wait and
    /// phases do not end, a part that cannot be borrowed is empty instead.
    #[inline]
    #[track_caller]
    pub fn own_mut(&self, bee: &Bee<'_>) -> PartMut<'_, T> {
        if bee.bees() != self.count() {
            refuse_team(bee, self.count());
            return self.parts_mut(bee, 0..0);
        }
        self.part_mut(bee, bee.id())
    }

    /// Borrows part number `part` for writing: for loops over more parts than there are bees.
    ///
    /// ```
    /// use hive::{Parts, Schedule};
    ///
    /// let mut triangle = vec![0_u64; 100 * 100];
    /// let rows = Parts::rows(&mut triangle, 100, 100);
    /// hive::par_for((0..100, Schedule::Dynamic(1)), |range, bee| {
    ///     for row in range {
    ///         rows.part_mut(bee, row)[..=row].fill(1);
    ///     }
    /// });
    /// drop(rows);
    /// assert_eq!(triangle.iter().sum::<u64>(), 5050);
    /// ```
    ///
    /// # Panics
    /// If there is no such part, and as [`own_mut`](Self::own_mut).
    #[inline]
    #[track_caller]
    pub fn part_mut(&self, bee: &Bee<'_>, part: usize) -> PartMut<'_, T> {
        self.parts_mut(bee, part..part.saturating_add(1))
    }

    /// Borrows neighbouring parts for writing, as one slice.
    ///
    /// ```
    /// // A rotation of two columns of a matrix that is kept by columns.
    /// let mut matrix: Vec<f64> = (0..12).map(f64::from).collect();
    /// let columns = hive::Parts::rows(&mut matrix, 3, 4);
    /// hive::spmd(2, |bee| {
    ///     let mut pair = columns.parts_mut(bee, 2 * bee.id()..2 * bee.id() + 2);
    ///     let (first, second) = pair.split_at_mut(3);
    ///     first.swap_with_slice(second);
    /// });
    /// drop(columns);
    /// assert_eq!(matrix[..6], [3.0, 4.0, 5.0, 0.0, 1.0, 2.0]);
    /// ```
    ///
    /// # Panics
    /// If there are no such parts, and as [`own_mut`](Self::own_mut) for each of them.
    #[inline]
    #[track_caller]
    pub fn parts_mut(&self, bee: &Bee<'_>, parts: Range<usize>) -> PartMut<'_, T> {
        let (elements, guard) = self.borrow::<WRITE>(bee, parts);
        // SAFETY: the elements lie in the slice, which is mutably borrowed for 'd. Until the guard gives the borrow
        // back, nobody else has these parts, and parts do not overlap. If they could not be borrowed, these are none.
        unsafe { Guard::new(elements, guard) }
    }

    /// Borrows part number `part`, a neighbour's or the bee's own, for reading.
    ///
    /// ```
    /// let mut x = vec![0; 4];
    /// let parts = hive::Parts::new(&mut x, 4);
    /// let neighbours = hive::spmd_map(4, |bee| {
    ///     parts.own_mut(bee)[0] = 10 * bee.id();
    ///     bee.barrier(); // all have written
    ///     parts.part(bee, (bee.id() + 1) % 4)[0]
    /// });
    /// assert_eq!(neighbours, [10, 20, 30, 0]);
    /// ```
    ///
    /// # Panics
    /// If there is no such part, if it is borrowed for writing, or if it has been written to in this phase. In a
    /// destructor, as [`own_mut`](Self::own_mut).
    #[inline]
    #[track_caller]
    pub fn part(&self, bee: &Bee<'_>, part: usize) -> PartRef<'_, T> {
        self.parts(bee, part..part.saturating_add(1))
    }

    /// Borrows neighbouring parts for reading, as one slice, while others are written to.
    ///
    /// This counts one more reader of each of these parts, so it takes as long as that many calls of
    /// [`part`](Self::part).
    ///
    /// ```
    /// use hive::{Parts, SharedSlice};
    ///
    /// // A triangular system, block by block. All bees sum up what the solution so far means for the rows of the next
    /// // block; one solves it.
    /// let (n, block) = (64, 8);
    /// let entry = |row: usize, column: usize| if row == column { 2.0 } else { 1.0 / (row + column) as f64 };
    /// let mut x: Vec<f64> = (0..n).map(|row| (0..=row).map(|column| entry(row, column)).sum()).collect();
    /// let (blocks, mut sums) = (Parts::rows(&mut x, block, n / block), vec![0.0; block]);
    /// let sums = SharedSlice::new(&mut sums);
    /// hive::spmd_all(|bee| {
    ///     for step in 0..blocks.count() {
    ///         bee.for_range(0..block, |rows| {
    ///             let solved = blocks.parts(bee, 0..step);
    ///             for i in rows {
    ///                 let row = step * block + i;
    ///                 sums.set(i, solved.iter().enumerate().map(|(column, x)| entry(row, column) * x).sum());
    ///             }
    ///         });
    ///         bee.single(|| {
    ///             let mut own = blocks.part_mut(bee, step);
    ///             for i in 0..block {
    ///                 let (row, first) = (step * block + i, step * block);
    ///                 let inside: f64 = (0..i).map(|j| entry(row, first + j) * own[j]).sum();
    ///                 own[i] = (own[i] - sums.get(i) - inside) / entry(row, row);
    ///             }
    ///         });
    ///     }
    /// });
    /// drop(blocks);
    /// assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-12));
    /// ```
    ///
    /// # Panics
    /// If there are no such parts, and as [`part`](Self::part) for each of them.
    #[inline]
    #[track_caller]
    pub fn parts(&self, bee: &Bee<'_>, parts: Range<usize>) -> PartRef<'_, T> {
        let (elements, guard) = self.borrow::<READ>(bee, parts);
        // SAFETY: as in `parts_mut`, except that others may also have the parts borrowed for reading; nobody has them
        // for writing.
        unsafe { Guard::new(elements, guard) }
    }

    /// Borrows all parts for reading, as one slice: what all bees have written before the last barrier.
    ///
    /// For phases in which each bee needs elements from everywhere, such as a vector that a matrix is multiplied by. As
    /// [`parts`](Self::parts).
    ///
    /// ```
    /// use hive::Parts;
    ///
    /// // Powers of a permutation: in each step, each element becomes the one that it points to.
    /// let (mut next, bees) = ((0..60).map(|i| (i + 1) % 60).collect::<Vec<usize>>(), 3);
    /// let parts = Parts::new(&mut next, bees);
    /// hive::spmd(bees, |bee| {
    ///     for _ in 0..4 {
    ///         let own = {
    ///             let all = parts.whole(bee);
    ///             all[parts.range(bee.id())].iter().map(|i| all[*i]).collect::<Vec<_>>()
    ///         };
    ///         bee.barrier(); // all have read
    ///         parts.own_mut(bee).copy_from_slice(&own);
    ///         bee.barrier(); // all have written
    ///     }
    /// });
    /// drop(parts);
    /// assert_eq!(next[7], 7 + 16);
    /// ```
    ///
    /// # Panics
    /// If some part is borrowed for writing, or has been written to in this phase. In a destructor, as
    /// [`own_mut`](Self::own_mut).
    #[track_caller]
    #[doc(alias("gather", "allgather", "read_all"))]
    pub fn whole(&self, bee: &Bee<'_>) -> PartRef<'_, T> {
        self.parts(bee, 0..self.count())
    }

    /// Borrows these parts. Returns a pointer to their elements, and a guard that gives them back when it is dropped.
    /// If one of them cannot be borrowed, panics; in a destructor that must not panic, returns no elements instead.
    #[inline]
    #[track_caller]
    fn borrow<const WRITES: bool>(&self, bee: &Bee<'_>, parts: Range<usize>) -> (*mut [T], PartsGuard<'_>) {
        let (Range { start, end }, count) = (parts, self.count());
        assert!(start <= end && end <= count, "there are no parts {start}..{end}: their numbers are below {count}");
        let mut guard = PartsGuard { borrows: &self.borrows, parts: start..start };
        for part in start..end {
            if let Err(error) = self.borrows.of(part).try_borrow::<WRITES>(Borrower::of(bee, part)) {
                report_refusal(error, part, bee);
                return (&mut [], guard);
            }
            guard.parts.end = part + 1;
        }
        let (first, len) = (self.cuts[start], self.cuts[end] - self.cuts[start]);
        (ptr::slice_from_raw_parts_mut(self.data.wrapping_add(first), len), guard)
    }
}

/// Panics because the team is not as large as the number of parts, or fails as `refuse` does.
#[cold]
#[track_caller]
fn refuse_team(bee: &Bee<'_>, count: usize) {
    bee.context.panic_or_fail(format_args!(
        "there are {count} parts, and the team has {} bees: `own_mut` is for as many parts as bees; a region inside of \
         another one, of a task or of a loop is a team of one (see `Parts::of_bee`)",
        bee.bees(),
    ));
}

/// Panics with the reason why the bee cannot borrow the part. In a destructor that must not panic, makes the region
/// fail instead: see `RegionContext::panic_or_fail`.
#[cold]
#[track_caller]
fn report_refusal(error: BorrowError, part: usize, bee: &Bee<'_>) {
    bee.context.panic_or_fail(format_args!("bee {} cannot have part {part}: it {error}", bee.id()));
}

impl<T> fmt::Debug for Parts<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Parts {{ cuts: {:?} }}", self.cuts)
    }
}
