//! Loops: parallel iterators, cut into one part a worker where the work is even, and as rayon cuts them where it is not.

use std::ops::Range;

use rayon::prelude::*;

use crate::kernels::split;
use crate::runtimes::Runtime;
use crate::runtimes::loops::{Loops, chunk};

use super::RayonPool;

impl Loops for RayonPool {
    fn blocks<F: Fn(Range<usize>) + Sync>(&mut self, len: usize, body: F) {
        let members = self.members();
        self.pool.install(|| (0..members).into_par_iter().for_each(|id| body(split(id, members, len))));
    }

    fn dynamic<F: Fn(Range<usize>) + Sync>(&mut self, len: usize, size: usize, body: F) {
        self.pool.install(|| (0..len.div_ceil(size)).into_par_iter().for_each(|number| body(chunk(number, size, len))));
    }

    fn sum<F: Fn(Range<usize>) -> f64 + Sync>(&mut self, len: usize, body: F) -> f64 {
        let members = self.members();
        self.pool.install(|| (0..members).into_par_iter().map(|id| body(split(id, members, len))).sum())
    }

    fn dynamic_sum<F: Fn(Range<usize>) -> f64 + Sync>(&mut self, len: usize, size: usize, body: F) -> f64 {
        self.pool.install(|| (0..len.div_ceil(size)).into_par_iter().map(|number| body(chunk(number, size, len))).sum())
    }
}
