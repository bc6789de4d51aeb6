//! A pool of threads that run tasks by work stealing, with the rules of Rayon's thread pools: what the package
//! `rayon-core` of this repository is made of.
//!
//! A [`TaskPool`](handle::TaskPool) is a hive's task engine without a hive's queen. All its threads are its own: a
//! thread from outside hands its work over and sleeps until it is done, and any number of threads may do so at the same
//! time. A thread of one pool that hands work to another pool goes on running tasks of its own pool meanwhile, so pools
//! may call each other in circles.
//!
//! Programs use Rayon's interface instead, and nothing here but [`resizing`] is covered by what
//! [docs/stability.md](https://docs.rs/crate/hive-spmd) promises. `docs/rayon-core.md` says how the two interfaces
//! correspond.
//!
//! ```
//! use hive::adapters::task_pool::builder::PoolBuilder;
//!
//! let pool = PoolBuilder::default().build(2, |thread| {
//!     std::thread::Builder::new().spawn(|| thread.run()).map(drop)
//! })?;
//! let sum = pool.enter(|bee, _| {
//!     let (low, high) = bee.join(|| (1..=50).sum::<u64>(), |_| (51..=100).sum::<u64>());
//!     low + high
//! });
//! assert_eq!(sum, 5050);
//! # Ok::<(), hive::adapters::task_pool::builder::BuildError>(())
//! ```

pub mod builder;
mod completion;
pub mod handle;
pub mod pool_bee;
pub mod pool_ref;
pub mod resizing;
pub mod scope;
pub mod thread;

pub use crate::sys::process::PerProcess;
