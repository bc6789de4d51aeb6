//! Loops whose indices a team shares out. The protocol by which it does is in `docs/loops.md`.

pub(crate) mod batch_size;
pub(crate) mod buffer_pool;
pub(crate) mod cache;
pub(crate) mod chunks;
pub(crate) mod dispatch;
pub(crate) mod loop_state;
pub(crate) mod par_for;
pub(crate) mod range_body;
pub(crate) mod schedule;
pub(crate) mod shared_loop;
pub(crate) mod stealing;
pub(crate) mod tiles;
pub(crate) mod unit_queue;
pub(crate) mod work_range;

#[cfg(feature = "paralight")]
pub(crate) use crate::loops::work_range::{MAX_UNITS, WorkRange};
