//! What can be seen of a hive from outside.
//!
//! `counters.rs` and `stats.rs`: how often each bee has done what. `activity.rs` and `watchdog.rs`: what each bee is
//! doing now, and a thread that reports regions without progress. `trace/`: timelines. `in_flight.rs`: how lost
//! wake-ups are told from ones on their way. `build_info.rs`: how the library was built. `body_times.rs`,
//! `cold_parts.rs` and `wake_delay.rs`: what a hive learns from how long things take. The protocols write here through
//! `sync.rs`, which the models replace.

pub(crate) mod activity;
pub(crate) mod body_times;
pub(crate) mod build_info;
pub(crate) mod cold_parts;
pub(crate) mod counters;
pub(crate) mod help;
pub(crate) mod in_flight;
pub(crate) mod stats;
pub(crate) mod trace;
pub(crate) mod wake_delay;
pub(crate) mod watchdog;
