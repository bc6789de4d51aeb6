//! What a hive measures about its machine.
//!
//! When a hive is built, `calibrate_line.rs` chooses the cache line in which its regions start, and `barrier_choice.rs`
//! the shape of its barriers, from measurements (`trial.rs`) that are kept for later (`cached_times.rs`, `cache.rs`).
//! (How soon after a region a worker polls again is found while the hive runs: `sys/back_off.rs`.)

pub(crate) mod barrier_choice;
pub(crate) mod cache;
pub(crate) mod cached_times;
pub(crate) mod calibrate_line;
pub(crate) mod parse_shape;
pub(crate) mod shape_times;
pub(crate) mod trial;
