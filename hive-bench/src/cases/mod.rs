//! What is done with a team to measure it: one function a case, the same for every runtime.

mod callers;
mod constructs;
mod cpu;
mod idle;
mod kernels;
mod measure;
mod pending_tasks;
mod regions;
mod samples;
pub(crate) mod tasks;
mod warm_up;

pub(crate) use constructs::delay_alone;
pub(crate) use kernels::expected_checksum;
#[cfg(feature = "rayon-interop")]
pub(crate) use measure::rayon_interop;
pub(crate) use measure::run;
pub(crate) use samples::numbers_alone;
