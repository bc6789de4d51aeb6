//! What changed, as text.

use std::fmt::Write;

use super::comparison::{Change, Comparison, Difference, quantity};
use crate::record::Reference;
use crate::report::tables::{aligned, amount, or_dash};

const LEGEND: &str = "\
old, new: medians over the rounds. change: how much the median changed, in what the column \"in\" says: the time,
or the multiple of a reference that the same process measured and that drifts with the machine as the case does.
99 % interval: from a bootstrap over the rounds of each run. slower, faster: the whole interval lies on one side.
The interval shows how rounds differ within a run. How the machine differs from one run to the next it cannot
show; to see that, compare two runs of the same build.";

pub(super) fn text(comparison: &Comparison, threshold: f64) -> String {
    let header = ["case", "of", "runtime", "old", "new", "time", "in", "change", "99 % interval", ""];
    let table = aligned(header, comparison.changes.iter().map(row), &[0, 2, 6, 9]);
    let mut text = format!("{}\n\n{LEGEND}\n\n", table.trim_fmt());
    for warning in &comparison.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    let [old, new] = comparison.lonely;
    if old + new > 0 {
        let _ = writeln!(
            text,
            "figures that were not compared: {old} that only the old run has, {new} that only the new one has"
        );
    }
    let (hive, others): (Vec<_>, Vec<_>) = comparison.changes.iter().partition(|change| change.key.runtime.is_hive());
    let _ = writeln!(text, "hive: {}\nthe others: {}", counts(&hive), counts(&others));
    text + &losses(comparison, threshold)
}

fn row(change: &Change) -> [String; 10] {
    let unit = change.key.case.unit();
    [
        change.key.case.name().to_owned(),
        change.key.threads.to_string(),
        change.key.runtime.name().to_owned(),
        amount(change.old, unit),
        change.new.map_or_else(|| "failed".to_owned(), |new| amount(new, unit)),
        or_dash(change.new.filter(|_| change.old > 0.0).map(|new| percent(new / change.old))),
        change.reference.map_or(quantity(unit), Reference::name).to_owned(),
        or_dash(change.interval.map(|interval| percent(interval.estimate))),
        or_dash(change.interval.map(|interval| between(interval.lower, interval.upper))),
        change.difference.name().to_owned(),
    ]
}

/// How often there is each kind of difference.
fn counts(changes: &[&Change]) -> String {
    let count = |difference: Difference| changes.iter().filter(|change| change.difference == difference).count();
    let counts = Difference::ALL.iter().map(|difference| (difference, count(*difference)));
    let counts: Vec<_> = counts
        .filter(|(_, count)| *count > 0)
        .map(|(difference, count)| format!("{} in {count}", difference.name()))
        .collect();
    if counts.is_empty() { "not measured".to_owned() } else { counts.join(", ") }
}

fn losses(comparison: &Comparison, threshold: f64) -> String {
    let losses = comparison.losses(threshold);
    if losses.is_empty() {
        return format!(
            "hive did not get slower by more than {threshold} % in any case, as far as the rounds can show\n"
        );
    }
    let mut text = format!("hive got slower by more than {threshold} % with the whole interval, or fails now:\n");
    for change in losses {
        let (runtime, case, threads) = (change.key.runtime.name(), change.key.case.name(), change.key.threads);
        let by = change.interval.map_or_else(
            || "fails now".to_owned(),
            |interval| format!("{} ({})", percent(interval.estimate), between(interval.lower, interval.upper)),
        );
        let _ = writeln!(text, "  {runtime} {case} of {threads}: {by}");
    }
    text
}

/// A ratio as a change in percent.
fn percent(ratio: f64) -> String {
    format!("{:+.1} %", 100.0 * (ratio - 1.0))
}

fn between(lower: f64, upper: f64) -> String {
    format!("{} to {}", percent(lower), percent(upper))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Outcome;
    use crate::record::results::tests::run;

    #[test]
    fn a_loss_is_named_with_its_interval() {
        let mut new = run();
        for record in &mut new.records {
            if let Outcome::Measured(measured) = &mut record.outcome {
                measured.samples[0] *= 1.1;
            }
        }
        let comparison = Comparison::of(&run(), &new).unwrap();
        let table = text(&comparison, 5.0);
        assert!(table.contains("hive: slower in 1\nthe others: slower in 1\n"), "{table}");
        assert!(table.contains("  hive region of 2: +10.0 % (+10.0 % to +10.0 %)"), "{table}");
        assert!(table.contains("110 ns") && table.contains("121 ns") && table.contains("round trip"), "{table}");
        assert!(text(&comparison, 12.0).contains("did not get slower by more than 12 %"), "{table}");
    }
}
