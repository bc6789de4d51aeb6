//! The hive as a program holds it: the handle and its builder, the configuration and the environment, the state that
//! the handle shares with the workers' threads, errors, handlers and the report.
//!
//! This folder makes threads, places and clocks available to the protocol code in `hive/protocol/`, which knows nothing
//! of them. Regions are started here; loops and tasks are methods of the handle that live in folders of their own.

pub(crate) mod async_caller;
pub(crate) mod build;
pub(crate) mod builder;
pub(crate) mod config;
pub(crate) mod environment;
pub(crate) mod error;
pub(crate) mod handle;
pub(crate) mod handlers;
pub(crate) mod lone_loops;
pub(crate) mod lone_parts;
pub(crate) mod loop_costs;
pub(crate) mod regions;
pub(crate) mod report;
pub(crate) mod resizing;
pub(crate) mod run_parts;
pub(crate) mod shared;
pub(crate) mod shut_down;
pub(crate) mod task_pool_state;
pub(crate) mod thread_host;
pub(crate) mod wait_graph;
pub(crate) mod worker_thread;
