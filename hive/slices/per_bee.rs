//! `PerBee`: a value for each bee of a team. Inside a region, each bee gets its own value to write to, and may read
//! those of the others after a barrier; outside, the owner of the `PerBee` has them all.

#![expect(unsafe_code, reason = "hands out references to values, which a state a value keeps apart")]

use std::cell::UnsafeCell;
use std::fmt;

use crossbeam_utils::CachePadded;

use crate::region::bee::Bee;
use crate::slices::borrow::{BorrowError, BorrowGuard, BorrowState, Borrower, READ, WRITE};
use crate::slices::guard::{Guard, PerBeeMut, PerBeeRef};

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
        let own_value = |bee| OwnValue { borrow: BorrowState::default(), value: UnsafeCell::new(init(bee)) };
        Self { values: (0..bees).map(own_value).map(CachePadded::new).collect() }
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
        let (value, guard) = self.borrow::<WRITE>(bee, bee.id());
        // SAFETY: the value lives as long as `self` is borrowed, and until the guard gives it back, nobody else has it.
        unsafe { Guard::new(value, guard) }
    }

    /// Borrows the value of bee `id`. Returns a pointer to it, and a guard that gives it back when it is dropped.
    #[inline]
    #[track_caller]
    fn borrow<const WRITES: bool>(&self, bee: &Bee<'_>, id: usize) -> (*mut T, BorrowGuard<'_>) {
        let Some(OwnValue { borrow: state, value }) = self.values.get(id).map(|own| &**own) else {
            panic!("there are values for {} bees, and none for bee {id}", self.values.len());
        };
        if let Err(error) = state.try_borrow::<WRITES>(Borrower::of(bee, id)) {
            refuse_in_phase::<WRITES>(bee, id, error, state);
        }
        (value.get(), BorrowGuard(state))
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
        let (value, guard) = self.borrow::<READ>(bee, id);
        // SAFETY: as in `get`, except that others may also read the value, which `T: Sync` allows; nobody has it for
        // writing.
        unsafe { Guard::new(value, guard) }
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
            own.borrow.try_borrow::<READ>(Borrower::OUTSIDE).unwrap_or_else(|error| refuse(id, error));
            // SAFETY: as in `of`.
            unsafe { Guard::new(own.value.get(), BorrowGuard(&own.borrow)) }
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

/// Panics because `bee` cannot borrow the value of bee `id` in its phase. In a destructor that must not panic, it makes
/// the region fail instead if nothing but a barrier is missing, and borrows the value without regard to phases, which
/// do not end there.
#[cold]
#[track_caller]
fn refuse_in_phase<const WRITES: bool>(bee: &Bee<'_>, id: usize, error: BorrowError, state: &BorrowState) {
    let is_lent = error.is_held() || error == BorrowError::TooManyReaders;
    if is_lent || bee.context.may_unwind() {
        refuse(id, error);
    }
    bee.context.panic_or_fail(format_args!("the value of bee {id} is borrowed without a barrier"));
    if let Err(error) = state.try_borrow::<WRITES>(Borrower::OUTSIDE) {
        refuse(id, error);
    }
}

/// Panics because the value of bee `id` cannot be borrowed.
#[cold]
#[track_caller]
fn refuse(id: usize, error: BorrowError) -> ! {
    panic!("the value of bee {id} {}{error}", if error.is_held() { "is out already: it " } else { "" })
}
