//! Tasks: what runs between regions, on the same bees, by work stealing.

pub(crate) mod blocking;
pub(crate) mod caller;
pub(crate) mod caller_queue;
pub(crate) mod enter;
pub(crate) mod first_panic;
pub(crate) mod handle;
pub(crate) mod heap_job;
pub(crate) mod join;
pub(crate) mod scope;
pub(crate) mod send_ptr;
pub(crate) mod stack_job;
