//! Arrays of which each thread writes a part, which it has touched first.

use crate::kernels::{disjoint::Disjoint, split};
use crate::runtimes::Runtime;

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
