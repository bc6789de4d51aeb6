//! What a hive chooses by its machine.
//!
//! When a hive is built, `calibrate_line.rs` chooses the cache line in which its regions start, by a measurement, and
//! `barrier_choice.rs` the shape of its barriers, by the bees' places. (How soon after a region a worker polls again is
//! found while the hive runs: `sys/back_off.rs`.)

pub(crate) mod barrier_choice;
pub(crate) mod calibrate_line;
pub(crate) mod parse_shape;
