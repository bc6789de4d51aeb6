//! Regions and barriers, behind one interface. Batches are methods, so that a runtime whose loops belong in its own
//! language can have them there.

use std::cell::Cell;
use std::hint::black_box;
use std::ops::Range;

use crate::catalog::{Construct, Delay};
use crate::kernels::split;
use crate::runtimes::loops::Slots;

/// Stands where a runtime lacks what a case needs.
pub(crate) fn cannot() -> ! {
    unreachable!("`RuntimeId::can` keeps what a runtime cannot do out of the plan")
}

/// A team that is up and running. It is called from the thread that it takes for its master.
///
/// Its *threads* are those that run a region, whatever the runtime calls them: bees of hive, workers of rayon, threads
/// of OpenMP. They are numbered from 0, and the calling thread is thread 0 if the runtime lets it take part.
pub(crate) trait Runtime: Sync {
    /// Whether conjugate gradients are fastest in one region, where the threads wait for one another.
    const SOLVES_IN_ONE_REGION: bool = false;

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
    fn sums(&mut self, times: u64) -> f64 {
        let (threads, slots) = (self.threads(), Slots::new(self.threads()));
        let mut once = || {
            self.region(threads, |id| slots.set(id, black_box(id + 1) as f64));
            slots.sum()
        };
        (0..times).map(|_| once()).sum()
    }

    /// A region of one and a region of all, `pairs` times.
    fn alternate(&mut self, pairs: u64) {
        let threads = self.threads();
        for _ in 0..pairs {
            self.empty_regions(1, 1);
            self.empty_regions(threads, 1);
        }
    }

    /// One region with `times` barriers in it.
    fn barriers(&mut self, times: u64) {
        self.one_region(|thread| (0..times).for_each(|_| thread.barrier()));
    }

    /// A loop as a region, in which each thread has a block.
    fn blocks_in_region<F: Fn(Range<usize>) + Sync>(&mut self, len: usize, body: F) {
        let threads = self.threads();
        self.region(threads, |id| body(split(id, threads, len)));
    }

    /// One region of all threads, in which they can wait for one another.
    fn one_region(&mut self, _body: impl Fn(&dyn TeamThread) + Sync) {
        cannot()
    }

    /// The same for a team that has only a barrier.
    fn region_by_barrier(&mut self, barrier: impl Fn() + Sync, body: impl Fn(&dyn TeamThread) + Sync) {
        let threads = self.threads();
        let sums = [Slots::new(threads), Slots::new(threads)];
        self.region(threads, |id| body(&InRegion { id, sums: &sums, turn: Cell::new(0), barrier: &barrier }));
    }

    /// So many of an OpenMP construct, with `delay` in each. Of sums it returns the total, in which each thread has had
    /// a one.
    fn constructs(&mut self, _construct: Construct, _times: u64, _delay: Delay) -> f64 {
        cannot()
    }

    /// The sum of the roots of the numbers, by the runtime's own parallel sum. Any thread may call it at any time, as
    /// the threads of a server do.
    fn sum_of_roots(&self, _numbers: &[f64]) -> f64 {
        cannot()
    }

    /// The same in one region on the whole team, whose callers take turns, where the runtime has regions.
    fn sum_of_roots_in_region(&self, numbers: &[f64]) -> f64 {
        self.sum_of_roots(numbers)
    }

    /// Changes how many of the team are awake, and waits until the others are parked.
    fn resize_and_wait(&mut self, _threads: usize) -> Result<(), String> {
        cannot()
    }
}

/// A thread of a team in the middle of a region.
pub(crate) trait TeamThread {
    fn id(&self) -> usize;

    /// Waits for all threads. After it, each can read what the others wrote before it.
    fn barrier(&self);

    /// The sum of the numbers of all threads, with the same bits for each of them. It is a barrier, too.
    fn sum(&self, number: f64) -> f64;
}

/// A thread of a team that has only a barrier.
struct InRegion<'a, B> {
    id: usize,
    /// For sums: two numbers of each thread, used in turn. A thread that writes one of them has passed the barrier of
    /// the previous sum, so all threads have read the number of the sum before that.
    sums: &'a [Slots; 2],
    /// Which of the two is next.
    turn: Cell<usize>,
    barrier: &'a B,
}

impl<B: Fn()> TeamThread for InRegion<'_, B> {
    fn id(&self) -> usize {
        self.id
    }

    fn barrier(&self) {
        (self.barrier)();
    }

    fn sum(&self, number: f64) -> f64 {
        let slots = &self.sums[self.turn.replace(1 - self.turn.get())];
        slots.set(self.id, number);
        self.barrier();
        slots.sum()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::thread;

    use super::*;
    use crate::kernels::roots::{expected_sum, numbers};
    use crate::runtimes::std_scope::StdScope;

    /// All of several callers at once get their own sums.
    pub(crate) fn callers_are_served(team: &impl Runtime) {
        thread::scope(|scope| {
            for len in [1, 1000, 54_321] {
                scope.spawn(move || {
                    let numbers = numbers(len);
                    for _ in 0..20 {
                        assert_eq!(team.sum_of_roots(&numbers), expected_sum(len));
                        assert_eq!(team.sum_of_roots_in_region(&numbers), expected_sum(len));
                    }
                });
            }
        });
    }

    #[test]
    fn plain_sums() {
        callers_are_served(&crate::runtimes::sequential::Sequential::<false>);
    }

    #[test]
    fn every_thread_has_every_sum() {
        StdScope { threads: 3 }.one_region(|thread| {
            for round in 0..200 {
                assert_eq!(thread.sum((round * thread.id()) as f64), f64::from(3 * round as u32));
            }
        });
    }
}
