//! Pools of the program's own.

use std::{fmt, thread};

use hive::adapters::task_pool::handle::TaskPool;
use hive::adapters::task_pool::pool_bee::PoolBee;

use crate::broadcast::BroadcastContext;
use crate::builder::ThreadPoolBuilder;
use crate::error::ThreadPoolBuildError;
use crate::join;
use crate::scope::{Scope, ScopeFifo};
use crate::spawn::Yield;
use crate::thread::{ThreadBuilder, ThreadSpawn};

/// A pool of threads. When it is dropped, it ends as soon as all jobs that were spawned in it have run; the drop does
/// not wait for that.
///
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build()?;
/// assert_eq!(pool.join(|| 1, || 2), (1, 2));
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
pub struct ThreadPool(TaskPool);

impl ThreadPool {
    /// Runs `op` on a thread of this pool and returns its result. What `op` calls that names no pool uses this one.
    ///
    /// If the calling thread belongs to another pool, it runs tasks of that one meanwhile.
    ///
    /// # Panics
    /// With the panic of `op`.
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        self.0.enter(|_, _| op())
    }

    /// Runs `op` once on each thread of the pool, and returns the results in the order of the threads' indices.
    ///
    /// # Panics
    /// With a panic of `op`, after all have ended.
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        self.0.with(|pool| pool.broadcast(|me| op(BroadcastContext::new(me))))
    }

    /// The number of the pool's threads; or of its [parts](ThreadPoolBuilder::fixed_parts), if that is fixed.
    pub fn current_num_threads(&self) -> usize {
        self.0.parts()
    }

    /// The number of the calling thread in this pool, from 0. `None`: it does not belong to this pool.
    pub fn current_thread_index(&self) -> Option<usize> {
        self.0.with_bee(|me| me.map(|me| me.index()))
    }

    /// Whether the calling thread has queued tasks itself that wait to be run. `None`: it does not belong to this pool.
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        self.0.with_bee(|me| me.map(|me| me.has_pending_tasks()))
    }

    /// As [`join`](crate::join()), in this pool.
    ///
    /// # Panics
    /// As that.
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.install(|| join::join(a, b))
    }

    /// As [`scope`](crate::scope()), in this pool.
    ///
    /// # Panics
    /// As that.
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.0.enter(|me, _| me.pool().scope(|scope| op(Scope::of(scope))))
    }

    /// As [`scope_fifo`](crate::scope_fifo), in this pool.
    ///
    /// # Panics
    /// As that.
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        self.0.enter(|me, _| me.pool().scope_fifo(|scope| op(ScopeFifo::of(scope))))
    }

    /// As [`in_place_scope`](crate::in_place_scope), with jobs in this pool.
    ///
    /// # Panics
    /// As that.
    pub fn in_place_scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        self.0.with(|pool| pool.scope(|scope| op(Scope::of(scope))))
    }

    /// As [`in_place_scope_fifo`](crate::in_place_scope_fifo), with jobs in this pool.
    ///
    /// # Panics
    /// As that.
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        self.0.with(|pool| pool.scope_fifo(|scope| op(ScopeFifo::of(scope))))
    }

    /// As [`spawn`](crate::spawn()), in this pool.
    pub fn spawn<OP: FnOnce() + Send + 'static>(&self, op: OP) {
        self.0.with(|pool| pool.spawn(op));
    }

    /// As [`spawn_fifo`](crate::spawn_fifo), in this pool.
    pub fn spawn_fifo<OP: FnOnce() + Send + 'static>(&self, op: OP) {
        self.0.with(|pool| pool.spawn_fifo(op));
    }

    /// As [`spawn_broadcast`](crate::spawn_broadcast), in this pool.
    pub fn spawn_broadcast<OP>(&self, op: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        self.0.with(|pool| pool.spawn_broadcast(move |me| op(BroadcastContext::new(me))));
    }

    /// Runs a task of this pool, if there is one. `None`: the calling thread does not belong to this pool.
    pub fn yield_now(&self) -> Option<Yield> {
        self.0.with_bee(|me| me.map(|me: PoolBee<'_>| Yield::of(me.run_one())))
    }

    /// Runs a task that the calling thread has queued itself, or that only it may run. `None`: it does not belong to
    /// this pool.
    pub fn yield_local(&self) -> Option<Yield> {
        self.0.with_bee(|me| me.map(|me: PoolBee<'_>| Yield::of(me.run_one_own())))
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool")
            .field("num_threads", &self.current_num_threads())
            .field("id", &self.0.unique_number())
            .finish()
    }
}

impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Builds a pool.
    ///
    /// # Errors
    /// If a thread cannot be started, or if [`use_current_thread`](Self::use_current_thread) was asked for on a thread
    /// that belongs to a pool already. The threads started by then end by themselves.
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        self.build_pool().map(ThreadPool)
    }
}

impl ThreadPoolBuilder {
    /// Builds a pool whose threads may borrow from outside, runs `with_pool`, and waits until the threads have ended.
    /// Each thread calls `wrapper`, which has to call [`ThreadBuilder::run`].
    ///
    /// ```
    /// let greeting = String::from("hello");
    /// let length = rayon_core::ThreadPoolBuilder::new().num_threads(2).build_scoped(
    ///     |thread| {
    ///         println!("{greeting} from thread {}", thread.index());
    ///         thread.run()
    ///     },
    ///     |pool| pool.install(|| greeting.len()),
    /// );
    /// assert_eq!(length.unwrap(), 5);
    /// ```
    ///
    /// # Errors
    /// As [`build`](Self::build).
    ///
    /// # Panics
    /// If `with_pool` or a call of `wrapper` does.
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        let wrapper = &wrapper;
        thread::scope(|scope| {
            let start = |thread: ThreadBuilder| thread.to_std().spawn_scoped(scope, || wrapper(thread)).map(drop);
            // Dropped at the end of this closure, also by a panic: then the threads end, which the scope waits for.
            let pool = self.spawn_handler(start).build()?;
            Ok(with_pool(&pool))
        })
    }
}
