//! `compare`: what got slower and what got faster from one run to another, and where that cannot be decided.
//!
//! Absolute times on a shared machine drift by far more than what a change of the code does. Therefore a case is judged
//! by its multiple of a reference, where the same process measured one that costs what the case costs (a round trip, a
//! hand-over, a mutex); the times are shown beside it. All other cases are judged by their time.

mod comparison;

use std::fmt::Write;
use std::path::Path;

use crate::record::{self, Reference};
use crate::report::tables::{aligned, amount, or_dash};
use crate::system::exit::{Failure, Outcome, fine_if};
use comparison::{Change, Comparison, Difference, quantity};

/// Prints what changed. The outcome is a failure if hive got slower by more than `threshold` percent, or fails where it
/// did not. An error says which file cannot be used, and why.
pub(crate) fn main(old: &Path, new: &Path, threshold: f64) -> Outcome {
    let read = |path| record::read(path).map_err(Failure::Usage);
    let comparison = Comparison::of(&read(old)?, &read(new)?).map_err(Failure::Usage)?;
    print!("{}", text(&comparison, threshold));
    fine_if(comparison.losses(threshold).is_empty())
}

/// Percent as typed, such as `5` or `2.5`.
pub(crate) fn percent(text: &str) -> Result<f64, String> {
    let percent = text
        .trim_end_matches('%')
        .trim_end()
        .parse::<f64>()
        .ok()
        .filter(|percent| percent.is_finite() && *percent >= 0.0);
    percent.ok_or_else(|| "name percent from 0 on, such as 5 or 2.5".to_owned())
}

const LEGEND: &str = "\
old, new: medians over the rounds. change: how much the median changed, in what the column \"in\" says: the time,
or the multiple of a reference that the same process measured and that drifts with the machine as the case does.
99 % interval: from a bootstrap over the rounds of each run. slower, faster: the whole interval lies on one side.
The interval shows how rounds differ within a run. How the machine differs from one run to the next it cannot
show; to see that, compare two runs of the same build.";

fn text(comparison: &Comparison, threshold: f64) -> String {
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
        or_dash(change.new.filter(|_| change.old > 0.0).map(|new| signed(new / change.old))),
        change.reference.map_or(quantity(unit), Reference::name).to_owned(),
        or_dash(change.interval.map(|interval| signed(interval.estimate))),
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
            |interval| format!("{} ({})", signed(interval.estimate), between(interval.lower, interval.upper)),
        );
        let _ = writeln!(text, "  {runtime} {case} of {threads}: {by}");
    }
    text
}

/// A ratio as a change in percent.
fn signed(ratio: f64) -> String {
    format!("{:+.1} %", 100.0 * (ratio - 1.0))
}

fn between(lower: f64, upper: f64) -> String {
    format!("{} to {}", signed(lower), signed(upper))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Outcome;
    use crate::record::results::tests::run;

    #[test]
    fn percents_are_numbers_from_zero_on() {
        assert_eq!(percent("2.5"), Ok(2.5));
        assert_eq!(percent("5 %"), Ok(5.0));
        assert!(["-1", "much", "inf", "nan", ""].iter().all(|wrong| percent(wrong).is_err()));
    }

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
