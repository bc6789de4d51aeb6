//! hive itself, with its default waiting, never sleeping, by another of its sleep protocols, or with unbound threads.

mod callers;
mod constructs;
mod loops;
mod solve;
mod tasks;

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hive::{Builder, Hive, Pin, SleepProtocol, Stats};

use crate::catalog::RuntimeId;
use crate::kernels::{disjoint::Disjoint, jacobi};
use crate::runtimes::{Runtime, jacobi_thread};

pub(crate) struct HiveTeam {
    hive: Hive,
    threads: usize,
}

/// How bees wait, if not as by default, and whether they are bound.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settings {
    spin: Option<Duration>,
    sleep: SleepProtocol,
    poll: Option<Duration>,
    binding: Binding,
}

/// What the bees are bound to.
#[derive(Clone, Copy, Debug, Default)]
enum Binding {
    /// The queen and the workers, to the CPUs that every runtime gets.
    #[default]
    Given,
    /// What hive chooses.
    Default,
    /// Nothing, not even the queen.
    None,
}

impl Settings {
    pub(crate) fn of(runtime: RuntimeId, poll: Option<Duration>) -> Self {
        Self {
            spin: (runtime == RuntimeId::HiveSpin).then_some(Duration::MAX),
            sleep: match runtime {
                RuntimeId::HiveTickle => SleepProtocol::Tickle,
                RuntimeId::HiveNotify => SleepProtocol::Notify,
                _ => SleepProtocol::default(),
            },
            poll,
            binding: match runtime {
                RuntimeId::HiveDefault => Binding::Default,
                RuntimeId::HiveUnpinned => Binding::None,
                _ => Binding::Given,
            },
        }
    }
}

impl HiveTeam {
    pub(crate) fn host<T>(cpus: &[usize], settings: Settings, work: impl FnOnce(&mut Self) -> T) -> Result<T, String> {
        let mut team = Self::new(Self::builder(cpus, settings), cpus.len())?;
        let result = work(&mut team);
        match team.hive.stats().total().rescues {
            0 => Ok(result),
            rescues => Err(format!("{rescues} tasks were found only by --poll: no bee had been woken for them")),
        }
    }

    /// As `host`, with a timeline. Returns the file that it is in, and what hive has counted.
    pub(crate) fn host_traced(
        cpus: &[usize],
        file: &Path,
        work: impl FnOnce(&mut Self) -> Result<(), String>,
    ) -> Result<(PathBuf, Stats), String> {
        let mut team = Self::new(Self::builder(cpus, Settings::default()).trace(file), cpus.len())?;
        work(&mut team)?;
        let stats = team.hive.stats();
        let written = team.hive.write_trace().map_err(|error| format!("{}: {error}", file.display()))?;
        Ok((written, stats))
    }

    /// What hive says is in effect.
    pub(crate) fn report(cpus: &[usize]) -> Result<String, String> {
        Ok(Self::new(Self::builder(cpus, Settings::default()), cpus.len())?.hive.report().to_string())
    }

    /// A hive of as many bees as there are CPUs.
    fn builder(cpus: &[usize], settings: Settings) -> Builder {
        let builder = Hive::builder().bees(cpus.len());
        let builder = match settings.binding {
            Binding::Given => builder.pin(Pin::Cpus(cpus.to_vec())).pin_queen(true),
            Binding::Default => builder,
            Binding::None => builder.pin(Pin::None),
        };
        let builder = builder.sleep(settings.sleep).poll(settings.poll);
        match settings.spin {
            Some(spin) => builder.spin(spin),
            None => builder,
        }
    }

    fn new(builder: Builder, threads: usize) -> Result<Self, String> {
        let hive = builder.build().map_err(|error| format!("no hive: {error}"))?;
        Ok(Self { hive, threads })
    }
}

impl Runtime for HiveTeam {
    fn threads(&self) -> usize {
        self.threads
    }

    fn region<F: Fn(usize) + Sync>(&mut self, threads: usize, body: F) {
        self.hive.spmd(threads, move |bee| body(bee.id()));
    }

    fn sums(&mut self, times: u64) -> f64 {
        let once = || self.hive.spmd_reduce(self.threads, |bee| black_box(bee.id() + 1) as f64, |a, b| a + b);
        (0..times).map(|_| once()).sum()
    }

    fn barriers(&mut self, times: u64) -> Result<(), String> {
        self.hive.spmd(self.threads, |bee| {
            for _ in 0..times {
                // In a region of one a barrier only counts, and the compiler would merge barriers that it can see.
                black_box(bee).barrier();
            }
        });
        Ok(())
    }

    fn jacobi_one_region(&mut self, steps: u64, plates: &mut jacobi::Plates) -> Result<(), String> {
        let (even, odd) = (Disjoint::new(&mut plates.even), Disjoint::new(&mut plates.odd));
        self.hive.spmd(self.threads, |bee| {
            jacobi_thread(bee.id(), bee.bees(), steps, [&even, &odd], || bee.barrier());
        });
        Ok(())
    }

    fn resize_and_wait(&mut self, threads: usize) -> Result<(), String> {
        self.hive.resize(threads).map_err(|error| format!("resize({threads}): {error}"))?;
        self.hive.wait_until_parked();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes::loops::tests::loops_are_right;
    use crate::system::cpus;

    #[test]
    fn loops() {
        let all = cpus::in_order_of_use();
        let cpus = &all[..all.len().min(2)];
        // On a thread of its own, which is bound to a CPU and ends.
        std::thread::scope(|scope| {
            scope.spawn(|| HiveTeam::host(cpus, Settings::default(), loops_are_right).unwrap());
        });
    }
}
