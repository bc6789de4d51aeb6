//! What the cases have in common: what they come to, how answers are checked, and work that is given as a time.

use std::thread;

pub(super) use crate::kernels::check;
use crate::kernels::roots;
use crate::record::{Job, Measured};
use crate::system::cpus;

/// What a case comes to: samples in its unit.
pub(super) type Samples = Result<Vec<f64>, String>;

/// How many numbers the case's loop adds up; `None` for cases whose work is not given as a time. Call it before there
/// is a team, whose waiting threads might share a core with the thread that finds out.
pub(crate) fn numbers_alone(job: &Job) -> Option<usize> {
    let work = job.case.work(job.threads)?;
    let first = job.cpus.first().copied();
    let finding_out = thread::spawn(move || {
        first.map(cpus::pin);
        roots::count_for(work)
    });
    finding_out.join().ok()
}

/// The same, found out earlier if possible.
pub(super) fn numbers(job: &Job, measured: &Measured) -> Result<usize, String> {
    measured.loop_len.or_else(|| numbers_alone(job)).ok_or_else(|| "this case's work is not given as a time".to_owned())
}
