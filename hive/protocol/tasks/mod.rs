//! The protocol of tasks: the queues that tasks wait in, what a bee needs to run and steal them, and how bees without
//! work fall asleep and are woken. The public side of tasks, with scopes and joins, is in `hive/tasks/`.
//!
//! See `docs/sleep.md`.

pub(crate) mod caller_latch;
mod deep_waits;
pub(crate) mod demand;
pub(crate) mod deque_marks;
pub(crate) mod fifo;
pub(crate) mod held_credit;
pub(crate) mod idle;
pub(crate) mod latch;
pub(crate) mod linked_joins;
pub(crate) mod lone_queen;
pub(crate) mod pool_rules;
pub(crate) mod queues;
pub(crate) mod scope_count;
mod search;
mod share_joins;
pub(crate) mod sleep;
pub(crate) mod task;
pub(crate) mod task_context;
mod visible_joins;
