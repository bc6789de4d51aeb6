//! ForkUnion: a pool whose threads spin for their work and never sleep.

use std::ops::Range;

use forkunion::{IndexedSplit, Prong, ThreadPool, Topology};

use crate::runtimes::Runtime;
use crate::runtimes::loops::{Loops, Slots, chunk};
use crate::runtimes::tasks::Tasks;
use crate::system::cpus;

pub(crate) struct ForkUnionPool {
    pool: ThreadPool,
    slots: Slots,
}

impl ForkUnionPool {
    pub(crate) fn new(cpus: &[usize]) -> Result<Self, String> {
        let mut team = Self::new_default(cpus.len())?;
        // The pool binds its threads to sets of CPUs. Here each thread gets one CPU, as in the other runtimes.
        team.pool.broadcast(|thread_id, _| {
            cpus::pin(cpus[thread_id]);
        });
        Ok(team)
    }

    /// As a program gets it that does not bind threads by itself.
    pub(crate) fn new_default(threads: usize) -> Result<Self, String> {
        let topology = Topology::new().map_err(|error| format!("no topology: {error}"))?;
        let pool = ThreadPool::try_spawn(&topology, threads).map_err(|error| format!("no pool: {error}"))?;
        Ok(Self { pool, slots: Slots::new(threads) })
    }
}

impl Runtime for ForkUnionPool {
    fn threads(&self) -> usize {
        self.slots.threads()
    }

    fn region<F: Fn(usize) + Sync>(&mut self, threads: usize, body: F) {
        debug_assert_eq!(threads, self.threads(), "a pool has one size");
        self.pool.broadcast(|thread_id, _| body(thread_id));
    }
}

impl Loops for ForkUnionPool {
    fn blocks<F: Fn(Range<usize>) + Sync>(&mut self, len: usize, body: F) {
        // Its loops run when what these calls return is dropped.
        drop(self.pool.for_slices(len, |first, count| body(first.task_index..first.task_index + count)));
    }

    fn dynamic<F: Fn(Range<usize>) + Sync>(&mut self, len: usize, size: usize, body: F) {
        drop(self.pool.for_n_dynamic(len.div_ceil(size), |prong| body(chunk(prong.task_index, size, len))));
    }

    fn sum<F: Fn(Range<usize>) -> f64 + Sync>(&mut self, len: usize, body: F) -> f64 {
        let slots = &self.slots;
        let split = IndexedSplit::new(len, slots.threads());
        self.pool.broadcast(|thread_id, _| slots.set(thread_id, body(split.get(thread_id))));
        slots.sum()
    }

    fn dynamic_sum<F: Fn(Range<usize>) -> f64 + Sync>(&mut self, len: usize, size: usize, body: F) -> f64 {
        let slots = &self.slots;
        (0..slots.threads()).for_each(|thread_id| slots.set(thread_id, 0.0));
        let add = |prong: Prong| slots.add(prong.thread_index, body(chunk(prong.task_index, size, len)));
        drop(self.pool.for_n_dynamic(len.div_ceil(size), add));
        slots.sum()
    }
}

/// A pool for regions.
impl Tasks for ForkUnionPool {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes::loops::tests::loops_are_right;

    #[test]
    fn loops() {
        let cpus = [cpus::in_order_of_use()[0]; 2];
        loops_are_right(&mut ForkUnionPool::new(&cpus).unwrap());
    }
}
