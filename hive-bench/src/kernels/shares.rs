//! Arrays of which each thread writes a part, which it has touched first.

use crate::kernels::{disjoint::Disjoint, split};
use crate::runtimes::Runtime;

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
