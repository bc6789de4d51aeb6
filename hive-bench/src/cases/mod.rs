//! What is done with a team to measure it: one function a case, the same for every runtime.

mod constructs;
mod cpu;
mod hot;
mod idle;
mod idle_use;
mod join;
mod kernel;
mod landing;
mod loops;
mod measure;
mod resize;
mod sparse;
mod spawn;
pub(crate) mod tasks;
mod wake;
mod warm_up;

pub(crate) use constructs::delay_alone;
#[cfg(feature = "rayon-interop")]
pub(crate) use measure::rayon_interop;
pub(crate) use measure::{expected_checksum, run};
