//! The protocol of tasks: the queues they wait in, what a bee needs to run and steal them, and how bees without work go
//! to sleep and are woken.

pub(crate) mod deque_marks;
pub(crate) mod idle;
pub(crate) mod join_buffer;
pub(crate) mod latch;
pub(crate) mod queues;
pub(crate) mod sleep;
pub(crate) mod task;
pub(crate) mod task_context;
