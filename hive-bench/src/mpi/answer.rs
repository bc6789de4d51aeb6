//! The answer to a problem.

/// The answer of all ranks together, or of one process.
#[derive(Debug)]
pub(super) struct Answer {
    /// Of each step.
    pub(super) sums: Vec<f64>,
    /// All rows, one after the other.
    pub(super) values: Vec<f64>,
}
