//! Kernels on a sparse matrix: its product with a vector, and conjugate gradients. Rows go to the threads in blocks of
//! about equally many nonzeros, the same for all runtimes.

mod cg;
mod check;
mod placed;
mod spmv;

pub(crate) use cg::System;
pub(crate) use check::largest_error;
pub(crate) use placed::Placed;
pub(crate) use spmv::Product;
