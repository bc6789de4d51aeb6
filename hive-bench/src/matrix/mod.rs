//! Sparse matrices: how they are kept, read from and written to Matrix Market files, and made up.
//!
//! The reader is our own. Of the crates, nalgebra-sparse and sprs bring a whole library of linear algebra,
//! matrix-market-rs does not know patterns, and none of them says on which line a file is wrong.

mod csr;
mod entry;
mod problems;
mod read;

pub(crate) use csr::Csr;
pub(crate) use entry::{Entry, Symmetry, coordinates};
pub(crate) use problems::Laplacian;
pub(crate) use read::file;
