//! From raw samples to figures: the median over the rounds of each round's median, and ratios that are taken within a
//! runner or within a round.

use std::collections::BTreeMap;

use crate::catalog::{Case, RuntimeId};
use crate::record::{Outcome, Record, Reference};
use crate::stats::{Spread, median};

/// What a figure is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) case: Case,
    pub(crate) threads: usize,
    pub(crate) runtime: RuntimeId,
}

/// What a figure is divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Against {
    /// Something measured in the same process.
    Reference(Reference),
    /// Another runtime in the same round, right before or after.
    Runtime(RuntimeId),
    /// A post in the same process; of the figure only what that runtime did not need in the same round.
    PostOver(RuntimeId),
}

impl Against {
    pub(crate) fn name(self) -> String {
        match self {
            Self::Reference(reference) => reference.name().to_owned(),
            Self::Runtime(runtime) => runtime.name().to_owned(),
            Self::PostOver(runtime) => format!("post over {}", runtime.name()),
        }
    }
}

/// Each round's median of one runner's samples and of its references.
#[derive(Clone, Debug, Default)]
struct Rounds {
    values: BTreeMap<usize, f64>,
    references: BTreeMap<Reference, BTreeMap<usize, f64>>,
}

/// All figures of a run.
#[derive(Debug, Default)]
pub(crate) struct Figures(BTreeMap<Key, Rounds>);

impl Figures {
    pub(crate) fn of(records: &[Record]) -> Self {
        let mut figures = Self::default();
        for record in records {
            let key = Key { case: record.case, threads: record.threads, runtime: record.runtime };
            figures.0.entry(key).or_default().add(record);
        }
        figures
    }

    /// What was run, also where it failed, in order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = Key> {
        self.0.keys().copied()
    }

    pub(crate) fn has(&self, key: Key) -> bool {
        self.0.contains_key(&key)
    }

    /// The cases and sizes that were run, in order.
    pub(crate) fn groups(&self) -> Vec<(Case, usize)> {
        let mut groups: Vec<_> = self.keys().map(|key| (key.case, key.threads)).collect();
        groups.dedup();
        groups
    }

    /// The largest team of a case.
    pub(crate) fn largest(&self, case: Case) -> Option<usize> {
        self.keys().filter(|key| key.case == case).map(|key| key.threads).max()
    }

    /// The runtimes that were run for one case and size, in order.
    pub(crate) fn runtimes(&self, case: Case, threads: usize) -> impl Iterator<Item = RuntimeId> {
        self.keys().filter(move |key| (key.case, key.threads) == (case, threads)).map(|key| key.runtime)
    }

    /// The figure of each round.
    pub(crate) fn rounds(&self, key: Key) -> Vec<f64> {
        self.0.get(&key).map(|rounds| rounds.values.values().copied().collect()).unwrap_or_default()
    }

    pub(crate) fn value(&self, key: Key) -> Option<Spread> {
        Spread::of(&self.rounds(key))
    }

    /// The ratio of each round; `None` if that was not measured at all.
    pub(crate) fn ratios(&self, key: Key, against: Against) -> Option<Vec<f64>> {
        let rounds = self.0.get(&key)?;
        let values_of = |runtime| self.0.get(&Key { runtime, ..key }).map(|rounds| &rounds.values);
        let (units, base, least) = match against {
            Against::Reference(reference) => (rounds.references.get(&reference)?, None, 0.0),
            Against::Runtime(runtime) => (values_of(runtime)?, None, least(key.case)),
            Against::PostOver(runtime) => {
                (rounds.references.get(&Reference::Post)?, Some(values_of(runtime)?), f64::NEG_INFINITY)
            }
        };
        let ratio = |(round, value): (&usize, &f64)| {
            let unit = units.get(round)?.max(least);
            let base = base.map_or(Some(&0.0), |base| base.get(round))?;
            (unit > 0.0).then(|| (value - base).max(least) / unit)
        };
        Some(rounds.values.iter().filter_map(ratio).collect())
    }

    pub(crate) fn ratio(&self, key: Key, against: Against) -> Option<Spread> {
        Spread::of(&self.ratios(key, against)?)
    }

    /// A reference itself, over all runners of a case and size.
    pub(crate) fn reference(&self, case: Case, threads: usize, reference: Reference) -> Option<Spread> {
        let of_group = self.0.iter().filter(|(key, _)| key.case == case && key.threads == threads);
        let rounds = of_group.filter_map(|(_, rounds)| rounds.references.get(&reference));
        Spread::of(&rounds.flat_map(|rounds| rounds.values().copied()).collect::<Vec<_>>())
    }
}

impl Rounds {
    fn add(&mut self, record: &Record) {
        let Outcome::Measured(measured) = &record.outcome else { return };
        self.values.extend(median(&measured.samples).map(|value| (record.round, value)));
        for (reference, samples) in &measured.references {
            let rounds = self.references.entry(*reference).or_default();
            rounds.extend(median(samples).map(|value| (record.round, value)));
        }
    }
}

/// What counts as this much in ratios if it is less, because it cannot be measured reliably: CPU use of a process whose
/// main thread wakes up at the end of the time; of the other threads alone it is less.
pub(crate) fn least(case: Case) -> f64 {
    match case.family() {
        "cpu" => 0.3,
        "idle-use" => 0.1,
        _ => 0.0,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::record::Measured;

    pub(crate) fn record(key: Key, round: usize, samples: &[f64], references: &[(Reference, f64)]) -> Record {
        let references = references.iter().map(|(reference, value)| (*reference, vec![*value])).collect();
        let outcome = Outcome::Measured(Measured { samples: samples.to_vec(), references, ..Measured::default() });
        Record { round, runtime: key.runtime, case: key.case, threads: key.threads, seconds: 0.1, outcome }
    }

    pub(crate) const fn key(runtime: RuntimeId) -> Key {
        Key { case: Case::Region, threads: 2, runtime }
    }

    #[test]
    fn ratios_are_taken_within_a_round() {
        let (hive, rival) = (key(RuntimeId::Hive), key(RuntimeId::Libgomp));
        let both = |value| [(Reference::RoundTrip, value), (Reference::Post, value)];
        let records = [
            record(hive, 0, &[90.0, 100.0, 500.0], &both(100.0)),
            record(rival, 0, &[300.0], &both(100.0)),
            record(rival, 1, &[1500.0], &both(500.0)),
            record(hive, 1, &[500.0], &both(500.0)),
        ];
        let figures = Figures::of(&records);
        assert_eq!(figures.value(hive).unwrap().median, 300.0);
        assert_eq!(figures.ratio(hive, Against::Reference(Reference::RoundTrip)).unwrap().median, 1.0);
        let ratio = figures.ratio(rival, Against::Runtime(RuntimeId::Hive)).unwrap();
        assert_eq!((ratio.median, ratio.lower_quartile, ratio.rounds), (3.0, 3.0, 2));
        assert_eq!(figures.reference(Case::Region, 2, Reference::RoundTrip).unwrap().median, 300.0);
        assert_eq!(figures.ratio(rival, Against::PostOver(RuntimeId::Hive)).unwrap().median, 2.0);
        assert_eq!(figures.ratio(hive, Against::PostOver(RuntimeId::Libgomp)).unwrap().median, -2.0);
        assert_eq!(figures.groups(), [(Case::Region, 2)]);
    }

    #[test]
    fn a_failed_round_does_not_count() {
        let hive = key(RuntimeId::Hive);
        let mut broken = record(hive, 0, &[], &[]);
        broken.outcome = Outcome::Failed("gone".to_owned());
        let figures = Figures::of(&[broken, record(hive, 1, &[5.0], &[])]);
        assert_eq!(figures.value(hive).unwrap().rounds, 1);
        assert_eq!(figures.ratio(hive, Against::Runtime(RuntimeId::Libomp)), None);
    }
}
