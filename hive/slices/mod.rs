//! Data that the bees of a team share out among themselves, in safe Rust.

pub(crate) mod borrow;
pub(crate) mod par_rows;
pub(crate) mod parts;
pub(crate) mod per_bee;
