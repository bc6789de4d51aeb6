//! In which groups members start and meet. Pure: nothing is shared, nothing waits.
//!
//! A group starts and meets in one cache line. Its lowest member is its *head*: it hears of regions in the line of a wider group and passes them on,
//! so that a line is polled by few, and each border between clusters and nodes is crossed once by a start and once by an arrival.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use super::neighbours::Address;

/// In which groups the members of a hive hear of a region, meet at its barriers and end it; in the environment `HIVE_BARRIER`. See `docs/shape.md`.
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
    /// `auto`: whichever of these measures best. Where members share one last-level cache or are bound nowhere there is nothing to measure, and it is `flat`; otherwise
    /// it takes up to 20 ms when the first such hive is built, and is remembered, also for later processes. [`Hive::report`](crate::Hive::report) says which it is.
    #[default]
    Auto,
}

impl BarrierShape {
    const ALL: [(Self, &str); 4] = [(Self::Flat, "flat"), (Self::Cluster, "cluster"), (Self::Node, "node"), (Self::Auto, "auto")];
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
pub(crate) const LEVELS: usize = 3;

/// Members that are bound nowhere are put in groups of so many, by number.
const STRANGERS: usize = 16;

/// The groups of a crew's members.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// The members of each, in order. By head; of one head the widest first.
    groups: Box<[Box<[u32]>]>,
    /// Of each member: the groups that it heads, and the one in which it hears of regions. Member 0 heads the widest of all and hears of none.
    spots: Box<[Spot]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Spot {
    heads: Range<u32>,
    listens: u32,
}

impl Shape {
    /// `members` in groups by `form`, which is not `auto`; the first of them are at these addresses, and the others nowhere.
    pub(crate) fn new(form: BarrierShape, addresses: &[Address], members: u32) -> Self {
        let unit = |member: u32| -> (usize, usize) {
            let [_, cluster, node] = addresses.get(member as usize).copied().unwrap_or_default();
            match (form, node, cluster) {
                (BarrierShape::Flat | BarrierShape::Auto, ..) => (0, 0),
                (BarrierShape::Node, Some(node), _) => (node, 0),
                (BarrierShape::Cluster, Some(node), Some(cluster)) => (node, cluster),
                // In nodes of their own, which nobody else is in.
                _ => (usize::MAX - member as usize / STRANGERS, 0),
            }
        };
        let mut all: Vec<u32> = (0..members).collect();
        // Stable: members of a unit stay in order.
        all.sort_by_key(|&member| unit(member));
        let inner: Vec<Box<[u32]>> = all.chunk_by(|&a, &b| unit(a) == unit(b)).map(Into::into).collect();
        let nodes = heads_by(&inner, |member| unit(member).0);
        let widest = heads_by(&nodes, |_| 0);
        // A group of one is nobody's.
        let mut groups: Vec<_> = [widest, nodes, inner].into_iter().flatten().filter(|group| group.len() > 1).collect();
        if groups.is_empty() {
            groups.push(all.into());
        }
        // Stable: the widest of one head came first.
        groups.sort_by_key(|group| group[0]);
        let mut spots = vec![Spot { heads: 0..0, listens: 0 }; members as usize];
        for (number, group) in (0_u32..).zip(&groups) {
            let heads = &mut spots[group[0] as usize].heads;
            *heads = if Range::is_empty(heads) { number..number + 1 } else { heads.start..number + 1 };
            for &member in &group[1..] {
                spots[member as usize].listens = number;
            }
        }
        Self { groups: groups.into(), spots: spots.into() }
    }

    /// How many groups there are.
    pub(crate) fn count(&self) -> usize {
        self.groups.len()
    }

    /// The group in which a bee hears of regions.
    pub(crate) fn listens(&self, bee: u32) -> u32 {
        self.spots[bee as usize].listens
    }

    /// The groups that `member` heads, the widest first.
    pub(crate) fn heads(&self, member: u32) -> Range<u32> {
        self.spots[member as usize].heads.clone()
    }

    /// How many of a team of `team` are in `group`.
    #[inline(always)]
    pub(crate) fn size(&self, group: u32, team: u32) -> u32 {
        if self.groups.len() == 1 {
            return team.min(self.spots.len() as u32);
        }
        let members = &self.groups[group as usize];
        let last = members.len() - 1;
        // Mostly all of them, or all up to the team's end.
        if members[last] < team { last as u32 + 1 } else { members.partition_point(|&member| member < team) as u32 }
    }

    /// The members of `group`, the head first.
    pub(crate) fn members(&self, group: u32) -> &[u32] {
        &self.groups[group as usize]
    }
}

/// The heads of `groups`, in groups by `unit`.
fn heads_by(groups: &[Box<[u32]>], unit: impl Fn(u32) -> usize) -> Vec<Box<[u32]>> {
    let mut heads: Vec<u32> = groups.iter().map(|group| group[0]).collect();
    heads.sort_by_key(|&head| (unit(head), head));
    heads.chunk_by(|&a, &b| unit(a) == unit(b)).map(Into::into).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn groups(shape: &Shape) -> Vec<Vec<u32>> {
        shape.groups.iter().map(|group| group.to_vec()).collect()
    }

    /// Two nodes of two clusters of two.
    fn machine() -> Vec<Address> {
        (0..8).map(|member| [Some(member), Some(member / 2), Some(member / 4)]).collect()
    }

    #[test]
    fn flat_is_one_group() {
        let shape = Shape::new(BarrierShape::Flat, &machine(), 8);
        assert_eq!(groups(&shape), [(0..8).collect::<Vec<_>>()]);
        assert_eq!((shape.heads(0), shape.heads(3), shape.listens(7)), (0..1, 0..0, 0));
        assert_eq!([1, 5, 8, 99].map(|team| shape.size(0, team)), [1, 5, 8, 8]);
    }

    #[test]
    fn clusters_meet_in_nodes_and_these_in_all() {
        let shape = Shape::new(BarrierShape::Cluster, &machine(), 8);
        assert_eq!(groups(&shape), [vec![0, 4], vec![0, 2], vec![0, 1], vec![2, 3], vec![4, 6], vec![4, 5], vec![6, 7]]);
        assert_eq!([0, 1, 2, 4, 6].map(|member| shape.heads(member)), [0..3, 0..0, 3..4, 4..6, 6..7]);
        assert_eq!([1, 2, 3, 4, 5, 6, 7].map(|bee| shape.listens(bee)), [2, 1, 3, 0, 5, 4, 6]);
        assert_eq!([0, 1, 2, 3, 4, 5, 6].map(|group| shape.size(group, 5)), [2, 2, 2, 2, 1, 1, 0]);
    }

    #[test]
    fn a_level_with_one_unit_is_left_out() {
        let shape = Shape::new(BarrierShape::Cluster, &machine()[..4], 4);
        assert_eq!(groups(&shape), [vec![0, 2], vec![0, 1], vec![2, 3]]);
        let shape = Shape::new(BarrierShape::Node, &machine(), 8);
        assert_eq!(groups(&shape), [vec![0, 4], vec![0, 1, 2, 3], vec![4, 5, 6, 7]]);
        // A cluster of one: its member is a head of nothing.
        let shape = Shape::new(BarrierShape::Cluster, &machine()[..3], 3);
        assert_eq!(groups(&shape), [vec![0, 2], vec![0, 1]]);
    }

    #[test]
    fn who_is_bound_nowhere_is_in_a_group_of_strangers() {
        let shape = Shape::new(BarrierShape::Node, &machine(), 40);
        assert_eq!(shape.groups.len(), 6);
        assert_eq!(shape.members(shape.listens(39)), (32..40).collect::<Vec<_>>());
        assert_eq!(shape.members(0), [0, 4, 8, 16, 32]);
    }

    proptest! {
        /// Whatever the machine: everybody but member 0 hears of regions in one group, whose head is a lower member, and no group is missing.
        #[test]
        fn everybody_is_reached_once(
            places in proptest::collection::vec((0_usize..4, 0_usize..3), 1..40), strangers in 0_u32..40, by_node: bool, team in 1_u32..90,
        ) {
            let addresses: Vec<Address> = places.iter().map(|&(node, cluster)| [None, Some(node * 3 + cluster), Some(node)]).collect();
            let members = addresses.len() as u32 + strangers;
            let shape = Shape::new(if by_node { BarrierShape::Node } else { BarrierShape::Cluster }, &addresses, members);
            let mut heard = vec![0; members as usize];
            for (number, group) in (0..).zip(&shape.groups) {
                prop_assert!(group.is_sorted() && (group.len() > 1 || members == 1));
                prop_assert!(shape.heads(group[0]).contains(&number));
                group[1..].iter().for_each(|&member| heard[member as usize] += 1);
                prop_assert_eq!(shape.size(number, team), group.iter().filter(|&&member| member < team).count() as u32);
            }
            prop_assert_eq!(heard[0], 0);
            prop_assert!(heard[1..].iter().all(|&times| times == 1), "{:?}", heard);
            prop_assert!((0..members).all(|member| shape.heads(member).len() <= LEVELS));
        }
    }
}
