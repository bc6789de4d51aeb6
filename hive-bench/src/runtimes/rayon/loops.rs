//! Loops, each in the form that was fastest here. Even loops are cut into one block for each worker: by a parallel
//! iterator if a worker calls, and by `broadcast` from outside, which wakes all workers at once. Uneven loops are cut
//! by rayon itself, which halves a range when a worker steals; one by one (`with_max_len(1)`) was never faster.

use std::ops::Range;

use rayon::prelude::*;

use crate::kernels::sparse::System;
use crate::kernels::split;
use crate::runtimes::Runtime;
use crate::runtimes::loops::{Loops, chunk};
use crate::runtimes::solve::Solve;

use super::RayonPool;

impl RayonPool {
    /// Whether the caller is one of the pool's.
    fn is_worker(&self) -> bool {
        self.pool.current_thread_index().is_some()
    }
}

impl Solve for RayonPool {
    fn solve(&mut self, system: &mut System, iterations: u64) -> Result<(), String> {
        system.by_loops(self, iterations)
    }
}

impl Loops for RayonPool {
    fn blocks<F: Fn(Range<usize>) + Sync>(&mut self, len: usize, body: F) {
        let threads = self.threads();
        let block = |id: usize| body(split(id, threads, len));
        if self.is_worker() {
            (0..threads).into_par_iter().for_each(block);
        } else {
            self.region(threads, block);
        }
    }

    fn dynamic<F: Fn(Range<usize>) + Sync>(&mut self, len: usize, size: usize, body: F) {
        self.pool.install(|| (0..len.div_ceil(size)).into_par_iter().for_each(|number| body(chunk(number, size, len))));
    }

    fn sum<F: Fn(Range<usize>) -> f64 + Sync>(&mut self, len: usize, body: F) -> f64 {
        let threads = self.threads();
        let block = |id: usize| body(split(id, threads, len));
        if self.is_worker() {
            (0..threads).into_par_iter().map(block).sum()
        } else {
            self.pool.broadcast(|context| block(context.index())).into_iter().sum()
        }
    }

    /// A parallel iterator, whoever calls.
    fn sum_of_each<F: Fn(f64) -> f64 + Sync>(&mut self, numbers: &[f64], of: F) -> f64 {
        self.pool.install(|| numbers.par_iter().map(|number| of(*number)).sum())
    }

    fn dynamic_sum<F: Fn(Range<usize>) -> f64 + Sync>(&mut self, len: usize, size: usize, body: F) -> f64 {
        self.pool.install(|| (0..len.div_ceil(size)).into_par_iter().map(|number| body(chunk(number, size, len))).sum())
    }
}
