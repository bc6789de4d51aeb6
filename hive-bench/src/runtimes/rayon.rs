//! rayon: `broadcast` for regions, its parallel iterators over one chunk a worker for the kernels; `join`, `scope` and
//! `spawn`.

use std::hint::black_box;
use std::ops::Range;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::catalog::RuntimeId;
use crate::kernels::join::Join;
use crate::kernels::recursion::Recursion;
use crate::kernels::roots::root;
use crate::kernels::split;
use crate::runtimes::Runtime;
use crate::runtimes::loops::{Loops, chunk};
use crate::runtimes::tasks::{Start, Tasks};
use crate::system::cpus;

pub(crate) struct RayonPool {
    pub(crate) pool: ThreadPool,
}

impl RayonPool {
    /// The calling thread is the pool's first worker, or for `rayon-outside` no worker. It is bound to the CPU
    /// `caller`, and the workers to one each, if the runtime binds its threads.
    pub(crate) fn new(runtime: RuntimeId, cpus: &[usize], caller: usize) -> Result<Self, String> {
        let mut builder = ThreadPoolBuilder::new().num_threads(cpus.len());
        if runtime.is_pinned() {
            let places = cpus.to_vec();
            builder = builder.start_handler(move |id| _ = cpus::pin(places[id]));
        }
        if runtime != RuntimeId::RayonOutside {
            builder = builder.use_current_thread();
        }
        let pool = builder.build().map_err(|error| format!("no pool: {error}"))?;
        if runtime.is_pinned() {
            cpus::pin(caller);
        }
        Ok(Self { pool })
    }

    /// Whether the caller is one of the pool's.
    fn is_worker(&self) -> bool {
        self.pool.current_thread_index().is_some()
    }
}

impl Runtime for RayonPool {
    fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    fn region<F: Fn(usize) + Sync>(&mut self, threads: usize, body: F) {
        debug_assert_eq!(threads, self.threads(), "a pool has one size");
        self.pool.broadcast(|context| body(context.index()));
    }

    fn sums(&mut self, times: u64) -> f64 {
        let once = || self.pool.broadcast(|context| black_box(context.index() + 1) as f64).into_iter().sum::<f64>();
        (0..times).map(|_| once()).sum()
    }

    fn blocks_in_region<F: Fn(Range<usize>) + Sync>(&mut self, len: usize, body: F) {
        self.blocks(len, body);
    }

    /// A parallel iterator that its caller, a thread outside of the pool, waits for.
    fn sum_of_roots(&self, numbers: &[f64]) -> f64 {
        self.pool.install(|| numbers.par_iter().map(|number| root(*number)).sum())
    }
}

/// Loops, each in the form that was fastest here. Even loops are cut into one block for each worker: by a parallel
/// iterator if a worker calls, and by `broadcast` from outside, which wakes all workers at once. Uneven loops are cut
/// by rayon itself, which halves a range when a worker steals; one by one (`with_max_len(1)`) was never faster.
impl Loops for RayonPool {
    fn blocks<F: Fn(Range<usize>) + Sync>(&mut self, len: usize, body: F) {
        let threads = self.threads();
        let block = |id: usize| body(split(id, threads, len));
        if self.is_worker() {
            (0..threads).into_par_iter().for_each(block);
        } else {
            self.region(threads, block);
        }
    }

    fn dynamic<F: Fn(Range<usize>) + Sync>(&mut self, len: usize, size: usize, body: F) {
        self.pool.install(|| (0..len.div_ceil(size)).into_par_iter().for_each(|number| body(chunk(number, size, len))));
    }

    fn sum<F: Fn(Range<usize>) -> f64 + Sync>(&mut self, len: usize, body: F) -> f64 {
        let threads = self.threads();
        let block = |id: usize| body(split(id, threads, len));
        if self.is_worker() {
            (0..threads).into_par_iter().map(block).sum()
        } else {
            self.pool.broadcast(|context| block(context.index())).into_iter().sum()
        }
    }

    /// A parallel iterator, whoever calls.
    fn sum_of_each<F: Fn(f64) -> f64 + Sync>(&mut self, numbers: &[f64], of: F) -> f64 {
        self.pool.install(|| numbers.par_iter().map(|number| of(*number)).sum())
    }

    fn dynamic_sum<F: Fn(Range<usize>) -> f64 + Sync>(&mut self, len: usize, size: usize, body: F) -> f64 {
        self.pool.install(|| (0..len.div_ceil(size)).into_par_iter().map(|number| body(chunk(number, size, len))).sum())
    }
}

/// On the pool whose worker calls.
struct RayonJoin;

impl Join for RayonJoin {
    type Nested<'n> = Self;

    #[inline(always)]
    fn join(&mut self, a: impl FnOnce(&mut Self) -> u64 + Send, b: impl FnOnce(&mut Self) -> u64 + Send) -> u64 {
        let (a, b) = rayon::join(|| a(&mut Self), || b(&mut Self));
        a + b
    }
}

impl Tasks for RayonPool {
    fn recurse(&mut self, recursion: Recursion<'_>) -> u64 {
        self.pool.install(|| recursion.by(&mut RayonJoin))
    }

    fn spawn_from_one<F: Fn() + Copy + Send + Sync>(&mut self, tasks: u64, task: F) {
        self.pool.scope(|scope| (0..tasks).for_each(|_| scope.spawn(move |_| task())));
    }

    fn spawn_from_all<F: Fn() + Copy + Send + Sync>(&mut self, tasks_each: u64, task: F) {
        let producers = self.threads();
        let start = &Start::of(producers);
        self.pool.scope(|scope| {
            for _ in 0..producers {
                scope.spawn(move |scope| {
                    start.wait();
                    (0..tasks_each).for_each(|_| scope.spawn(move |_| task()));
                });
            }
        });
    }

    fn spawn_outside<F: FnOnce() + Send + 'static>(&mut self, task: F) {
        self.pool.spawn(task);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes::loops::tests::loops_are_right;
    use crate::runtimes::runtime::tests::callers_are_served;
    use crate::runtimes::tasks::tests::{joins_are_right, posts_arrive, spawns_are_right};

    #[test]
    fn tasks() {
        let cpus = [cpus::in_order_of_use()[0]; 2];
        let team = &mut RayonPool::new(RuntimeId::RayonWorker, &cpus, cpus[0]).unwrap();
        joins_are_right(team);
        spawns_are_right(team);
        posts_arrive(&mut RayonPool::new(RuntimeId::RayonOutside, &cpus, cpus[0]).unwrap());
    }

    #[test]
    fn loops() {
        let cpus = [cpus::in_order_of_use()[0]; 2];
        loops_are_right(&mut RayonPool::new(RuntimeId::RayonWorker, &cpus, cpus[0]).unwrap());
        loops_are_right(&mut RayonPool::new(RuntimeId::RayonOutside, &cpus, cpus[0]).unwrap());
        // On a thread of its own, because a thread is the first worker of one pool for good.
        let unpinned = || loops_are_right(&mut RayonPool::new(RuntimeId::RayonUnpinned, &[0; 2], 0).unwrap());
        std::thread::spawn(unpinned).join().unwrap();
    }

    #[test]
    fn callers() {
        let cpus = [cpus::in_order_of_use()[0]; 2];
        // On a thread of its own, which is bound to a CPU and ends.
        let outside = move || callers_are_served(&RayonPool::new(RuntimeId::RayonOutside, &cpus, cpus[0]).unwrap());
        std::thread::spawn(outside).join().unwrap();
    }
}
