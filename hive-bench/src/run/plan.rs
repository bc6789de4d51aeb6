//! Which runners are started, and in what order: as many rounds as fit into the time. Runtimes that are compared with
//! each other run right after each other.

use std::time::Duration;

use crate::catalog::{Case, RuntimeId, Unit};
use crate::record::Budget;

/// Time for the suite, with a margin to the 90 s that are promised.
pub(crate) const STANDARD_TIME: Duration = Duration::from_secs(85);

/// One case at one size: the runtimes that are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) case: Case,
    pub(crate) threads: usize,
    pub(crate) runtimes: Vec<RuntimeId>,
    pub(crate) rounds: usize,
}

/// One runner that is to be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Step {
    pub(crate) round: usize,
    pub(crate) case: Case,
    pub(crate) threads: usize,
    pub(crate) runtime: RuntimeId,
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
    /// As often as fits into this time, at least once.
    Within(Duration),
}

impl Rounds {
    /// After this time no runner of a later round is started. A slow machine may take longer than was expected.
    pub(crate) fn deadline(self) -> Option<Duration> {
        match self {
            Self::Each(_) => None,
            Self::Within(time) => Some(time + time / 20),
        }
    }
}

/// More rounds than this are run only where `--rounds` asks for them.
const MOST_ROUNDS: usize = 9;

/// The groups that are wanted and make sense, with their rounds.
pub(crate) fn groups(wanted: &Wanted, budget: &Budget, rounds: Rounds) -> Vec<Group> {
    let mut groups = Vec::new();
    for &case in &wanted.cases {
        for &threads in wanted.sizes.iter().filter(|&&threads| case.has_size(threads, wanted.most)) {
            let runtimes: Vec<_> =
                wanted.runtimes.iter().copied().filter(|runtime| runtime.shows(case, threads)).collect();
            if !runtimes.is_empty() {
                groups.push(Group { case, threads, runtimes, rounds: 0 });
            }
        }
    }
    match rounds {
        Rounds::Each(rounds) => groups.iter_mut().for_each(|group| group.rounds = rounds),
        Rounds::Within(time) => deal_rounds(&mut groups, budget, time),
    }
    groups
}

/// Fewer rounds than this say nothing about how much rounds differ.
const ENOUGH_ROUNDS: usize = 3;

/// Deals out the time. Every group gets one round, even if there is no time for it. Then, first the empty region and
/// then the others from the cheapest on, each group whose rounds still fit gets `ENOUGH_ROUNDS`, then one more, and so
/// on up to its limit. A group that once did not fit gets no more, because the time only becomes less.
fn deal_rounds(groups: &mut [Group], budget: &Budget, time: Duration) {
    let mut left = time;
    let mut by_cost: Vec<&mut Group> = groups.iter_mut().collect();
    by_cost.sort_by_key(|group| (group.case != Case::Region, group.cost_of_a_round(budget)));
    for rounds in std::iter::once(1).chain(ENOUGH_ROUNDS..=MOST_ROUNDS) {
        for group in by_cost.iter_mut().filter(|group| rounds <= default_limit(group)) {
            let more = u32::try_from(rounds - group.rounds).expect("a few");
            let cost = group.cost_of_a_round(budget) * more;
            if rounds == 1 || cost <= left {
                group.rounds = rounds;
                left = left.saturating_sub(cost);
            }
        }
    }
}

/// The most rounds of a group. CPU time hardly varies and takes long to measure, so one round is enough. A team of one
/// shows all it has to show in the empty region, so its other cases have one round.
fn default_limit(group: &Group) -> usize {
    match group.case {
        _ if group.case.unit() == Unit::PercentOfCpu => 1,
        Case::Region => MOST_ROUNDS,
        _ if group.threads == 1 => 1,
        _ => MOST_ROUNDS,
    }
}

impl Group {
    fn cost_of_a_round(&self, budget: &Budget) -> Duration {
        let runners = u32::try_from(self.runtimes.len()).expect("a short list");
        budget.expected(self.case) * runners
    }
}

/// About how long the plan takes.
pub(crate) fn expected(groups: &[Group], budget: &Budget) -> Duration {
    let cost = |group: &Group| group.cost_of_a_round(budget) * u32::try_from(group.rounds).unwrap_or(u32::MAX);
    groups.iter().map(cost).sum()
}

/// All runners in order. Rounds follow each other; within a round the groups are shuffled, and within a group the
/// runtimes.
pub(crate) fn steps(groups: &[Group], seed: u64) -> Vec<Step> {
    let mut random = fastrand::Rng::with_seed(seed);
    let rounds = groups.iter().map(|group| group.rounds).max().unwrap_or(0);
    let mut steps = Vec::new();
    for round in 0..rounds {
        let mut due: Vec<&Group> = groups.iter().filter(|group| round < group.rounds).collect();
        random.shuffle(&mut due);
        for group in due {
            let mut runtimes = group.runtimes.clone();
            random.shuffle(&mut runtimes);
            let step = |runtime| Step { round, case: group.case, threads: group.threads, runtime };
            steps.extend(runtimes.into_iter().map(step));
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::run::sizes::default_sizes;

    fn everything(most: usize) -> Wanted {
        Wanted { cases: Case::ALL.to_vec(), runtimes: RuntimeId::ALL.to_vec(), sizes: default_sizes(most), most }
    }

    #[test]
    fn the_quick_suite_fits_its_time_on_two_cpus() {
        let time = STANDARD_TIME;
        let wanted = Wanted { cases: Case::without_request(), runtimes: RuntimeId::without_request(), ..everything(2) };
        let groups = groups(&wanted, &Budget::STANDARD, Rounds::Within(time));
        assert!(expected(&groups, &Budget::STANDARD) <= time, "{:?}", expected(&groups, &Budget::STANDARD));
        let region = groups.iter().find(|group| group.case == Case::Region && group.threads == 2).unwrap();
        assert!(region.rounds >= 3, "{region:?}");
    }

    #[test]
    fn every_runner_runs_once_a_round() {
        let groups = groups(&everything(4), &Budget::QUICK, Rounds::Each(3));
        let steps = steps(&groups, 1);
        assert_eq!(steps.iter().collect::<HashSet<_>>().len(), steps.len());
        assert_eq!(steps.len(), 3 * groups.iter().map(|group| group.runtimes.len()).sum::<usize>());
        assert!(steps.is_sorted_by_key(|step| step.round));
    }

    #[test]
    fn order_depends_on_the_seed_alone() {
        let groups = groups(&everything(2), &Budget::QUICK, Rounds::Each(2));
        assert_eq!(steps(&groups, 7), steps(&groups, 7));
        assert_ne!(steps(&groups, 7), steps(&groups, 8));
    }

    #[test]
    fn what_makes_no_sense_is_not_planned() {
        let groups = groups(&everything(4), &Budget::QUICK, Rounds::Each(1));
        assert!(groups.iter().all(|group| group.case != Case::ResizeShrink || group.threads == 4));
        assert!(groups.iter().all(|group| group.case.gap().is_none() || group.threads > 1));
        assert!(groups.iter().all(|group| group.case != Case::LabelPropagation || matches!(group.threads, 1 | 4)));
        let of = |case, threads| groups.iter().find(|group| group.case == case && group.threads == threads).unwrap();
        for active in [RuntimeId::HiveSpin, RuntimeId::LibgompActive, RuntimeId::LibompActive] {
            assert!(!of(Case::Matmul, 1).runtimes.contains(&active) && of(Case::Matmul, 4).runtimes.contains(&active));
            assert!(of(Case::Reduce, 1).runtimes.contains(&active));
        }
    }
}
