//! The data of a run: what is to be measured, and what came of it, in memory and in the file of `--json`.

mod budget;
mod given;
pub(crate) mod results;

pub(crate) use budget::Budget;
pub(crate) use given::Given;
pub(crate) use results::{Absent, Job, Measured, Outcome, Record, Reference, Run, read};
