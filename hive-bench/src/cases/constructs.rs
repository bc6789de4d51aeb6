//! What a construct costs beside the work in it.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Samples, check};
use crate::catalog::{Construct, Delay, work};
use crate::measure::timing;
use crate::record::{Budget, Job, Measured};
use crate::runtimes::Runtime;
use crate::stats::median;

/// About a tenth of a microsecond, as in syncbench.
const DELAY: Delay = Delay { wait: work, length: 100 };

/// How long a delay takes on a single thread. Call it before there is a team, whose waiting threads might share a core
/// with this one.
pub(crate) fn delay_alone(budget: &Budget) -> f64 {
    let samples = timing::batches(budget, |times| (0..times).for_each(|_| DELAY.wait()));
    median(&samples).unwrap_or_default()
}

/// The time of a construct less that of the delays in it.
pub(super) fn overhead(runtime: &mut impl Runtime, job: &Job, measured: &Measured) -> Samples {
    let construct = job.case.construct().ok_or("this case has no construct")?;
    verify(runtime, construct)?;
    let alone = measured.delay.unwrap_or_else(|| delay_alone(&job.budget)) * construct.delays() as f64;
    let constructs = timing::try_batches(&job.budget, |times| {
        let total = runtime.constructs(construct, times, DELAY);
        let expected = if construct == Construct::Reduction { times as f64 * runtime.threads() as f64 } else { total };
        check("the total of sums of ones", total, expected)
    })?;
    Ok(constructs.into_iter().map(|with| with - alone).collect())
}

/// Whether the delays are as many as there should be.
fn verify(runtime: &mut impl Runtime, construct: Construct) -> Result<(), String> {
    static DELAYS: AtomicU64 = AtomicU64::new(0);
    extern "C" fn count(_length: u64) {
        // Relaxed, here and below: the end of the region orders the additions before the load.
        DELAYS.fetch_add(1, Ordering::Relaxed);
    }
    const TIMES: u64 = 5;
    let before = DELAYS.load(Ordering::Relaxed);
    runtime.constructs(construct, TIMES, Delay { wait: count, length: 0 });
    let delays = DELAYS.load(Ordering::Relaxed) - before;
    let expected = TIMES * construct.delays_of_all(runtime.threads() as u64);
    check(&format!("the number of delays in {TIMES} of {construct:?}"), delays, expected)
}
