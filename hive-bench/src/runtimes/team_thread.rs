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
pub(super) struct InRegion<'a, B> {
    pub(super) id: usize,
    /// For sums: two numbers of each thread, used in turn. A thread that writes one of them has passed the barrier of
    /// the previous sum, so all threads have read the number of the sum before that.
    pub(super) sums: &'a [Slots; 2],
    /// Which of the two is next.
    pub(super) turn: Cell<usize>,
    pub(super) barrier: &'a B,
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
mod tests {
    use super::*;
    use crate::runtimes::Runtime;
    use crate::runtimes::std_scope::StdScope;

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
