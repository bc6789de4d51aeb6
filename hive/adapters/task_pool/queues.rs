//! Where the tasks of a pool are queued.

#![allow(unsafe_code)]

use crate::adapters::task_pool::pool_bee::PoolBee;
use crate::adapters::task_pool::shared::state_of;
use crate::pool::shared::Shared;
use crate::protocol::tasks::task::Task;

/// Queues a task in the deque of the calling thread, if that belongs to the pool, and otherwise for any of its threads.
#[inline]
pub(super) fn push_or_inject(pool: &Shared, task: Task) {
    PoolBee::with(|me| match me.filter(|me| me.is_of(pool)) {
        Some(me) => me.context().push_spawned(task),
        None => pool.team.inject(task),
    });
}

/// The same for a task that is run after those that the calling thread has queued by this function before.
pub(super) fn push_fifo(pool: &Shared, task: Task) {
    PoolBee::with(|me| match me.filter(|me| me.is_of(pool)) {
        Some(me) => {
            let context = me.context();
            let fifo = &state_of(pool).fifos[context.id() as usize];
            // SAFETY: the queue belongs to the pool, whose threads run all proxies before they end.
            context.push_spawned(unsafe { fifo.push(task) });
        }
        None => pool.team.inject(task),
    });
}

/// Has the calling thread, if it belongs to the pool, put the second halves of joins that it is in the middle of into
/// its deque, before it sends a broadcast: as all that it has queued before, they come first.
pub(super) fn queue_own_joins(pool: &Shared) {
    PoolBee::with(|me| {
        if let Some(me) = me.filter(|me| me.is_of(pool)) {
            me.context().share_all_joins();
        }
    });
}

/// Queues a task that only bee `bee` runs. In a pool that has ended any bee may: that one may be gone.
pub(super) fn send_to(pool: &Shared, bee: u32, task: Task) {
    pool.team.inject_to_bee_or_any(bee, task);
}
