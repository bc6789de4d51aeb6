//! The files of `hive/observe/` that the protocols write to, included as they are. They use the standard library's
//! atomics, so the checkers do not see these writes.

#[allow(dead_code, reason = "whole, as in the library")]
#[path = "../../../hive/observe/activity.rs"]
pub(crate) mod activity;
#[allow(dead_code, reason = "as above")]
#[path = "../../../hive/observe/counters.rs"]
pub(crate) mod counters;
#[allow(dead_code, reason = "as above")]
#[path = "../../../hive/observe/in_flight.rs"]
pub(crate) mod in_flight;

#[path = "cold_parts.rs"]
pub(crate) mod cold_parts;
#[path = "help.rs"]
pub(crate) mod help;
#[path = "trace.rs"]
pub(crate) mod trace;
#[path = "wake_delay.rs"]
pub(crate) mod wake_delay;
