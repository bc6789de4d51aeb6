//! How many threads the pools of this process use, for those who find a library's functions by their names, such as
//! Python's `threadpoolctl`.

#![allow(unsafe_code, reason = "no other library has functions of these names")]

use std::ffi::c_int;

use hive::adapters::task_pool::resizing::{limit_threads, most_in_use};

use crate::builder::default_threads;

/// Limits the number of threads that each pool of this process uses, also those that are built later. A number below 1
/// counts as 1. It takes the place of what the variable `HIVE_POOL_THREADS` has said. Programs in Rust call
/// [`limit_threads`], which does this.
#[unsafe(no_mangle)]
pub extern "C" fn hive_rayon_set_num_threads(threads: c_int) {
    limit_threads(usize::try_from(threads).unwrap_or(1));
}

/// The largest number of threads that a pool of this process uses; or, if there is none, that the global pool would
/// have.
#[unsafe(no_mangle)]
pub extern "C" fn hive_rayon_get_num_threads() -> c_int {
    c_int::try_from(most_in_use().unwrap_or_else(default_threads)).unwrap_or(c_int::MAX)
}
