//! Regions and barriers, behind one interface. Batches are methods, so that a runtime whose loops belong in its own
//! language can have them there.

use std::hint::black_box;

use crate::kernels::{disjoint::Disjoint, jacobi, split, triad};

/// The error of a runtime that lacks what a case needs. `RuntimeId::can` keeps such pairs out of the plan.
pub(crate) const CANNOT: &str = "this runtime cannot do that";

/// A team that is up and running. It is called from the thread that it takes for its master.
///
/// A *member* is any thread of a team, whatever the runtime: a bee of hive, a worker of rayon, a thread of OpenMP. The
/// calling thread is member 0 if the runtime lets it take part.
pub(crate) trait Runtime {
    /// The size of the whole team.
    fn members(&self) -> usize;

    /// Runs `body` once on each of the first `members` members. A runtime that cannot resize takes only its whole size.
    fn region<F: Fn(usize) + Sync>(&mut self, members: usize, body: F);

    /// `times` regions with nothing in them.
    fn empty_regions(&mut self, members: usize, times: u64) {
        for _ in 0..times {
            self.region(members, |id| {
                black_box(id);
            });
        }
    }

    /// `times` regions, each with the sum of a number from each member; the sum of sums.
    fn sums(&mut self, times: u64) -> f64;

    /// A region of one and a region of all, `pairs` times.
    fn alternate(&mut self, pairs: u64) {
        let members = self.members();
        for _ in 0..pairs {
            self.empty_regions(1, 1);
            self.empty_regions(members, 1);
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
        let (members, len) = (self.members(), arrays.a.len());
        for _ in 0..times {
            let (a, b, c) = (Disjoint::new(&mut arrays.a), &arrays.b, &arrays.c);
            self.region(members, |id| {
                let range = split(id, members, len);
                // SAFETY: `split` gives each member a part of its own.
                #[allow(unsafe_code)]
                let part = unsafe { a.part(range.clone()) };
                triad::triad(part, &b[range.clone()], &c[range]);
            });
        }
    }

    /// `steps` heat steps, a region each.
    fn jacobi(&mut self, steps: u64, plates: &mut jacobi::Plates) {
        let members = self.members();
        for step in 0..steps {
            let (from, to) = plates.for_step(step);
            let (from, to) = (Disjoint::new(from), Disjoint::new(to));
            self.region(members, |id| {
                // SAFETY: `split` gives each member rows of its own, and a step only reads `from`.
                #[allow(unsafe_code)]
                unsafe {
                    jacobi::sweep_part(&to, &from, split(id, members, jacobi::SIDE));
                };
            });
        }
    }

    /// `steps` heat steps in one region, a barrier each.
    fn jacobi_one_region(&mut self, _steps: u64, _plates: &mut jacobi::Plates) -> Result<(), String> {
        Err(CANNOT.to_owned())
    }

    /// Changes how many of the team are awake, and waits until the others are parked.
    fn resize_and_settle(&mut self, _members: usize) -> Result<(), String> {
        Err(CANNOT.to_owned())
    }
}

/// One member's share of `steps` heat steps in one region, for runtimes with a barrier.
pub(crate) fn jacobi_member(
    id: usize,
    members: usize,
    steps: u64,
    [even, odd]: [&Disjoint<'_>; 2],
    barrier: impl Fn(),
) {
    for step in 0..steps {
        let (from, to) = if step.is_multiple_of(2) { (even, odd) } else { (odd, even) };
        // SAFETY: `split` gives each member rows of its own; the barrier keeps everybody in the same step.
        #[allow(unsafe_code)]
        unsafe {
            jacobi::sweep_part(to, from, split(id, members, jacobi::SIDE));
        };
        barrier();
    }
}
