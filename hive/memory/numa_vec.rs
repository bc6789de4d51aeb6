//! A vector in fresh pages, and how it comes to have its elements.

#![expect(unsafe_code, reason = "elements in memory of its own, written by several members")]

use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut, Range};
use std::ptr::{NonNull, slice_from_raw_parts_mut};
use std::slice;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::plan::Plan;
use super::system::{LEAST_PAGE, Mapping};
use crate::quiet::Quiet;

/// A vector whose pages are on the NUMA nodes where they were asked for: see [`Hive::alloc`](crate::Hive::alloc), which makes it. It begins at a page, cannot grow, and is given back to the
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
    pub(super) fn memory(&mut self) -> &[MaybeUninit<u8>] {
        self.mapping.memory()
    }
}

impl<T> Deref for NumaVec<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `Blank::finish` has seen that there are so many elements.
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

/// Memory for the elements of a vector, which the members fill part by part as a plan has it. Dropped before it is full, as when a member panics, it drops the elements that there are.
pub(super) struct Blank<T> {
    mapping: Mapping,
    plan: Plan,
    /// How many elements of each part there are, from its start. [`UNTOUCHED`]: nobody has begun.
    filled: Box<[AtomicUsize]>,
    elements: PhantomData<T>,
}

/// No part has as many elements.
const UNTOUCHED: usize = usize::MAX;

// SAFETY: a shared one writes elements, each part's by one thread; none can be read before it is finished.
unsafe impl<T: Send> Sync for Blank<T> {}

impl<T> Blank<T> {
    /// Memory for an element an index of `plan`.
    ///
    /// # Panics
    /// If there is not as much memory.
    #[track_caller]
    pub(super) fn new(plan: &Plan) -> Self {
        const { assert!(align_of::<T>() <= LEAST_PAGE, "elements aligned to more than 4096 bytes, the smallest page") };
        let filled = (0..plan.members()).map(|_| AtomicUsize::new(UNTOUCHED)).collect();
        let mapping = map::<T>(plan.len()).unwrap_or_else(|error| no_memory::<T>(plan.len(), &error));
        Self { mapping, plan: plan.clone(), filled, elements: PhantomData }
    }

    /// The memory, before anybody fills it.
    pub(super) fn memory(&mut self) -> &[MaybeUninit<u8>] {
        self.mapping.memory()
    }

    fn start(&self) -> *mut T {
        self.mapping.start().cast().as_ptr()
    }

    /// Makes the elements of the part of `member`.
    ///
    /// # Panics
    /// If that was done before, or with `init`.
    pub(super) fn fill(&self, member: usize, init: impl Fn(usize) -> T) {
        let range = self.plan.range(member);
        // Relaxed: who comes second writes nothing.
        let before = self.filled[member].swap(0, Ordering::Relaxed);
        assert_eq!(before, UNTOUCHED, "the part of member {member} has been filled already");
        let mut progress = Progress { filled: &self.filled[member], done: 0 };
        for index in range {
            let element = self.start().wrapping_add(index);
            let value = init(index);
            // SAFETY: in the mapping, which is as large as the plan is long and aligned to a page; parts do not overlap, and nobody else has begun this one.
            unsafe { element.write(value) };
            progress.done += 1;
        }
    }

    /// The vector.
    ///
    /// # Panics
    /// If some elements were never made.
    pub(super) fn finish(mut self) -> NumaVec<T> {
        let missing = (0..self.plan.members()).find(|member| self.elements_of(*member).len() < self.plan.range(*member).len());
        assert_eq!(missing, None, "nobody has filled the part of this member");
        let nothing = Mapping::new(0).expect("nothing is asked of the system");
        let (mapping, len) = (std::mem::replace(&mut self.mapping, nothing), self.plan.len());
        // What is in the mapping is no longer this one's to drop.
        self.filled = Box::default();
        NumaVec { mapping, len, elements: PhantomData }
    }

    /// The elements of a part that there are.
    fn elements_of(&mut self, member: usize) -> Range<usize> {
        let start = self.plan.range(member).start;
        match self.filled.get_mut(member).map(|filled| *filled.get_mut()) {
            None | Some(UNTOUCHED) => start..start,
            Some(filled) => start..start + filled,
        }
    }
}

impl<T> Drop for Blank<T> {
    fn drop(&mut self) {
        for member in 0..self.plan.members() {
            let range = self.elements_of(member);
            let first = self.start().wrapping_add(range.start).cast::<Quiet<T>>();
            // SAFETY: they have been written, and the region in which they were is over; a `Quiet` is what is in it.
            unsafe { slice_from_raw_parts_mut(first, range.len()).drop_in_place() };
        }
    }
}

/// Says how far a part is filled when that ends, by a panic too.
struct Progress<'b> {
    filled: &'b AtomicUsize,
    done: usize,
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        // Relaxed: the end of the region orders it before `finish` or the drop.
        self.filled.store(self.done, Ordering::Relaxed);
    }
}

fn map<T>(len: usize) -> io::Result<Mapping> {
    let bytes = len.checked_mul(size_of::<T>()).filter(|bytes| *bytes <= isize::MAX as usize);
    Mapping::new(bytes.ok_or_else(|| io::Error::other("that is more than can be addressed"))?)
}

#[cold]
#[track_caller]
fn no_memory<T>(len: usize, error: &io::Error) -> ! {
    panic!("no memory for {len} elements of {} bytes: {error}", size_of::<T>())
}
