//! The baseline of the kernels: one thread, plain loops and plain calls.

use std::hint::black_box;
use std::ops::Range;

use crate::kernels::join::InOrder;
use crate::kernels::joins::Tree;
use crate::kernels::recursion::Recursion;
use crate::kernels::roots::sum_of_roots;
use crate::kernels::{jacobi, triad};
use crate::runtimes::loops::Loops;
use crate::runtimes::tasks::Tasks;
use crate::runtimes::{Runtime, TeamBody};
use crate::system::cpus;

pub(crate) struct Sequential;

impl Sequential {
    pub(crate) fn host<T>(cpus: &[usize], work: impl FnOnce(&mut Self) -> T) -> T {
        cpus::pin(cpus[0]);
        work(&mut Self)
    }
}

impl Runtime for Sequential {
    fn threads(&self) -> usize {
        1
    }

    fn region<F: Fn(usize) + Sync>(&mut self, _threads: usize, body: F) {
        body(0);
    }

    fn sums(&mut self, times: u64) -> f64 {
        (0..times).map(|_| black_box(1.0)).sum()
    }

    fn triads(&mut self, times: u64, arrays: &mut triad::Triad) {
        for _ in 0..times {
            // Without this the compiler would see that running it once is enough.
            let arrays = black_box(&mut *arrays);
            triad::triad(&mut arrays.a, &arrays.b, &arrays.c);
        }
    }

    /// Alone there is nobody to wait for.
    fn one_region(&mut self, body: &impl TeamBody) -> Result<(), String> {
        self.region_by_barrier(|| (), body);
        Ok(())
    }

    /// The baseline: each caller does its own work.
    fn sum_of_roots(&self, numbers: &[f64]) -> Result<f64, String> {
        Ok(sum_of_roots(numbers))
    }

    fn jacobi_one_region(&mut self, steps: u64, plates: &mut jacobi::Plates) -> Result<(), String> {
        self.jacobi(steps, plates);
        Ok(())
    }

    fn jacobi(&mut self, steps: u64, plates: &mut jacobi::Plates) {
        for step in 0..steps {
            let (from, to) = plates.for_step(step);
            jacobi::sweep(&mut to[jacobi::cells_of(&(0..jacobi::SIDE))], from, 0..jacobi::SIDE);
        }
    }
}

impl Loops for Sequential {
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

impl Tasks for Sequential {
    fn recurse(&mut self, recursion: Recursion<'_>) -> Result<u64, String> {
        Ok(match recursion {
            Recursion::Fib(n) => fib(n),
            // Without this the compiler would see that running it once is enough.
            Recursion::Sums { tree, times } => (0..times).map(|_| sum(black_box(tree))).sum(),
            other => other.by(&mut InOrder),
        })
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
        joins_are_right(&mut Sequential);
    }

    #[test]
    fn plain_loops() {
        loops_are_right(&mut Sequential);
    }
}
