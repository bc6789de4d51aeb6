//! What it costs to wake a worker. Whoever has to choose between that and something else takes this number: how long a
//! worker polls before it sleeps (`poll_time.rs`), and whether a loop is worth it (`pool/loop_costs.rs`).

use std::time::Duration;

/// About the time from the wake-up of a thread, whose CPU is idle, until it runs.
pub(crate) const COST_OF_WAKING: Duration = Duration::from_micros(50);
