//! What a construct costs beside the work in it.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::results::{Job, Measured};
use crate::runtimes::Runtime;
use crate::runtimes::constructs::{Construct, Constructs, Delay, work};
use crate::timing;

/// About a tenth of a microsecond, as in syncbench.
const LENGTH: u64 = 100;

/// The time of a construct less that of the delays in it, measured in turn.
pub(crate) fn overhead(runtime: &mut (impl Runtime + Constructs), job: &Job, measured: &mut Measured) -> Result<(), String> {
    let construct = job.case.construct().ok_or("this case has no construct")?;
    verify(runtime, construct)?;
    let delay = Delay { wait: work, length: LENGTH };
    let mut outcome = Ok(());
    let [constructs, delays] = timing::batches_in_turn(&job.effort, |which, times| match which {
        0 => outcome = runtime.constructs(construct, times, delay),
        _ => (0..times * construct.delays()).for_each(|_| delay.wait()),
    });
    measured.samples = constructs.into_iter().zip(delays).map(|(with, without)| with - without).collect();
    outcome
}

/// Whether the delays are as many as there should be.
fn verify(runtime: &mut (impl Runtime + Constructs), construct: Construct) -> Result<(), String> {
    static DELAYS: AtomicU64 = AtomicU64::new(0);
    extern "C" fn count(_length: u64) {
        // Relaxed, here and below: the end of the region stands between.
        DELAYS.fetch_add(1, Ordering::Relaxed);
    }
    const TIMES: u64 = 5;
    let before = DELAYS.load(Ordering::Relaxed);
    runtime.constructs(construct, TIMES, Delay { wait: count, length: 0 })?;
    let delays = DELAYS.load(Ordering::Relaxed) - before;
    let expected = TIMES * construct.delays_of_all(runtime.members() as u64);
    if delays == expected { Ok(()) } else { Err(format!("{TIMES} of {construct:?} had {delays} delays in them, not {expected}")) }
}
