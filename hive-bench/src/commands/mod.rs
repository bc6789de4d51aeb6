//! What the program does: a file or a folder for each command. `model` has a folder of its own beside this one.

pub(crate) mod captures;
pub(crate) mod compare;
pub(crate) mod crowd;
pub(crate) mod generate;
pub(crate) mod latency;
pub(crate) mod list;
pub(crate) mod merge;
#[cfg(feature = "hwloc")]
pub(crate) mod numa;
pub(crate) mod numeric;
pub(crate) mod report;
pub(crate) mod sweep;
#[cfg(feature = "hwloc")]
pub(crate) mod topo;
pub(crate) mod trace;
