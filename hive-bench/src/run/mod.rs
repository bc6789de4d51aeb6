//! A run: the driver starts a runner, a process of its own, for each measurement of the plan.

pub(crate) mod driver;
pub(crate) mod own_process;
pub(crate) mod plan;
pub(crate) mod rounds;
pub(crate) mod runner;
pub(crate) mod sizes;
