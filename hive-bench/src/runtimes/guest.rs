//! Regions and rayon's parallel iterators in one program: on one set of threads, or on two.

use hive::{Hive, Pin};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::runtimes::Runtime;
use crate::system::cpus;

pub(crate) struct HiveAndRayon {
    hive: Hive,
    members: usize,
    /// `None` if rayon's workers are the hive's bees.
    beside: Option<ThreadPool>,
}

impl HiveAndRayon {
    /// rayon as the hive's guest.
    pub(crate) fn host_guest<T>(cpus: &[usize], work: impl FnOnce(&mut Self) -> T) -> Result<T, String> {
        let hive = hive(cpus, true)?;
        Ok(work(&mut Self { hive, members: cpus.len(), beside: None }))
    }

    /// A pool with its own threads beside the hive, on the same CPUs. The calling thread is both its first worker and
    /// the hive's queen.
    pub(crate) fn host_beside<T>(cpus: &[usize], work: impl FnOnce(&mut Self) -> T) -> Result<T, String> {
        let places = cpus.to_vec();
        let builder = ThreadPoolBuilder::new().num_threads(cpus.len()).use_current_thread().start_handler(move |id| {
            cpus::pin(places[id]);
        });
        let pool = builder.build().map_err(|error| format!("no pool: {error}"))?;
        let hive = hive(cpus, false)?;
        Ok(work(&mut Self { hive, members: cpus.len(), beside: Some(pool) }))
    }
}

fn hive(cpus: &[usize], hosts: bool) -> Result<Hive, String> {
    let builder = Hive::builder().bees(cpus.len()).pin(Pin::Cpus(cpus.to_vec())).pin_queen(true).host_rayon(hosts);
    builder.build().map_err(|error| format!("no hive: {error}"))
}

impl Runtime for HiveAndRayon {
    fn members(&self) -> usize {
        self.members
    }

    fn region<F: Fn(usize) + Sync>(&mut self, members: usize, body: F) {
        self.hive.spmd(members, move |bee| body(bee.id()));
    }

    fn sums(&mut self, times: u64) -> f64 {
        let once = || self.hive.spmd_map(self.members, |bee| (bee.id() + 1) as f64).into_iter().sum::<f64>();
        (0..times).map(|_| once()).sum()
    }

    fn regions_and_iterators(&mut self, times: u64, data: &[f64]) -> Result<f64, String> {
        let sum = || data.par_iter().sum::<f64>();
        let mut total = 0.0;
        for _ in 0..times {
            self.empty_regions(self.members, 1);
            total += match &self.beside {
                None => self.hive.rayon(self.members, sum),
                Some(pool) => pool.install(sum),
            };
        }
        Ok(total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_right_on_one_set_of_threads_and_on_two() {
        let cpus = [cpus::in_order_of_use()[0]; 2];
        let sums = |team: &mut HiveAndRayon| team.regions_and_iterators(20, &[1.0; 1000]);
        // A thread is the first worker of one pool for good.
        let guest = std::thread::spawn(move || HiveAndRayon::host_guest(&cpus, sums));
        let beside = std::thread::spawn(move || HiveAndRayon::host_beside(&cpus, sums));
        assert_eq!([guest, beside].map(|team| team.join().unwrap()), [Ok(Ok(20_000.0)), Ok(Ok(20_000.0))]);
    }
}
