//! `NumaVec`: a vector in fresh pages; and `PartialVec`, in which the bees make its elements. `Hive::alloc`
//! (`placement.rs`) makes a `PartialVec`, has its memory placed, lets each bee fill its part in a region, and turns it
//! into the `NumaVec` after that.

#![expect(unsafe_code, reason = "elements in memory of its own, written by several bees")]

use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut, Range};
use std::ptr::{NonNull, slice_from_raw_parts_mut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fmt, io, mem, slice};

use crate::memory::mapping::{MIN_PAGE_SIZE, Mapping};
use crate::memory::plan::Plan;
use crate::on_drop::on_drop;
use crate::region::no_double_panic::NoDoublePanic;

/// A vector whose pages are on the NUMA nodes that were asked for: see
/// [`Hive::alloc`](crate::pool::handle::Hive::alloc), which makes it. It begins at a page boundary and cannot grow. Its
/// memory goes back to the system when it is dropped.
///
/// ```
/// use hive::{NumaVec, Placement};
///
/// let mut data: NumaVec<u32> = hive::global().alloc(5000, Placement::Interleave, |i| i as u32);
/// data[7] += 1;
/// assert_eq!((data.len(), data[7], data.iter().max()), (5000, 8, Some(&4999)));
/// ```
///
/// Elements must be of a type that can be sent to other threads:
///
/// ```compile_fail,E0277
/// // `Rc<usize>` cannot be sent between threads safely
/// hive::global().alloc(8, hive::Placement::FirstTouch, |i| std::rc::Rc::new(i));
/// ```
///
/// Elements must not have a larger alignment than the smallest page has:
///
/// ```compile_fail,E0080
/// #[repr(align(8192))]
/// struct Wide(u8);
/// hive::global().alloc(8, hive::Placement::FirstTouch, |_| Wide(0)); // elements aligned to more than 4096 bytes
/// ```
pub struct NumaVec<T> {
    /// The memory. Its first `len` elements of type `T` are initialised.
    mapping: Mapping,
    len: usize,
    elements: PhantomData<T>,
}

impl<T> NumaVec<T> {
    /// A vector without elements at the start of this memory.
    fn without_elements(mapping: Mapping) -> Self {
        Self { mapping, len: 0, elements: PhantomData }
    }

    /// Where the first element is, or will be.
    fn start(&self) -> NonNull<T> {
        self.mapping.start().cast()
    }

    /// All of the memory, for the system to move. The mutable borrow ensures that nobody writes to it meanwhile.
    pub(crate) fn memory(&mut self) -> &[MaybeUninit<u8>] {
        self.mapping.memory()
    }
}

impl<T> Deref for NumaVec<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: a vector has no elements until `PartialVec::finish` has checked that all `len` have been made. They
        // are initialised and aligned, and the borrow of `self` keeps others from changing them.
        unsafe { slice::from_raw_parts(self.start().as_ptr(), self.len) }
    }
}

impl<T> DerefMut for NumaVec<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; the mutable borrow of `self` keeps others from accessing them at all.
        unsafe { slice::from_raw_parts_mut(self.start().as_ptr(), self.len) }
    }
}

impl<T> Drop for NumaVec<T> {
    fn drop(&mut self) {
        // SAFETY: all `len` elements are initialised, and nobody can access them after this. The mapping is dropped
        // afterwards, so the memory is still there.
        unsafe { slice_from_raw_parts_mut(self.start().as_ptr(), self.len).drop_in_place() };
    }
}

impl<T: fmt::Debug> fmt::Debug for NumaVec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Memory for the elements of a vector, in which the bees make the elements of their parts, as a plan divides them. If
/// it is dropped before it is finished, for example because a bee has panicked, it drops the elements that have been
/// made.
pub(crate) struct PartialVec<T> {
    /// The vector. It has no elements until all of them have been made.
    vec: NumaVec<T>,
    /// Which bee makes which elements.
    plan: Plan,
    /// How many elements of each part have been made, from its start. [`NOT_BEGUN`]: the part has not been begun.
    /// Written by the bee that fills the part: 0 when it begins, the number of elements when it is done or panics.
    filled: Box<[AtomicUsize]>,
}

/// Larger than any number of elements in a part.
const NOT_BEGUN: usize = usize::MAX;

// SAFETY: a shared `PartialVec` only writes elements (`fill`), and the swap in `fill` lets one thread write each part;
// parts do not overlap. No element can be read before `finish`, which takes the `PartialVec` by value. The elements are
// made on one thread and used on another, which `T: Send` allows.
unsafe impl<T: Send> Sync for PartialVec<T> {}

impl<T> PartialVec<T> {
    /// Maps memory for one element for each index of `plan`.
    ///
    /// # Panics
    /// If there is not enough memory.
    #[track_caller]
    pub(crate) fn new(plan: &Plan) -> Self {
        const {
            assert!(align_of::<T>() <= MIN_PAGE_SIZE, "elements aligned to more than 4096 bytes, the smallest page");
        };
        let filled = (0..plan.bees()).map(|_| AtomicUsize::new(NOT_BEGUN)).collect();
        let (len, size) = (plan.len(), size_of::<T>());
        let bytes = len.checked_mul(size).filter(|bytes| *bytes <= isize::MAX as usize);
        let bytes = bytes.ok_or_else(|| io::Error::other("that is more than can be addressed"));
        match bytes.and_then(Mapping::new) {
            Ok(mapping) => Self { vec: NumaVec::without_elements(mapping), plan: plan.clone(), filled },
            Err(error) => panic!("no memory for {len} elements of {size} bytes: {error}"),
        }
    }

    /// The memory, for the system to place before its elements are made.
    pub(crate) fn memory(&mut self) -> &[MaybeUninit<u8>] {
        self.vec.memory()
    }

    /// Makes the elements of `bee`'s part, on the calling thread: `init` returns the element for each index.
    ///
    /// # Panics
    /// If the part has been filled before, and if `init` panics.
    pub(crate) fn fill(&self, bee: usize, init: impl Fn(usize) -> T) {
        // Relaxed: the swap only decides which of two callers may write. The other panics and writes nothing.
        let filled = &self.filled[bee];
        let state_before = filled.swap(0, Ordering::Relaxed);
        assert_eq!(state_before, NOT_BEGUN, "the part of bee {bee} has been filled already");
        // From here on the elements that have been made are counted, also if `init` panics.
        let made = Cell::new(0);
        // Relaxed: the end of the region orders this store before `finish`, or before the drop of the `PartialVec`.
        let _record = on_drop(|| filled.store(made.get(), Ordering::Relaxed));
        for index in self.plan.range(bee) {
            let element = self.vec.start().as_ptr().wrapping_add(index);
            let value = init(index);
            // SAFETY: `index` is below the plan's length, so the element lies in the mapping, which is large enough and
            // aligned. Parts do not overlap, and the swap above has shown that nobody else has begun this one.
            unsafe { element.write(value) };
            made.set(made.get() + 1);
        }
    }

    /// The vector, after all its elements have been made.
    ///
    /// # Panics
    /// If some elements have not been made.
    pub(crate) fn finish(mut self) -> NumaVec<T> {
        let missing = (0..self.plan.bees()).find(|bee| self.elements_of(*bee).len() < self.plan.range(*bee).len());
        assert_eq!(missing, None, "nobody has filled the part of this bee");
        // Take the vector out of `self`, whose drop follows. Without counts, that finds no elements to drop.
        self.filled = Box::default();
        let nothing = Mapping::new(0).expect("nothing is asked of the system");
        let mut vec = mem::replace(&mut self.vec, NumaVec::without_elements(nothing));
        vec.len = self.plan.len();
        vec
    }

    /// The indices of the elements that have been made in `bee`'s part.
    fn elements_of(&mut self, bee: usize) -> Range<usize> {
        let start = self.plan.range(bee).start;
        match self.filled.get_mut(bee).map(|filled| *filled.get_mut()) {
            None | Some(NOT_BEGUN) => start..start,
            Some(filled) => start..start + filled,
        }
    }
}

impl<T> Drop for PartialVec<T> {
    fn drop(&mut self) {
        for bee in 0..self.plan.bees() {
            let range = self.elements_of(bee);
            let first = self.vec.start().as_ptr().wrapping_add(range.start).cast::<NoDoublePanic<T>>();
            // SAFETY: these elements have been written, and the region in which they were made is over, so nobody else
            // accesses them. `NoDoublePanic<T>` has the layout of `T`.
            unsafe { slice_from_raw_parts_mut(first, range.len()).drop_in_place() };
        }
    }
}
