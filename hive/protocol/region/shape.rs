//! In which groups bees start and meet. Pure: nothing is shared, nothing waits.
//!
//! A group starts and meets in one cache line. Its lowest bee is its *head*: it hears of regions in the line of a wider group and passes them on,
//! so that a line is polled by few, and each border between clusters and nodes is crossed once by a start and once by an arrival.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use crate::protocol::neighbours::Location;

/// In which groups the bees of a hive hear of a region, meet at its barriers and end it; in the environment `HIVE_BARRIER`. See `docs/shape.md`.
///
/// ```
/// # use hive::BarrierShape;
/// assert_eq!("cluster".parse(), Ok(BarrierShape::Cluster));
/// assert_eq!(BarrierShape::Node.to_string(), "node");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BarrierShape {
    /// `flat`: all in one.
    Flat,
    /// `cluster`: those whose places share a last-level cache; one of each by node; one of each node.
    Cluster,
    /// `node`: those whose places are on one NUMA node; one of each.
    Node,
    /// `auto`: whichever of these measures best. Where bees share one last-level cache or are bound nowhere there is nothing to measure, and it is `flat`; otherwise
    /// it takes up to 20 ms when the first such hive is built, and is remembered, also for later processes. [`Hive::report`](crate::pool::handle::Hive::report) says which it is.
    #[default]
    Auto,
}

impl BarrierShape {
    const ALL: [(Self, &str); 4] =
        [(Self::Flat, "flat"), (Self::Cluster, "cluster"), (Self::Node, "node"), (Self::Auto, "auto")];
}

impl fmt::Display for BarrierShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find_map(|(shape, name)| (shape == self).then_some(*name));
        f.write_str(name.unwrap_or_default())
    }
}

impl FromStr for BarrierShape {
    type Err = ParseShapeError;

    fn from_str(text: &str) -> Result<Self, ParseShapeError> {
        let found = Self::ALL.iter().find_map(|(shape, name)| name.eq_ignore_ascii_case(text.trim()).then_some(*shape));
        found.ok_or_else(|| ParseShapeError(text.to_owned()))
    }
}

/// A text that says no [`BarrierShape`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseShapeError(String);

impl fmt::Display for ParseShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no shape of a barrier; expected flat, cluster, node or auto", self.0)
    }
}

impl std::error::Error for ParseShapeError {}

/// The widest levels of groups that there are: clusters, nodes, all.
pub(crate) const MAX_LEVELS: usize = 3;

/// Bees that are bound nowhere are put in groups of so many, by number.
const UNBOUND_GROUP_SIZE: usize = 16;

/// The groups of a team's bees.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// The bees of each, in order. By head; of one head the widest first.
    groups: Box<[Box<[u32]>]>,
    /// Of each bee: the groups that it heads, and the one in which it hears of regions. Bee 0 heads the widest of all and hears of none.
    roles: Box<[GroupRoles]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct GroupRoles {
    led_groups: Range<u32>,
    start_group: u32,
}

impl Shape {
    /// `members` in groups by `shape`, which is not `auto`; the first of them are at these addresses, and the others nowhere.
    pub(crate) fn new(shape: BarrierShape, locations: &[Location], bees: u32) -> Self {
        let unit = |bee: u32| -> (usize, usize) {
            let [_, cluster, node] = locations.get(bee as usize).copied().unwrap_or_default();
            match (shape, node, cluster) {
                (BarrierShape::Flat | BarrierShape::Auto, ..) => (0, 0),
                (BarrierShape::Node, Some(node), _) => (node, 0),
                (BarrierShape::Cluster, Some(node), Some(cluster)) => (node, cluster),
                // In nodes of their own, which nobody else is in.
                _ => (usize::MAX - bee as usize / UNBOUND_GROUP_SIZE, 0),
            }
        };
        let mut all: Vec<u32> = (0..bees).collect();
        // Stable: bees of a unit stay in order.
        all.sort_by_key(|&bee| unit(bee));
        let inner: Vec<Box<[u32]>> = all.chunk_by(|&a, &b| unit(a) == unit(b)).map(Into::into).collect();
        let nodes = leaders_by(&inner, |bee| unit(bee).0);
        let widest = leaders_by(&nodes, |_| 0);
        // A group of one is nobody's.
        let mut groups: Vec<_> = [widest, nodes, inner].into_iter().flatten().filter(|group| group.len() > 1).collect();
        if groups.is_empty() {
            groups.push(all.into());
        }
        // Stable: the widest of one head came first.
        groups.sort_by_key(|group| group[0]);
        let mut roles = vec![GroupRoles { led_groups: 0..0, start_group: 0 }; bees as usize];
        for (number, group) in (0_u32..).zip(&groups) {
            let led_groups = &mut roles[group[0] as usize].led_groups;
            *led_groups = if Range::is_empty(led_groups) { number..number + 1 } else { led_groups.start..number + 1 };
            for &bee in &group[1..] {
                roles[bee as usize].start_group = number;
            }
        }
        Self { groups: groups.into(), roles: roles.into() }
    }

    /// How many groups there are.
    pub(crate) fn group_count(&self) -> usize {
        self.groups.len()
    }

    /// The group in which a bee hears of regions.
    pub(crate) fn start_group(&self, bee: u32) -> u32 {
        self.roles[bee as usize].start_group
    }

    /// The groups that `member` heads, the widest first.
    pub(crate) fn led_groups(&self, bee: u32) -> Range<u32> {
        self.roles[bee as usize].led_groups.clone()
    }

    /// How many of a team of `team` are in `group`.
    #[inline(always)]
    pub(crate) fn count_within(&self, group: u32, bees: u32) -> u32 {
        if self.groups.len() == 1 {
            return bees.min(self.roles.len() as u32);
        }
        let in_group = &self.groups[group as usize];
        let last = in_group.len() - 1;
        // Mostly all of them, or all up to the team's end.
        if in_group[last] < bees { last as u32 + 1 } else { in_group.partition_point(|&bee| bee < bees) as u32 }
    }

    /// The bees of `group`, the head first.
    pub(crate) fn bees_of(&self, group: u32) -> &[u32] {
        &self.groups[group as usize]
    }
}

/// The heads of `parts`, in groups by `unit`.
fn leaders_by(groups: &[Box<[u32]>], unit: impl Fn(u32) -> usize) -> Vec<Box<[u32]>> {
    let mut leaders: Vec<u32> = groups.iter().map(|group| group[0]).collect();
    leaders.sort_by_key(|&leader| (unit(leader), leader));
    leaders.chunk_by(|&a, &b| unit(a) == unit(b)).map(Into::into).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn groups(shape: &Shape) -> Vec<Vec<u32>> {
        shape.groups.iter().map(|group| group.to_vec()).collect()
    }

    /// Two nodes of two clusters of two.
    fn machine() -> Vec<Location> {
        (0..8).map(|bee| [Some(bee), Some(bee / 2), Some(bee / 4)]).collect()
    }

    #[test]
    fn flat_is_one_group() {
        let shape = Shape::new(BarrierShape::Flat, &machine(), 8);
        assert_eq!(groups(&shape), [(0..8).collect::<Vec<_>>()]);
        assert_eq!((shape.led_groups(0), shape.led_groups(3), shape.start_group(7)), (0..1, 0..0, 0));
        assert_eq!([1, 5, 8, 99].map(|bees| shape.count_within(0, bees)), [1, 5, 8, 8]);
    }

    #[test]
    fn clusters_meet_in_nodes_and_these_in_all() {
        let shape = Shape::new(BarrierShape::Cluster, &machine(), 8);
        assert_eq!(
            groups(&shape),
            [vec![0, 4], vec![0, 2], vec![0, 1], vec![2, 3], vec![4, 6], vec![4, 5], vec![6, 7]]
        );
        assert_eq!([0, 1, 2, 4, 6].map(|bee| shape.led_groups(bee)), [0..3, 0..0, 3..4, 4..6, 6..7]);
        assert_eq!([1, 2, 3, 4, 5, 6, 7].map(|bee| shape.start_group(bee)), [2, 1, 3, 0, 5, 4, 6]);
        assert_eq!([0, 1, 2, 3, 4, 5, 6].map(|group| shape.count_within(group, 5)), [2, 2, 2, 2, 1, 1, 0]);
    }

    #[test]
    fn a_level_with_one_unit_is_left_out() {
        let shape = Shape::new(BarrierShape::Cluster, &machine()[..4], 4);
        assert_eq!(groups(&shape), [vec![0, 2], vec![0, 1], vec![2, 3]]);
        let shape = Shape::new(BarrierShape::Node, &machine(), 8);
        assert_eq!(groups(&shape), [vec![0, 4], vec![0, 1, 2, 3], vec![4, 5, 6, 7]]);
        // A cluster of one: its bee is a head of nothing.
        let shape = Shape::new(BarrierShape::Cluster, &machine()[..3], 3);
        assert_eq!(groups(&shape), [vec![0, 2], vec![0, 1]]);
    }

    #[test]
    fn unbound_bees_have_groups_of_their_own() {
        let shape = Shape::new(BarrierShape::Node, &machine(), 40);
        assert_eq!(shape.groups.len(), 6);
        assert_eq!(shape.bees_of(shape.start_group(39)), (32..40).collect::<Vec<_>>());
        assert_eq!(shape.bees_of(0), [0, 4, 8, 16, 32]);
    }

    proptest! {
        /// Whatever the machine: everybody but bee 0 hears of regions in one group, whose head is a lower bee, and no group is missing.
        #[test]
        fn everybody_is_reached_once(
            places in proptest::collection::vec((0_usize..4, 0_usize..3), 1..40), strangers in 0_u32..40, by_node: bool, team in 1_u32..90,
        ) {
            let addresses: Vec<Location> = places.iter().map(|&(node, cluster)| [None, Some(node * 3 + cluster), Some(node)]).collect();
            let members = addresses.len() as u32 + strangers;
            let shape = Shape::new(if by_node { BarrierShape::Node } else { BarrierShape::Cluster }, &addresses, members);
            let mut heard = vec![0; members as usize];
            for (number, group) in (0..).zip(&shape.groups) {
                prop_assert!(group.is_sorted() && (group.len() > 1 || members == 1));
                prop_assert!(shape.led_groups(group[0]).contains(&number));
                group[1..].iter().for_each(|&member| heard[member as usize] += 1);
                prop_assert_eq!(shape.count_within(number, team), group.iter().filter(|&&member| member < team).count() as u32);
            }
            prop_assert_eq!(heard[0], 0);
            prop_assert!(heard[1..].iter().all(|&times| times == 1), "{:?}", heard);
            prop_assert!((0..members).all(|member| shape.led_groups(member).len() <= MAX_LEVELS));
        }
    }
}
