//! Ways for the bees of a team to write to shared data in safe Rust.
//!
//! `Hive::par_for_mut` and `Hive::par_rows_mut` pass each bee the elements that belong to its indices, and
//! `Hive::par_zip_mut` those of several slices (`par_mut.rs`); `Hive::par_tiles_mut` the
//! tiles of a matrix (`tiles_mut.rs`). `Parts` lends whole parts of a slice (`parts.rs`), and `PerBee` has a separate
//! value for each bee (`per_bee.rs`). Both check at run time who has borrowed what (`borrow.rs`), and lend by guards
//! (`guard.rs`). A `SharedSlice` is written to at any index by any bee (`shared_slice.rs`).

pub(crate) mod borrow;
pub(crate) mod guard;
pub(crate) mod par_mut;
pub(crate) mod parts;
pub(crate) mod per_bee;
pub(crate) mod shared_slice;
pub(crate) mod tiles_mut;

/// How many rows of `width` elements a slice of `len` elements has.
///
/// # Panics
/// If `width` is 0, or the last row is incomplete.
#[track_caller]
pub(crate) fn count_rows(len: usize, width: usize) -> usize {
    assert!(width > 0, "a row of 0 elements");
    assert!(len % width == 0, "{len} elements are no whole number of rows of {width}");
    len / width
}
