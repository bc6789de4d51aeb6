//! A cold wake: all workers sleep, and are woken by semaphores.

use super::costs::Costs;
use super::cpu::Cpu;
use super::groups::{BY_CLUSTER, BY_NODE, Group, tree};
use super::shape::Shape;

/// hive's `CALLS_BY_ONE`: up to so many bees are woken by one bee.
const CALLS_BY_ONE: usize = 4;

/// The outcome of a wake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wake {
    /// Picoseconds until the last bee runs.
    pub(super) time: u64,
    /// How many bees were woken from another node.
    pub(super) crossings: usize,
}

struct Calls<'a> {
    cpus: &'a [Cpu],
    costs: &'a Costs,
    /// Which bees a bee wakes, after it was woken itself.
    groups: Vec<Group>,
    woken: Vec<Option<u64>>,
    crossings: usize,
}

/// The queen wakes the team: by the leaders of groups; by a tree of halves, as hive does in a flat team; or one after
/// the other.
pub(super) fn cold(shape: Shape, cpus: &[Cpu], costs: &Costs) -> Wake {
    let everybody: Group = (0..cpus.len()).collect();
    let groups = match shape {
        Shape::Cluster => tree(cpus, BY_CLUSTER),
        Shape::Node => tree(cpus, BY_NODE),
        Shape::Flat => vec![everybody.clone()],
        Shape::Linear | Shape::Counter => Vec::new(),
    };
    let in_turn = groups.is_empty();
    let mut calls = Calls { cpus, costs, groups, woken: vec![None; cpus.len()], crossings: 0 };
    calls.woken[0] = Some(0);
    if in_turn {
        everybody[1..].iter().fold(0, |now, bee| calls.post(0, *bee, now).0);
    } else {
        calls.wake_assigned(0, 0);
    }
    let time = calls.woken.iter().map(|time| time.unwrap_or_else(|| unreachable!("a bee sleeps on"))).max();
    Wake { time: time.unwrap_or(0), crossings: calls.crossings }
}

impl Calls<'_> {
    /// When the waking bee is done with it, and when the woken bee runs.
    fn post(&mut self, caller: usize, bee: usize, now: u64) -> (u64, u64) {
        self.crossings += usize::from(self.cpus[caller].node != self.cpus[bee].node);
        let posted = now + self.costs.post;
        let runs = posted + self.costs.wake;
        assert!(self.woken[bee].replace(runs).is_none_or(|_| bee == 0), "bee {bee} is called twice");
        (posted, runs)
    }

    /// A leader wakes the groups that it leads, the highest first. Returns when it is done.
    fn wake_assigned(&mut self, leader: usize, mut now: u64) -> u64 {
        for place in (0..self.groups.len()).rev().filter(|place| self.groups[*place][0] == leader).collect::<Vec<_>>() {
            let group = self.groups[place][1..].to_vec();
            now = self.call_all(leader, &group, now);
        }
        now
    }

    /// If there are many, the waking bee wakes the middle one, which wakes those after it.
    fn call_all(&mut self, caller: usize, sleepers: &[usize], mut now: u64) -> u64 {
        let mut end = sleepers.len();
        while end > CALLS_BY_ONE {
            let middle = end / 2;
            let (posted, runs) = self.post(caller, sleepers[middle], now);
            let done = self.call_all(sleepers[middle], &sleepers[middle + 1..end], runs);
            self.wake_assigned(sleepers[middle], done);
            (now, end) = (posted, middle);
        }
        for bee in &sleepers[..end] {
            let (posted, runs) = self.post(caller, *bee, now);
            self.wake_assigned(*bee, runs);
            now = posted;
        }
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: Costs = Costs { call: 0, part: 0, write: 0, poll: 0, serial: 1.0, post: 10, wake: 100 };

    /// Bees on clusters of four, of which each node has two.
    fn cpus(count: usize) -> Vec<Cpu> {
        let cpu = |k: usize| Cpu { os_index: k, core: k as u64, cluster: k as u64 / 4, node: k as u64 / 8, package: 0 };
        (0..count).map(cpu).collect()
    }

    #[test]
    fn one_after_the_other_takes_a_post_each() {
        assert_eq!(cold(Shape::Linear, &cpus(9), &COSTS), Wake { time: 8 * 10 + 100, crossings: 1 });
    }

    #[test]
    fn a_few_are_called_by_the_queen_alone() {
        assert_eq!(cold(Shape::Flat, &cpus(5), &COSTS).time, 4 * 10 + 100);
    }

    #[test]
    fn of_eight_the_fifth_calls_the_last_three() {
        // The fifth bee runs at 110, and then posts three times.
        assert_eq!(cold(Shape::Flat, &cpus(9), &COSTS).time, 110 + 3 * 10 + 100);
    }

    #[test]
    fn heads_cross_each_boundary_once() {
        let by_heads = cold(Shape::Cluster, &cpus(32), &COSTS);
        assert_eq!(by_heads.crossings, 3);
        assert!(cold(Shape::Flat, &cpus(32), &COSTS).crossings >= 3);
        assert!(by_heads.time < cold(Shape::Counter, &cpus(32), &COSTS).time);
    }

    #[test]
    fn a_team_of_one_is_awake() {
        assert_eq!(cold(Shape::Node, &cpus(1), &COSTS).time, 0);
    }
}
