//! What a run found, as text: figures, hive against its rivals and against its targets, on one screen or in full.

pub(crate) mod figures;
mod full;
pub(crate) mod notes;
mod protocols;
pub(crate) mod ranking;
pub(crate) mod summary;
pub(crate) mod tables;
mod targets;

use std::path::Path;

use crate::record::Run;
use figures::Figures;

/// The report as text: what fits one screen, or all of it.
pub(crate) fn text(run: &Run, samples: Option<&Path>, full: bool) -> String {
    let figures = Figures::of(&run.records);
    if full { full::text(run, &figures) } else { summary::text(run, &figures, samples) }
}
