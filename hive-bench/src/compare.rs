//! From one run to another: what got slower, what faster, and of what that cannot be told.
//!
//! Absolute times on a shared machine drift by far more than what a change of the code does. So where the same process measured a
//! reference that takes what the case takes (a round trip, a hand-over, a mutex), the figure that decides is the multiple of it;
//! the times stand beside it. Elsewhere the times decide.

mod table;

use std::path::Path;

use crate::catalog::{Case, Unit};
use crate::figures::{Figures, Key, least};
use crate::results::{Reference, Run};
use crate::saved;
use crate::stats::bootstrap::{Interval, ratio_of_medians};
use crate::stats::median;

/// Fewer rounds on either side say nothing of how much a figure varies by itself.
const ENOUGH_ROUNDS: usize = 3;

/// What is to be said of one figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Slower,
    Faster,
    NotTold,
    FewRounds,
    /// It was measured in the old run, and failed in the new one.
    Fails,
}

impl Word {
    const ALL: [Self; 5] = [Self::Slower, Self::Faster, Self::NotTold, Self::FewRounds, Self::Fails];

    const fn name(self) -> &'static str {
        match self {
            Self::Slower => "slower",
            Self::Faster => "faster",
            Self::NotTold => "no change told",
            Self::FewRounds => "too few rounds",
            Self::Fails => "FAILS NOW",
        }
    }

    fn of(interval: Interval) -> Self {
        if interval.lower > 1.0 {
            Self::Slower
        } else if interval.upper < 1.0 {
            Self::Faster
        } else {
            Self::NotTold
        }
    }
}

/// One figure of both runs.
#[derive(Clone, Debug)]
struct Change {
    key: Key,
    old: f64,
    /// `None` where it failed.
    new: Option<f64>,
    /// What the interval is in multiples of; `None`: of nothing, in absolute terms.
    reference: Option<Reference>,
    interval: Option<Interval>,
    word: Word,
}

impl Change {
    /// `None` unless both runs have it, and the old one a figure.
    fn of(key: Key, old: &Figures, new: &Figures) -> Option<Self> {
        let least = least(key.case.unit());
        let rounds =
            |figures: &Figures| -> Vec<f64> { figures.rounds(key).into_iter().map(|value| value.max(least)).collect() };
        let (old_rounds, new_rounds) = (rounds(old), rounds(new));
        let was = median(&old.rounds(key))?;
        if !new.has(key) {
            return None;
        }
        let Some(is) = median(&new.rounds(key)) else {
            return Some(Self { key, old: was, new: None, reference: None, interval: None, word: Word::Fails });
        };
        let multiples =
            |reference: &Reference| Some((old.multiples(key, *reference)?, new.multiples(key, *reference)?));
        let reference = reference(key).filter(|reference| multiples(reference).is_some());
        let (before, after) = reference.as_ref().and_then(multiples).unwrap_or((old_rounds, new_rounds));
        let interval = ratio_of_medians(&before, &after);
        let few = before.len().min(after.len()) < ENOUGH_ROUNDS;
        let word = interval.filter(|_| !few).map_or(Word::FewRounds, Word::of);
        Some(Self { key, old: was, new: Some(is), reference, interval: interval.filter(|_| !few), word })
    }

    /// Whether the whole interval says that it takes longer by more than so many percent, or it fails.
    fn is_loss(&self, threshold: f64) -> bool {
        let limit = 1.0 + threshold / 100.0;
        self.word == Word::Fails || self.interval.is_some_and(|interval| interval.lower > limit)
    }
}

/// The reference that takes longer when, and only when, the machine would make the case itself take longer: a region of one
/// moves no cache line, so a round trip says nothing of it; nor does a hand-over of threads that still poll.
fn reference(key: Key) -> Option<Reference> {
    match key.case {
        Case::Region if key.members == 1 => Some(Reference::Mutex),
        Case::Region | Case::Reduce | Case::Barrier | Case::Alternate if key.members > 1 => Some(Reference::RoundTrip),
        case => match case.gap() {
            Some(gap) if key.runtime.sleeps_after(gap) => Some(Reference::HandOver),
            Some(_) => Some(Reference::RoundTrip),
            None => None,
        },
    }
}

/// All that both runs have.
#[derive(Debug)]
struct Comparison {
    changes: Vec<Change>,
    /// Figures that only the old run has, and only the new one.
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
                        run both with the same --case, --runtime and --bees"
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
        warnings.extend(run.unknown.told().map(|unknown| format!("the {which} run: {unknown}")));
        warnings.extend(run.disturbance.warnings().into_iter().map(|warning| format!("the {which} run: {warning}")));
    }
    let [before, after] = [old, new].map(|run| (&run.machine.processor, &run.machine.system, &run.machine.cpus));
    if before != after {
        warnings.push(
            "the runs are of different machines or systems: only multiples of references can be compared".to_owned(),
        );
    }
    if old.effort != new.effort {
        warnings.push("the runs did not measure equally much: one with --quick, or by another build".to_owned());
    }
    warnings
}

/// Prints what changed. `false` where hive got slower by more than `threshold` percent, or fails; an error says which file cannot be
/// used, and why.
pub(crate) fn run(old: &Path, new: &Path, threshold: f64) -> Result<bool, String> {
    let comparison = Comparison::of(&saved::read(old)?, &saved::read(new)?)?;
    print!("{}", table::text(&comparison, threshold));
    Ok(comparison.losses(threshold).is_empty())
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

/// Whether more is worse is the same for all units so far.
const fn quantity(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds => "time",
        Unit::PercentOfCpu => "CPU use",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::RuntimeId;
    use crate::figures::tests::{key, record};
    use crate::results::Outcome;
    use crate::results::tests::run;

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
        assert_eq!(change(&old, &drifted).word, Word::NotTold);
        let slower = old.map(|(value, unit)| (value, unit / 1.2));
        let change = change(&old, &slower);
        assert_eq!((change.word, change.reference), (Word::Slower, Some(Reference::RoundTrip)));
        assert!(change.is_loss(5.0) && !change.is_loss(25.0));
    }

    #[test]
    fn the_whole_interval_must_be_beyond_the_threshold() {
        let old = [(100.0, 100.0); 4];
        let change = change(&old, &[(103.0, 100.0), (110.0, 100.0), (111.0, 100.0), (112.0, 100.0)]);
        assert_eq!(change.word, Word::Slower);
        assert!(change.interval.unwrap().estimate > 1.05 && !change.is_loss(5.0) && change.is_loss(1.0), "{change:?}");
    }

    #[test]
    fn two_rounds_tell_nothing() {
        let change = change(&[(100.0, 100.0); 2], &[(900.0, 100.0); 5]);
        assert_eq!(change.word, Word::FewRounds);
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
        assert_eq!(comparison.changes[1].word, Word::Slower);
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
        let of = |case, members, runtime| reference(Key { case, members, runtime });
        assert_eq!(of(Case::Region, 1, RuntimeId::Hive), Some(Reference::Mutex));
        assert_eq!(of(Case::Barrier, 1, RuntimeId::Hive), None);
        assert_eq!(of(Case::Barrier, 2, RuntimeId::Libomp), Some(Reference::RoundTrip));
        assert_eq!(of(Case::Idle2ms, 2, RuntimeId::Hive), Some(Reference::HandOver));
        assert_eq!(of(Case::Idle2ms, 2, RuntimeId::HiveHot), Some(Reference::RoundTrip));
        assert_eq!(of(Case::Jacobi, 2, RuntimeId::Hive), None);
    }

    #[test]
    fn percents_are_numbers_from_zero_on() {
        assert_eq!(percent("2.5"), Ok(2.5));
        assert_eq!(percent("5 %"), Ok(5.0));
        assert!(["-1", "much", "inf", "nan", ""].iter().all(|wrong| percent(wrong).is_err()));
    }
}
