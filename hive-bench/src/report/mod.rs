//! What a run found, as text: figures, hive against its rivals and against its targets, on one screen or in full.

pub(crate) mod figures;
mod full;
mod layout;
pub(crate) mod notes;
mod protocols;
pub(crate) mod ranking;
mod summary;
pub(crate) mod tables;
pub(crate) mod targets;

use crate::record::Run;
use figures::Figures;

pub(crate) use summary::Files;

/// The report as text: what fits one screen, or all of it.
pub(crate) fn text(run: &Run, figures: &Figures, files: Files<'_>, full: bool) -> String {
    if full { full::text(run, figures) } else { summary::text(run, figures, files) }
}
