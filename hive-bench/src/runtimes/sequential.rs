//! The baseline of the kernels: one thread, plain loops and plain calls. With loop bodies in C it is the baseline of
//! OpenMP.

use std::hint::black_box;
use std::ops::Range;

use crate::kernels::join::InOrder;
use crate::kernels::joins::Tree;
use crate::kernels::recursion::Recursion;
use crate::kernels::roots::sum_of_roots;
use crate::runtimes::loops::Loops;
use crate::runtimes::tasks::Tasks;
use crate::runtimes::{Runtime, TeamThread};

pub(crate) struct Sequential<const IN_C: bool>;

impl<const IN_C: bool> Runtime for Sequential<IN_C> {
    fn threads(&self) -> usize {
        1
    }

    fn region<F: Fn(usize) + Sync>(&mut self, _threads: usize, body: F) {
        body(0);
    }

    fn blocks_in_region<F: Fn(Range<usize>) + Sync>(&mut self, len: usize, body: F) {
        self.blocks(len, body);
    }

    /// Alone there is nobody to wait for.
    fn one_region(&mut self, body: impl Fn(&dyn TeamThread) + Sync) {
        self.region_by_barrier(|| (), body);
    }

    /// The baseline: each caller does its own work.
    fn sum_of_roots(&self, numbers: &[f64]) -> f64 {
        sum_of_roots(numbers)
    }
}

impl<const IN_C: bool> Loops for Sequential<IN_C> {
    const IN_C: bool = IN_C;

    fn blocks<F: Fn(Range<usize>) + Sync>(&mut self, len: usize, body: F) {
        // Without this the compiler would see where running it once is enough.
        body(black_box(0..len));
    }

    /// One chunk, because a plain loop distributes nothing.
    fn dynamic<F: Fn(Range<usize>) + Sync>(&mut self, len: usize, _chunk: usize, body: F) {
        self.blocks(len, body);
    }

    fn sum<F: Fn(Range<usize>) -> f64 + Sync>(&mut self, len: usize, body: F) -> f64 {
        body(black_box(0..len))
    }

    fn dynamic_sum<F: Fn(Range<usize>) -> f64 + Sync>(&mut self, len: usize, _chunk: usize, body: F) -> f64 {
        self.sum(len, body)
    }
}

impl<const IN_C: bool> Tasks for Sequential<IN_C> {
    fn recurse(&mut self, recursion: Recursion<'_>) -> u64 {
        match recursion {
            Recursion::Fib(n) => fib(n),
            // Without this the compiler would see that running it once is enough.
            Recursion::Sums { tree, times } => (0..times).map(|_| sum(black_box(tree))).sum(),
            other => other.by(&mut InOrder),
        }
    }
}

/// Written as plain recursion. Through a `join` that only calls, the compiler would make slower code.
fn fib(n: u64) -> u64 {
    if n < 2 { n } else { fib(n - 1) + fib(n - 2) }
}

fn sum(tree: &Tree) -> u64 {
    tree.value + tree.left.as_deref().map_or(0, sum) + tree.right.as_deref().map_or(0, sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes::loops::tests::loops_are_right;
    use crate::runtimes::tasks::tests::joins_are_right;

    #[test]
    fn plain_calls() {
        joins_are_right(&mut Sequential::<false>);
    }

    #[test]
    fn plain_loops() {
        loops_are_right(&mut Sequential::<false>);
    }
}
