//! hive's team with the loop bodies in C that OpenMP's threads run: the same functions, by the same compiler, with the
//! same flags. Beside OpenMP it shows what the runtime does, and beside `hive` what the compiler does.

use crate::kernels::kernel::{Kernel, Kernels};
use crate::kernels::sparse::System;
use crate::runtimes::Runtime;
use crate::runtimes::callers::Callers;
use crate::runtimes::constructs::Constructs;
use crate::runtimes::solve::Solve;
use crate::runtimes::tasks::Tasks;

use super::{HiveTeam, Settings, solve};

pub(crate) struct HiveC<'a>(&'a mut HiveTeam);

impl HiveC<'_> {
    pub(crate) fn host<T>(cpus: &[usize], work: impl FnOnce(&mut HiveC<'_>) -> T) -> Result<T, String> {
        HiveTeam::host(cpus, Settings::default(), |team| work(&mut HiveC(team)))
    }
}

impl Runtime for HiveC<'_> {
    fn threads(&self) -> usize {
        self.0.threads()
    }

    fn region<F: Fn(usize) + Sync>(&mut self, threads: usize, body: F) {
        self.0.region(threads, body);
    }

    fn sums(&mut self, times: u64) -> f64 {
        self.0.sums(times)
    }
}

impl Kernels for HiveC<'_> {
    fn run(&mut self, kernel: &mut impl Kernel, steps: u64) {
        kernel.run_parts_in_c(self.0, steps);
    }
}

impl Solve for HiveC<'_> {
    fn solve(&mut self, system: &mut System, iterations: u64) -> Result<(), String> {
        let begin = system.scalars;
        system.scalars = solve::in_one_region(self.0, &system.shares_in_c(), begin, iterations)?;
        Ok(())
    }
}

/// Only kernels have bodies in C.
impl Callers for HiveC<'_> {}
impl Constructs for HiveC<'_> {}
impl Tasks for HiveC<'_> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::labels::Labels;
    use crate::kernels::nbody::{Nbody, Schedule};
    use crate::matrix::Laplacian;
    use crate::runtimes::sequential::Sequential;
    use crate::system::cpus;

    /// On a thread of its own, which is bound to a CPU and ends.
    fn with_team<T: Send>(work: impl FnOnce(&mut HiveC<'_>) -> T + Send) -> T {
        let all = cpus::in_order_of_use();
        let cpus = &all[..all.len().min(2)];
        std::thread::scope(|scope| scope.spawn(|| HiveC::host(cpus, work).unwrap()).join().unwrap())
    }

    #[test]
    fn bodies_in_c_come_to_the_answer_of_plain_loops() {
        for schedule in [Schedule::Static, Schedule::Dynamic] {
            let mut plain = Nbody::new(schedule);
            plain.run(&mut Sequential, 3);
            let answer = with_team(|team| {
                let mut in_c = Nbody::new(schedule);
                Kernels::run(team, &mut in_c, 3);
                in_c.answer()
            });
            assert_eq!(answer, plain.answer());
        }
        with_team(|team| {
            let mut labels = Labels::new(team);
            Kernels::run(team, &mut labels, 1);
            labels.answer().unwrap();
        });
    }

    #[test]
    fn conjugate_gradients_in_one_region_solve() {
        let matrix = Laplacian::new(13).matrix();
        with_team(|team| {
            let mut system = System::new(team, &matrix);
            team.solve(&mut system, 600).unwrap();
            team.solve(&mut system, 400).unwrap();
            assert_eq!(system.scalars.done, 1000);
            system.check(1e-12).unwrap();
        });
    }
}
