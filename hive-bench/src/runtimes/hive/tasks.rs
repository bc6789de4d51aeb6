//! hive's tasks.

use hive::Hive;

use super::HiveTeam;
use crate::kernels::join::Join;
use crate::kernels::recursion::Recursion;
use crate::runtimes::tasks::{Start, Tasks};

/// On this hive, which is not the global one.
struct HiveJoin<'h>(&'h Hive);

impl<'h> Join for HiveJoin<'h> {
    type Nested<'n> = HiveJoin<'h>;

    #[inline(always)]
    fn join<RA: Send, RB: Send>(
        &mut self,
        a: impl FnOnce(&mut Self) -> RA + Send,
        b: impl FnOnce(&mut Self) -> RB + Send,
    ) -> (RA, RB) {
        let hive = self.0;
        hive.join(move || a(&mut HiveJoin(hive)), move || b(&mut HiveJoin(hive)))
    }
}

impl Tasks for HiveTeam {
    fn recurse(&mut self, recursion: Recursion<'_>) -> Result<u64, String> {
        Ok(self.hive.install(|| recursion.by(&mut HiveJoin(&self.hive))))
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
