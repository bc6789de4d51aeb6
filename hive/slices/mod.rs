//! Ways for the bees of a team to write to shared data in safe Rust.
//!
//! `Hive::par_for_mut` and `Hive::par_rows_mut` pass each bee the elements that belong to its indices, and
//! `Hive::par_zip_mut` those of several slices (`par_mut.rs`). `Parts` lends whole parts of a slice (`parts.rs`),
//! and `PerBee` has a separate value for each bee (`per_bee.rs`). Both check at run time who has borrowed what
//! (`borrow.rs`), and lend by guards (`guard.rs`).

pub(crate) mod borrow;
pub(crate) mod guard;
pub(crate) mod par_mut;
pub(crate) mod parts;
pub(crate) mod per_bee;
