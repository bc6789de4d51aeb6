//! The runtimes that are measured, behind one interface. Each file is one runtime, used as its documentation says.

mod availability;
pub(crate) mod callers;
pub(crate) mod chili;
pub(crate) mod constructs;
pub(crate) mod forkunion;
pub(crate) mod hive;
#[cfg(openmp_compiled)]
pub(crate) mod in_c;
pub(crate) mod loops;
pub(crate) mod openmp;
pub(crate) mod rayon;
#[cfg(feature = "rayon-interop")]
pub(crate) mod rayon_interop;
mod runtime;
pub(crate) mod sequential;
pub(crate) mod solve;
pub(crate) mod std_scope;
pub(crate) mod tasks;
pub(crate) mod team_thread;

pub(crate) use availability::availability;
pub(crate) use runtime::{CANNOT, Runtime, jacobi_thread};
