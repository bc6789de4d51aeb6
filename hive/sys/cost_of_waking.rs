//! What it costs to wake a worker, where it has not been measured (`observe/wake_delay.rs`). Whoever has to choose
//! between that and something else takes this number: for example how long a worker polls before it sleeps
//! (`poll_time.rs`).

use std::time::Duration;

/// About the time from the wake-up of a thread, whose CPU is idle, until it runs.
pub(crate) const COST_OF_WAKING: Duration = Duration::from_micros(50);

/// The same in nanoseconds.
pub(crate) const NANOS_OF_WAKING: u64 = COST_OF_WAKING.as_nanos() as u64;
