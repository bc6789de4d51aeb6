//! All figures: what `--json` writes.

use serde::Serialize;

use super::{constructs, triad};

/// What was measured, and on which machine.
#[derive(Debug, Serialize)]
pub(super) struct Findings {
    pub(super) machine: String,
    /// The system's numbers of the nodes that have memory.
    pub(super) memory_nodes: Vec<usize>,
    /// Of one of the triad's three arrays.
    pub(super) array_bytes: u64,
    pub(super) triad: Vec<triad::Bandwidth>,
    pub(super) constructs: Vec<constructs::Cost>,
}
