//! Closures that each thread of a pool runs once.

use std::fmt;
use std::marker::PhantomData;

use hive::adapters::task_pool::pool_bee::PoolBee;

use crate::global::with_current_pool;

/// What a closure learns that each thread of a pool runs.
pub struct BroadcastContext<'a> {
    me: PoolBee<'a>,
    /// It is about the thread that it is on, and is not to be kept.
    _stays: PhantomData<&'a mut dyn Fn()>,
}

impl<'a> BroadcastContext<'a> {
    pub(crate) fn new(me: PoolBee<'a>) -> Self {
        Self { me, _stays: PhantomData }
    }

    /// The number of the thread in its pool, from 0.
    pub fn index(&self) -> usize {
        self.me.index()
    }

    /// The number of the pool's threads.
    pub fn num_threads(&self) -> usize {
        self.me.threads()
    }
}

impl fmt::Debug for BroadcastContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastContext")
            .field("index", &self.index())
            .field("num_threads", &self.num_threads())
            .field("pool", &self.me.pool_number())
            .finish()
    }
}

/// Runs `op` once on each thread of the calling thread's pool, or else of the global one, and returns the results in
/// the order of the threads' indices.
///
/// ```
/// let squares = rayon_core::broadcast(|context| context.index() * context.index());
/// assert!(squares.iter().enumerate().all(|(index, &square)| square == index * index));
/// ```
///
/// # Panics
/// With a panic of `op`, after all have ended.
pub fn broadcast<OP, R>(op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    with_current_pool(|pool| pool.broadcast(|me| op(BroadcastContext::new(me))))
}

/// Spawns a job that each thread of the calling thread's pool, or else of the global one, runs once.
///
/// ```
/// let (sender, receiver) = std::sync::mpsc::channel();
/// rayon_core::spawn_broadcast(move |context| sender.send(context.index()).unwrap());
/// assert_eq!(receiver.iter().count(), rayon_core::current_num_threads());
/// ```
pub fn spawn_broadcast<OP>(op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    with_current_pool(|pool| pool.spawn_broadcast(move |me| op(BroadcastContext::new(me))));
}
