//! STREAM triad: `a[i] = b[i] + s * c[i]`.

use crate::kernels::check_all;
use crate::kernels::disjoint::Disjoint;
use crate::kernels::shares::placed;
use crate::runtimes::Runtime;

/// `c/kernels/stream.c` has the same.
pub(crate) const SCALAR: f64 = 3.0;

/// Three arrays of one length.
pub(crate) struct Triad {
    a: Vec<f64>,
    b: Vec<f64>,
    c: Vec<f64>,
}

/// One thread's part.
pub(crate) fn triad(a: &mut [f64], b: &[f64], c: &[f64]) {
    for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
        *a = b + SCALAR * c;
    }
}

/// What the first array that is read has.
pub(crate) fn a_at(i: usize) -> f64 {
    (i % 1024) as f64
}

/// What the second one has.
pub(crate) fn b_at(i: usize) -> f64 {
    (i % 37) as f64 * 0.5
}

impl Triad {
    pub(crate) fn new(runtime: &mut impl Runtime, len: usize) -> Self {
        Self { a: placed(runtime, len, |_| -1.0), b: placed(runtime, len, a_at), c: placed(runtime, len, b_at) }
    }

    /// The triad, `times` times, a region each.
    pub(crate) fn run(&mut self, by: &mut impl Runtime, times: u64) {
        let (len, a, b, c) = (self.a.len(), Disjoint::new(&mut self.a), &self.b, &self.c);
        for _ in 0..times {
            by.blocks_in_region(len, |range| {
                // SAFETY: each thread has a block of its own.
                let part = unsafe { a.part(range.clone()) };
                triad(part, &b[range.clone()], &c[range]);
            });
        }
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        check_all("item", &self.a, |i| a_at(i) + SCALAR * b_at(i))
    }
}
