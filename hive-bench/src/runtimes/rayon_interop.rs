//! Regions and rayon's parallel iterators in one program: on one set of threads, or on two.

use hive::{Hive, Pin};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::runtimes::Runtime;
use crate::runtimes::hive::HiveTeam;
use crate::runtimes::rayon::pinned;

pub(crate) struct HiveAndRayon {
    pub(crate) team: HiveTeam,
    /// `None` if rayon's workers are the hive's bees.
    beside: Option<ThreadPool>,
}

impl HiveAndRayon {
    /// rayon's workers on the hive's own threads.
    pub(crate) fn host_on_hive<T>(cpus: &[usize], work: impl FnOnce(&mut Self) -> T) -> Result<T, String> {
        Ok(work(&mut Self { team: team(cpus, true)?, beside: None }))
    }

    /// A pool with its own threads beside the hive, on the same CPUs. The calling thread is both its first worker and
    /// the hive's queen.
    pub(crate) fn host_beside<T>(cpus: &[usize], work: impl FnOnce(&mut Self) -> T) -> Result<T, String> {
        let builder = pinned(ThreadPoolBuilder::new().num_threads(cpus.len()), cpus).use_current_thread();
        let pool = builder.build().map_err(|error| format!("no pool: {error}"))?;
        Ok(work(&mut Self { team: team(cpus, false)?, beside: Some(pool) }))
    }

    /// An empty region and a sum over `data` by rayon, `times` times; the sum of sums.
    pub(crate) fn regions_and_iterators(&mut self, times: u64, data: &[f64]) -> f64 {
        let sum = || data.par_iter().sum::<f64>();
        let mut total = 0.0;
        for _ in 0..times {
            self.team.empty_regions(self.team.threads, 1);
            total += match &self.beside {
                None => self.team.hive.rayon(self.team.threads, sum),
                Some(pool) => pool.install(sum),
            };
        }
        total
    }
}

fn team(cpus: &[usize], hosts: bool) -> Result<HiveTeam, String> {
    let builder = Hive::builder().bees(cpus.len()).pin(Pin::Cpus(cpus.to_vec())).pin_queen(true).host_rayon(hosts);
    let hive = builder.build().map_err(|error| format!("no hive: {error}"))?;
    Ok(HiveTeam { hive, threads: cpus.len() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::cpus;

    #[test]
    fn sums_are_right_on_one_set_of_threads_and_on_two() {
        let cpus = [cpus::in_order_of_use()[0]; 2];
        let sums = |team: &mut HiveAndRayon| team.regions_and_iterators(20, &[1.0; 1000]);
        // A thread is the first worker of one pool for good.
        let on_hive = std::thread::spawn(move || HiveAndRayon::host_on_hive(&cpus, sums));
        let beside = std::thread::spawn(move || HiveAndRayon::host_beside(&cpus, sums));
        assert_eq!([on_hive, beside].map(|team| team.join().unwrap()), [Ok(20_000.0), Ok(20_000.0)]);
    }
}
