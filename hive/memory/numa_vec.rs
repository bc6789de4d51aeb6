//! `NumaVec`: a vector in fresh pages. `Hive::alloc` (`placement.rs`) makes it: it has the memory placed, and lets each
//! bee fill its part of the elements in a region.

#![expect(unsafe_code, reason = "elements in memory of its own, written by several bees")]

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::ptr::slice_from_raw_parts_mut;
use std::{fmt, io, slice};

use memmap2::{MmapMut, MmapRaw};

use crate::loops::par_map::Slots;
use crate::memory::pages::MIN_PAGE_SIZE;

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
    /// The memory, whose pages no thread had touched before, so that they could still be placed. That is why it does
    /// not come from malloc, which hands out memory again that others have touched. Its first `len` elements of type
    /// `T` are initialised.
    mapping: MmapRaw,
    len: usize,
    elements: PhantomData<T>,
}

impl<T> NumaVec<T> {
    /// A vector of `len` elements. `place` has its memory placed; after that `fill` fills all elements.
    ///
    /// # Panics
    /// If there is not enough memory; and if `fill` panics, after dropping the elements that it has filled.
    #[track_caller]
    pub(crate) fn new(len: usize, place: impl FnOnce(&[MaybeUninit<u8>]), fill: impl FnOnce(&Slots<T>)) -> Self {
        const {
            assert!(align_of::<T>() <= MIN_PAGE_SIZE, "elements aligned to more than 4096 bytes, the smallest page");
        };
        let size = size_of::<T>();
        let bytes = len.checked_mul(size).filter(|bytes| *bytes <= isize::MAX as usize);
        let bytes = bytes.ok_or_else(|| io::Error::other("that is more than can be addressed"));
        let mapping = match bytes.and_then(MmapMut::map_anon) {
            Ok(mapping) => MmapRaw::from(mapping),
            Err(error) => panic!("no memory for {len} elements of {size} bytes: {error}"),
        };
        place(memory_of(&mapping));
        // SAFETY: the mapping is large enough for `len` elements, is aligned to a page, lives longer than the slots,
        // and nobody else uses it.
        let slots = Slots::new(unsafe { slice::from_raw_parts_mut(mapping.as_mut_ptr().cast(), len) }, 0);
        fill(&slots);
        assert_eq!(slots.all_filled(), len, "a vector whose elements have been filled");
        Self { mapping, len, elements: PhantomData }
    }

    /// Where the first element is.
    fn start(&self) -> *mut T {
        self.mapping.as_mut_ptr().cast()
    }

    /// All of the memory, for the system to move. The mutable borrow ensures that nobody writes to it meanwhile.
    pub(crate) fn memory(&mut self) -> &[MaybeUninit<u8>] {
        memory_of(&self.mapping)
    }
}

/// All of the memory, whether it has been written to or not. While the slice is in use, nobody may write to the memory.
fn memory_of(mapping: &MmapRaw) -> &[MaybeUninit<u8>] {
    // SAFETY: the memory is there as long as `mapping` is, and `MaybeUninit<u8>` may be any bytes. Nobody writes to it
    // meanwhile: `NumaVec::new` has no elements yet, and `NumaVec::memory` borrows its vector mutably for as long as
    // the slice is in use.
    unsafe { slice::from_raw_parts(mapping.as_ptr().cast(), mapping.len()) }
}

impl<T> Deref for NumaVec<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: there is no vector until `new` has checked that all `len` elements have been filled. They are
        // initialised and aligned, and the borrow of `self` keeps others from changing them.
        unsafe { slice::from_raw_parts(self.start(), self.len) }
    }
}

impl<T> DerefMut for NumaVec<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; the mutable borrow of `self` keeps others from accessing them at all.
        unsafe { slice::from_raw_parts_mut(self.start(), self.len) }
    }
}

impl<T> Drop for NumaVec<T> {
    fn drop(&mut self) {
        // SAFETY: all `len` elements are initialised, and nobody can access them after this. The mapping is dropped
        // afterwards, so the memory is still there.
        unsafe { slice_from_raw_parts_mut(self.start(), self.len).drop_in_place() };
    }
}

impl<T: fmt::Debug> fmt::Debug for NumaVec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
