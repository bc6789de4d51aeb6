//! Arrays of which each thread writes a part. Each part is touched first by the thread that will use it, and the loops
//! of a runtime hand the parts out.

use std::ops::Range;

use crate::kernels::{disjoint::Disjoint, split};
use crate::runtimes::{Runtime, loops::Loops};

/// An array with the value for each index, whose memory each thread has touched first where it will work.
pub(crate) fn placed<T: Copy + Default + Send + Sync>(
    runtime: &mut impl Runtime,
    len: usize,
    value: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    // The array is all zeros, because the system provides such memory only when it is touched.
    let mut array = vec![T::default(); len];
    let threads = runtime.threads();
    let whole = Disjoint::new(&mut array);
    runtime.region(threads, |id| {
        let range = split(id, threads, len);
        // SAFETY: `split` gives each thread a part of its own.
        #[expect(unsafe_code, reason = "several threads write one array")]
        let part = unsafe { whole.part(range.clone()) };
        part.iter_mut().zip(range).for_each(|(item, index)| *item = value(index));
    });
    array
}

/// Calls `body` with blocks of `0..out.len() / width`, each with the part of `out` that is the block's, `width` items
/// an index.
pub(crate) fn write_blocks<T: Send + Sync>(
    by: &mut impl Loops,
    out: &mut [T],
    width: usize,
    body: impl Fn(Range<usize>, &mut [T]) + Sync,
) {
    let (len, whole) = (out.len() / width, Disjoint::new(out));
    by.blocks(len, |range| {
        // SAFETY: a loop hands out each index once.
        #[expect(unsafe_code, reason = "several threads write one array")]
        let part = unsafe { whole.part(range.start * width..range.end * width) };
        body(range, part);
    });
}

/// The same with chunks of one index, which threads take one by one.
pub(crate) fn write_one_by_one<T: Send + Sync>(
    by: &mut impl Loops,
    out: &mut [T],
    width: usize,
    body: impl Fn(Range<usize>, &mut [T]) + Sync,
) {
    let (len, whole) = (out.len() / width, Disjoint::new(out));
    by.dynamic(len, 1, |range| {
        // SAFETY: a loop hands out each index once.
        #[expect(unsafe_code, reason = "several threads write one array")]
        let part = unsafe { whole.part(range.start * width..range.end * width) };
        body(range, part);
    });
}
