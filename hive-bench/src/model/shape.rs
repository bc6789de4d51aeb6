//! The protocols by which a team starts regions, ends them and meets at barriers, as steps of its bees.

use clap::ValueEnum;
use serde::Serialize;

use super::cpu::Cpu;
use super::groups::{BY_CLUSTER, BY_NODE, Group, Place, TOGETHER, place, tree};
use super::program::{Step, Words};

/// hive's `NEAR`: up to so many bees of a group meet in the line that starts them.
const NEAR: usize = 4;

/// The shapes that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Shape {
    /// One group of all bees, which has one line if it is small, otherwise a start line and a barrier line
    Flat,
    /// A group for each cluster, one for the leaders of a node's clusters, and one for the leaders of the nodes
    Cluster,
    /// A group for each node, and one for the leaders of the nodes
    Node,
    /// The queen writes and reads a line of each worker, one after the other
    Linear,
    /// One counter of arrivals, and a release flag in a line of its own
    Counter,
}

impl Shape {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Flat => "flat",
            Self::Cluster => "cluster",
            Self::Node => "node",
            Self::Linear => "linear",
            Self::Counter => "counter",
        }
    }
}

/// The lines in which the bees of a shape meet.
#[derive(Debug)]
enum Lines {
    /// Two lines each: group g starts in line 2g, and meets there or, if it is large, in the next.
    Groups(Vec<Group>),
    /// Bee i has line i - 1.
    Linear,
    /// Line 0 starts and releases, line 1 counts, line 2 tells the queen.
    Counter,
}

/// A shape for a team.
#[derive(Debug)]
pub(super) struct Protocol {
    lines: Lines,
    places: Vec<Place>,
    /// The time from a bee's arrival at the end of a region until it polls again.
    back_off: u64,
}

impl Protocol {
    /// Bee i is on `cpus[i]`.
    pub(super) fn new(shape: Shape, cpus: &[Cpu], back_off: u64) -> Self {
        let lines = match shape {
            Shape::Flat => Lines::Groups(tree(cpus, TOGETHER)),
            Shape::Cluster => Lines::Groups(tree(cpus, BY_CLUSTER)),
            Shape::Node => Lines::Groups(tree(cpus, BY_NODE)),
            Shape::Linear => Lines::Linear,
            Shape::Counter => Lines::Counter,
        };
        let groups: &[Group] = if let Lines::Groups(groups) = &lines { groups } else { &[] };
        let places = (0..cpus.len()).map(|bee| place(bee, groups)).collect();
        Self { lines, places, back_off }
    }

    /// The bee in whose cache each line is at first.
    pub(super) fn owners(&self) -> Vec<usize> {
        match &self.lines {
            Lines::Groups(groups) => groups.iter().flat_map(|group| [group[0]; 2]).collect(),
            Lines::Linear => (1..self.places.len()).collect(),
            Lines::Counter => vec![0; 3],
        }
    }

    /// The beginning of region number `epoch`, which counts from 1.
    pub(super) fn start(&self, bee: usize, epoch: u64, steps: &mut Vec<Step>) {
        let queen = bee == 0;
        match &self.lines {
            Lines::Groups(_) => {
                let Place { leads, led_in } = &self.places[bee];
                steps.extend(led_in.map(|group| Step::Await(signal(group).start(), epoch)));
                steps.extend(leads.iter().rev().map(|group| Step::Store(signal(*group).start(), epoch)));
            }
            Lines::Counter if queen => steps.push(Step::Store(Words(0).start(), epoch)),
            Lines::Counter => steps.push(Step::Await(Words(0).start(), epoch)),
            Lines::Linear if queen => steps.extend(self.flags().map(|flag| Step::Store(flag.start(), epoch))),
            Lines::Linear => steps.push(Step::Await(Words(bee - 1).start(), epoch)),
        }
    }

    /// The end of region number `epoch`.
    pub(super) fn end(&self, bee: usize, epoch: u64, steps: &mut Vec<Step>) {
        let (queen, workers) = (bee == 0, self.places.len() as u64 - 1);
        match &self.lines {
            Lines::Groups(groups) => {
                let Place { leads, led_in } = &self.places[bee];
                let others = |group: usize| groups[group].len() as u64 - 1;
                let left = |group: usize| barrier(groups, group).left();
                steps.extend(leads.iter().map(|group| Step::Await(left(*group), epoch * others(*group))));
                steps.extend(led_in.map(|group| Step::Add(left(group))));
            }
            Lines::Linear if queen => steps.extend(self.flags().map(|flag| Step::Await(flag.left(), epoch))),
            Lines::Linear => steps.push(Step::Store(Words(bee - 1).left(), epoch)),
            Lines::Counter if queen => steps.push(Step::Await(Words(2).start(), epoch)),
            Lines::Counter => {
                steps.push(Step::Add(Words(1).left()));
                steps.push(Step::StoreIfLast { goal: epoch * workers, cell: Words(2).start(), value: epoch });
            }
        }
        if !queen && self.back_off > 0 {
            steps.push(Step::Work(self.back_off));
        }
    }

    /// Barrier number `count`, which counts from 1.
    pub(super) fn barrier(&self, bee: usize, count: u64, steps: &mut Vec<Step>) {
        let (queen, team) = (bee == 0, self.places.len() as u64);
        match &self.lines {
            Lines::Groups(groups) => self.barrier_of_groups(groups, bee, count, steps),
            Lines::Linear if queen => {
                steps.extend(self.flags().map(|flag| Step::Await(flag.arrivals(), count)));
                steps.extend(self.flags().map(|flag| Step::Store(flag.start(), count)));
            }
            Lines::Linear => {
                let flag = Words(bee - 1);
                steps.extend([Step::Store(flag.arrivals(), count), Step::Await(flag.start(), count)]);
            }
            Lines::Counter => {
                steps.push(Step::Add(Words(1).arrivals()));
                steps.push(Step::StoreIfLast { goal: count * team, cell: Words(0).start(), value: count });
                steps.push(Step::Await(Words(0).start(), count));
            }
        }
    }

    /// A leader arrives last in its group, after it has met the other leaders, and its addition releases the group.
    fn barrier_of_groups(&self, groups: &[Group], bee: usize, count: u64, steps: &mut Vec<Step>) {
        let Place { leads, led_in } = &self.places[bee];
        let goal = |group: usize| count * groups[group].len() as u64;
        let arrivals = |group: usize| barrier(groups, group).arrivals();
        // In the topmost group there is no group above, so there the queen arrives like the others.
        let (meeting, below) = match (led_in, leads.split_last()) {
            (None, Some((top, below))) => (*top, below),
            (Some(group), _) => (*group, leads.as_slice()),
            (None, None) => return,
        };
        steps.extend(below.iter().map(|group| Step::Await(arrivals(*group), goal(*group) - 1)));
        steps.extend([Step::Add(arrivals(meeting)), Step::Await(arrivals(meeting), goal(meeting))]);
        steps.extend(below.iter().rev().map(|group| Step::Add(arrivals(*group))));
    }

    fn flags(&self) -> impl Iterator<Item = Words> {
        (0..self.places.len() - 1).map(Words)
    }
}

/// The line in which a group starts.
fn signal(group: usize) -> Words {
    Words(2 * group)
}

/// The line in which it meets, and ends a region.
fn barrier(groups: &[Group], group: usize) -> Words {
    Words(2 * group + usize::from(groups[group].len() > NEAR))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bees on clusters of two, of which each node has two.
    fn cpus(count: usize) -> Vec<Cpu> {
        let cpu = |k: usize| Cpu { os_index: k, core: k as u64, cluster: k as u64 / 2, node: k as u64 / 4, package: 0 };
        (0..count).map(cpu).collect()
    }

    #[test]
    fn a_small_group_meets_where_it_starts() {
        for (team, line) in [(4, 0), (5, 1)] {
            let mut end = Vec::new();
            Protocol::new(Shape::Flat, &cpus(team), 0).end(3, 1, &mut end);
            assert_eq!(end, [Step::Add(Words(line).left())]);
        }
    }

    #[test]
    fn a_head_passes_the_start_on_and_gathers_its_group() {
        let protocol = Protocol::new(Shape::Node, &cpus(8), 0);
        let (mut start, mut end, mut barrier) = (Vec::new(), Vec::new(), Vec::new());
        protocol.start(4, 3, &mut start);
        protocol.end(4, 3, &mut end);
        protocol.barrier(4, 3, &mut barrier);
        let (group, top) = (Words(2), Words(4));
        assert_eq!(start, [Step::Await(top.start(), 3), Step::Store(group.start(), 3)]);
        assert_eq!(end, [Step::Await(group.left(), 9), Step::Add(top.left())]);
        let arrivals = [Step::Await(group.arrivals(), 11), Step::Add(top.arrivals()), Step::Await(top.arrivals(), 6)];
        assert_eq!(barrier[..3], arrivals);
        assert_eq!(barrier[3], Step::Add(group.arrivals()));
    }
}
