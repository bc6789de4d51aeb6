//! `PerBee`: a value for each bee of a team. Inside a region, each bee gets its own value to write to; outside, the
//! owner of the `PerBee` has them all.

#![expect(unsafe_code, reason = "hands out references to values, which a flag a value keeps apart")]

use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_utils::CachePadded;

use crate::region::bee::Bee;

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
    /// Whether a `PerBeeMut` of this value exists. Set by `PerBee::get`, cleared when the `PerBeeMut` is dropped.
    is_borrowed: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: a shared `OwnValue` gives its value to one `PerBeeMut` at a time, since `PerBee::get` fails while
// `is_borrowed` is set. So the value goes from one thread to another, which `T: Send` allows.
unsafe impl<T: Send> Sync for OwnValue<T> {}

impl<T> PerBee<T> {
    /// Makes values for a team of up to `bees` bees: for each bee, what `init` returns for its number. `init` runs on
    /// the calling thread.
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
            |bee| CachePadded::new(OwnValue { is_borrowed: AtomicBool::new(false), value: UnsafeCell::new(init(bee)) });
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
    /// If there is no value for a bee of this number, or if the value is already borrowed: by the same bee, or by a bee
    /// with the same number in another team.
    #[inline]
    #[track_caller]
    pub fn get(&self, bee: &Bee<'_>) -> PerBeeMut<'_, T> {
        let Some(own) = self.values.get(bee.id()) else {
            panic!("there are values for {} bees, and none for bee {}", self.values.len(), bee.id());
        };
        // Acquire: pairs with the Release in `PerBeeMut::drop`; what the last borrower did to the value has happened.
        assert!(!own.is_borrowed.swap(true, Ordering::Acquire), "the value of bee {} is out already", bee.id());
        PerBeeMut { own }
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
        // SAFETY: this is the only `PerBeeMut` of the value as long as `is_borrowed` is set, and it borrows itself out
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
        // Release: pairs with the Acquire in `PerBee::get`; what was done to the value happens before the next borrow.
        self.own.is_borrowed.store(false, Ordering::Release);
    }
}

impl<T: fmt::Debug> fmt::Debug for PerBeeMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
