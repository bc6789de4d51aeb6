//! Which groups the bees of a hive form, and which bee leads each of them. `Shape::new` computes this once, when the
//! hive is built, from the places that the bees are bound to. Nothing here is shared between threads, and nothing
//! waits.
//!
//! The bees of a group start and meet in one cache line. The lowest bee of a group is its *leader*. A leader other than
//! the queen is started in the line of a wider group, and passes the start on to its own groups. So each line is polled
//! by few bees, and a start and an arrival each cross the border between two clusters or NUMA nodes only once.
//!
//! `led_groups.rs` and `queen.rs` use the groups; `tuning/barrier_choice.rs` chooses the shape. See `docs/shape.md`.

use std::fmt;
use std::ops::Range;

use crate::protocol::neighbours::Location;

/// The groups that the bees of a hive form in order to start in a region, meet at its barriers and end it. Set by
/// [`Builder::barrier`](crate::pool::builder::Builder::barrier) or by `HIVE_BARRIER` in the environment. See
/// `docs/shape.md`.
///
/// ```
/// # use hive::BarrierShape;
/// assert_eq!("cluster".parse(), Ok(BarrierShape::Cluster));
/// assert_eq!(BarrierShape::Node.to_string(), "node");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BarrierShape {
    /// `flat`: all bees form one group.
    Flat,
    /// `cluster`: the bees whose places share a last-level cache form a group. The leaders of the groups on one NUMA
    /// node form a wider group, and the leaders of the nodes form the widest one.
    Cluster,
    /// `node`: the bees whose places are on one NUMA node form a group, and the leaders of these groups form a wider
    /// one.
    Node,
    /// `auto`: one of the other three, by the number of bees that the hive starts with and their places.
    ///
    /// It is `flat` where all three put these bees into one group, as where all bees share a last-level cache, and for
    /// fewer than ten bees. Otherwise it is the one with the narrowest groups: `cluster` or, where the bees' places are
    /// larger than clusters, `node`. [`Hive::report`](crate::pool::handle::Hive::report) says which shape was chosen
    /// and why.
    #[default]
    Auto,
}

impl BarrierShape {
    /// All shapes with their names, in the environment and in reports.
    pub(crate) const ALL: [(Self, &str); 4] =
        [(Self::Flat, "flat"), (Self::Cluster, "cluster"), (Self::Node, "node"), (Self::Auto, "auto")];
}

impl fmt::Display for BarrierShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find_map(|(shape, name)| (shape == self).then_some(*name));
        f.write_str(name.unwrap_or_default())
    }
}

/// The largest number of levels that groups can have: clusters, nodes, and the whole team. A bee leads at most one
/// group of each level.
pub(crate) const MAX_LEVELS: usize = 3;

/// The size of the groups that bees without a known place form, in the order of their numbers.
const UNBOUND_GROUP_SIZE: usize = 16;

/// The groups of all bees that a hive can have. A group's index here is its id.
///
/// A region's team is the bees with the lowest numbers. Of each group it uses the bees that are in the team, and if
/// there are any, the leader is one of them.
#[derive(Debug)]
pub(crate) struct Shape {
    /// The bees of each group, ascending, so that the leader is the first. Groups are in the order of their leaders,
    /// and those of one leader in the order from the widest to the narrowest.
    groups: Box<[Box<[u32]>]>,
    /// What each bee is in which group.
    roles: Box<[GroupRoles]>,
}

/// The groups of one bee.
#[derive(Clone, Debug)]
struct GroupRoles {
    /// The groups that it leads, the widest first.
    led_groups: Range<u32>,
    /// The group in which it is started, which another bee leads. Bee 0 leads the widest group and is started in none;
    /// its value is 0.
    start_group: u32,
}

impl Shape {
    /// The groups that `bees` bees form in `shape`; `Auto` is taken for `Flat`. `locations` says where the first bees
    /// are bound. The bees after these are not bound.
    pub(crate) fn new(shape: BarrierShape, locations: &[Location], bees: u32) -> Self {
        // The node and the cluster that decide in which group a bee is.
        let unit = |bee: u32| -> (usize, usize) {
            let [_, cluster, node] = locations.get(bee as usize).copied().unwrap_or_default();
            match (shape, node, cluster) {
                (BarrierShape::Flat | BarrierShape::Auto, ..) => (0, 0),
                (BarrierShape::Node, Some(node), _) => (node, 0),
                (BarrierShape::Cluster, Some(node), Some(cluster)) => (node, cluster),
                // Bees without a known place are on nodes that do not exist, `UNBOUND_GROUP_SIZE` bees on each. Their
                // numbers count down from the largest, so that they differ from those of real nodes.
                _ => (usize::MAX - bee as usize / UNBOUND_GROUP_SIZE, 0),
            }
        };
        // First the narrowest groups: the bees with the same unit.
        let mut all: Vec<u32> = (0..bees).collect();
        // A stable sort, so that the bees of a unit stay in ascending order.
        all.sort_by_key(|&bee| unit(bee));
        let inner: Vec<Box<[u32]>> = all.chunk_by(|&a, &b| unit(a) == unit(b)).map(Into::into).collect();
        // Then the wider groups, of the leaders of the narrower ones.
        let nodes = leaders_by(&inner, |bee| unit(bee).0);
        let widest = leaders_by(&nodes, |_| 0);
        // A group of one bee is left out, because that bee has no other to start or to wait for. If none is left, the
        // hive has one bee, which gets a group of its own, so that there is at least one group.
        let mut groups: Vec<_> = [widest, nodes, inner].into_iter().flatten().filter(|group| group.len() > 1).collect();
        if groups.is_empty() {
            groups.push(all.into());
        }
        // A stable sort, so that the groups of one leader stay in the order from the widest to the narrowest.
        groups.sort_by_key(|group| group[0]);
        // The groups of one leader are now in a row, so a range of ids says which they are. Each other bee of a group
        // is started in it. No bee is started in two groups, because only the leader of a narrower group is in a wider
        // one.
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

    /// The number of groups, at least 1.
    pub(crate) fn group_count(&self) -> usize {
        self.groups.len()
    }

    /// The group in which `bee`, a worker, is started in a region.
    pub(crate) fn start_group(&self, bee: u32) -> u32 {
        self.roles[bee as usize].start_group
    }

    /// The groups that `bee` leads, the widest first.
    pub(crate) fn led_groups(&self, bee: u32) -> Range<u32> {
        self.roles[bee as usize].led_groups.clone()
    }

    /// How many bees of a team of `bees` bees are in `group`.
    #[inline(always)]
    pub(crate) fn count_within(&self, group: u32, bees: u32) -> u32 {
        // The only group has all bees.
        if self.groups.len() == 1 {
            return bees.min(self.roles.len() as u32);
        }
        let in_group = &self.groups[group as usize];
        let last = in_group.len() - 1;
        // Mostly the whole group is in the team, and there is no need to search.
        if in_group[last] < bees { last as u32 + 1 } else { in_group.partition_point(|&bee| bee < bees) as u32 }
    }

    /// The bees of `group`, ascending; the first is the leader.
    pub(crate) fn bees_of(&self, group: u32) -> &[u32] {
        &self.groups[group as usize]
    }
}

/// Groups of the leaders of `groups`: those with the same `unit` form one group.
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

    /// The locations of eight bees on two nodes, each of two clusters, each of two cores.
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
        // The second cluster has one bee, which leads no group.
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
        /// On every machine, each bee but bee 0 is started in exactly one group, whose leader is a lower bee. Each
        /// group is among those that its leader leads, and no bee leads more than `MAX_LEVELS` groups.
        #[test]
        fn everybody_is_reached_once(
            places in proptest::collection::vec((0_usize..4, 0_usize..3), 1..40),
            unbound in 0_u32..40,
            by_node: bool,
            team in 1_u32..90,
        ) {
            let addresses: Vec<Location> =
                places.iter().map(|&(node, cluster)| [None, Some(node * 3 + cluster), Some(node)]).collect();
            let bees = addresses.len() as u32 + unbound;
            let shape =
                Shape::new(if by_node { BarrierShape::Node } else { BarrierShape::Cluster }, &addresses, bees);
            let mut heard = vec![0; bees as usize];
            for (number, group) in (0..).zip(&shape.groups) {
                prop_assert!(group.is_sorted() && (group.len() > 1 || bees == 1));
                prop_assert!(shape.led_groups(group[0]).contains(&number));
                group[1..].iter().for_each(|&bee| heard[bee as usize] += 1);
                prop_assert_eq!(
                    shape.count_within(number, team),
                    group.iter().filter(|&&bee| bee < team).count() as u32
                );
            }
            prop_assert_eq!(heard[0], 0);
            prop_assert!(heard[1..].iter().all(|&times| times == 1), "{:?}", heard);
            prop_assert!((0..bees).all(|bee| shape.led_groups(bee).len() <= MAX_LEVELS));
        }
    }
}
