//! Tasks: work that bees run between regions, by work stealing. This folder is what the public interface needs for
//! them; the queues, the stealing and the sleeping are in `protocol/tasks/`.
//!
//! `handle.rs` has the public methods, `enter.rs` finds a bee for a calling thread, and `join.rs` and `scope.rs` are
//! the two ways to wait for tasks.

pub(crate) mod async_task;
pub(crate) mod blocking;
pub(crate) mod caller;
pub(crate) mod caller_queue;
pub(crate) mod enter;
pub(crate) mod handle;
pub(crate) mod job_memory;
pub(crate) mod join;
pub(crate) mod owned_job;
pub(crate) mod scope;
pub(crate) mod scope_job;
pub(crate) mod stack_job;
