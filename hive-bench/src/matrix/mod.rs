//! Sparse matrices: how they are kept, read from and written to Matrix Market files, and made up.
//!
//! The reader is our own. Of the crates, nalgebra-sparse holds the whole text in memory, matrix-market-rs knows neither
//! patterns nor skew symmetry, and neither it nor sprs says on which line a file is wrong.

mod csr;
mod entry;
mod header;
mod lines;
mod memory;
mod problems;
mod read;
mod write;

pub(crate) use csr::Csr;
pub(crate) use entry::{Entry, Symmetry};
pub(crate) use problems::{Laplacian, RandomGraph};
pub(crate) use read::{Loaded, file};
#[cfg(feature = "mpi")]
pub(crate) use read::{SomeRows, rows_of_file};
pub(crate) use write::coordinates;
