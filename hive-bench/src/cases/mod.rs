//! What is done with a team to measure it: one function a case, the same for every runtime.

mod batches;
mod callers;
mod cold_for;
mod constructs;
mod cpu;
mod idle;
mod idle_use;
mod join;
mod kernel;
mod loops;
mod measure;
mod pending_tasks;
mod resize;
mod sparse;
mod spawn;
pub(crate) mod tasks;
mod wake;
mod warm_up;
mod work;

pub(crate) use constructs::delay_alone;
#[cfg(feature = "rayon-interop")]
pub(crate) use measure::rayon_interop;
pub(crate) use measure::{expected_checksum, run};
pub(crate) use work::numbers_alone;
