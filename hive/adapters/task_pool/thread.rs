//! A thread of a task pool, from its first step to its last.

use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use crate::adapters::task_pool::pool_bee::index_of;
use crate::pool::shared::Shared;
use crate::pool::worker_thread::LiveOwner;
use crate::protocol::abort_on_unwind::AbortOnUnwind;
use crate::protocol::tasks::task_context::TaskContext;
use crate::protocol::worker::main_loop::Worker;
use crate::region::nesting;
use crate::sys::{presence, stack_room};

/// A thread that a pool needs: see [`PoolBuilder::build`](super::builder::PoolBuilder::build).
pub struct PoolThread {
    owner: LiveOwner,
    bee: u32,
    epoch: u64,
}

impl PoolThread {
    pub(super) fn new(shared: &Arc<Shared>, bee: u32, epoch: u64) -> Self {
        Self { owner: LiveOwner::new(shared), bee, epoch }
    }

    /// The number of the thread in its pool, from 0.
    pub fn index(&self) -> usize {
        index_of(self.owner.shared(), self.bee)
    }

    /// Runs the pool's tasks on the calling thread until the pool has ended. Afterwards the thread belongs to no pool.
    // Unlike a hive's worker, it is neither bound nor are its signals blocked: it belongs to whoever has started it.
    ///
    /// # Panics
    /// If the thread belongs to a pool or a hive already, which would have it back only when this pool has ended.
    pub fn run(self) {
        assert!(
            !nesting::is_inside_any(),
            "a thread cannot run the tasks of a pool inside of a task or a region; start one of its own for that"
        );
        let Self { owner, bee, epoch } = self;
        let shared = owner.shared();
        // A panic here is a fault of hive: tasks and handlers catch the panics of the program's code.
        let abort_guard = AbortOnUnwind::new("in the main function of a pool's thread");
        let _on_core = presence::count_on_core();
        let policy = shared.team.policy();
        let _looks = policy.cpus.begin_to_look(false);
        let context = TaskContext::new(&shared.team, bee);
        stack_room::ask_for_end_of_stack(None);
        // The pool may have ended before it knew of this thread: if `start` has returned an error although the thread
        // runs. The fence pairs with the one in `Shared::release_keeper`: either this finds that the pool has ended, or
        // `terminate_all` finds this bee, which the context has counted as hired.
        fence(Ordering::SeqCst);
        // Relaxed: ordered by the fence. Usually no lock is taken here: `start` may be waiting for this thread, and
        // runs under that lock.
        if shared.has_ended.load(Ordering::Relaxed) {
            shared.team.terminate_if_ended(bee);
        }
        let (handlers, index) = (&shared.config.asked.handlers, index_of(shared, bee) as u32);
        nesting::within_tasks(&context, || {
            context.run_as_task(|| handlers.run(handlers.start.as_ref(), index));
            policy.abort_if_forked();
            // Until `start` has returned for the first thread, the team's size is 1, and the thread is woken as the
            // worker of a lone queen. Who queued a task before the context was there did not know of the thread, and
            // nobody wakes it for what its start handler has spawned. The fence above pairs with the one in
            // `Team::notify_of_jobs`, too: either this finds the task, or that finds the thread.
            if bee == 1 {
                shared.team.wake_first_worker_of_lone_queen();
            }
            Worker::new(&context, epoch).run();
            context.run_as_task(|| handlers.run(handlers.exit.as_ref(), index));
            // What the handler has spawned lies in this bee's deque, and the other threads may have ended.
            context.run_all();
        });
        // A child that was forked in a task or a handler must not go on: it has none of the pool's other threads.
        policy.abort_if_forked();
        abort_guard.disarm();
    }
}
