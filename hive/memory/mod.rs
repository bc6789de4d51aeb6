//! Memory by NUMA node, and the plan of who owns what of it. What to use when is in `docs/memory.md`.

mod along;
mod moves;
mod nodes;
mod numa_vec;
mod placement;
mod plan;
mod system;

pub use moves::{Move, Moves, Owner};
pub(crate) use nodes::local_to;
pub use nodes::memory_nodes;
pub use numa_vec::NumaVec;
pub use placement::Placement;
pub use plan::Plan;
pub use system::node_of;
