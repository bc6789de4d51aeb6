#![doc = include_str!("../../docs/adapters.md")]

pub mod free_region;
#[cfg(feature = "orx-parallel")]
pub mod orx_parallel;
#[cfg(feature = "paralight")]
pub mod paralight;
#[cfg(feature = "rayon")]
pub mod rayon;
pub mod task_pool;
