//! Several threads of the program that call one team at the same time, as the threads of a server do.

use crate::kernels::roots::sum_of_roots;
use crate::runtimes::CANNOT;

/// A team that is up and running, and that any thread may call.
pub(crate) trait Callers: Sync {
    /// The sum of the roots of the numbers, by the runtime's own parallel sum. Any thread may call it at any time.
    fn sum_of_roots(&self, _numbers: &[f64]) -> Result<f64, String> {
        Err(CANNOT.to_owned())
    }

    /// The same in one region on the whole team, whose callers take turns, where the runtime has regions.
    fn sum_of_roots_in_region(&self, numbers: &[f64]) -> Result<f64, String> {
        self.sum_of_roots(numbers)
    }
}

/// The baseline: each caller does its own work.
impl Callers for crate::runtimes::sequential::Sequential {
    fn sum_of_roots(&self, numbers: &[f64]) -> Result<f64, String> {
        Ok(sum_of_roots(numbers))
    }
}

/// Runtimes that are not compared here: they are no pools, or one thread has to own them.
impl Callers for crate::runtimes::std_scope::StdScope {}
#[cfg(feature = "forkunion")]
impl Callers for crate::runtimes::forkunion::ForkUnionPool {}
#[cfg(openmp_compiled)]
impl Callers for crate::runtimes::openmp::OpenMp {}

#[cfg(test)]
pub(crate) mod tests {
    use std::thread;

    use super::*;
    use crate::kernels::roots::{expected_sum, numbers};

    /// All of several callers at once get their own sums.
    pub(crate) fn callers_are_served(team: &(impl Callers + ?Sized)) {
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
}
