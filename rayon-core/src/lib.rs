//! The interface of `rayon-core`, on [hive](hive): a package to put in that crate's place.
//!
//! ```toml
//! [patch.crates-io]
//! rayon-core = { path = "../hive/rayon-core" }
//! ```
//!
//! A program that uses `rayon`, or whose dependencies do, then runs on hive's threads without any other change. How
//! this maps to hive, and what is different, is in the repository's `docs/rayon-core.md`.
//!
//! ```
//! let (low, high) = rayon_core::join(|| (1..=50).sum::<u32>(), || (51..=100).sum::<u32>());
//! assert_eq!(low + high, 5050);
//! ```

mod broadcast;
mod builder;
mod configuration;
mod error;
mod global;
mod join;
mod limit;
mod pool;
mod scope;
mod spawn;
mod thread;

pub use crate::broadcast::{BroadcastContext, broadcast, spawn_broadcast};
pub use crate::builder::ThreadPoolBuilder;
#[allow(deprecated)]
pub use crate::configuration::{Configuration, initialize};
pub use crate::error::ThreadPoolBuildError;
pub use crate::global::{current_num_threads, max_num_threads};
pub use crate::join::{FnContext, join, join_context};
pub use crate::limit::{hive_rayon_get_num_threads, hive_rayon_set_num_threads};
pub use crate::pool::ThreadPool;
pub use crate::scope::{Scope, ScopeFifo, in_place_scope, in_place_scope_fifo, scope, scope_fifo};
pub use crate::spawn::{
    Yield, current_thread_has_pending_tasks, current_thread_index, spawn, spawn_fifo, yield_local, yield_now,
};
pub use crate::thread::ThreadBuilder;
