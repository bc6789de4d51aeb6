//! Loops whose indices the bees of a team divide up among themselves.
//!
//! `shared_loop.rs` has the public `Loop` and decides by its schedule how a bee runs its part; `for_range.rs` runs a
//! loop inside a region, also one that the bees make there, and `par_for.rs` one as a region of its own.
//! Under `Static` and `StaticChunk` a bee computes its indices from its number. Under the other schedules the bees
//! coordinate through shared words (`loop_state.rs`, `dispatch.rs`, `work_range.rs`, `unit_queue.rs`,
//! `buffer_pool.rs`), by the protocol of `docs/loops.md`.

pub(crate) mod batch_size;
pub(crate) mod buffer_pool;
pub(crate) mod cache;
pub(crate) mod chunks;
pub(crate) mod dispatch;
pub(crate) mod for_range;
pub(crate) mod loop_spec;
pub(crate) mod loop_state;
pub(crate) mod own_state;
pub(crate) mod par_for;
pub(crate) mod par_map;
pub(crate) mod range_body;
pub(crate) mod schedule;
pub(crate) mod shared_loop;
pub(crate) mod slice_schedule;
pub(crate) mod stealing;
pub(crate) mod stop;
pub(crate) mod tiles;
pub(crate) mod unit_queue;
pub(crate) mod work_range;
