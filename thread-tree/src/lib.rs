//! The interface of `thread-tree`, on [hive]: a package to put in that crate's place.
//!
//! ```toml
//! [patch.crates-io]
//! thread-tree = { path = "../hive/thread-tree" }
//! ```
//!
//! A program whose dependencies use `thread-tree`, such as `matrixmultiply` with its feature `threading`, then runs on
//! hive's threads without any other change.
//!
//! A [`ThreadTree`] of level n divides work in two, n times over, on 2<sup>n</sup> threads: each
//! [`join`](ThreadTreeCtx::join) runs one half on the calling thread and the other on a thread that is there for it.
//!
//! ```
//! use thread_tree::{ThreadTree, ThreadTreeCtx};
//!
//! fn sum(data: &[u64], tree: ThreadTreeCtx<'_>) -> u64 {
//!     if !tree.is_parallel() {
//!         return data.iter().sum();
//!     }
//!     let (low, high) = data.split_at(data.len() / 2);
//!     let (low, high) = tree.join(|tree| sum(low, tree), |tree| sum(high, tree));
//!     low + high
//! }
//!
//! let data: Vec<u64> = (1..=1000).collect();
//! let tree = ThreadTree::new_with_level(2);
//! assert_eq!(sum(&data, tree.top()), 500_500);
//! ```
//!
//! # Which threads
//! - Each inner node of the tree has a hive of two bees: the thread that calls `join` there, and a worker, which runs
//!   the second closure. Such a hive is built by the first join that needs it, its worker sleeps when there is nothing
//!   to do, and it ends when the tree is dropped.
//! - The top node takes bee 1 of the [global hive](hive::global) instead, if the program has built that, and it has
//!   2<sup>n</sup> bees or more and is free at that moment.
//! - A node is used by one join at a time. If it is in use (another thread has called `join` there, or the caller is
//!   inside of such a join), both closures run on the calling thread, which waits for nobody.
//! - The same holds at the top of a tree inside a region or a task of a hive, if the global hive is not to be had: the
//!   program has divided its work there already.

mod context;
mod half;
mod node;
mod tree;

pub use crate::context::ThreadTreeCtx;
pub use crate::tree::ThreadTree;
