//! Threads made for each region. The kernel places them: a thread that is made on a pinned one starts there, and moving
//! itself away first would cost more than it gains.

use std::hint::black_box;
use std::ops::Range;
use std::sync::Barrier;
use std::thread;

use crate::kernels::split;
use crate::runtimes::loops::{Counter, Loops};
use crate::runtimes::tasks::Tasks;
use crate::runtimes::{Runtime, TeamThread};

pub(crate) struct StdScope {
    pub(crate) threads: usize,
}

impl StdScope {
    /// A number of each thread, added up.
    fn sum_of(&self, number: impl Fn(usize) -> f64 + Sync) -> f64 {
        let number = &number;
        thread::scope(|scope| {
            let others: Vec<_> = (1..self.threads).map(|id| scope.spawn(move || number(id))).collect();
            others.into_iter().fold(number(0), |sum, other| sum + other.join().expect("no thread panics"))
        })
    }
}

impl Runtime for StdScope {
    const SOLVES_IN_ONE_REGION: bool = true;

    fn threads(&self) -> usize {
        self.threads
    }

    fn region<F: Fn(usize) + Sync>(&mut self, threads: usize, body: F) {
        let body = &body;
        thread::scope(|scope| {
            for id in 1..threads {
                scope.spawn(move || body(id));
            }
            body(0);
        });
    }

    fn sums(&mut self, times: u64) -> f64 {
        let number = |id: usize| black_box(id + 1) as f64;
        (0..times).map(|_| self.sum_of(number)).sum()
    }

    fn one_region(&mut self, body: impl Fn(&dyn TeamThread) + Sync) {
        let barrier = Barrier::new(self.threads);
        self.region_by_barrier(|| _ = barrier.wait(), body);
    }
}

impl Loops for StdScope {
    fn blocks<F: Fn(Range<usize>) + Sync>(&mut self, len: usize, body: F) {
        self.blocks_in_region(len, body);
    }

    fn dynamic<F: Fn(Range<usize>) + Sync>(&mut self, len: usize, chunk: usize, body: F) {
        let counter = Counter::default();
        self.region(self.threads, |_| counter.take_all(len, chunk, &body));
    }

    fn sum<F: Fn(Range<usize>) -> f64 + Sync>(&mut self, len: usize, body: F) -> f64 {
        self.sum_of(|id| body(split(id, self.threads, len)))
    }

    fn dynamic_sum<F: Fn(Range<usize>) -> f64 + Sync>(&mut self, len: usize, chunk: usize, body: F) -> f64 {
        let counter = Counter::default();
        self.sum_of(|_| counter.sum_all(len, chunk, &body))
    }
}

/// Starting threads is not compared with tasks.
impl Tasks for StdScope {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes::loops::tests::loops_are_right;

    #[test]
    fn loops() {
        loops_are_right(&mut StdScope { threads: 3 });
    }
}
