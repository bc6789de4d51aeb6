//! The predictions, and what they were asked for.

use serde::Serialize;

use super::costs::Costs;
use super::predict::Prediction;

/// The file of `--json`.
#[derive(Debug, Serialize)]
pub(super) struct Forecast {
    pub(super) machine: String,
    pub(super) latency: String,
    pub(super) costs: Costs,
    /// Where `call` and `part` among them are from, but for what `--costs` says.
    pub(super) steps_from: &'static str,
    pub(super) predictions: Vec<Prediction>,
}
