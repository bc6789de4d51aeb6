//! hive itself, with its default waiting, never sleeping, by another of its sleep protocols, or with unbound threads.

use std::hint::black_box;
use std::ops::Range;
use std::time::Duration;

use crossbeam_utils::CachePadded;
use hive::{Bee, Builder, Hive, Loop, Ordered, Pin, Reduction, Schedule, SleepProtocol};

use crate::catalog::{Construct, Delay, ITERATIONS, RuntimeId};
use crate::kernels::join::Join;
use crate::kernels::recursion::Recursion;
use crate::kernels::roots::sum_of_roots;
use crate::runtimes::loops::Loops;
use crate::runtimes::tasks::{Start, Tasks};
use crate::runtimes::{Runtime, TeamThread};

/// A team of hive's, with loop bodies in Rust or in C.
pub(crate) struct Team<const IN_C: bool> {
    pub(crate) hive: Hive,
    pub(crate) threads: usize,
}

pub(crate) type HiveTeam = Team<false>;

impl<const IN_C: bool> Team<IN_C> {
    /// A hive of as many bees as there are CPUs, which waits and is bound as this runtime's is: mostly with the queen
    /// and the workers bound to these CPUs. `also` says what else it is to be.
    pub(crate) fn new(runtime: RuntimeId, cpus: &[usize], also: impl Fn(Builder) -> Builder) -> Result<Self, String> {
        let builder = Hive::builder().bees(cpus.len());
        let builder = match runtime {
            RuntimeId::HiveDefault => builder,
            RuntimeId::HiveUnpinned => builder.pin(Pin::None),
            _ => builder.pin(Pin::Cpus(cpus.to_vec())).pin_queen(true),
        };
        let builder = match runtime {
            RuntimeId::HiveSpin => builder.spin(Duration::MAX),
            RuntimeId::HiveTickle => builder.sleep(SleepProtocol::Tickle),
            RuntimeId::HiveNotify => builder.sleep(SleepProtocol::Notify),
            _ => builder,
        };
        let hive = also(builder).build().map_err(|error| format!("no hive: {error}"))?;
        Ok(Self { hive, threads: cpus.len() })
    }
}

impl<const IN_C: bool> Runtime for Team<IN_C> {
    const SOLVES_IN_ONE_REGION: bool = true;

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

    fn barriers(&mut self, times: u64) {
        self.hive.spmd(self.threads, |bee| {
            for _ in 0..times {
                // In a region of one a barrier only counts, and the compiler would merge barriers that it can see.
                black_box(bee).barrier();
            }
        });
    }

    fn one_region(&mut self, body: impl Fn(&dyn TeamThread) + Sync) {
        self.hive.spmd(self.threads, |bee| body(bee));
    }

    fn constructs(&mut self, construct: Construct, times: u64, delay: Delay) -> f64 {
        // What the workers read lies in cache lines of its own, as the global variables of the programs in C do. If it
        // lay among the queen's variables, then in some builds she would write to the same line meanwhile, and each
        // region or round would take a transfer longer.
        let (delay, iterations) = (&CachePadded::new(delay), self.threads * ITERATIONS as usize);
        match construct {
            Construct::Parallel => (0..times).for_each(|_| self.hive.spmd(self.threads, move |_| delay.wait())),
            Construct::For => self.loops(times, self.threads, Schedule::Static, delay),
            Construct::ParallelFor => {
                let body = move |range: Range<usize>, _: &Bee<'_>| range.for_each(|_| delay.wait());
                (0..times).for_each(|_| self.hive.par_for(0..self.threads, body));
            }
            Construct::Barrier => self.each(times, move |bee| {
                delay.wait();
                bee.barrier();
            }),
            Construct::Single => self.each(times, move |bee| bee.single(|| delay.wait())),
            Construct::Ordered => self.ordered(times as usize, delay),
            Construct::Reduction => return self.reductions(times, delay),
            Construct::Static => self.loops(times, iterations, Schedule::Static, delay),
            Construct::Static1 => self.loops(times, iterations, Schedule::StaticChunk(1), delay),
            Construct::Dynamic1 => self.loops(times, iterations, Schedule::Dynamic(1), delay),
            Construct::Guided1 => self.loops(times, iterations, Schedule::Guided(1), delay),
        }
        0.0
    }

    /// A reduction, which runs on the team, or on its caller alone while the team is busy.
    fn sum_of_roots(&self, numbers: &[f64]) -> f64 {
        let sum = Reduction::per_team_size(0.0, |a, b| a + b);
        self.hive.par_reduce(0..numbers.len(), &sum, |range| sum_of_roots(&numbers[range]))
    }

    fn sum_of_roots_in_region(&self, numbers: &[f64]) -> f64 {
        let sums = self.hive.spmd_map(self.threads, |bee| sum_of_roots(&numbers[bee.split(0..numbers.len())]));
        sums.into_iter().sum()
    }

    fn resize_and_wait(&mut self, threads: usize) -> Result<(), String> {
        self.hive.resize(threads).map_err(|error| format!("resize({threads}): {error}"))?;
        self.hive.wait_until_parked();
        Ok(())
    }
}

impl TeamThread for Bee<'_> {
    fn id(&self) -> usize {
        self.id()
    }

    fn barrier(&self) {
        self.barrier();
    }

    fn sum(&self, number: f64) -> f64 {
        self.all_reduce(number, |a, b| a + b)
    }
}

/// OpenMP's constructs, as hive has them.
impl<const IN_C: bool> Team<IN_C> {
    /// Something so many times in one region.
    fn each(&self, times: u64, body: impl Fn(&Bee<'_>) + Sync) {
        self.hive.spmd(self.threads, move |bee| (0..times).for_each(|_| body(bee)));
    }

    fn loops(&self, times: u64, len: usize, schedule: Schedule, delay: &CachePadded<Delay>) {
        let shared = &CachePadded::new(Loop::new(0..len, schedule));
        self.each(times, move |bee| {
            bee.for_each(shared, |range| range.for_each(|_| delay.wait()));
            bee.barrier();
        });
    }

    fn ordered(&self, times: usize, delay: &CachePadded<Delay>) {
        let turns = &CachePadded::new(Ordered::new(0..times));
        let shared = &CachePadded::new(Loop::new(0..times, Schedule::StaticChunk(1)));
        self.hive.spmd(self.threads, move |bee| {
            bee.for_each(shared, |range| range.for_each(|index| bee.ordered(turns, index, || delay.wait())));
        });
    }

    fn reductions(&self, times: u64, delay: &CachePadded<Delay>) -> f64 {
        let sum = Reduction::per_team_size(0.0, |a, b| a + b);
        let one = move |range: Range<usize>| {
            delay.wait();
            range.len() as f64
        };
        (0..times).map(|_| self.hive.par_reduce(0..self.threads, &sum, one)).sum()
    }
}

/// A region each.
impl<const IN_C: bool> Loops for Team<IN_C> {
    const IN_C: bool = IN_C;

    fn blocks<F: Fn(Range<usize>) + Sync>(&mut self, len: usize, body: F) {
        self.hive.par_for(0..len, move |range, _| body(range));
    }

    fn dynamic<F: Fn(Range<usize>) + Sync>(&mut self, len: usize, chunk: usize, body: F) {
        self.hive.par_for((0..len, Schedule::Dynamic(chunk)), move |range, _| body(range));
    }

    fn sum<F: Fn(Range<usize>) -> f64 + Sync>(&mut self, len: usize, body: F) -> f64 {
        self.hive.par_reduce(0..len, &Reduction::per_team_size(0.0, |a, b| a + b), body)
    }

    /// The order of the additions is free, as it is in Rayon's sum.
    fn sum_of_each<F: Fn(f64) -> f64 + Sync>(&mut self, numbers: &[f64], of: F) -> f64 {
        let sum = Reduction::unordered(0.0, |a, b| a + b);
        self.hive.par_reduce(0..numbers.len(), &sum, |range| numbers[range].iter().map(|number| of(*number)).sum())
    }

    fn dynamic_sum<F: Fn(Range<usize>) -> f64 + Sync>(&mut self, len: usize, chunk: usize, body: F) -> f64 {
        self.hive.par_reduce((0..len, Schedule::Dynamic(chunk)), &Reduction::unordered(0.0, |a, b| a + b), body)
    }
}

/// On this hive, which is not the global one.
struct HiveJoin<'h>(&'h Hive);

impl<'h> Join for HiveJoin<'h> {
    type Nested<'n> = HiveJoin<'h>;

    #[inline(always)]
    fn join(&mut self, a: impl FnOnce(&mut Self) -> u64 + Send, b: impl FnOnce(&mut Self) -> u64 + Send) -> u64 {
        let hive = self.0;
        let (a, b) = hive.join(move || a(&mut HiveJoin(hive)), move || b(&mut HiveJoin(hive)));
        a + b
    }
}

impl<const IN_C: bool> Tasks for Team<IN_C> {
    fn recurse(&mut self, recursion: Recursion<'_>) -> u64 {
        self.hive.install(|| recursion.by(&mut HiveJoin(&self.hive)))
    }

    fn spawn_from_one<F: Fn() + Copy + Send + Sync>(&mut self, tasks: u64, task: F) {
        self.hive.scope(|scope| (0..tasks).for_each(|_| scope.spawn(move |_| task())));
    }

    fn spawn_from_all<F: Fn() + Copy + Send + Sync>(&mut self, tasks_each: u64, task: F) {
        let start = &Start::of(self.threads);
        self.hive.scope(|scope| {
            for _ in 0..self.threads {
                scope.spawn(move |scope| {
                    start.wait();
                    (0..tasks_each).for_each(|_| scope.spawn(move |_| task()));
                });
            }
        });
    }

    fn spawn_outside<F: FnOnce() + Send + 'static>(&mut self, task: F) {
        self.hive.spawn(task);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::runtimes::loops::tests::loops_are_right;
    use crate::runtimes::runtime::tests::callers_are_served;
    use crate::runtimes::tasks::tests::{joins_are_right, posts_arrive, spawns_are_right};
    use crate::system::cpus;

    /// On a thread of its own, which is bound to a CPU and ends.
    pub(crate) fn with_team<const IN_C: bool, T: Send>(work: impl FnOnce(&mut Team<IN_C>) -> T + Send) -> T {
        let all = cpus::in_order_of_use();
        let cpus = &all[..all.len().min(2)];
        let queen = || work(&mut Team::new(RuntimeId::Hive, cpus, |builder| builder).unwrap());
        std::thread::scope(|scope| scope.spawn(queen).join().unwrap())
    }

    #[test]
    fn loops() {
        with_team::<false, _>(loops_are_right);
    }

    #[test]
    fn callers() {
        with_team::<false, _>(|team| callers_are_served(team));
    }

    #[test]
    fn tasks_by_every_protocol() {
        let cpus = [cpus::in_order_of_use()[0]; 2];
        for runtime in
            RuntimeId::ALL.iter().copied().filter(|runtime| runtime.is_hive() && *runtime != RuntimeId::HiveC)
        {
            for poll in [None, Some(Duration::from_millis(1))] {
                let team = &mut HiveTeam::new(runtime, &cpus, |builder| builder.poll(poll)).unwrap();
                joins_are_right(team);
                spawns_are_right(team);
                posts_arrive(team);
                assert_eq!(team.hive.stats().total().rescues, 0);
            }
        }
    }
}
