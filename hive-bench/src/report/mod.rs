//! What a run found, as text: figures, hive against its rivals and against its targets, on one screen or in full.

pub(crate) mod figures;
pub(crate) mod notes;
mod protocols;
pub(crate) mod ranking;
pub(crate) mod summary;
pub(crate) mod tables;
mod targets;

use std::path::Path;

use crate::record::Run;
use figures::Figures;
use ranking::Row;

/// The report as text: what fits one screen, or all of it.
pub(crate) fn text(run: &Run, samples: Option<&Path>, full: bool) -> String {
    let figures = Figures::of(&run.records);
    if full { self::full(run, &figures) } else { summary::text(run, &figures, samples) }
}

const LEGEND: &str = "\
Figures are medians over the rounds; beside them the middle half of the rounds. \"x hive\": how many
times as long as hive took, in the same round; likewise \"x sequential\". \"x round trip\", \"x hand-over\", \"x post\",
\"x mutex\", \"x mean\": how many times as long as that took in the same process.
Marks: ? fewer than three rounds; = the rounds do not agree on which is faster; ~ the middle half is
wider than half of the value.";

/// Every table: the machine, the figures, how to read them, and what they leave out.
fn full(run: &Run, figures: &Figures) -> String {
    let mut text = head(run);
    for (case, threads) in figures.groups() {
        text = text + "\n" + &tables::group(figures, case, threads);
    }
    let protocols = protocols::all(figures);
    if !protocols.is_empty() {
        text = text + "\n" + &protocols;
    }
    let notes = [notes::absent(run), notes::troubles(run)].concat();
    let notes: String = notes.iter().map(|note| format!("{note}\n")).collect();
    let ranking = ranking::text(&Row::all(figures));
    format!("{text}\n{LEGEND}\n{notes}\n{ranking}\n{}", targets::text(figures))
}

fn head(run: &Run) -> String {
    let cpus: Vec<String> = run.machine.cpus.iter().map(ToString::to_string).collect();
    let (above, cpus, report) = (summary::head(run).join("\n"), cpus.join(" "), run.machine.hive_report.trim_end());
    format!("{above}\nCPUs in the order of use: {cpus}\nOpenMP compiled by: {}\n{report}\n", run.build.openmp)
}
