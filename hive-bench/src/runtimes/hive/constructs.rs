//! OpenMP's constructs, as hive has them.

use std::ops::Range;

use crossbeam_utils::CachePadded;
use hive::{Bee, Loop, Ordered, Reduction, Schedule};

use crate::catalog::{Construct, Delay, ITERATIONS};

use super::Team;

impl<const IN_C: bool> Team<IN_C> {
    pub(super) fn run_constructs(&self, construct: Construct, times: u64, delay: Delay) -> f64 {
        // What the workers read lies in cache lines of its own, as the global variables of the programs in C do. If it
        // lay among the queen's variables, then in some builds she would write to the same line meanwhile, and each
        // region or round would take a transfer longer.
        let delay = &CachePadded::new(delay);
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
            Construct::Static => self.loops(times, self.iterations(), Schedule::Static, delay),
            Construct::Static1 => self.loops(times, self.iterations(), Schedule::StaticChunk(1), delay),
            Construct::Dynamic1 => self.loops(times, self.iterations(), Schedule::Dynamic(1), delay),
            Construct::Guided1 => self.loops(times, self.iterations(), Schedule::Guided(1), delay),
        }
        0.0
    }

    fn iterations(&self) -> usize {
        self.threads * ITERATIONS as usize
    }

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
