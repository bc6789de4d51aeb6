//! What a task pool (`hive/adapters/task_pool/`) has besides what every hive has: the count of what keeps it alive, and
//! a queue for each of its threads.

use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam_utils::CachePadded;

use crate::protocol::tasks::fifo::Fifo;
use crate::protocol::tasks::pool_rules::PoolRules;

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
}

impl TaskPoolState {
    /// The state of a pool of so many threads, with its handle as the only keeper.
    pub(crate) fn new(threads: u32, first_bee: u32, is_breadth_first: bool) -> Self {
        Self {
            rules: PoolRules::new(threads, is_breadth_first),
            first_bee,
            fifos: (0..first_bee + threads).map(|_| Fifo::default()).collect(),
            keepers: CachePadded::new(AtomicUsize::new(1)),
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
