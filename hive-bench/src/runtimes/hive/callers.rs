//! Requests: each is a reduction, which runs on the team, or on its caller alone while the team is busy. Those of two
//! queens are regions.

use hive::Reduction;

use crate::kernels::roots::sum_of_roots;
use crate::runtimes::callers::Callers;

use super::HiveTeam;

impl Callers for HiveTeam {
    fn sum_of_roots(&self, numbers: &[f64]) -> Result<f64, String> {
        let sum = Reduction::per_team_size(0.0, |a, b| a + b);
        Ok(self.hive.par_reduce(0..numbers.len(), &sum, |range| sum_of_roots(&numbers[range])))
    }

    fn sum_of_roots_in_region(&self, numbers: &[f64]) -> Result<f64, String> {
        let sums = self.hive.spmd_map(self.threads, |bee| sum_of_roots(&numbers[bee.split(0..numbers.len())]));
        Ok(sums.into_iter().sum())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Settings;
    use super::*;
    use crate::runtimes::callers::tests::callers_are_served;
    use crate::system::cpus;

    #[test]
    fn callers() {
        let cpus = [cpus::in_order_of_use()[0]; 2];
        // On a thread of its own, which is bound to a CPU and ends.
        std::thread::spawn(move || {
            HiveTeam::host(&cpus, Settings::default(), |team| callers_are_served(team)).unwrap()
        })
        .join()
        .unwrap();
    }
}
