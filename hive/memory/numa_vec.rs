//! A vector in fresh pages, and how it comes to have its elements.

#![expect(unsafe_code, reason = "elements in memory of its own, written by several bees")]

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut, Range};
use std::ptr::{NonNull, slice_from_raw_parts_mut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fmt, io, slice};

use crate::memory::mapping::{MIN_PAGE_SIZE, Mapping};
use crate::memory::plan::Plan;
use crate::region::no_double_panic::NoDoublePanic;

/// A vector whose pages are on the NUMA nodes where they were asked for: see [`Hive::alloc`](crate::pool::handle::Hive::alloc), which makes it. It begins at a page, cannot grow, and is given back to the
/// system when it is dropped.
///
/// ```
/// use hive::{NumaVec, Placement};
///
/// let mut data: NumaVec<u32> = hive::global().alloc(5000, Placement::Interleave, |i| i as u32);
/// data[7] += 1;
/// assert_eq!((data.len(), data[7], data.iter().max()), (5000, 8, Some(&4999)));
/// ```
///
/// What cannot change threads cannot be in one:
///
/// ```compile_fail,E0277
/// hive::global().alloc(8, hive::Placement::FirstTouch, |i| std::rc::Rc::new(i)); // `Rc<usize>` cannot be sent between threads safely
/// ```
///
/// nor what is larger aligned than a page may be:
///
/// ```compile_fail,E0080
/// #[repr(align(8192))]
/// struct Wide(u8);
/// hive::global().alloc(8, hive::Placement::FirstTouch, |_| Wide(0)); // elements aligned to more than 4096 bytes
/// ```
pub struct NumaVec<T> {
    mapping: Mapping,
    len: usize,
    elements: PhantomData<T>,
}

impl<T> NumaVec<T> {
    fn start(&self) -> NonNull<T> {
        self.mapping.start().cast()
    }

    /// All of the memory, for the system to move; nobody writes to it meanwhile.
    pub(crate) fn memory(&mut self) -> &[MaybeUninit<u8>] {
        self.mapping.memory()
    }
}

impl<T> Deref for NumaVec<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `PartialVec::finish` has seen that there are so many elements.
        unsafe { slice::from_raw_parts(self.start().as_ptr(), self.len) }
    }
}

impl<T> DerefMut for NumaVec<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`.
        unsafe { slice::from_raw_parts_mut(self.start().as_ptr(), self.len) }
    }
}

impl<T> Drop for NumaVec<T> {
    fn drop(&mut self) {
        // SAFETY: the elements are there, and nobody gets at them after this; the mapping goes afterwards.
        unsafe { slice_from_raw_parts_mut(self.start().as_ptr(), self.len).drop_in_place() };
    }
}

impl<T: fmt::Debug> fmt::Debug for NumaVec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Memory for the elements of a vector, which the bees fill part by part as a plan has it. Dropped before it is full, as when a bee panics, it drops the elements that there are.
pub(crate) struct PartialVec<T> {
    mapping: Mapping,
    plan: Plan,
    /// How many elements of each part there are, from its start. [`NOT_BEGUN`]: nobody has begun.
    filled: Box<[AtomicUsize]>,
    elements: PhantomData<T>,
}

/// No part has as many elements.
const NOT_BEGUN: usize = usize::MAX;

// SAFETY: a shared one writes elements, each part's by one thread; none can be read before it is finished.
unsafe impl<T: Send> Sync for PartialVec<T> {}

impl<T> PartialVec<T> {
    /// Memory for an element an index of `plan`.
    ///
    /// # Panics
    /// If there is not as much memory.
    #[track_caller]
    pub(crate) fn new(plan: &Plan) -> Self {
        const { assert!(align_of::<T>() <= MIN_PAGE_SIZE, "elements aligned to more than 4096 bytes, the smallest page") };
        let filled = (0..plan.bees()).map(|_| AtomicUsize::new(NOT_BEGUN)).collect();
        let mapping = map_pages::<T>(plan.len()).unwrap_or_else(|error| out_of_memory::<T>(plan.len(), &error));
        Self { mapping, plan: plan.clone(), filled, elements: PhantomData }
    }

    /// The memory, before anybody fills it.
    pub(crate) fn memory(&mut self) -> &[MaybeUninit<u8>] {
        self.mapping.memory()
    }

    fn start(&self) -> *mut T {
        self.mapping.start().cast().as_ptr()
    }

    /// Makes the elements of the part of `member`.
    ///
    /// # Panics
    /// If that was done before, or with `init`.
    pub(crate) fn fill(&self, bee: usize, init: impl Fn(usize) -> T) {
        let range = self.plan.range(bee);
        // Relaxed: who comes second writes nothing.
        let state_before = self.filled[bee].swap(0, Ordering::Relaxed);
        assert_eq!(state_before, NOT_BEGUN, "the part of bee {bee} has been filled already");
        let mut progress = FillProgress { filled: &self.filled[bee], made: 0 };
        for index in range {
            let element = self.start().wrapping_add(index);
            let value = init(index);
            // SAFETY: in the mapping, which is as large as the plan is long and aligned to a page; parts do not overlap, and nobody else has begun this one.
            unsafe { element.write(value) };
            progress.made += 1;
        }
    }

    /// The vector.
    ///
    /// # Panics
    /// If some elements were never made.
    pub(crate) fn finish(mut self) -> NumaVec<T> {
        let missing = (0..self.plan.bees()).find(|bee| self.elements_of(*bee).len() < self.plan.range(*bee).len());
        assert_eq!(missing, None, "nobody has filled the part of this bee");
        let empty = Mapping::new(0).expect("nothing is asked of the system");
        let (mapping, len) = (std::mem::replace(&mut self.mapping, empty), self.plan.len());
        // What is in the mapping is no longer this one's to drop.
        self.filled = Box::default();
        NumaVec { mapping, len, elements: PhantomData }
    }

    /// The elements of a part that there are.
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
            let first = self.start().wrapping_add(range.start).cast::<NoDoublePanic<T>>();
            // SAFETY: they have been written, and the region in which they were is over; a `NoDoublePanic` is what is in it.
            unsafe { slice_from_raw_parts_mut(first, range.len()).drop_in_place() };
        }
    }
}

/// Says how far a part is filled when that ends, by a panic too.
struct FillProgress<'b> {
    filled: &'b AtomicUsize,
    made: usize,
}

impl Drop for FillProgress<'_> {
    fn drop(&mut self) {
        // Relaxed: the end of the region orders it before `finish` or the drop.
        self.filled.store(self.made, Ordering::Relaxed);
    }
}

fn map_pages<T>(len: usize) -> io::Result<Mapping> {
    let bytes = len.checked_mul(size_of::<T>()).filter(|bytes| *bytes <= isize::MAX as usize);
    Mapping::new(bytes.ok_or_else(|| io::Error::other("that is more than can be addressed"))?)
}

#[cold]
#[track_caller]
fn out_of_memory<T>(len: usize, error: &io::Error) -> ! {
    panic!("no memory for {len} elements of {} bytes: {error}", size_of::<T>())
}
