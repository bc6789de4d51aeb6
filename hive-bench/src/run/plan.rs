//! Which runners are started, and in what order. Runtimes that are compared with each other run right after each other.

use std::time::Duration;

use fastrand::Rng;

use crate::catalog::{Case, RuntimeId, Unit};
use crate::record::Record;
use crate::report::figures::{Figures, Key};
use crate::report::ranking::{ENOUGH_ROUNDS, Relation, Row};

/// One case at one size: the runtimes that are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) case: Case,
    pub(crate) threads: usize,
    pub(crate) runtimes: Vec<RuntimeId>,
}

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) cases: Vec<Case>,
    pub(crate) runtimes: Vec<RuntimeId>,
    pub(crate) sizes: Vec<usize>,
    /// The number of CPUs that this process may use.
    pub(crate) most: usize,
}

/// How often everything is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounds {
    /// Every group this often.
    Each(usize),
    /// Every group until its rounds agree, as far as this time goes, and once at least.
    Within(Duration),
}

/// How often a group is run, at least, if hive and its rival are more than a factor of three apart in each round.
const FEWEST_ROUNDS: usize = 3;
/// A group whose rounds do not agree after so many is not run again: it would hardly come out otherwise.
const MOST_ROUNDS: usize = 15;

/// The groups that are wanted and make sense.
pub(crate) fn groups(wanted: &Wanted) -> Vec<Group> {
    let mut groups = Vec::new();
    for &case in &wanted.cases {
        for &threads in wanted.sizes.iter().filter(|&&threads| case.has_size(threads, wanted.most)) {
            let runtimes: Vec<_> =
                wanted.runtimes.iter().copied().filter(|runtime| runtime.shows(case, threads)).collect();
            if !runtimes.is_empty() {
                groups.push(Group { case, threads, runtimes });
            }
        }
    }
    groups
}

impl Rounds {
    /// The groups that are to be run once more after so many rounds, with the runtimes that have not failed so far.
    /// They are shuffled, and so are the runtimes of each.
    pub(crate) fn due(self, groups: &[Group], round: usize, records: &[Record], random: &mut Rng) -> Vec<Group> {
        let figures = Figures::of(records);
        let is_due = |group: &Group| match self {
            Self::Each(rounds) => round < rounds,
            Self::Within(_) => round == 0 || round < MOST_ROUNDS && !group.is_settled(&figures),
        };
        let mut due: Vec<Group> = groups.iter().filter(|group| is_due(group)).cloned().collect();
        for group in &mut due {
            let (case, threads) = (group.case, group.threads);
            let is_measured = |runtime| !figures.rounds(Key { case, threads, runtime }).is_empty();
            group.runtimes.retain(|runtime| round == 0 || is_measured(*runtime));
            random.shuffle(&mut group.runtimes);
        }
        due.retain(|group| !group.runtimes.is_empty());
        random.shuffle(&mut due);
        due
    }
}

impl Group {
    /// Whether more rounds would show nothing more. CPU time hardly varies and takes long to measure, so it is measured
    /// once. Runtimes that have failed are not waited for.
    fn is_settled(&self, figures: &Figures) -> bool {
        if self.case.unit() == Unit::PercentOfCpu {
            return true;
        }
        let key = |runtime| Key { case: self.case, threads: self.threads, runtime };
        let rounds = self.runtimes.iter().map(|runtime| figures.rounds(key(*runtime)).len());
        let rounds = rounds.filter(|rounds| *rounds > 0).min().unwrap_or(usize::MAX);
        match Row::of(figures, self.case, self.threads) {
            Some(row) if row.is_far => rounds >= FEWEST_ROUNDS,
            Some(row) => rounds >= ENOUGH_ROUNDS && row.relation != Relation::Inconclusive,
            None => rounds >= ENOUGH_ROUNDS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Outcome;
    use crate::report::figures::tests::{key, record};
    use crate::run::sizes::default_sizes;

    fn everything(most: usize) -> Wanted {
        Wanted { cases: Case::ALL.to_vec(), runtimes: RuntimeId::ALL.to_vec(), sizes: default_sizes(most), most }
    }

    fn region() -> Group {
        Group { case: Case::Region, threads: 2, runtimes: vec![RuntimeId::Hive, RuntimeId::Libomp] }
    }

    /// Rounds of a region by hive, with these figures, and by a rival that always takes 100.
    fn rounds(of_hive: &[f64]) -> Vec<Record> {
        let round = |(round, value): (usize, &f64)| {
            [(RuntimeId::Hive, *value), (RuntimeId::Libomp, 100.0)]
                .map(|(runtime, value)| record(key(runtime), round, &[value], &[]))
        };
        of_hive.iter().enumerate().flat_map(round).collect()
    }

    #[test]
    fn a_group_is_run_until_its_rounds_agree() {
        let is_settled = |of_hive: &[f64]| region().is_settled(&Figures::of(&rounds(of_hive)));
        assert!(!is_settled(&[50.0, 55.0, 60.0, 60.0]) && is_settled(&[50.0, 55.0, 60.0, 60.0, 70.0]));
        assert!(!is_settled(&[50.0, 120.0, 70.0, 60.0, 80.0]) && is_settled(&[50.0, 60.0, 70.0, 60.0, 80.0]));
        assert!(!is_settled(&[10.0, 11.0]) && is_settled(&[10.0, 11.0, 12.0]), "a large factor needs fewer");
    }

    #[test]
    fn without_a_rival_five_rounds_are_enough() {
        let mut records = rounds(&[50.0, 90.0, 140.0, 50.0, 60.0]);
        records.retain(|record| record.runtime == RuntimeId::Hive);
        let alone = Group { runtimes: vec![RuntimeId::Hive], ..region() };
        assert!(alone.is_settled(&Figures::of(&records)) && !alone.is_settled(&Figures::of(&records[..4])));
    }

    #[test]
    fn who_has_failed_is_not_run_again_and_not_waited_for() {
        let without_the_rival = |of_hive: &[f64]| {
            let mut records = rounds(of_hive);
            records.iter_mut().filter(|record| record.runtime == RuntimeId::Libomp).for_each(|record| {
                record.outcome = Outcome::Failed("gone".to_owned());
            });
            records
        };
        let three = without_the_rival(&[10.0; 3]);
        let due = |rounds: Rounds| rounds.due(&[region()], 3, &three, &mut Rng::with_seed(1));
        assert_eq!(due(Rounds::Within(Duration::ZERO))[0].runtimes, [RuntimeId::Hive]);
        assert_eq!(due(Rounds::Each(9))[0].runtimes, [RuntimeId::Hive]);
        assert!(region().is_settled(&Figures::of(&without_the_rival(&[10.0; 5]))));
    }

    #[test]
    fn rounds_are_as_many_as_were_asked_for_or_are_needed() {
        let (groups, mut random) = ([region()], Rng::with_seed(1));
        let mut due =
            |rounds: Rounds, round, records: &[Record]| rounds.due(&groups, round, records, &mut random).len();
        let disagreeing: Vec<f64> = (0..MOST_ROUNDS).map(|round| if round % 2 == 0 { 40.0 } else { 250.0 }).collect();
        let within = Rounds::Within(Duration::ZERO);
        assert_eq!((due(within, 0, &[]), due(within, 5, &rounds(&[50.0; 5]))), (1, 0));
        assert_eq!(
            (due(within, 4, &rounds(&disagreeing[..4])), due(within, MOST_ROUNDS, &rounds(&disagreeing))),
            (1, 0)
        );
        assert_eq!(
            (due(Rounds::Each(9), 8, &rounds(&[50.0; 8])), due(Rounds::Each(9), 9, &rounds(&[50.0; 9]))),
            (1, 0)
        );
    }

    #[test]
    fn order_depends_on_the_seed_alone() {
        let groups = groups(&everything(2));
        let of = |seed| Rounds::Each(1).due(&groups, 0, &[], &mut Rng::with_seed(seed));
        assert_eq!((of(7), of(7).len()), (of(7), groups.len()));
        assert_ne!(of(7), of(8));
    }

    #[test]
    fn what_makes_no_sense_is_not_planned() {
        let groups = groups(&everything(4));
        assert!(groups.iter().all(|group| group.case != Case::ResizeShrink || group.threads == 4));
        assert!(groups.iter().all(|group| group.case.gap().is_none() || group.threads > 1));
        assert!(groups.iter().all(|group| group.case != Case::Stencil7 || matches!(group.threads, 1 | 4)));
        let of = |case, threads| groups.iter().find(|group| group.case == case && group.threads == threads).unwrap();
        for active in [RuntimeId::HiveSpin, RuntimeId::LibgompActive, RuntimeId::LibompActive] {
            assert!(!of(Case::Matmul, 1).runtimes.contains(&active) && of(Case::Matmul, 4).runtimes.contains(&active));
            assert!(of(Case::Reduce, 1).runtimes.contains(&active));
        }
    }
}
