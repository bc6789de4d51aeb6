//! The hive as its users hold it: the handle and its builder, configuration and environment, the global hive, what the
//! handle and the workers' threads share, errors, hooks and the report.

pub(crate) mod config;
pub(crate) mod environment;
pub(crate) mod error;
pub(crate) mod global;
pub(crate) mod handle;
pub(crate) mod hooks;
pub(crate) mod report;
pub(crate) mod shared;
pub(crate) mod thread_host;
pub(crate) mod wait_graph;
