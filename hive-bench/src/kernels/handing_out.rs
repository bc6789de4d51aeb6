//! A loop of very many iterations with next to nothing in them, which threads take one by one: the cost of handing out.

use std::hint::black_box;

use crate::kernels::check;
use crate::kernels::kernel::Kernel;
use crate::runtimes::loops::Loops;

const LEN: usize = 1_000_000;

/// The sum of the numbers of all iterations.
#[derive(Default)]
pub(crate) struct HandingOut {
    sum: f64,
}

unsafe extern "C" {
    fn hb_sum_of_numbers_part(begin: usize, end: usize) -> f64;
}

impl Kernel for HandingOut {
    fn step<L: Loops>(&mut self, by: &mut L) {
        self.sum = by.dynamic_sum(LEN, 1, |range| {
            if L::IN_C {
                // SAFETY: only numbers.
                return unsafe { hb_sum_of_numbers_part(range.start, range.end) };
            }
            range.map(|number| black_box(number) as f64).sum()
        });
    }

    /// Iterations.
    fn units(&self) -> u64 {
        LEN as u64
    }

    /// The sum is exact in any order, because all partial sums are whole numbers far below 2^53.
    fn answer(&self) -> Result<u64, String> {
        let expected = (LEN * (LEN - 1) / 2) as f64;
        check("the sum of the numbers of all iterations", self.sum, expected).map(|()| self.sum.to_bits())
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
