//! hive's tasks.

use hive::Hive;

use super::HiveTeam;
use crate::kernels::joins::{self, Join, Tree};
use crate::kernels::search::{self, Node};
use crate::runtimes::tasks::{Start, Tasks};

/// On this hive, which is not the global one.
#[derive(Clone, Copy)]
struct HiveJoin<'h>(&'h Hive);

impl Join for HiveJoin<'_> {
    #[inline(always)]
    fn join<A, B, RA, RB>(self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.0.join(a, b)
    }
}

impl Tasks for HiveTeam {
    fn fib(&mut self, n: u64) -> Result<u64, String> {
        Ok(self.hive.install(|| joins::fib(HiveJoin(&self.hive), n)))
    }

    fn tree_sums(&mut self, tree: &Tree, times: u64) -> Result<u64, String> {
        Ok(self.hive.install(|| (0..times).map(|_| joins::sum(HiveJoin(&self.hive), tree)).sum()))
    }

    fn search(&mut self, root: Node) -> Result<u64, String> {
        Ok(self.hive.install(|| search::count(HiveJoin(&self.hive), root)))
    }

    fn spawn_from_one<F: Fn() + Copy + Send + Sync>(&mut self, tasks: u64, task: F) -> Result<(), String> {
        self.hive.scope(|scope| (0..tasks).for_each(|_| scope.spawn(move |_| task())));
        Ok(())
    }

    fn spawn_from_all<F: Fn() + Copy + Send + Sync>(&mut self, tasks_each: u64, task: F) -> Result<(), String> {
        let start = &Start::of(self.threads);
        self.hive.scope(|scope| {
            for _ in 0..self.threads {
                scope.spawn(move |scope| {
                    start.wait();
                    (0..tasks_each).for_each(|_| scope.spawn(move |_| task()));
                });
            }
        });
        Ok(())
    }

    fn spawn_outside<F: FnOnce() + Send + 'static>(&mut self, task: F) -> Result<(), String> {
        self.hive.spawn(task);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::Settings;
    use super::*;
    use crate::catalog::RuntimeId;
    use crate::runtimes::tasks::tests::{joins_are_right, posts_arrive, spawns_are_right};
    use crate::system::cpus;

    #[test]
    fn tasks_by_every_protocol() {
        let cpus = [cpus::in_order_of_use()[0]; 2];
        for runtime in
            RuntimeId::ALL.iter().copied().filter(|runtime| runtime.is_hive() && *runtime != RuntimeId::HiveC)
        {
            for poll in [None, Some(Duration::from_millis(1))] {
                HiveTeam::host(&cpus, Settings::of(runtime, poll), |team| {
                    joins_are_right(team);
                    spawns_are_right(team);
                    posts_arrive(team);
                })
                .unwrap();
            }
        }
    }
}
