//! Memory on the NUMA nodes of the bees that use it, and the plan that says which bee owns which indices. When to use
//! what is described in `docs/memory.md`.
//!
//! A `Plan` (`plan.rs`) assigns indices to bees and nodes; it can be run as a loop, and `moves.rs` compares two
//! plans. `Hive::alloc` and `Hive::migrate` (`placement.rs`) place the pages of a `NumaVec` (`numa_vec.rs`). Below
//! them are the system's interfaces: pages and moving them (`pages.rs`), the machine's nodes and binding to them
//! (`nodes.rs`).

pub(crate) mod moves;
pub(crate) mod nodes;
pub(crate) mod numa_vec;
pub(crate) mod pages;
pub(crate) mod placement;
pub(crate) mod plan;
