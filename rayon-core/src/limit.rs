//! How many threads the pools of this process use, for those who find a library's functions by their names, such as
//! Python's `threadpoolctl`.

#![allow(unsafe_code, reason = "no other library has functions of these names")]

use std::ffi::c_int;

use hive::adapters::task_pool::resizing::{limit_threads, most_in_use, most_threads, thread_limit};

use crate::builder::default_threads;

/// Limits the number of threads that each pool of this process uses, also those that are built later. A number below 1
/// counts as 1; as many as the largest pool has, and as the global pool has or would have, are no limit. So a caller
/// who sets what [`hive_rayon_get_num_threads`] has returned before leaves none behind. It takes the place of what the
/// variable `HIVE_POOL_THREADS` has said. Programs in Rust call [`limit_threads`], which does this.
#[unsafe(no_mangle)]
pub extern "C" fn hive_rayon_set_num_threads(threads: c_int) {
    let threads = usize::try_from(threads).unwrap_or(1);
    let all = most_threads().unwrap_or(0).max(default_threads());
    limit_threads(if threads >= all { usize::MAX } else { threads });
}

/// The limit that has been set; else the largest number of threads that a pool of this process uses; or, if there is
/// none, that the global pool would have.
#[unsafe(no_mangle)]
pub extern "C" fn hive_rayon_get_num_threads() -> c_int {
    let threads = thread_limit().or_else(most_in_use).unwrap_or_else(default_threads);
    c_int::try_from(threads).unwrap_or(c_int::MAX)
}
