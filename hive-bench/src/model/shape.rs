//! The protocols by which a team starts regions, ends them and meets at barriers, as steps of its bees.

use super::groups::{BY_CLUSTER, BY_NODE, Group, Place, TOGETHER, place, tree};
use super::line::{Cell, Word};
use super::machine::Cpu;
use super::simulation::Step;
use crate::catalog::names;

/// hive's `NEAR`: up to so many bees of a group meet in the line that starts them.
const NEAR: usize = 4;

names! {
    /// The shapes that are compared.
    Shape {
        /// One group of all bees, which has one line if it is small, otherwise a start line and a barrier line.
        Flat "flat";
        /// A group for each cluster, one for the leaders of a node's clusters, and one for the leaders of the nodes.
        Cluster "cluster";
        /// A group for each node, and one for the leaders of the nodes.
        Node "node";
    }
}

/// A shape for a team.
#[derive(Debug)]
pub(super) struct Protocol {
    /// Group g starts in line 2g, and meets there or, if it is large, in the next.
    groups: Vec<Group>,
    places: Vec<Place>,
    /// The time from a bee's arrival at the end of a region until it polls again.
    back_off: u64,
}

impl Protocol {
    /// Bee i is on `cpus[i]`.
    pub(super) fn new(shape: Shape, cpus: &[Cpu], back_off: u64) -> Self {
        let keys = match shape {
            Shape::Flat => TOGETHER,
            Shape::Cluster => BY_CLUSTER,
            Shape::Node => BY_NODE,
        };
        let groups = tree(cpus, keys);
        let places = (0..cpus.len()).map(|bee| place(bee, &groups)).collect();
        Self { groups, places, back_off }
    }

    /// The bee in whose cache each line is at first.
    pub(super) fn owners(&self) -> Vec<usize> {
        self.groups.iter().flat_map(|group| [group[0]; 2]).collect()
    }

    /// The beginning of region number `epoch`, which counts from 1.
    pub(super) fn start(&self, bee: usize, epoch: u64, steps: &mut Vec<Step>) {
        let Place { leads, led_in } = &self.places[bee];
        let start = |group: usize| Cell(2 * group, Word::Start);
        steps.extend(led_in.map(|group| Step::Await(start(group), epoch)));
        steps.extend(leads.iter().rev().map(|group| Step::Add(start(*group))));
    }

    /// The end of region number `epoch`.
    pub(super) fn end(&self, bee: usize, epoch: u64, steps: &mut Vec<Step>) {
        let Place { leads, led_in } = &self.places[bee];
        let others = |group: usize| self.groups[group].len() as u64 - 1;
        let left = |group: usize| Cell(self.meeting_line(group), Word::Left);
        steps.extend(leads.iter().map(|group| Step::Await(left(*group), epoch * others(*group))));
        steps.extend(led_in.map(|group| Step::Add(left(group))));
        if bee > 0 && self.back_off > 0 {
            steps.push(Step::Work(self.back_off));
        }
    }

    /// Barrier number `count`, which counts from 1. A leader arrives last in its group, after it has met the other
    /// leaders, and its addition releases the group.
    pub(super) fn barrier(&self, bee: usize, count: u64, steps: &mut Vec<Step>) {
        let Place { leads, led_in } = &self.places[bee];
        let goal = |group: usize| count * self.groups[group].len() as u64;
        let arrivals = |group: usize| Cell(self.meeting_line(group), Word::Arrivals);
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

    /// The line in which a group meets, and ends a region.
    fn meeting_line(&self, group: usize) -> usize {
        2 * group + usize::from(self.groups[group].len() > NEAR)
    }
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
            assert_eq!(end, [Step::Add(Cell(line, Word::Left))]);
        }
    }

    #[test]
    fn a_head_passes_the_start_on_and_gathers_its_group() {
        let protocol = Protocol::new(Shape::Node, &cpus(8), 0);
        let (mut start, mut end, mut barrier) = (Vec::new(), Vec::new(), Vec::new());
        protocol.start(4, 3, &mut start);
        protocol.end(4, 3, &mut end);
        protocol.barrier(4, 3, &mut barrier);
        let (group, top) = (2, 4);
        assert_eq!(start, [Step::Await(Cell(top, Word::Start), 3), Step::Add(Cell(group, Word::Start))]);
        assert_eq!(end, [Step::Await(Cell(group, Word::Left), 9), Step::Add(Cell(top, Word::Left))]);
        let [of_group, of_top] = [group, top].map(|line| Cell(line, Word::Arrivals));
        let meeting = [Step::Await(of_group, 11), Step::Add(of_top), Step::Await(of_top, 6), Step::Add(of_group)];
        assert_eq!(barrier, meeting);
    }
}
