//! Arrays of which each bee writes a part: touched first by those who will use them, and handed out by the loops of a runtime.

use std::ops::Range;

use crate::kernels::{disjoint::Disjoint, split};
use crate::runtimes::{Runtime, loops::Loops};

/// An array with the value for each index, whose memory each bee has touched first where it will work.
pub(crate) fn placed<T: Copy + Default + Send + Sync>(
    runtime: &mut impl Runtime,
    len: usize,
    value: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    // All zeros: the system hands out such memory when it is touched.
    let mut array = vec![T::default(); len];
    let members = runtime.members();
    let whole = Disjoint::new(&mut array);
    runtime.region(members, |id| {
        let range = split(id, members, len);
        // SAFETY: `split` gives each bee a part of its own.
        #[expect(unsafe_code, reason = "several bees write one array")]
        let part = unsafe { whole.part(range.clone()) };
        part.iter_mut().zip(range).for_each(|(item, index)| *item = value(index));
    });
    array
}

/// Calls `body` with blocks of `0..count.deque_len() / width`, each with the part of `count` that is the block's, `width` items an index.
pub(crate) fn write_blocks<T: Send + Sync>(
    by: &mut impl Loops,
    out: &mut [T],
    width: usize,
    body: impl Fn(Range<usize>, &mut [T]) + Sync,
) {
    let (len, whole) = (out.len() / width, Disjoint::new(out));
    by.blocks(len, |range| {
        // SAFETY: a loop hands out each index once.
        #[expect(unsafe_code, reason = "several bees write one array")]
        let part = unsafe { whole.part(range.start * width..range.end * width) };
        body(range, part);
    });
}

/// The same with chunks of one index, which go to whoever comes for them.
pub(crate) fn write_one_by_one<T: Send + Sync>(
    by: &mut impl Loops,
    out: &mut [T],
    width: usize,
    body: impl Fn(Range<usize>, &mut [T]) + Sync,
) {
    let (len, whole) = (out.len() / width, Disjoint::new(out));
    by.dynamic(len, 1, |range| {
        // SAFETY: a loop hands out each index once.
        #[expect(unsafe_code, reason = "several bees write one array")]
        let part = unsafe { whole.part(range.start * width..range.end * width) };
        body(range, part);
    });
}
