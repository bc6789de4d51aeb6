//! One array that the threads of a team write at once, each its own part, which it has touched first.

use std::marker::PhantomData;
use std::ops::Range;
use std::slice;

use crate::kernels::split;
use crate::runtimes::Runtime;

/// An exclusive borrow of an array that can be handed out in parts.
pub(crate) struct Disjoint<'a, T = f64> {
    start: *mut T,
    len: usize,
    array: PhantomData<&'a mut [T]>,
}

// SAFETY: all access goes through `part` and `shared`, whose callers promise not to collide; and items may be used by
// any thread.
unsafe impl<T: Send + Sync> Sync for Disjoint<'_, T> {}

impl<'a, T> Disjoint<'a, T> {
    pub(crate) fn new(array: &'a mut [T]) -> Self {
        Self { start: array.as_mut_ptr(), len: array.len(), array: PhantomData }
    }

    /// The beginning, for loops in C.
    pub(crate) const fn pointer(&self) -> *mut T {
        self.start
    }

    /// The part that only the caller uses.
    ///
    /// # Safety
    /// While the result lives, nobody else holds a part that overlaps `range`.
    #[allow(clippy::mut_from_ref, reason = "the very purpose: the caller vouches for the parts")]
    pub(crate) unsafe fn part(&self, range: Range<usize>) -> &mut [T] {
        let (begin, len) = self.within(range);
        // SAFETY: in bounds of one live array, and the caller vouches that nobody else uses it.
        unsafe { slice::from_raw_parts_mut(begin, len) }
    }

    /// A part that several may read.
    ///
    /// # Safety
    /// While the result lives, nobody holds a part for writing that overlaps `range`.
    pub(crate) unsafe fn shared(&self, range: Range<usize>) -> &[T] {
        let (begin, len) = self.within(range);
        // SAFETY: in bounds of one live array, and the caller vouches that nobody writes it.
        unsafe { slice::from_raw_parts(begin, len) }
    }

    fn within(&self, range: Range<usize>) -> (*mut T, usize) {
        assert!(range.start <= range.end && range.end <= self.len, "{range:?} is not within 0..{}", self.len);
        (self.start.wrapping_add(range.start), range.len())
    }
}

/// An array with the value for each index, whose memory each thread has touched first where it will work.
pub(crate) fn placed<T: Copy + Default + Send + Sync>(
    runtime: &mut impl Runtime,
    len: usize,
    value: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    let threads = runtime.threads();
    let bounds: Vec<usize> = (0..threads).map(|id| split(id, threads, len).start).chain([len]).collect();
    placed_by(runtime, &bounds, value)
}

/// The same, where thread i has the items from the i-th bound to the next.
pub(crate) fn placed_by<T: Copy + Default + Send + Sync>(
    runtime: &mut impl Runtime,
    bounds: &[usize],
    value: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    // There is room for one more item, so that a last bound can be pushed without moving the array. The array is all
    // zeros, because the system provides such memory only when it is touched.
    let mut array = vec![T::default(); bounds[bounds.len() - 1] + 1];
    let threads = runtime.threads();
    let whole = Disjoint::new(&mut array);
    runtime.region(threads, |thread_id| {
        let range = bounds[thread_id]..bounds[thread_id + 1];
        // SAFETY: bounds ascend, so each thread has a part of its own.
        let part = unsafe { whole.part(range.clone()) };
        part.iter_mut().zip(range).for_each(|(item, index)| *item = value(index));
    });
    array.pop();
    array
}
