//! What all files of this folder ask of a pool's shared state.

use std::ops::Range;

use crate::pool::shared::Shared;
use crate::pool::task_pool_state::TaskPoolState;

/// What the shared state of a task pool has besides that of a hive.
pub(super) fn state_of(shared: &Shared) -> &TaskPoolState {
    shared.task_pool.as_ref().unwrap_or_else(|| unreachable!("a task pool has this"))
}

/// The numbers of the bees that are the pool's threads, in the order of their indices.
pub(super) fn bees_of(shared: &Shared) -> Range<u32> {
    state_of(shared).first_bee..shared.config.bees
}

pub(super) fn threads_of(shared: &Shared) -> usize {
    bees_of(shared).len()
}

/// The index of bee `bee` among the threads of its pool.
pub(super) fn index_of(pool: &Shared, bee: u32) -> usize {
    (bee - state_of(pool).first_bee) as usize
}
