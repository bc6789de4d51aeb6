//! Other libraries on a hive's threads, each behind a cargo feature of its own; none is on by default.
//!
//! | feature | what it gives |
//! |---|---|
//! | `paralight` | `&Hive` is a thread pool for paralight's iterators |
//! | `orx-parallel` | `&Hive` is a thread pool for orx-parallel's iterators |

#[cfg(feature = "orx-parallel")]
pub mod orx_parallel;
#[cfg(feature = "paralight")]
pub mod paralight;
#[cfg(feature = "paralight")]
mod shares;
