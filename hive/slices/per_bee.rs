//! `PerBee`: a value for each bee of a team. Inside a region, each bee gets its own value to write to, and may read
//! those of the others after a barrier; outside, the owner of the `PerBee` has them all.

#![expect(unsafe_code, reason = "hands out references to values, which a state a value keeps apart")]

use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};

use crossbeam_utils::CachePadded;

use crate::region::bee::Bee;
use crate::slices::borrow::{BorrowError, BorrowState, Phase, TOO_MANY_READERS};

/// A value for each bee of a team, each in cache lines of its own: scratch space, counters, partial results. In a
/// region, each bee gets its own value to write to; afterwards the caller has all values.
///
/// ```
/// use hive::PerBee;
///
/// let words = ["a", "bee", "is", "not", "a", "hive", "but", "bees", "are"];
/// let mut by_length = PerBee::new(3, |_| [0; 8]);
/// hive::spmd(3, |bee| {
///     let mut own = by_length.get(bee);
///     for word in &words[bee.split(0..words.len())] {
///         own[word.len()] += 1;
///     }
/// });
/// let totals = by_length.iter_mut().fold([0; 8], |sum, own| std::array::from_fn(|i| sum[i] + own[i]));
/// assert_eq!(totals, [0, 2, 1, 4, 2, 0, 0, 0]);
/// ```
///
/// A value whose type must not be sent to other threads cannot be used in a region:
///
/// ```compile_fail,E0277
/// let own = hive::PerBee::new(2, |_| std::rc::Rc::new(1));
/// hive::spmd(2, |bee| drop(own.get(bee))); // `Rc<i32>` cannot be sent between threads safely
/// ```
///
/// A value cannot be used after the `PerBee` is gone:
///
/// ```compile_fail,E0505
/// hive::spmd(1, |bee| {
///     let own = hive::PerBee::new(1, |_| 1);
///     let one = own.get(bee);
///     let all = own.into_iter(); // cannot move out of `own` because it is borrowed
///     drop(one);
/// });
/// ```
#[doc(alias("thread-local", "thread_local", "threadprivate", "map_init"))]
pub struct PerBee<T> {
    values: Box<[CachePadded<OwnValue<T>>]>,
}

/// The value of one bee.
struct OwnValue<T> {
    /// Who has borrowed the value: a `PerBeeMut`, or any number of `PerBeeRef`s.
    borrow: BorrowState,
    value: UnsafeCell<T>,
}

// SAFETY: a shared `OwnValue` gives its value to one `PerBeeMut` at a time, since its borrow state lets nobody else
// have it meanwhile. So the value goes from one thread to another, which `T: Send` allows. Only the functions that make
// `PerBeeRef`s give it to several threads at once, and these ask for `T: Sync`.
unsafe impl<T: Send> Sync for OwnValue<T> {}

impl<T> PerBee<T> {
    /// Makes values for a team of up to `bees` bees: for each bee, what `init` returns for its number. `init` runs on
    /// the calling thread.
    ///
    /// If the hive may grow between this and the last use, [`max_bees`](crate::pool::handle::Hive::max_bees) is enough
    /// for any team of it, and `Option` values keep those that are never used small.
    ///
    /// ```
    /// // Scratch space that each bee keeps from one loop to the next.
    /// let scratch = hive::PerBee::new(hive::bees(), |_bee| vec![0.0; 512]);
    /// hive::par_for(0..100, |range, bee| {
    ///     let mut own = scratch.get(bee);
    ///     range.for_each(|i| own[i] = 1.0);
    /// });
    /// ```
    pub fn new(bees: usize, mut init: impl FnMut(usize) -> T) -> Self {
        let make_value =
            |bee| CachePadded::new(OwnValue { borrow: BorrowState::default(), value: UnsafeCell::new(init(bee)) });
        Self { values: (0..bees).map(make_value).collect() }
    }

    /// Borrows the calling bee's own value, until the returned guard is dropped.
    ///
    /// ```
    /// let longest = hive::PerBee::new(4, |_| 0);
    /// hive::spmd(4, |bee| {
    ///     let mut own = longest.get(bee);
    ///     bee.split(0..1000).for_each(|i| *own = (*own).max(i * 7919 % 1000));
    /// });
    /// assert_eq!(longest.into_iter().max(), Some(999));
    /// ```
    ///
    /// # Panics
    /// If there is no value for a bee of this number; if the value is already borrowed, by the same bee or by a bee
    /// with the same number in another team; and if another bee has read it since the last barrier, by
    /// [`of`](Self::of). In a destructor [that must not panic](Bee::barrier), where barriers do not wait, only the
    /// region fails because of such a barrier that is missing, and the value is lent.
    #[inline]
    #[track_caller]
    pub fn get(&self, bee: &Bee<'_>) -> PerBeeMut<'_, T> {
        let own = self.value_of(bee.id());
        let borrow = |phase| own.borrow.try_write(phase, true);
        if let Err(error) = borrow(Phase::of(bee)) {
            refuse_in_phase(bee, bee.id(), error, borrow);
        }
        PerBeeMut { own }
    }

    /// The value of bee `id`. Its only `PerBeeMut`, or its `PerBeeRef`s, are still to be made.
    #[inline]
    #[track_caller]
    fn value_of(&self, id: usize) -> &OwnValue<T> {
        let Some(own) = self.values.get(id) else {
            panic!("there are values for {} bees, and none for bee {id}", self.values.len());
        };
        own
    }

    /// Borrows the value of bee `id` for reading, another bee's or the own: what that bee has made of it before the
    /// last barrier.
    ///
    /// ```
    /// use hive::PerBee;
    ///
    /// // A histogram: each bee counts in bins of its own, and then each sums up some of the bins over all bees.
    /// let samples: Vec<usize> = (0..10_000).map(|i| i * i % 64).collect();
    /// let own_bins = PerBee::new(3, |_| vec![0; 64]);
    /// let bins = hive::spmd_map(3, |bee| {
    ///     samples[bee.split(0..samples.len())].iter().for_each(|x| own_bins.get(bee)[*x] += 1);
    ///     bee.barrier();
    ///     let sum = |bin| (0..bee.bees()).map(|id| own_bins.of(bee, id)[bin]).sum::<usize>();
    ///     bee.split(0..64).map(sum).collect::<Vec<_>>()
    /// });
    /// assert_eq!(bins.concat().iter().sum::<usize>(), samples.len());
    /// ```
    ///
    /// # Panics
    /// If there is no value for a bee `id`, if that value is borrowed for writing, or if it has been since the last
    /// barrier. In a destructor, as [`get`](Self::get).
    #[inline]
    #[track_caller]
    pub fn of(&self, bee: &Bee<'_>, id: usize) -> PerBeeRef<'_, T>
    where
        T: Sync,
    {
        let own = self.value_of(id);
        let borrow = |phase| own.borrow.try_read(phase, id == bee.id());
        if let Err(error) = borrow(Phase::of(bee)) {
            refuse_in_phase(bee, id, error, borrow);
        }
        PerBeeRef { own }
    }

    /// All values for reading, in order of the bees' numbers: for the caller, between two regions. Inside a region,
    /// [`of`](Self::of) is better, because it notices a missing barrier each time, and this only if a bee has its value
    /// borrowed at that moment.
    ///
    /// ```
    /// let counts = hive::PerBee::new(4, |_| 0);
    /// hive::spmd(4, |bee| *counts.get(bee) += 10 + bee.id());
    /// assert_eq!(counts.iter().map(|count| *count).sum::<usize>(), 46);
    /// hive::spmd(4, |bee| *counts.get(bee) += 1);
    /// assert_eq!(counts.iter().map(|count| *count).max(), Some(14));
    /// ```
    ///
    /// # Panics
    /// The iterator panics at a value that a bee has borrowed for writing.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = PerBeeRef<'_, T>>
    where
        T: Sync,
    {
        self.values.iter().enumerate().map(|(id, own)| {
            if let Err(error) = own.borrow.try_read(Phase::default(), false) {
                refuse(id, error);
            }
            PerBeeRef { own }
        })
    }

    /// All values, in order of the bees' numbers.
    ///
    /// ```
    /// let mut errors = hive::PerBee::new(4, |_| 0.0);
    /// for _step in 0..3 {
    ///     hive::spmd(4, |bee| *errors.get(bee) += 0.25);
    ///     let total: f64 = errors.iter_mut().map(std::mem::take).sum(); // begins anew at 0
    ///     assert_eq!(total, 1.0);
    /// }
    /// ```
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = &mut T> {
        self.values.iter_mut().map(|own| own.value.get_mut())
    }
}

impl<T> IntoIterator for PerBee<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    /// All values, in order of the bees' numbers.
    fn into_iter(self) -> Self::IntoIter {
        let values: Vec<T> = self.values.into_iter().map(|own| own.into_inner().value.into_inner()).collect();
        values.into_iter()
    }
}

impl<T: fmt::Debug> fmt::Debug for PerBee<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PerBee of {} bees", self.values.len())
    }
}

/// A bee's own value, to read and write until this is dropped. See [`PerBee::get`].
///
/// ```
/// let counts = hive::PerBee::new(2, |_| 0);
/// hive::spmd(2, |bee| {
///     let mut own: hive::PerBeeMut<'_, usize> = counts.get(bee); // once, and not for each index
///     bee.split(0..100).for_each(|i| *own += usize::from(i % 3 == 0));
/// });
/// assert_eq!(counts.into_iter().sum::<usize>(), 34);
/// ```
pub struct PerBeeMut<'p, T> {
    own: &'p OwnValue<T>,
}

// SAFETY: a shared `PerBeeMut` gives out only shared references to the value, which needs `T: Sync`.
unsafe impl<T: Sync> Sync for PerBeeMut<'_, T> {}

impl<T> Deref for PerBeeMut<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: as long as this exists, the borrow state gives the value to nobody else, and this borrows itself out
        // no longer than the reference lives, so there is no mutable reference at the same time.
        unsafe { &*self.own.value.get() }
    }
}

impl<T> DerefMut for PerBeeMut<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`; and since `self` is borrowed mutably, there is no other reference at all.
        unsafe { &mut *self.own.value.get() }
    }
}

impl<T> Drop for PerBeeMut<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.own.borrow.release();
    }
}

/// A bee's value, to read until this is dropped. See [`PerBee::of`] and [`PerBee::iter`].
///
/// ```
/// let names = hive::PerBee::new(2, |id| format!("bee {id}"));
/// hive::spmd(2, |bee| {
///     let other: hive::PerBeeRef<'_, String> = names.of(bee, 1 - bee.id());
///     assert_eq!(other.len(), 5);
/// });
/// ```
pub struct PerBeeRef<'p, T> {
    own: &'p OwnValue<T>,
}

impl<T> Deref for PerBeeRef<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: as long as this exists, the borrow state gives the value to nobody for writing. Others may read it at
        // the same time, which is allowed, since `PerBeeRef`s are made for `T: Sync` only.
        unsafe { &*self.own.value.get() }
    }
}

impl<T> Drop for PerBeeRef<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.own.borrow.release();
    }
}

impl<T: fmt::Debug> fmt::Debug for PerBeeRef<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Panics because `bee` cannot borrow the value of bee `id` in its phase. In a destructor that must not panic, it makes
/// the region fail instead if nothing but a barrier is missing, and borrows the value without regard to phases, which
/// do not end there.
#[cold]
#[track_caller]
fn refuse_in_phase(
    bee: &Bee<'_>,
    id: usize,
    error: BorrowError,
    borrow: impl FnOnce(Phase) -> Result<(), BorrowError>,
) {
    let is_lent = matches!(error, BorrowError::BeingWritten | BorrowError::BeingRead | BorrowError::TooManyReaders);
    if is_lent || bee.context.may_unwind() {
        refuse(id, error);
    }
    bee.context.panic_or_fail(format_args!("the value of bee {id} is borrowed without a barrier"));
    if let Err(error) = borrow(Phase::default()) {
        refuse(id, error);
    }
}

/// Panics because the value of bee `id` cannot be borrowed.
#[cold]
#[track_caller]
fn refuse(id: usize, error: BorrowError) -> ! {
    let why = match error {
        BorrowError::BeingWritten => "is out already: somebody has it for writing",
        BorrowError::BeingRead => "is out already: somebody reads it",
        BorrowError::WrittenThisPhase => {
            "has been out for writing since the last barrier: there has to be one before others read it"
        }
        BorrowError::ReadThisPhase => {
            "has been read by others since the last barrier: there has to be one before it is written to"
        }
        BorrowError::TooManyReaders => TOO_MANY_READERS,
    };
    panic!("the value of bee {id} {why}")
}

impl<T: fmt::Debug> fmt::Debug for PerBeeMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
