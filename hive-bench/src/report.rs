//! The whole report: the machine, the tables, how to read them, and what they leave out.

use std::fmt::Write;

use crate::figures::Figures;
use crate::results::{Absent, Outcome, Record, Run};
use crate::standing::Standings;
use crate::{protocols, tables, verdict};

const LEGEND: &str = "\
Figures are medians over the rounds; beside them the middle half of the rounds. \"x hive\": how many
times as long as hive took, in the same round; likewise \"x sequential\". \"x round trip\", \"x hand-over\",
\"x mutex\", \"x mean\": how many times as long as that took in the same process.
Marks: ? fewer than three rounds; = the rounds do not agree on who is faster; ~ the middle half is
wider than half of the value.";

/// The whole report as text.
pub(crate) fn text(run: &Run, figures: &Figures) -> String {
    let standings = Standings::of(figures);
    format!("{}\n{}\n{}", measured(run, figures), standings.text(), verdict::all(figures))
}

/// Everything that was measured.
fn measured(run: &Run, figures: &Figures) -> String {
    let mut text = head(run);
    for (case, members) in figures.groups() {
        text.push('\n');
        text.push_str(&tables::group(figures, case, members));
    }
    let protocols = protocols::all(figures);
    if !protocols.is_empty() {
        let _ = write!(text, "\n{protocols}");
    }
    let _ = writeln!(text, "\n{LEGEND}");
    for note in notes(run) {
        let _ = writeln!(text, "{note}");
    }
    text
}

fn head(run: &Run) -> String {
    let machine = &run.machine;
    let mut text = format!("{}\n{}, {}\n", machine.processor, machine.system, run.date);
    let cpus: Vec<String> = machine.cpus.iter().map(ToString::to_string).collect();
    let _ = writeln!(text, "CPUs in the order of use: {}", cpus.join(" "));
    let _ = writeln!(text, "OpenMP compiled by: {}", run.build.openmp);
    let _ = writeln!(text, "{}", machine.hive_report.trim_end());
    text
}

/// Absent runtimes, failed children, threads that were not where they should be, a machine that
/// was not quiet.
pub(crate) fn notes(run: &Run) -> Vec<String> {
    let absent = |Absent { runtime, reason }: &Absent| format!("{} is absent: {reason}", runtime.name());
    let mut notes: Vec<String> = run.absent.iter().map(absent).collect();
    let cpus = &run.machine.cpus;
    let mut trouble: Vec<String> = run.records.iter().filter_map(|record| trouble(record, cpus)).collect();
    trouble.sort();
    trouble.dedup();
    notes.extend(trouble);
    if run.left_out > 0 {
        notes
            .push(format!("warning: slower than expected, {} children of the last rounds were left out", run.left_out));
    }
    notes.extend(run.unknown.told().map(|unknown| format!("warning: {unknown}")));
    let warnings = run.disturbance.warnings();
    notes.extend(warnings.into_iter().map(|warning| format!("warning: {warning}")));
    notes
}

fn trouble(record: &Record, cpus: &[usize]) -> Option<String> {
    let who = format!("{} {} of {}", record.runtime.name(), record.case.name(), record.members);
    match &record.outcome {
        Outcome::Failed(reason) => Some(format!("failed: {who}: {reason}")),
        Outcome::Measured(measured) => {
            let seen_on = &measured.seen_on;
            let misplaced = record.runtime.is_pinned() && !cpus.starts_with(seen_on);
            misplaced.then(|| format!("warning: {who}: bees ran on CPUs {seen_on:?}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::RuntimeId;
    use crate::figures::tests::{key, record};

    #[test]
    fn a_failure_and_a_wrong_place_are_told() {
        let mut broken = record(key(RuntimeId::ForkUnion), 0, &[], &[]);
        broken.outcome = Outcome::Failed("gone".to_owned());
        assert_eq!(trouble(&broken, &[0, 1]).unwrap(), "failed: forkunion region of 2: gone");

        let mut squeezed = record(key(RuntimeId::Libomp), 0, &[1.0], &[]);
        if let Outcome::Measured(measured) = &mut squeezed.outcome {
            measured.seen_on = vec![0, 0];
        }
        assert!(trouble(&squeezed, &[0, 1]).unwrap().contains("[0, 0]"));
        assert_eq!(trouble(&squeezed, &[0, 0]), None);
    }
}
