//! `compare`: what got slower and what got faster from one run to another, and where that cannot be decided.
//!
//! Absolute times on a shared machine drift by far more than what a change of the code does. Therefore a case is judged
//! by its multiple of a reference, where the same process measured one that costs what the case costs (a round trip, a
//! hand-over, a mutex); the times are shown beside it. All other cases are judged by their time.

use std::fmt::Write;
use std::path::Path;

use crate::catalog::{Case, names};
use crate::record::{self, Reference, Run};
use crate::report::figures::{Against, Figures, Key, least};
use crate::report::tables::{aligned, amount, or_dash};
use crate::stats::{Interval, median, ratio_of_medians};
use crate::system::exit::{Failure, Outcome, fine_if};

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
    let percent = text.trim_end_matches('%').trim_end().parse::<f64>().ok();
    let percent = percent.filter(|percent| percent.is_finite() && *percent >= 0.0);
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
        change.reference.map_or(unit.name(), Reference::name).to_owned(),
        or_dash(change.interval.map(|interval| signed(interval.estimate))),
        or_dash(change.interval.map(|interval| between(interval.lower, interval.upper))),
        change.difference.name().to_owned(),
    ]
}

/// How often there is each kind of difference.
fn counts(changes: &[&Change]) -> String {
    let count = |difference: Difference| changes.iter().filter(|change| change.difference == difference).count();
    let counts = Difference::ALL.iter().map(|difference| (difference.name(), count(*difference)));
    let counts = counts.filter(|(_, count)| *count > 0).map(|(name, count)| format!("{name} in {count}"));
    let counts: Vec<_> = counts.collect();
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

/// With fewer rounds on either side it is unknown how much a figure varies by itself.
const ENOUGH_ROUNDS: usize = 3;

names! {
    /// How one figure changed.
    Difference {
        Slower "slower";
        Faster "faster";
        Inconclusive "inconclusive";
        FewRounds "too few rounds";
        /// It was measured in the old run, and failed in the new one.
        Fails "FAILS NOW";
    }
}

/// One figure of both runs.
#[derive(Clone, Debug)]
struct Change {
    key: Key,
    old: f64,
    /// `None` where it failed.
    new: Option<f64>,
    /// The reference that the figures are multiples of; `None` if they are times.
    reference: Option<Reference>,
    interval: Option<Interval>,
    difference: Difference,
}

impl Change {
    /// `None` unless both runs measured it, and it did not fail in the old one.
    fn of(key: Key, old: &Figures, new: &Figures) -> Option<Self> {
        let least = least(key.case);
        let rounds =
            |figures: &Figures| -> Vec<f64> { figures.rounds(key).into_iter().map(|value| value.max(least)).collect() };
        let (old_rounds, new_rounds) = (rounds(old), rounds(new));
        let was = median(&old.rounds(key)).filter(|_| new.has(key))?;
        let is = median(&new.rounds(key));
        let multiples = |reference: &Reference| {
            let against = Against::Reference(*reference);
            Some((old.ratios(key, against)?, new.ratios(key, against)?))
        };
        let reference = reference(key).filter(|reference| multiples(reference).is_some());
        let (before, after) = reference.as_ref().and_then(multiples).unwrap_or((old_rounds, new_rounds));
        let enough = before.len().min(after.len()) >= ENOUGH_ROUNDS;
        let interval = ratio_of_medians(&before, &after).filter(|_| enough);
        let difference = match (is, interval) {
            (None, _) => Difference::Fails,
            (_, None) => Difference::FewRounds,
            (_, Some(interval)) if interval.lower > 1.0 => Difference::Slower,
            (_, Some(interval)) if interval.upper < 1.0 => Difference::Faster,
            _ => Difference::Inconclusive,
        };
        Some(Self { key, old: was, new: is, reference: reference.filter(|_| is.is_some()), interval, difference })
    }

    /// Whether it fails now, or takes longer by more than so many percent with the whole interval.
    fn is_loss(&self, threshold: f64) -> bool {
        let limit = 1.0 + threshold / 100.0;
        self.difference == Difference::Fails || self.interval.is_some_and(|interval| interval.lower > limit)
    }
}

/// The reference that drifts with the machine as the case does. A region of one moves no cache line, so it does not
/// drift with round trips; and a region whose threads still poll does not drift with hand-overs.
fn reference(key: Key) -> Option<Reference> {
    match key.case {
        Case::Region if key.threads == 1 => Some(Reference::Mutex),
        Case::Region | Case::Reduce | Case::Barrier | Case::AlternatingSizes if key.threads > 1 => {
            Some(Reference::RoundTrip)
        }
        case => match case.gap() {
            Some(gap) if key.runtime.sleeps_after(gap) => Some(Reference::HandOver),
            Some(_) => Some(Reference::RoundTrip),
            None => None,
        },
    }
}

/// The figures that both runs have.
#[derive(Debug)]
struct Comparison {
    changes: Vec<Change>,
    /// How many figures only the old run has, and how many only the new one.
    lonely: [usize; 2],
    /// What the reader of the table must know.
    warnings: Vec<String>,
}

impl Comparison {
    fn of(old: &Run, new: &Run) -> Result<Self, String> {
        let (before, after) = (Figures::of(&old.records), Figures::of(&new.records));
        let changes: Vec<_> = before.keys().filter_map(|key| Change::of(key, &before, &after)).collect();
        if changes.is_empty() {
            return Err("the runs have no case in common that was measured at the same size with the same runtime; \
                        run both with the same --case, --runtime and --threads"
                .to_owned());
        }
        let only = |here: &Figures, there: &Figures| here.keys().filter(|key| !there.has(*key)).count();
        let lonely = [only(&before, &after), only(&after, &before)];
        Ok(Self { changes, lonely, warnings: warnings(old, new) })
    }

    /// Where hive got slower beyond the threshold, or fails.
    fn losses(&self, threshold: f64) -> Vec<&Change> {
        self.changes.iter().filter(|change| change.key.runtime.is_hive() && change.is_loss(threshold)).collect()
    }
}

/// What makes the runs hard to compare.
fn warnings(old: &Run, new: &Run) -> Vec<String> {
    let mut warnings = Vec::new();
    for (which, run) in [("old", old), ("new", new)] {
        warnings.extend(run.disturbance.warnings().into_iter().map(|warning| format!("the {which} run: {warning}")));
    }
    let [before, after] = [old, new].map(|run| (&run.machine.processor, &run.machine.system, &run.machine.cpus));
    if before != after {
        warnings.push(
            "the runs are of different machines or systems: only multiples of references can be compared".to_owned(),
        );
    }
    if old.budget != new.budget {
        warnings.push(
            "the runs did not measure the same amount: one was made with --quick, or by another build".to_owned(),
        );
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::RuntimeId;
    use crate::record::Outcome;
    use crate::record::results::tests::run;
    use crate::report::figures::tests::{key, record};

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

    /// Rounds of hive's region of two, each with its round trip.
    fn measured(rounds: &[(f64, f64)]) -> Run {
        let round = |(round, (value, unit)): (usize, &(f64, f64))| {
            record(key(RuntimeId::Hive), round, &[*value], &[(Reference::RoundTrip, *unit)])
        };
        Run { records: rounds.iter().enumerate().map(round).collect(), ..run() }
    }

    fn change(old: &[(f64, f64)], new: &[(f64, f64)]) -> Change {
        Comparison::of(&measured(old), &measured(new)).unwrap().changes.remove(0)
    }

    #[test]
    fn multiples_decide_not_times() {
        let old = [(100.0, 100.0), (101.0, 100.0), (102.0, 101.0)];
        let drifted = old.map(|(value, unit)| (3.0 * value, 3.0 * unit));
        assert_eq!(change(&old, &drifted).difference, Difference::Inconclusive);
        let slower = old.map(|(value, unit)| (value, unit / 1.2));
        let change = change(&old, &slower);
        assert_eq!((change.difference, change.reference), (Difference::Slower, Some(Reference::RoundTrip)));
        assert!(change.is_loss(5.0) && !change.is_loss(25.0));
    }

    #[test]
    fn the_whole_interval_must_be_beyond_the_threshold() {
        let old = [(100.0, 100.0); 4];
        let change = change(&old, &[(103.0, 100.0), (110.0, 100.0), (111.0, 100.0), (112.0, 100.0)]);
        assert_eq!(change.difference, Difference::Slower);
        assert!(change.interval.unwrap().estimate > 1.05 && !change.is_loss(5.0) && change.is_loss(1.0), "{change:?}");
    }

    #[test]
    fn two_rounds_tell_nothing() {
        let change = change(&[(100.0, 100.0); 2], &[(900.0, 100.0); 5]);
        assert_eq!(change.difference, Difference::FewRounds);
        assert!(!change.is_loss(5.0));
    }

    #[test]
    fn a_case_that_fails_now_is_a_loss() {
        let mut new = measured(&[(100.0, 100.0); 3]);
        for record in &mut new.records {
            record.outcome = Outcome::Failed("gone".to_owned());
        }
        let comparison = Comparison::of(&measured(&[(100.0, 100.0); 3]), &new).unwrap();
        assert_eq!(comparison.losses(5.0).len(), 1);
        let mut rivals = new.clone();
        rivals.records.iter_mut().for_each(|record| record.runtime = RuntimeId::Libomp);
        assert!(Comparison::of(&rivals, &new).is_err());
    }

    #[test]
    fn rivals_do_not_decide() {
        let comparison = Comparison::of(&run(), &run()).unwrap();
        assert_eq!(comparison.changes.len(), 2);
        let mut slower = run();
        for record in slower.records.iter_mut().filter(|record| !record.runtime.is_hive()) {
            if let Outcome::Measured(measured) = &mut record.outcome {
                measured.samples[0] *= 2.0;
            }
        }
        let comparison = Comparison::of(&run(), &slower).unwrap();
        assert_eq!(comparison.changes[1].difference, Difference::Slower);
        assert!(comparison.losses(5.0).is_empty());
    }

    #[test]
    fn what_only_one_run_has_is_counted() {
        let mut new = run();
        new.records.retain(|record| record.runtime.is_hive());
        new.machine.processor = "another".to_owned();
        let comparison = Comparison::of(&run(), &new).unwrap();
        assert_eq!(comparison.lonely, [1, 0]);
        assert!(comparison.warnings[0].contains("different machines"), "{:?}", comparison.warnings);
    }

    #[test]
    fn the_reference_takes_what_the_case_takes() {
        let of = |case, threads, runtime| reference(Key { case, threads, runtime });
        assert_eq!(of(Case::Region, 1, RuntimeId::Hive), Some(Reference::Mutex));
        assert_eq!(of(Case::Barrier, 1, RuntimeId::Hive), None);
        assert_eq!(of(Case::Barrier, 2, RuntimeId::Libomp), Some(Reference::RoundTrip));
        assert_eq!(of(Case::Idle2ms, 2, RuntimeId::Hive), Some(Reference::HandOver));
        assert_eq!(of(Case::Idle2ms, 2, RuntimeId::HiveSpin), Some(Reference::RoundTrip));
        assert_eq!(of(Case::Jacobi, 2, RuntimeId::Hive), None);
    }
}
