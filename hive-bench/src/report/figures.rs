//! From raw samples to figures: the median over the rounds of each round's median, and ratios that are taken within a
//! runner or within a round.

use std::collections::BTreeMap;

use crate::catalog::{Case, RuntimeId, Unit};
use crate::record::{Outcome, Record, Reference};
use crate::stats::{Spread, median};

/// What a figure is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) case: Case,
    pub(crate) threads: usize,
    pub(crate) runtime: RuntimeId,
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

    /// The cases and sizes that were run, in order.
    pub(crate) fn groups(&self) -> Vec<(Case, usize)> {
        let mut groups: Vec<_> = self.0.keys().map(|key| (key.case, key.threads)).collect();
        groups.dedup();
        groups
    }

    /// The runtimes that were run for one case and size, in order.
    pub(crate) fn runtimes(&self, case: Case, threads: usize) -> Vec<RuntimeId> {
        self.0.keys().filter(|key| key.case == case && key.threads == threads).map(|key| key.runtime).collect()
    }

    /// What was run, also where it failed, in order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = Key> {
        self.0.keys().copied()
    }

    pub(crate) fn has(&self, key: Key) -> bool {
        self.0.contains_key(&key)
    }

    /// The figure of each round.
    pub(crate) fn rounds(&self, key: Key) -> Vec<f64> {
        self.0.get(&key).map(|rounds| rounds.values.values().copied().collect()).unwrap_or_default()
    }

    pub(crate) fn value(&self, key: Key) -> Option<Spread> {
        Spread::of(&self.rounds(key))
    }

    /// The figure of each round as a multiple of a reference that was measured in the same process; `None` where it was
    /// not.
    pub(crate) fn multiples(&self, key: Key, reference: Reference) -> Option<Vec<f64>> {
        let rounds = self.0.get(&key)?;
        Some(ratios(&rounds.values, rounds.references.get(&reference)?, 0.0))
    }

    /// How many times as long as a reference that was measured in the same process.
    pub(crate) fn to_reference(&self, key: Key, reference: Reference) -> Option<Spread> {
        Spread::of(&self.multiples(key, reference)?)
    }

    /// How many times as long as another runtime took in the same round, right before or after.
    pub(crate) fn to_runtime(&self, key: Key, other: RuntimeId) -> Option<Spread> {
        let others = self.0.get(&Key { runtime: other, ..key })?;
        Spread::of(&ratios(&self.0.get(&key)?.values, &others.values, least(key.case.unit())))
    }

    /// How much longer than another runtime in the same round, in units of a reference that was measured in the same
    /// process.
    pub(crate) fn excess(&self, key: Key, other: RuntimeId, reference: Reference) -> Option<Spread> {
        let (rounds, others) = (self.0.get(&key)?, self.0.get(&Key { runtime: other, ..key })?);
        let longer = |(round, value): (&usize, &f64)| Some((*round, value - others.values.get(round)?));
        let longer = rounds.values.iter().filter_map(longer).collect();
        Spread::of(&ratios(&longer, rounds.references.get(&reference)?, f64::NEG_INFINITY))
    }

    /// A reference itself, over all runners of a case and size.
    pub(crate) fn reference(&self, case: Case, threads: usize, reference: Reference) -> Option<Spread> {
        let of_group = self.0.iter().filter(|(key, _)| key.case == case && key.threads == threads);
        let values: Vec<f64> = of_group
            .filter_map(|(_, rounds)| rounds.references.get(&reference))
            .flat_map(|rounds| rounds.values().copied())
            .collect();
        Spread::of(&values)
    }
}

impl Rounds {
    fn add(&mut self, record: &Record) {
        let measured = match &record.outcome {
            Outcome::Failed(_) => return,
            Outcome::Measured(measured) => measured,
        };
        if let Some(value) = median(&measured.samples) {
            self.values.insert(record.round, value);
        }
        for (reference, samples) in &measured.references {
            if let Some(value) = median(samples) {
                self.references.entry(*reference).or_default().insert(record.round, value);
            }
        }
    }
}

/// CPU use below this cannot be measured reliably: in ratios it counts as this much.
pub(crate) const fn least(unit: Unit) -> f64 {
    match unit {
        Unit::Nanoseconds | Unit::Regions => 0.0,
        Unit::PercentOfCpu => 0.1,
    }
}

fn ratios(values: &BTreeMap<usize, f64>, units: &BTreeMap<usize, f64>, least: f64) -> Vec<f64> {
    let unit = |round: &usize| units.get(round).map(|unit| unit.max(least)).filter(|unit| *unit > 0.0);
    let ratio = |(round, value): (&usize, &f64)| unit(round).map(|unit| value.max(least) / unit);
    values.iter().filter_map(ratio).collect()
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
        let records = [
            record(hive, 0, &[90.0, 100.0, 500.0], &[(Reference::RoundTrip, 100.0)]),
            record(rival, 0, &[300.0], &[(Reference::RoundTrip, 100.0)]),
            record(rival, 1, &[1500.0], &[(Reference::RoundTrip, 500.0)]),
            record(hive, 1, &[500.0], &[(Reference::RoundTrip, 500.0)]),
        ];
        let figures = Figures::of(&records);
        assert_eq!(figures.value(hive).unwrap().median, 300.0);
        assert_eq!(figures.to_reference(hive, Reference::RoundTrip).unwrap().median, 1.0);
        let ratio = figures.to_runtime(rival, RuntimeId::Hive).unwrap();
        assert_eq!((ratio.median, ratio.lower_quartile, ratio.rounds), (3.0, 3.0, 2));
        assert_eq!(figures.reference(Case::Region, 2, Reference::RoundTrip).unwrap().median, 300.0);
        assert_eq!(figures.excess(rival, RuntimeId::Hive, Reference::RoundTrip).unwrap().median, 2.0);
        assert_eq!(figures.excess(hive, RuntimeId::Libgomp, Reference::RoundTrip).unwrap().median, -2.0);
        assert_eq!(figures.groups(), [(Case::Region, 2)]);
    }

    #[test]
    fn a_failed_round_does_not_count() {
        let hive = key(RuntimeId::Hive);
        let mut broken = record(hive, 0, &[], &[]);
        broken.outcome = Outcome::Failed("gone".to_owned());
        let figures = Figures::of(&[broken, record(hive, 1, &[5.0], &[])]);
        assert_eq!(figures.value(hive).unwrap().rounds, 1);
        assert_eq!(figures.to_runtime(hive, RuntimeId::Libomp), None);
    }
}
