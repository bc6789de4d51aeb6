//! Memory by NUMA node, and the plan of who owns what of it. What to use when is in `docs/memory.md`.

pub(crate) mod mapping;
pub(crate) mod moves;
pub(crate) mod nodes;
pub(crate) mod numa_vec;
pub(crate) mod placement;
pub(crate) mod plan;
pub(crate) mod plan_loops;
