//! Loops whose indices a team shares out. The protocol by which it does is in `docs/loops.md`.

mod board;
mod body;
mod grain;
mod later;
mod pace;
mod par_for;
mod queue;
mod schedule;
mod share;
mod shared_loop;
mod spare;
mod tiles;
mod walk;
mod words;

pub(crate) use body::Sum;
pub use schedule::Schedule;
#[cfg(feature = "paralight")]
pub(crate) use share::{MOST_UNITS, Share};
pub(crate) use shared_loop::Blocks;
pub use shared_loop::Loop;
pub use tiles::Tiles;
