//! Data that the members of a team share out among themselves, in safe Rust.

mod loan;
mod par_rows;
mod parts;
mod per_bee;

pub use parts::{PartMut, PartRef, Parts};
pub use per_bee::{PerBee, PerBeeMut};
