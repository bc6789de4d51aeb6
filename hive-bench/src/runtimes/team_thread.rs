//! A thread of a team in the middle of a region: it can wait for the others, and add up what each has.

use std::cell::Cell;

use crate::runtimes::loops::Slots;

/// A thread of a team in the middle of a region.
pub(crate) trait TeamThread {
    fn id(&self) -> usize;

    /// Waits for all threads. After it, each can read what the others wrote before it.
    fn barrier(&self);

    /// The sum of the numbers of all threads, with the same bits for each of them. It is a barrier, too.
    fn sum(&self, number: f64) -> f64;
}

/// For sums of a team that has only a barrier: two numbers of each thread, used in turn. A thread that writes one of
/// them has passed the barrier of the previous sum, so all threads have read the number of the sum before that.
pub(crate) struct Sums([Slots; 2]);

impl Sums {
    pub(crate) fn new(threads: usize) -> Self {
        Self([Slots::new(threads), Slots::new(threads)])
    }
}

/// A thread that has a barrier.
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

impl<B: Fn()> TeamThread for InRegion<'_, B> {
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
    fn every_thread_has_every_sum() {
        let (barrier, sums) = (Barrier::new(3), Sums::new(3));
        StdScope::host(3, |team| {
            team.region(3, |id| {
                let thread = InRegion::new(id, &sums, || {
                    barrier.wait();
                });
                for round in 0..200 {
                    assert_eq!(thread.sum((round * id) as f64), f64::from(3 * round as u32));
                }
            });
        });
    }
}
