//! A slice that all bees write to at once, at indices that the data decide: `SharedSlice`.
//!
//! Each element is read and written by one atomic instruction without an order of its own, which on today's processors
//! is a plain load or store. So two bees at one element are a mistake that gives one of the two values, and never
//! undefined behaviour. In builds with debug assertions `scatter` finds that mistake.

#![expect(unsafe_code, reason = "reads and writes the elements of a slice as atomic words")]

use std::fmt;
use std::marker::PhantomData;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::region::bee::Bee;

/// A mutable slice that all bees read and write at any index: for scatter, permutations, and in-place sweeps whose
/// order the program keeps by barriers or by [`Bee::signal`].
///
/// What one bee has written others are sure to see after a barrier, or after a [`Bee::wait_for`] that waits for it. Two
/// bees that write to one element at the same time leave the value of one of them; a read meanwhile gets the old value
/// or a new one. So `set(i, get(i) + x)` on two bees loses one of the two: for sums into places that the data decide,
/// colour the data, so that no two bees have the same place between two barriers, and `scatter(bee, i, get(i) + x)`
/// checks that; or use a [`PerBee`](crate::PerBee).
///
/// Each access is an atomic instruction with a check of the index, which the compiler makes no vectors of: a stencil
/// may take two to three times as long as on plain slices. [`Parts`](crate::Parts) are such where the order allows.
///
/// ```
/// use hive::SharedSlice;
///
/// // The inverse of a permutation.
/// let permutation: Vec<usize> = (0..1000).map(|i| i * 7 % 1000).collect();
/// let mut inverse = vec![0; 1000];
/// let shared = SharedSlice::new(&mut inverse);
/// hive::spmd_all(|bee| {
///     for i in bee.split(0..1000) {
///         shared.scatter(bee, permutation[i], i);
///     }
/// });
/// assert!((0..1000).all(|i| inverse[permutation[i]] == i));
/// ```
pub struct SharedSlice<'d, T> {
    data: *mut [T],
    /// For each element who has scattered to it, in which phase; made by the first `scatter`.
    writers: OnceLock<Box<[AtomicU64]>>,
    /// It stands for a mutable borrow of the slice.
    slice: PhantomData<&'d mut [T]>,
}

/// A type that a processor reads and writes by one instruction: integers of up to a word, `f32`, `bool`, and on systems
/// of 64 bits `f64`.
///
/// ```
/// fn zero<T: hive::Word + Default>(slice: &hive::SharedSlice<'_, T>) {
///     (0..slice.len()).for_each(|i| slice.set(i, T::default()));
/// }
/// let mut x = [1.0, 2.0];
/// zero(&hive::SharedSlice::new(&mut x));
/// assert_eq!(x, [0.0, 0.0]);
/// ```
#[diagnostic::on_unimplemented(
    message = "the elements of a `SharedSlice` are integers of up to a word, floats or `bool`, not `{Self}`",
    note = "two small numbers fit into one `u64`; larger elements that bees write to are `Parts`, \
            and an array of `[f64; 3]` is a slice of `f64` by `as_flattened_mut`"
)]
pub trait Word: AtomicWord {}

#[diagnostic::do_not_recommend]
impl<T: AtomicWord> Word for T {}

/// Reads and writes a word by one atomic instruction.
pub trait AtomicWord: Copy + Send + 'static {
    /// # Safety
    /// The pointer is to a word that lives, and nobody accesses it in another way meanwhile.
    unsafe fn load(word: *mut Self) -> Self;

    /// # Safety
    /// As for `load`.
    unsafe fn store(word: *mut Self, value: Self);
}

macro_rules! words {
    ($($($word:ty as $atomic:ident),* by $to:expr, $from:expr;)*) => {$($(
        impl AtomicWord for $word {
            #[inline(always)]
            unsafe fn load(word: *mut Self) -> Self {
                // SAFETY: the caller promises that the word lives and is accessed as an atomic one only. It is aligned
                // as one: the types have the same size, and where an atomic type would need more there is none of
                // these.
                let word = unsafe { std::sync::atomic::$atomic::from_ptr(word.cast()) };
                // Relaxed: what orders the bees' accesses are barriers and signals.
                $from(word.load(Ordering::Relaxed))
            }

            #[inline(always)]
            unsafe fn store(word: *mut Self, value: Self) {
                // SAFETY: as in `load`.
                let word = unsafe { std::sync::atomic::$atomic::from_ptr(word.cast()) };
                // Relaxed: as in `load`.
                word.store($to(value), Ordering::Relaxed);
            }
        }
    )*)*};
}

words! {
    bool as AtomicBool, u8 as AtomicU8, i8 as AtomicI8, u16 as AtomicU16, i16 as AtomicI16, u32 as AtomicU32,
    i32 as AtomicI32, usize as AtomicUsize, isize as AtomicIsize by |x| x, |x| x;
    f32 as AtomicU32 by f32::to_bits, f32::from_bits;
}

// Elsewhere an atomic word of 64 bits may have to be aligned better than a plain one.
#[cfg(target_pointer_width = "64")]
words! {
    u64 as AtomicU64, i64 as AtomicI64 by |x| x, |x| x;
    f64 as AtomicU64 by f64::to_bits, f64::from_bits;
}

// SAFETY: all access to the elements is by atomic instructions, and a `T` may be sent to other threads.
unsafe impl<T: Word> Sync for SharedSlice<'_, T> {}
// SAFETY: it stands for a `&mut [T]`, and `T` may be sent.
unsafe impl<T: Word> Send for SharedSlice<'_, T> {}

impl<'d, T: Word> SharedSlice<'d, T> {
    /// Shares `data` until the result is dropped.
    pub fn new(data: &'d mut [T]) -> Self {
        Self { data, writers: OnceLock::new(), slice: PhantomData }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The element at `index`, whoever writes to it meanwhile: [`gather`](Self::gather) checks that nobody does.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    #[track_caller]
    pub fn get(&self, index: usize) -> T {
        // SAFETY: the element is there, and for 'd it is accessed by `load` and `store` only.
        unsafe { T::load(self.element(index)) }
    }

    /// Writes to the element at `index`, whoever else does.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    #[track_caller]
    pub fn set(&self, index: usize, value: T) {
        // SAFETY: as in `get`.
        unsafe { T::store(self.element(index), value) }
    }

    /// The element at `index`, which another bee may have scattered to before the last barrier, and not since. With
    /// debug assertions that is checked: a barrier that is missing shows.
    ///
    /// # Panics
    /// If there is no such element; and, with debug assertions, if another bee has scattered to it since the last
    /// barrier.
    #[inline]
    #[track_caller]
    pub fn gather(&self, bee: &Bee<'_>, index: usize) -> T {
        if cfg!(debug_assertions) {
            // Relaxed: a barrier has ordered the writes that are allowed, and others may be missed.
            self.check_writer(bee, index, "reads", |writer, _| writer.load(Ordering::Relaxed));
        }
        self.get(index)
    }

    /// Writes to the element at `index`, which no other bee writes to before the next barrier. With debug assertions
    /// that is checked, at the price of a word for each element. Writes that only a signal orders are
    /// [`set`](Self::set).
    ///
    /// ```
    /// use hive::SharedSlice;
    ///
    /// // A step of a radix sort. A bee's numbers of a kind go behind smaller ones, and those of the bees before it.
    /// let numbers: Vec<u32> = (0..100).map(|i| i * 37 % 100).collect();
    /// let kind = |number: u32| (number / 25) as usize;
    /// let mut sorted = vec![0; 100];
    /// let shared = SharedSlice::new(&mut sorted);
    /// hive::spmd(3, |bee| {
    ///     let own = &numbers[bee.split(0..100)];
    ///     let counts: [usize; 4] = std::array::from_fn(|k| own.iter().filter(|number| kind(**number) == k).count());
    ///     let add = |a: [usize; 4], b: [usize; 4]| std::array::from_fn(|k| a[k] + b[k]);
    ///     let (of_bees_before, of_all) = (bee.scan_exclusive([0; 4], counts, add), bee.all_reduce(counts, add));
    ///     let mut next: [usize; 4] = std::array::from_fn(|k| of_bees_before[k] + of_all[..k].iter().sum::<usize>());
    ///     for number in own {
    ///         let place = &mut next[kind(*number)];
    ///         shared.scatter(bee, *place, *number);
    ///         *place += 1;
    ///     }
    /// });
    /// assert!(sorted.is_sorted_by_key(|number| kind(*number)));
    /// ```
    ///
    /// # Panics
    /// If there is no such element; and, with debug assertions, if another bee has scattered to it since the last
    /// barrier.
    #[inline]
    #[track_caller]
    #[doc(alias("unsafe slice", "permute", "histogram"))]
    pub fn scatter(&self, bee: &Bee<'_>, index: usize, value: T) {
        if cfg!(debug_assertions) {
            // Relaxed: of two bees, the second finds the first one's word, in whatever order.
            self.check_writer(bee, index, "writes to", |writer, own| writer.swap(own, Ordering::Relaxed));
        }
        self.set(index, value);
    }

    /// Panics if another bee has scattered to the element in this phase, by the word that `look` finds.
    #[track_caller]
    fn check_writer(&self, bee: &Bee<'_>, index: usize, does: &str, look: impl Fn(&AtomicU64, u64) -> u64) {
        const BEE_BITS: u32 = 16;
        if bee.bees() == 1 || index >= self.data.len() {
            return;
        }
        let writers = self.writers.get_or_init(|| (0..self.data.len()).map(|_| AtomicU64::new(0)).collect());
        let own = bee.context.phase_key() << BEE_BITS | (bee.id() as u64 & 0xffff);
        let other = look(&writers[index], own);
        if other != own && other >> BEE_BITS == own >> BEE_BITS {
            bee.context.panic_or_fail(format_args!(
                "bee {} {does} element {index}, and bee {} has written to it since the last barrier: a barrier is \
                 missing, or both have computed one place (writes that a signal orders are `set`)",
                bee.id(),
                other & 0xffff
            ));
        }
    }

    #[inline(always)]
    #[track_caller]
    fn element(&self, index: usize) -> *mut T {
        assert!(index < self.data.len(), "there is no element {index}: the slice has {}", self.data.len());
        self.data.cast::<T>().wrapping_add(index)
    }
}

impl<T> fmt::Debug for SharedSlice<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedSlice of {} elements", self.data.len())
    }
}
