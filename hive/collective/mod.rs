//! What the members of a team compute together inside a region.

mod all_reduce;
mod broadcast;
mod ordered;
mod scan;
mod single;

pub use ordered::Ordered;
