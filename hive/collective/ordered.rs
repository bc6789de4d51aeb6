//! Work that has to be done in the order of a loop's indices.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam_utils::CachePadded;

use crate::region::Bee;

/// Whose turn it is, of the indices of a loop. See [`Bee::ordered`].
#[derive(Debug)]
pub struct Ordered {
    next: CachePadded<AtomicUsize>,
    indices: Range<usize>,
}

impl Ordered {
    /// Turns for `indices`, from the first on. After the last it is the first's turn again, so the same turns serve the next loop over the same indices.
    pub const fn new(indices: Range<usize>) -> Self {
        Self { next: CachePadded::new(AtomicUsize::new(indices.start)), indices }
    }

    fn after(&self, index: usize) -> usize {
        if index + 1 < self.indices.end { index + 1 } else { self.indices.start }
    }
}

/// The turn of an index. Passed on when it is over, be it by a panic that the body catches.
struct Turn<'t> {
    turns: &'t Ordered,
    index: usize,
}

impl Drop for Turn<'_> {
    #[inline]
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `ordered`.
        self.turns.next.store(self.turns.after(self.index), Ordering::Release);
    }
}

impl Bee<'_> {
    /// Runs `work` when all indices before `index` have had their turn: OpenMP's `ordered`.
    ///
    /// Each index of `turns` must come exactly once, and no member may come with one while it still has to bring another that is lower: loops of all schedules see to that. So that members do not wait for one
    /// another all the time, neighbouring indices should be different members': [`StaticChunk(1)`](crate::Schedule::StaticChunk) or [`Guided`](crate::Schedule::Guided), not [`Static`](crate::Schedule::Static).
    ///
    /// ```
    /// use std::sync::Mutex;
    /// use hive::{Loop, Ordered, Schedule};
    ///
    /// let (squares, turns, lines) = (Loop::new(0..100, Schedule::StaticChunk(1)), Ordered::new(0..100), Mutex::new(Vec::new()));
    /// hive::spmd(4, |bee| {
    ///     bee.for_each(&squares, |range| {
    ///         for i in range {
    ///             let square = i * i; // at the same time
    ///             bee.ordered(&turns, i, || lines.lock().unwrap().push(square)); // one after the other
    ///         }
    ///     });
    /// });
    /// assert!(lines.into_inner().unwrap().is_sorted());
    /// ```
    ///
    /// # Panics
    /// If `index` is none of the `turns`. When another member has panicked, it ends this part by unwinding, as a barrier does; in a destructor [that must not](Self::barrier) it runs `work` out of
    /// turn.
    #[inline]
    #[track_caller]
    pub fn ordered<R>(&self, turns: &Ordered, index: usize, work: impl FnOnce() -> R) -> R {
        assert!(turns.indices.contains(&index), "index {index} has no turn among {:?}", turns.indices);
        // Acquire: pairs with the Release in `Turn`; the work of the indices before has been done.
        self.member.wait_until(|| turns.next.load(Ordering::Acquire) == index);
        let _turn = Turn { turns, index };
        work()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_go_round() {
        let turns = Ordered::new(3..5);
        assert_eq!((turns.after(3), turns.after(4)), (4, 3));
        let last = Ordered::new(0..usize::MAX);
        assert_eq!(last.after(usize::MAX - 1), 0);
    }

    #[test]
    fn work_is_done_in_order_over_and_over() {
        let hive = crate::Hive::new(3).unwrap();
        let (turns, log) = (Ordered::new(10..16), std::sync::Mutex::new(Vec::new()));
        hive.spmd(3, |bee| {
            for _ in 0..20 {
                for index in (10 + bee.id()..16).step_by(bee.count()) {
                    bee.ordered(&turns, index, || log.lock().unwrap().push(index));
                }
            }
        });
        let expected: Vec<_> = (0..20).flat_map(|_| 10..16).collect();
        assert_eq!(log.into_inner().unwrap(), expected);
    }

    #[test]
    #[should_panic(expected = "index 9 has no turn among 10..16")]
    fn an_index_without_a_turn_is_refused() {
        let hive = crate::Hive::new(1).unwrap();
        hive.spmd(1, |bee| bee.ordered(&Ordered::new(10..16), 9, || ()));
    }

    #[test]
    fn a_panic_that_is_caught_passes_the_turn_on() {
        let hive = crate::Hive::new(2).unwrap();
        let (turns, log) = (Ordered::new(0..4), std::sync::Mutex::new(Vec::new()));
        hive.spmd(2, |bee| {
            for index in (bee.id()..4).step_by(2) {
                let turn =
                    || bee.ordered(&turns, index, || if index == 1 { std::panic::resume_unwind(Box::new(1)) } else { index });
                if let Ok(index) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(turn)) {
                    log.lock().unwrap().push(index);
                }
            }
        });
        let mut log = log.into_inner().unwrap();
        log.sort_unstable();
        assert_eq!(log, [0, 2, 3]);
    }

    #[test]
    #[should_panic(expected = "no square today")]
    fn a_panic_ends_the_wait_of_the_others() {
        let hive = crate::Hive::new(3).unwrap();
        let turns = Ordered::new(0..3);
        hive.spmd(3, |bee| bee.ordered(&turns, bee.id(), || assert!(bee.id() > 0, "no square today")));
    }
}
