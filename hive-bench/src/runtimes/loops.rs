//! Parallel loops, behind one interface: in each runtime as its documentation says. Kernels are written once over it.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crossbeam_utils::CachePadded;

/// A team that is up and running. However it divides a loop, its bodies get ranges that together are `0..len`, each
/// index once.
pub(crate) trait Loops {
    /// Whether the bodies of its kernels' loops are those in C (`c/kernels`), by the compiler of the OpenMP rival.
    const IN_C: bool = false;

    /// A contiguous block a thread (OpenMP: `schedule(static)`).
    fn blocks<F: Fn(Range<usize>) + Sync>(&mut self, len: usize, body: F);

    /// Chunks that threads take one by one (OpenMP: `schedule(dynamic, chunk)`).
    fn dynamic<F: Fn(Range<usize>) + Sync>(&mut self, len: usize, chunk: usize, body: F);

    /// The sum over a block of each thread. The runtime decides the order of the additions and the bounds of the
    /// blocks.
    fn sum<F: Fn(Range<usize>) -> f64 + Sync>(&mut self, len: usize, body: F) -> f64;

    /// The sum of a function of each number, as an average user of the runtime writes it: element by element, by the
    /// schedule that nobody has to choose.
    fn sum_of_each<F: Fn(f64) -> f64 + Sync>(&mut self, numbers: &[f64], of: F) -> f64 {
        self.sum(numbers.len(), |range| numbers[range].iter().map(|number| of(*number)).sum())
    }

    /// The sum over chunks that threads take one by one.
    fn dynamic_sum<F: Fn(Range<usize>) -> f64 + Sync>(&mut self, len: usize, chunk: usize, body: F) -> f64;
}

/// The chunks of a loop, in order.
pub(crate) fn chunk(number: usize, chunk: usize, len: usize) -> Range<usize> {
    let begin = number * chunk;
    begin..(begin + chunk).min(len)
}

/// A counter from which threads take chunks, for runtimes that have no such loop of their own.
#[derive(Default)]
pub(crate) struct Counter(CachePadded<AtomicUsize>);

impl Counter {
    /// Takes chunks until none is left. Every thread calls this once.
    pub(crate) fn take_all(&self, len: usize, size: usize, mut body: impl FnMut(Range<usize>)) {
        loop {
            // Relaxed: a number is handed out once by whatever ordering, and the region orders what the chunks leave
            // behind.
            let number = self.0.fetch_add(1, Ordering::Relaxed);
            match chunk(number, size, len) {
                left if left.is_empty() => return,
                next => body(next),
            }
        }
    }

    /// The same with a sum over what the caller has taken.
    pub(crate) fn sum_all(&self, len: usize, size: usize, body: impl Fn(Range<usize>) -> f64) -> f64 {
        let mut sum = 0.0;
        self.take_all(len, size, |range| sum += body(range));
        sum
    }
}

/// A number of each thread, on cache lines of its own.
pub(crate) struct Slots(Vec<CachePadded<AtomicU64>>);

impl Slots {
    pub(crate) fn new(threads: usize) -> Self {
        Self((0..threads).map(|_| CachePadded::default()).collect())
    }

    #[cfg(feature = "forkunion")]
    pub(crate) fn threads(&self) -> usize {
        self.0.len()
    }

    /// Within a region, by the thread itself.
    pub(crate) fn set(&self, thread_id: usize, number: f64) {
        // Relaxed, and so are the loads of `sum`: the end of the region stands between the two.
        self.0[thread_id].store(number.to_bits(), Ordering::Relaxed);
    }

    /// The same with what it was before.
    #[cfg(feature = "forkunion")]
    pub(crate) fn add(&self, thread_id: usize, number: f64) {
        self.set(thread_id, f64::from_bits(self.0[thread_id].load(Ordering::Relaxed)) + number);
    }

    /// After a region in which each thread has set its number.
    pub(crate) fn sum(&self) -> f64 {
        self.0.iter().map(|slot| f64::from_bits(slot.load(Ordering::Relaxed))).sum()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Every index once, for lengths that do and do not divide, and none at all.
    pub(crate) fn loops_are_right(team: &mut impl Loops) {
        for len in [0, 1, 7, 64, 1000] {
            let visits: Vec<_> = (0..len).map(|_| AtomicUsize::new(0)).collect();
            let visit = |range: Range<usize>| {
                for index in range {
                    visits[index].fetch_add(1, Ordering::Relaxed);
                }
            };
            let mut so_far = 0;
            let mut all_visited = || {
                so_far += 1;
                assert!(
                    visits.iter().all(|visits| visits.load(Ordering::Relaxed) == so_far),
                    "{so_far} of {len}: {visits:?}"
                );
            };
            team.blocks(len, visit);
            all_visited();
            for chunk in [1, 3, 2000] {
                team.dynamic(len, chunk, visit);
                all_visited();
            }
            let sum = team.sum(len, |range| {
                visit(range.clone());
                range.map(|index| index as f64).sum()
            });
            all_visited();
            assert_eq!(sum, (len * len.saturating_sub(1) / 2) as f64);
            let numbers: Vec<_> = (0..len).map(|index| index as f64).collect();
            assert_eq!(team.sum_of_each(&numbers, |number| 2.0 * number), (len * len.saturating_sub(1)) as f64);
            let sum = team.dynamic_sum(len, 3, |range| {
                visit(range.clone());
                range.map(|index| index as f64).sum()
            });
            all_visited();
            assert_eq!(sum, (len * len.saturating_sub(1) / 2) as f64);
        }
    }

    #[test]
    fn chunks_are_taken_once() {
        let counter = Counter::default();
        let taken = std::cell::RefCell::new(Vec::new());
        counter.take_all(10, 4, |range| taken.borrow_mut().push(range));
        counter.take_all(10, 4, |range| taken.borrow_mut().push(range));
        assert_eq!(taken.into_inner(), [0..4, 4..8, 8..10]);
    }
}
