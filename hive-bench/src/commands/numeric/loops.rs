//! How the loops of a program are run. The programs are written once, over this, and in safe code: each runtime gets
//! the calls that its user would write.

use std::cell::Cell;
use std::hint::black_box;
use std::ops::Range;
use std::time::{Duration, Instant};

use hive::{Hive, Reduction, Schedule};
use rayon::prelude::*;

use crate::kernels::roots::sum_of_indices;
use crate::runtimes::loops::chunk;

/// Whatever the bodies get is some of the indices, and together all of them, each once.
pub(super) trait Loops {
    /// A loop over all rows of `data`, of `width` items each: the body gets some rows, and their items to write to.
    fn rows<T: Send>(&self, data: &mut [T], width: usize, body: impl Fn(Range<usize>, &mut [T]) + Sync);

    /// A loop whose body writes where it likes, to atomics.
    fn each(&self, len: usize, body: impl Fn(Range<usize>) + Sync);

    /// A sum, in whatever order.
    fn sum(&self, len: usize, body: impl Fn(Range<usize>) -> f64 + Sync) -> f64;
}

/// Plain loops.
pub(super) struct Plain;

impl Loops for Plain {
    fn rows<T: Send>(&self, data: &mut [T], width: usize, body: impl Fn(Range<usize>, &mut [T]) + Sync) {
        body(0..data.len() / width, data);
    }

    fn each(&self, len: usize, body: impl Fn(Range<usize>) + Sync) {
        body(0..len);
    }

    fn sum(&self, len: usize, body: impl Fn(Range<usize>) -> f64 + Sync) -> f64 {
        body(0..len)
    }
}

/// Parallel iterators over chunks, four for each thread of the pool, so that others can take over from one that has
/// lost its CPU.
pub(super) struct Rayon;

/// How many indices a chunk has.
fn chunk_len(len: usize) -> usize {
    len.div_ceil(4 * rayon::current_num_threads()).max(1)
}

fn chunks(len: usize) -> impl IndexedParallelIterator<Item = Range<usize>> {
    let size = chunk_len(len);
    (0..len.div_ceil(size)).into_par_iter().map(move |number| chunk(number, size, len))
}

impl Loops for Rayon {
    fn rows<T: Send>(&self, data: &mut [T], width: usize, body: impl Fn(Range<usize>, &mut [T]) + Sync) {
        let rows = data.len() / width;
        data.par_chunks_mut(chunk_len(rows) * width).zip(chunks(rows)).for_each(|(part, rows)| body(rows, part));
    }

    fn each(&self, len: usize, body: impl Fn(Range<usize>) + Sync) {
        chunks(len).for_each(&body);
    }

    fn sum(&self, len: usize, body: impl Fn(Range<usize>) -> f64 + Sync) -> f64 {
        chunks(len).map(&body).sum()
    }
}

impl Loops for Hive {
    fn rows<T: Send>(&self, data: &mut [T], width: usize, body: impl Fn(Range<usize>, &mut [T]) + Sync) {
        self.par_rows_mut(data, width, Schedule::Static, |rows, part, _| body(rows, part));
    }

    fn each(&self, len: usize, body: impl Fn(Range<usize>) + Sync) {
        self.par_for(0..len, |range, _| body(range));
    }

    fn sum(&self, len: usize, body: impl Fn(Range<usize>) -> f64 + Sync) -> f64 {
        self.par_reduce(0..len, &Reduction::unordered(0.0, |a, b| a + b), body)
    }
}

/// The same loops in a program that may use Rayon as well: before every eighth loop.
pub(super) struct BesideRayon<'l, L> {
    pub(super) loops: &'l L,
    pub(super) is_used: bool,
    pub(super) done: Cell<u32>,
    /// What Rayon has taken, so that it can be left out.
    pub(super) took: Cell<Duration>,
}

impl<L> BesideRayon<'_, L> {
    fn next(&self) -> &L {
        self.done.set(self.done.get() + 1);
        if self.is_used && self.done.get().is_multiple_of(8) {
            let begin = Instant::now();
            use_rayon();
            self.took.set(self.took.get() + begin.elapsed());
        }
        self.loops
    }
}

/// A parallel sum of some microseconds, in the caller's pool if it is in one, and else in the global one.
pub(super) fn use_rayon() {
    black_box(Rayon.sum(black_box(10_000), sum_of_indices));
}

impl<L: Loops> Loops for BesideRayon<'_, L> {
    fn rows<T: Send>(&self, data: &mut [T], width: usize, body: impl Fn(Range<usize>, &mut [T]) + Sync) {
        self.next().rows(data, width, body);
    }

    fn each(&self, len: usize, body: impl Fn(Range<usize>) + Sync) {
        self.next().each(len, body);
    }

    fn sum(&self, len: usize, body: impl Fn(Range<usize>) -> f64 + Sync) -> f64 {
        self.next().sum(len, body)
    }
}
