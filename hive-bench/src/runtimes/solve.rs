//! Conjugate gradients by each runtime in its best form: all iterations in one region where there is a barrier, else by its loops and
//! sums.

use std::cell::Cell;

use crate::kernels::sparse::System;
use crate::runtimes::loops::{Loops, Slots};

/// Who can do conjugate gradients.
pub(crate) trait Solve {
    /// So many iterations from where the system is. An error when the matrix turns out not to be positive definite.
    fn solve(&mut self, system: &mut System, iterations: u64) -> Result<(), String>;
}

/// Those who have no barrier.
trait OnlyLoops: Loops {}

impl OnlyLoops for crate::runtimes::rayon::RayonPool {}
impl OnlyLoops for crate::runtimes::sequential::Sequential {}
#[cfg(feature = "forkunion")]
impl OnlyLoops for crate::runtimes::forkunion::ForkUnionPool {}

impl<L: OnlyLoops> Solve for L {
    fn solve(&mut self, system: &mut System, iterations: u64) -> Result<(), String> {
        system.by_loops(self, iterations)
    }
}

/// A bee of a team in the middle of a region.
pub(crate) trait Member {
    fn id(&self) -> usize;

    /// Waits for all bees; what they have written before, each can read after it.
    fn barrier(&self);

    /// The sum of the numbers of all bees, the same bits for each of them; a barrier too.
    fn sum(&self, number: f64) -> f64;
}

/// For sums of a team that has only a barrier: two numbers of each bee, used in turn. A bee that writes one has passed the barrier
/// of the sum before, and so has everybody read the one of the sum before that.
pub(crate) struct Sums([Slots; 2]);

impl Sums {
    pub(crate) fn new(members: usize) -> Self {
        Self([Slots::new(members), Slots::new(members)])
    }
}

/// A bee that has a barrier.
pub(crate) struct InRegion<'a, B> {
    id: usize,
    sums: &'a Sums,
    /// Which of the two is next.
    turn: Cell<usize>,
    barrier: B,
}

impl<'a, B: Fn()> InRegion<'a, B> {
    /// `sums` is for one region.
    pub(crate) const fn new(id: usize, sums: &'a Sums, barrier: B) -> Self {
        Self { id, sums, turn: Cell::new(0), barrier }
    }
}

impl<B: Fn()> Member for InRegion<'_, B> {
    fn id(&self) -> usize {
        self.id
    }

    fn barrier(&self) {
        (self.barrier)();
    }

    fn sum(&self, number: f64) -> f64 {
        let slots = &self.sums.0[self.turn.replace(1 - self.turn.get())];
        slots.set(self.id, number);
        self.barrier();
        slots.sum()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;
    use crate::runtimes::Runtime;
    use crate::runtimes::std_scope::StdScope;

    #[test]
    fn every_member_has_every_sum() {
        let (barrier, sums) = (Barrier::new(3), Sums::new(3));
        StdScope::host(3, |team| {
            team.region(3, |id| {
                let member = InRegion::new(id, &sums, || {
                    barrier.wait();
                });
                for round in 0..200 {
                    assert_eq!(member.sum((round * id) as f64), f64::from(3 * round as u32));
                }
            });
        });
    }
}
