//! Regions and barriers, behind one interface. Batches are methods, so that a runtime whose loops belong in its own
//! language can have them there.

use std::hint::black_box;

use crate::kernels::{disjoint::Disjoint, jacobi, split, triad};

/// The error of a runtime that lacks what a case needs. `RuntimeId::can` keeps such pairs out of the plan.
pub(crate) const CANNOT: &str = "this runtime cannot do that";

/// A team that is up and running. It is called from the thread that it takes for its master.
///
/// Its *threads* are those that run a region, whatever the runtime calls them: bees of hive, workers of rayon, threads
/// of OpenMP. They are numbered from 0, and the calling thread is thread 0 if the runtime lets it take part.
pub(crate) trait Runtime {
    /// The size of the whole team.
    fn threads(&self) -> usize;

    /// Runs `body` once on each of the first `threads` threads. A runtime that cannot resize takes only its whole size.
    fn region<F: Fn(usize) + Sync>(&mut self, threads: usize, body: F);

    /// `times` regions with nothing in them.
    fn empty_regions(&mut self, threads: usize, times: u64) {
        for _ in 0..times {
            self.region(threads, |id| {
                black_box(id);
            });
        }
    }

    /// `times` regions, each with the sum of a number from each thread; the sum of sums.
    fn sums(&mut self, times: u64) -> f64;

    /// A region of one and a region of all, `pairs` times.
    fn alternate(&mut self, pairs: u64) {
        let threads = self.threads();
        for _ in 0..pairs {
            self.empty_regions(1, 1);
            self.empty_regions(threads, 1);
        }
    }

    /// An empty region and a sum over `data` by rayon, `times` times; the sum of sums.
    fn regions_and_iterators(&mut self, _times: u64, _data: &[f64]) -> Result<f64, String> {
        Err(CANNOT.to_owned())
    }

    /// One region with `times` barriers in it.
    fn barriers(&mut self, _times: u64) -> Result<(), String> {
        Err(CANNOT.to_owned())
    }

    /// The triad, `times` times, a region each.
    fn triads(&mut self, times: u64, arrays: &mut triad::Triad) {
        let (threads, len) = (self.threads(), arrays.a.len());
        for _ in 0..times {
            let (a, b, c) = (Disjoint::new(&mut arrays.a), &arrays.b, &arrays.c);
            self.region(threads, |id| {
                let range = split(id, threads, len);
                // SAFETY: `split` gives each thread a part of its own.
                #[allow(unsafe_code)]
                let part = unsafe { a.part(range.clone()) };
                triad::triad(part, &b[range.clone()], &c[range]);
            });
        }
    }

    /// `steps` heat steps, a region each.
    fn jacobi(&mut self, steps: u64, plates: &mut jacobi::Plates) {
        let threads = self.threads();
        for step in 0..steps {
            let (from, to) = plates.for_step(step);
            let (from, to) = (Disjoint::new(from), Disjoint::new(to));
            self.region(threads, |id| {
                // SAFETY: `split` gives each thread rows of its own, and a step only reads `from`.
                #[allow(unsafe_code)]
                unsafe {
                    jacobi::sweep_part(&to, &from, split(id, threads, jacobi::SIDE));
                };
            });
        }
    }

    /// `steps` heat steps in one region, a barrier each.
    fn jacobi_one_region(&mut self, _steps: u64, _plates: &mut jacobi::Plates) -> Result<(), String> {
        Err(CANNOT.to_owned())
    }

    /// Changes how many of the team are awake, and waits until the others are parked.
    fn resize_and_wait(&mut self, _threads: usize) -> Result<(), String> {
        Err(CANNOT.to_owned())
    }
}

/// One thread's share of `steps` heat steps in one region, for runtimes with a barrier.
pub(crate) fn jacobi_thread(
    id: usize,
    threads: usize,
    steps: u64,
    [even, odd]: [&Disjoint<'_>; 2],
    barrier: impl Fn(),
) {
    for step in 0..steps {
        let (from, to) = if step.is_multiple_of(2) { (even, odd) } else { (odd, even) };
        // SAFETY: `split` gives each thread rows of its own; the barrier keeps everybody in the same step.
        #[allow(unsafe_code)]
        unsafe {
            jacobi::sweep_part(to, from, split(id, threads, jacobi::SIDE));
        };
        barrier();
    }
}
