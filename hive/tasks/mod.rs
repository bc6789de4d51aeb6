//! Tasks: what runs between regions, on the same bees, by work stealing.

mod blocked;
mod current;
mod first_panic;
mod handle;
mod heap_job;
mod join;
mod on_the_spot;
mod place;
mod pointer;
mod scope;
mod stack_job;

pub(crate) use current::within;
pub use current::{current, yield_now};
pub(crate) use heap_job::is_large;
pub(crate) use place::with_turn;
pub use scope::Scope;
