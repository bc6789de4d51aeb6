//! A team with the loop bodies in C that OpenMP's threads run: the same functions, by the same compiler, with the same
//! flags. hive's team beside OpenMP shows what the runtime does, and beside `hive` what the compiler does; a plain loop
//! is the baseline of both.

use crate::kernels::kernel::{Kernel, Kernels};
use crate::kernels::sparse::System;
use crate::runtimes::loops::Loops;
use crate::runtimes::tasks::Tasks;
use crate::runtimes::{Runtime, TeamBody};

pub(crate) struct InC<'t, T>(pub(crate) &'t mut T);

impl<T: Runtime> Runtime for InC<'_, T> {
    fn threads(&self) -> usize {
        self.0.threads()
    }

    fn region<F: Fn(usize) + Sync>(&mut self, threads: usize, body: F) {
        self.0.region(threads, body);
    }

    fn sums(&mut self, times: u64) -> f64 {
        self.0.sums(times)
    }

    fn one_region(&mut self, body: &impl TeamBody) -> Result<(), String> {
        self.0.one_region(body)
    }
}

impl<T: Loops + Runtime> Kernels for InC<'_, T> {
    fn run(&mut self, kernel: &mut impl Kernel, steps: u64) {
        kernel.run::<true>(self.0, steps);
    }

    fn solve(&mut self, system: &mut System, iterations: u64) -> Result<(), String> {
        system.in_one_region::<true>(self.0, iterations)
    }
}

/// Only kernels have bodies in C.
impl<T> Tasks for InC<'_, T> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::RuntimeId;
    use crate::kernels::labels::Labels;
    use crate::kernels::nbody::{Nbody, Schedule};
    use crate::matrix::{Csr, Entry, Laplacian, Symmetry};
    use crate::runtimes::hive::HiveTeam;
    use crate::runtimes::sequential::Sequential;
    use crate::runtimes::std_scope::StdScope;
    use crate::system::cpus;

    /// On a thread of its own, which is bound to a CPU and ends.
    fn with_team<T: Send>(work: impl FnOnce(&mut InC<'_, HiveTeam>) -> T + Send) -> T {
        let all = cpus::in_order_of_use();
        let cpus = &all[..all.len().min(2)];
        let host = || HiveTeam::host(RuntimeId::Hive, cpus, None, |team| work(&mut InC(team))).unwrap();
        std::thread::scope(|scope| scope.spawn(host).join().unwrap())
    }

    #[test]
    fn bodies_in_c_come_to_the_answer_of_plain_loops() {
        for schedule in [Schedule::Static, Schedule::Dynamic] {
            let mut plain = Nbody::new(schedule);
            plain.run::<false>(&mut Sequential, 3);
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
        StdScope::host(3, |team| {
            let mut system = System::new(team, &matrix);
            InC(team).solve(&mut system, 1000).unwrap();
            system.check(1e-12).unwrap();
        });
    }

    #[test]
    fn what_is_not_positive_definite_is_reported() {
        let entry = |place: u32, value: f64| Entry { row: place, column: place, value };
        let matrix = Csr::from_entries(2, 2, Symmetry::Symmetric, &[entry(0, 1.0), entry(1, -2.0)]);
        let mut system = System::new(&mut Sequential, &matrix);
        let error = InC(&mut Sequential).solve(&mut system, 5).unwrap_err();
        assert!(error.contains("iteration 1: p.Ap is -7e0"), "{error}");
    }
}
