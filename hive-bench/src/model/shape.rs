//! The protocols by which a team starts regions, ends them and meets at barriers, as steps of its bees.

use super::line::{Cell, Word};
use super::simulation::Step;
use crate::catalog::names;
use crate::system::topology::Place;

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
    roles: Vec<Role>,
    /// The time from a bee's arrival at the end of a region until it polls again.
    back_off: u64,
}

impl Protocol {
    /// Bee i is on `cpus[i]`.
    pub(super) fn new(shape: Shape, cpus: &[Place], back_off: u64) -> Self {
        let keys = match shape {
            Shape::Flat => &[],
            Shape::Cluster => BY_CLUSTER,
            Shape::Node => BY_NODE,
        };
        let groups = tree(cpus, keys);
        let roles = (0..cpus.len()).map(|bee| role(bee, &groups)).collect();
        Self { groups, roles, back_off }
    }

    /// The bee in whose cache each line is at first.
    pub(super) fn owners(&self) -> Vec<usize> {
        self.groups.iter().flat_map(|group| [group[0]; 2]).collect()
    }

    /// The beginning of region number `epoch`, which counts from 1.
    pub(super) fn start(&self, bee: usize, epoch: u64, steps: &mut Vec<Step>) {
        let Role { leads, led_in } = &self.roles[bee];
        let start = |group: usize| Cell(2 * group, Word::Start);
        steps.extend(led_in.map(|group| Step::Await(start(group), epoch)));
        steps.extend(leads.iter().rev().map(|group| Step::Add(start(*group))));
    }

    /// The end of region number `epoch`.
    pub(super) fn end(&self, bee: usize, epoch: u64, steps: &mut Vec<Step>) {
        let Role { leads, led_in } = &self.roles[bee];
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
        let Role { leads, led_in } = &self.roles[bee];
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

/// Bees that meet in one cache line. The first is the leader, and the only one that is in a group above as well.
pub(super) type Group = Vec<usize>;

/// What the bees of the lowest groups share, and then what their leaders share.
type Key = fn(&Place) -> (Option<usize>, Option<&str>);

/// Groups by cluster, groups of leaders by node, and a group of the leaders of those. As in hive, two nodes that share
/// a cache are separate.
pub(super) const BY_CLUSTER: &[Key] = &[|cpu| (cpu.node, cpu.cluster.as_deref()), |cpu| (cpu.node, None)];
/// Groups by node, and a group of their leaders.
pub(super) const BY_NODE: &[Key] = &[|cpu| (cpu.node, None)];

/// All groups, from the lowest level to the top. A group of one is left out, because its bee meets no other.
pub(super) fn tree(cpus: &[Place], keys: &[Key]) -> Vec<Group> {
    let mut groups = Vec::new();
    let mut bees: Group = (0..cpus.len()).collect();
    for key in keys {
        let level = split(&bees, cpus, *key);
        bees = level.iter().map(|group| group[0]).collect();
        groups.extend(level);
    }
    groups.push(bees);
    groups.retain(|group| group.len() > 1);
    groups
}

/// In the order of their first bees.
fn split(bees: &[usize], cpus: &[Place], key: Key) -> Vec<Group> {
    let mut groups: Vec<(_, Group)> = Vec::new();
    for bee in bees {
        let of = key(&cpus[*bee]);
        match groups.iter_mut().find(|(key, _)| *key == of) {
            Some((_, group)) => group.push(*bee),
            None => groups.push((of, vec![*bee])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// The role of a bee: the groups that it leads, from the lowest up, and the one in which it is led.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Role {
    pub(super) leads: Vec<usize>,
    pub(super) led_in: Option<usize>,
}

pub(super) fn role(bee: usize, groups: &[Group]) -> Role {
    let of = |leads: bool| {
        let mine = move |group: &Group| group.contains(&bee) && (group[0] == bee) == leads;
        (0..groups.len()).filter(move |place| mine(&groups[*place]))
    };
    Role { leads: of(true).collect(), led_in: of(false).next() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::topology::tests::place;

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

    /// Bees on clusters of two, of which each node has two.
    fn cpus(count: usize) -> Vec<Place> {
        let cpu = |k: usize| place(k, &k.to_string(), &(k / 2).to_string(), k / 4, k / 4);
        (0..count).map(cpu).collect()
    }

    #[test]
    fn heads_meet_heads() {
        let groups = tree(&cpus(8), BY_CLUSTER);
        assert_eq!(groups, [vec![0, 1], vec![2, 3], vec![4, 5], vec![6, 7], vec![0, 2], vec![4, 6], vec![0, 4]]);
        assert_eq!(role(0, &groups), Role { leads: vec![0, 4, 6], led_in: None });
        assert_eq!(role(4, &groups), Role { leads: vec![2, 5], led_in: Some(6) });
        assert_eq!(role(3, &groups), Role { leads: vec![], led_in: Some(1) });
        assert_eq!(tree(&cpus(8), BY_NODE), [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![0, 4]]);
    }

    #[test]
    fn a_cache_of_two_nodes_is_two_clusters() {
        let cpus: Vec<Place> = cpus(8).into_iter().map(|cpu| Place { cluster: Some("0".to_owned()), ..cpu }).collect();
        assert_eq!(tree(&cpus, BY_CLUSTER), [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![0, 4]]);
        assert_eq!(tree(&cpus, &[]), [(0..8).collect::<Vec<_>>()]);
    }

    #[test]
    fn nobody_meets_alone() {
        assert_eq!(tree(&cpus(3), BY_CLUSTER), [vec![0, 1], vec![0, 2]]);
        assert_eq!(tree(&cpus(2), BY_NODE), [vec![0, 1]]);
    }

    /// Every worker is led in exactly one group.
    #[test]
    fn everybody_has_a_head() {
        for count in 2..40 {
            for keys in [BY_CLUSTER, BY_NODE] {
                let groups = tree(&cpus(count), keys);
                assert!((1..count).all(|bee| role(bee, &groups).led_in.is_some()), "{count}");
                assert_eq!(groups.iter().map(|group| group.len() - 1).sum::<usize>(), count - 1);
            }
        }
    }
}
