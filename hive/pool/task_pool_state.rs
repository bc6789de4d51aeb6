//! What a task pool (`hive/adapters/task_pool/`) has besides what every hive has: the count of what keeps it alive, a
//! queue for each of its threads, and how many of these it is to use.

use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam_utils::CachePadded;

use crate::protocol::tasks::fifo::Fifo;
use crate::protocol::tasks::pool_rules::PoolRules;
use crate::sync::Mutex;

/// The part of a task pool's shared state that hives do not have.
pub(crate) struct TaskPoolState {
    /// How its bees run tasks.
    pub(crate) rules: PoolRules,
    /// The bee that is the pool's thread 0: bee 0, if that is the thread that has built the pool; else bee 1.
    pub(crate) first_bee: u32,
    /// For each bee the tasks that it has spawned to be run in order.
    pub(crate) fifos: Box<[Fifo]>,
    /// What keeps the pool alive: its handle, and each spawned job that has not ended.
    keepers: CachePadded<AtomicUsize>,
    /// How many of its threads it is to use. The lock is held while that is changed.
    pub(crate) size: Mutex<PoolSize>,
}

/// How many of its threads a pool is to use.
#[derive(Debug)]
pub(crate) struct PoolSize {
    /// As many as this, if it has them.
    pub(crate) asked: usize,
    /// The limit for pools in the environment of the process that has built it.
    pub(crate) environment: usize,
    /// Whether all threads have been started, so that their number can be changed.
    pub(crate) is_built: bool,
}

impl TaskPoolState {
    /// The state of a pool whose threads are started now, with its handle as the only keeper. `limit`: how many of them
    /// the environment lets it use.
    pub(crate) fn new(rules: PoolRules, first_bee: u32, limit: usize) -> Self {
        Self {
            rules,
            first_bee,
            fifos: (0..first_bee + rules.threads).map(|_| Fifo::default()).collect(),
            keepers: CachePadded::new(AtomicUsize::new(1)),
            size: Mutex::new(PoolSize { asked: usize::MAX, environment: limit, is_built: false }),
        }
    }

    /// Counts some more keepers. The caller is one, or runs a job that is one; or the pool has ended already.
    pub(crate) fn add_keepers(&self, keepers: usize) {
        // Relaxed: a count. The job is handed over by its queue.
        self.keepers.fetch_add(keepers, Ordering::Relaxed);
    }

    /// Counts a keeper as gone. Returns whether it was the last.
    pub(crate) fn release_keeper(&self) -> bool {
        // AcqRel: pairs with itself in the other keepers: the last one has seen what they did.
        self.keepers.fetch_sub(1, Ordering::AcqRel) == 1
    }
}
