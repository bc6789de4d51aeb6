//! Many values combined into one, or into their prefix sums, as reproducibly as is wanted.

mod level;
mod over;
mod par_reduce;
mod par_reduce_plan;
mod par_scan;
mod reduction;
mod tree;

pub use level::{Fast, Fixed, Level, PerTeam};
pub use par_scan::Scan;
pub use reduction::Reduction;
