//! What a hive measures about its machine.
//!
//! When a hive is built, `calibrate_line.rs` chooses the cache line in which its regions start, and `barrier_choice.rs`
//! the shape of its barriers, from measurements (`trial.rs`) that are kept for later (`cached_times.rs`, `cache.rs`).
//! While a hive runs, `back_off.rs` finds for each worker how soon after a region it should poll again.

pub(crate) mod back_off;
pub(crate) mod barrier_choice;
pub(crate) mod cache;
pub(crate) mod cached_times;
pub(crate) mod calibrate_line;
pub(crate) mod trial;
