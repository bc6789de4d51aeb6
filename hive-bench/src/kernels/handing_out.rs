//! A loop of very many iterations with next to nothing in them, which threads take one by one: the cost of handing out.

use std::hint::black_box;

#[cfg(openmp_compiled)]
use crate::kernels::in_c::{InC, compiled_twice, parts_in_c};
use crate::kernels::kernel::Kernel;
use crate::runtimes::loops::Loops;

const LEN: usize = 1_000_000;

/// The sum of the numbers of all iterations.
#[derive(Default)]
pub(crate) struct HandingOut {
    sum: f64,
}

#[cfg(openmp_compiled)]
compiled_twice! {
    fn sum_in_c = hb_openmp_sum_of_numbers, hb_plain_sum_of_numbers(len: usize) -> f64;
}

#[cfg(openmp_compiled)]
parts_in_c! {
    fn sum_part = "hb_openmp_sum_of_numbers_part"() -> f64;
}

impl Kernel for HandingOut {
    fn run(&mut self, by: &mut impl Loops, steps: u64) {
        for _ in 0..steps {
            self.sum = by.dynamic_sum(LEN, 1, |range| range.map(|number| black_box(number) as f64).sum());
        }
    }

    #[cfg(openmp_compiled)]
    fn run_in_c(&mut self, by: InC, steps: u64) {
        for _ in 0..steps {
            // SAFETY: only numbers.
            #[expect(unsafe_code, reason = "loops in C")]
            let sum = unsafe { sum_in_c(by, LEN) };
            self.sum = sum;
        }
    }

    #[cfg(openmp_compiled)]
    fn run_parts_in_c(&mut self, by: &mut impl Loops, steps: u64) {
        for _ in 0..steps {
            // SAFETY: only numbers.
            #[expect(unsafe_code, reason = "loops in C")]
            let sum = by.dynamic_sum(LEN, 1, |range| unsafe { sum_part(range) });
            self.sum = sum;
        }
    }

    /// Iterations.
    fn units(&self) -> u64 {
        LEN as u64
    }

    /// The sum is exact in any order, because all partial sums are whole numbers far below 2^53.
    fn answer(&self) -> Result<u64, String> {
        let expected = (LEN * (LEN - 1) / 2) as f64;
        if self.sum == expected {
            Ok(self.sum.to_bits())
        } else {
            Err(format!("wrong answer: the sum of the numbers of all iterations is {}, not {expected}", self.sum))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::kernel::tests::answers_agree;

    #[test]
    fn everybody_comes_to_the_same_answer() {
        answers_agree(HandingOut::default, 1);
    }
}
