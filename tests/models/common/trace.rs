//! The event log of `hive/observe/trace/`, as in the library.

#[allow(dead_code, reason = "whole, as in the library")]
#[path = "../../../hive/observe/trace/event.rs"]
pub(crate) mod event;
#[allow(dead_code, reason = "as above")]
#[path = "../../../hive/observe/trace/log.rs"]
pub(crate) mod log;
