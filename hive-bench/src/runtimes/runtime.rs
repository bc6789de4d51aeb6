//! Regions and barriers, behind one interface. Batches are methods, so that a runtime whose loops belong in its own
//! language can have them there.

use std::cell::Cell;
use std::hint::black_box;

use crate::catalog::Construct;
use crate::kernels::disjoint::Disjoint;
use crate::kernels::{jacobi, split, triad};
use crate::runtimes::constructs::Delay;
use crate::runtimes::loops::Slots;

/// The error of a runtime that lacks what a case needs. `RuntimeId::can` keeps such pairs out of the plan.
pub(crate) const CANNOT: &str = "this runtime cannot do that";

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
    fn sums(&mut self, times: u64) -> f64;

    /// A region of one and a region of all, `pairs` times.
    fn alternate(&mut self, pairs: u64) {
        let threads = self.threads();
        for _ in 0..pairs {
            self.empty_regions(1, 1);
            self.empty_regions(threads, 1);
        }
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

    /// One region of all threads, in which they can wait for one another.
    fn one_region(&mut self, _body: &impl TeamBody) -> Result<(), String> {
        Err(CANNOT.to_owned())
    }

    /// The same for a team that has only a barrier.
    fn region_by_barrier(&mut self, barrier: impl Fn() + Sync, body: &impl TeamBody) {
        let threads = self.threads();
        let sums = [Slots::new(threads), Slots::new(threads)];
        self.region(threads, |id| {
            // SAFETY: a region runs this once on each of its threads.
            #[expect(unsafe_code, reason = "several threads share what the body has")]
            unsafe {
                body.run(&InRegion { id, sums: &sums, turn: Cell::new(0), barrier: &barrier });
            };
        });
    }

    /// `steps` heat steps in one region, a barrier each.
    fn jacobi_one_region(&mut self, steps: u64, plates: &mut jacobi::Plates) -> Result<(), String> {
        let plates = [Disjoint::new(&mut plates.even), Disjoint::new(&mut plates.odd)];
        let threads = self.threads();
        self.one_region(&HeatSteps { plates, steps, threads })
    }

    /// So many of an OpenMP construct, with `delay` in each.
    fn constructs(&mut self, _construct: Construct, _times: u64, _delay: Delay) -> Result<(), String> {
        Err(CANNOT.to_owned())
    }

    /// The sum of the roots of the numbers, by the runtime's own parallel sum. Any thread may call it at any time, as
    /// the threads of a server do.
    fn sum_of_roots(&self, _numbers: &[f64]) -> Result<f64, String> {
        Err(CANNOT.to_owned())
    }

    /// The same in one region on the whole team, whose callers take turns, where the runtime has regions.
    fn sum_of_roots_in_region(&self, numbers: &[f64]) -> Result<f64, String> {
        self.sum_of_roots(numbers)
    }

    /// Changes how many of the team are awake, and waits until the others are parked.
    fn resize_and_wait(&mut self, _threads: usize) -> Result<(), String> {
        Err(CANNOT.to_owned())
    }
}

/// Heat steps in one region.
struct HeatSteps<'a> {
    plates: [Disjoint<'a>; 2],
    steps: u64,
    threads: usize,
}

#[expect(unsafe_code, reason = "several threads write the plates")]
impl TeamBody for HeatSteps<'_> {
    unsafe fn run(&self, thread: &impl TeamThread) {
        let ([even, odd], rows) = (&self.plates, split(thread.id(), self.threads, jacobi::SIDE));
        for step in 0..self.steps {
            let (from, to) = if step.is_multiple_of(2) { (even, odd) } else { (odd, even) };
            // SAFETY: `split` gives each thread rows of its own; the barrier keeps everybody in the same step.
            unsafe { jacobi::sweep_part(to, from, rows.clone()) };
            thread.barrier();
        }
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

/// What each thread of a team does in one region.
pub(crate) trait TeamBody: Sync {
    /// One thread's part.
    ///
    /// # Safety
    /// Each thread of a team, numbered from 0, calls this once, all in the same region.
    #[allow(unsafe_code, reason = "the caller vouches for the threads")]
    unsafe fn run(&self, thread: &impl TeamThread);
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
                        assert_eq!(team.sum_of_roots(&numbers), Ok(expected_sum(len)));
                        assert_eq!(team.sum_of_roots_in_region(&numbers), Ok(expected_sum(len)));
                    }
                });
            }
        });
    }

    #[test]
    fn plain_sums() {
        callers_are_served(&crate::runtimes::sequential::Sequential);
    }

    struct ManySums;

    #[expect(unsafe_code, reason = "the trait's method is for unsafe bodies")]
    impl TeamBody for ManySums {
        unsafe fn run(&self, thread: &impl TeamThread) {
            for round in 0..200 {
                assert_eq!(thread.sum((round * thread.id()) as f64), f64::from(3 * round as u32));
            }
        }
    }

    #[test]
    fn every_thread_has_every_sum() {
        StdScope::host(3, |team| team.one_region(&ManySums)).unwrap();
    }
}
