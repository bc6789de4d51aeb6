//! A short loop with even work and little memory: the sum of the square roots of some numbers. Its length is chosen so
//! that it takes a given time on one thread.

use std::hint::black_box;
use std::ops::Range;
use std::time::Duration;

use crate::kernels::check;
use crate::kernels::kernel::Kernel;
use crate::measure::timing;
use crate::runtimes::loops::Loops;

/// All numbers are squares of whole numbers below this, so all roots are whole.
const LIMIT: usize = 1000;

/// Numbers, and the sum of their roots.
pub(crate) struct Roots {
    numbers: Vec<f64>,
    sum: f64,
}

/// What is added up. The compiler has to compute one root at a time: otherwise C's compiler would compute two by one
/// instruction, and Rust's would not.
#[inline(always)]
pub(crate) fn root(number: f64) -> f64 {
    black_box(number).sqrt()
}

/// The sum by a plain loop.
#[inline]
pub(crate) fn sum_of_roots(numbers: &[f64]) -> f64 {
    numbers.iter().map(|number| root(*number)).sum()
}

/// The sum of the roots of some indices: a loop without memory. All runtimes call the same compiled function.
#[inline(never)]
pub(crate) fn sum_of_indices(indices: Range<usize>) -> f64 {
    indices.map(|index| root(index as f64)).sum()
}

/// So many numbers.
pub(crate) fn numbers(len: usize) -> Vec<f64> {
    (0..len).map(|index| (index % LIMIT).pow(2) as f64).collect()
}

/// The sum of the roots of so many numbers. It is exact in any order of additions, because all partial sums are whole
/// numbers far below 2^53.
pub(crate) fn expected_sum(len: usize) -> f64 {
    let of_first = |count: usize| count * count.saturating_sub(1) / 2;
    (len / LIMIT * of_first(LIMIT) + of_first(len % LIMIT)) as f64
}

/// How many numbers the plain loop adds up in `work`, on the calling thread as it runs now. The best of many trials
/// counts, because disturbances only make a trial longer.
pub(crate) fn count_for(work: Duration) -> usize {
    const LEN: usize = 1 << 13;
    const TRIALS: usize = 400;
    let numbers = numbers(LEN);
    let trial = |_| {
        timing::nanoseconds(|| {
            black_box(sum_of_roots(black_box(&numbers)));
        })
    };
    let best = (0..TRIALS).map(trial).fold(f64::INFINITY, f64::min);
    // A clock that stands still must not make it infinite.
    ((work.as_nanos() as f64 * LEN as f64 / best.max(1.0)) as usize).max(1)
}

impl Roots {
    pub(crate) fn new(len: usize) -> Self {
        Self { numbers: numbers(len), sum: 0.0 }
    }
}

unsafe extern "C" {
    fn hb_sum_of_roots_part(numbers: *const f64, begin: usize, end: usize) -> f64;
}

impl Kernel for Roots {
    fn step<L: Loops>(&mut self, by: &mut L) {
        self.sum = if L::IN_C {
            let numbers = &self.numbers;
            // SAFETY: as many numbers as the loop has indices.
            by.sum(numbers.len(), |range| unsafe { hb_sum_of_roots_part(numbers.as_ptr(), range.start, range.end) })
        } else {
            by.sum_of_each(&self.numbers, root)
        };
    }

    fn answer(&self) -> Result<u64, String> {
        let expected = expected_sum(self.numbers.len());
        check(&format!("the sum of {} roots", self.numbers.len()), self.sum, expected).map(|()| self.sum.to_bits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::kernel::tests::answers_agree;

    #[test]
    fn everybody_comes_to_the_same_answer() {
        for len in [1000, 2718] {
            answers_agree(|| Roots::new(len), 1);
        }
    }

    #[test]
    fn more_time_is_more_numbers() {
        let [short, long] = [100, 100_000].map(|microseconds| count_for(Duration::from_micros(microseconds)));
        assert!(short > 0 && long > 2 * short, "{short} {long}");
    }
}
