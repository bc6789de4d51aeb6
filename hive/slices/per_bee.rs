//! A value for each bee.

#![expect(unsafe_code, reason = "hands out references to values, which a flag a value keeps apart")]

use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_utils::CachePadded;

use crate::region::bee::Bee;

/// A value for each bee of a team, in cache lines of its own: scratch space, counters, partial results. Each bee gets its own to write to; afterwards the
/// caller has them all.
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
/// What cannot change threads cannot be in one that a region uses:
///
/// ```compile_fail,E0277
/// let own = hive::PerBee::new(2, |_| std::rc::Rc::new(1));
/// hive::spmd(2, |bee| drop(own.get(bee))); // `Rc<i32>` cannot be sent between threads safely
/// ```
///
/// and a bee's value does not outlive them:
///
/// ```compile_fail,E0505
/// let own = hive::PerBee::new(1, |_| 1);
/// hive::spmd(1, |bee| {
///     let one = own.get(bee);
///     let all = own.into_iter(); // cannot move out of `own` because it is borrowed
///     drop(one);
/// });
/// ```
pub struct PerBee<T> {
    values: Box<[CachePadded<OwnValue<T>>]>,
}

/// One bee's.
struct OwnValue<T> {
    is_borrowed: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: a shared one gives the value to one thread at a time, as `is_borrowed` says.
unsafe impl<T: Send> Sync for OwnValue<T> {}

impl<T> PerBee<T> {
    /// Values for a team of up to `members`, each made by `init` of its bee's number, on the calling thread.
    pub fn new(bees: usize, mut init: impl FnMut(usize) -> T) -> Self {
        let make_value =
            |bee| CachePadded::new(OwnValue { is_borrowed: AtomicBool::new(false), value: UnsafeCell::new(init(bee)) });
        Self { values: (0..bees).map(make_value).collect() }
    }

    /// The calling bee's own value, until what is returned is dropped.
    ///
    /// # Panics
    /// If there is none for a bee of this number, or if it is out already: asked for twice by one bee, or by bees of one number of several teams.
    #[inline]
    #[track_caller]
    pub fn get(&self, bee: &Bee<'_>) -> PerBeeMut<'_, T> {
        let Some(own) = self.values.get(bee.id()) else {
            panic!("there are values for {} bees, and none for bee {}", self.values.len(), bee.id());
        };
        // Acquire: pairs with the Release of the drop; what was done to the value last is done.
        assert!(!own.is_borrowed.swap(true, Ordering::Acquire), "the value of bee {} is out already", bee.id());
        PerBeeMut { own }
    }

    /// All values, by the bees' numbers.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = &mut T> {
        self.values.iter_mut().map(|own| own.value.get_mut())
    }
}

impl<T> IntoIterator for PerBee<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    /// All values, by the bees' numbers.
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

/// A bee's own value, to write to until this is dropped. See [`PerBee::query`].
pub struct PerBeeMut<'p, T> {
    own: &'p OwnValue<T>,
}

// SAFETY: shared, it gives shared references to the value only.
unsafe impl<T: Sync> Sync for PerBeeMut<'_, T> {}

impl<T> Deref for PerBeeMut<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: while `is_borrowed`, only this has it, and gives it away no longer than it is borrowed.
        unsafe { &*self.own.value.get() }
    }
}

impl<T> DerefMut for PerBeeMut<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { &mut *self.own.value.get() }
    }
}

impl<T> Drop for PerBeeMut<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `query`.
        self.own.is_borrowed.store(false, Ordering::Release);
    }
}

impl<T: fmt::Debug> fmt::Debug for PerBeeMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
