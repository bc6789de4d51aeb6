//! Who is near to whom: in this order members steal from one another and wake one another.

use std::array;
use std::ops::Range;

/// How far one member is from another, in what their places share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Distance {
    /// Hardware threads of one core.
    Core = 0,
    /// Cores under one last-level cache.
    Cluster = 1,
    /// One NUMA node.
    Node = 2,
    /// Anything else, and members that are not bound.
    Far = 3,
}

impl Distance {
    pub(crate) const ALL: [Self; 4] = [Self::Core, Self::Cluster, Self::Node, Self::Far];
}

/// The numbers of the core, the cluster and the node that a member is bound to, where it is bound to one.
pub(crate) type Address = [Option<usize>; 3];

/// The members of a crew that are bound somewhere, ordered so that those who share something are next to each other. The other members are far from all.
pub(crate) struct Neighbours {
    order: Box<[u32]>,
    spots: Box<[Spot]>,
}

/// Where a member is in the order, and where those are that are no further than so far.
struct Spot {
    position: usize,
    reach: [Range<usize>; Distance::ALL.len()],
}

impl Neighbours {
    /// Given where each of the first members is bound. The members after these are strangers.
    pub(crate) fn new(addresses: &[Address]) -> Self {
        let mut order: Box<[u32]> = (0..addresses.len() as u32).collect();
        // From the widest to the narrowest, so that each unit is one range.
        order.sort_by_key(|&member| {
            let [core, cluster, node] = addresses[member as usize];
            (node, cluster, core)
        });
        let anywhere = || Spot { position: 0, reach: array::from_fn(|_| 0..addresses.len()) };
        let mut spots: Box<[Spot]> = addresses.iter().map(|_| anywhere()).collect();
        for (position, &member) in order.iter().enumerate() {
            spots[member as usize].position = position;
            spots[member as usize].reach[..Distance::Far as usize].fill(position..position + 1);
        }
        for distance in [Distance::Core, Distance::Cluster, Distance::Node] {
            let level = distance as usize;
            let unit = |member: u32| addresses[member as usize][level];
            let mut end = 0;
            for run in order.chunk_by(|&a, &b| unit(a).is_some() && unit(a) == unit(b)) {
                let range = end..end + run.len();
                end = range.end;
                run.iter().for_each(|&member| spots[member as usize].reach[level] = range.clone());
            }
        }
        Self { order, spots }
    }

    /// The first member that is a stranger to all.
    pub(crate) fn first_stranger(&self) -> u32 {
        self.order.len() as u32
    }

    /// All others that are bound somewhere, the nearest first, with their distance. Those that are equally far begin with the one after `member`, so that not all turn
    /// to the same.
    pub(crate) fn of(&self, member: u32) -> impl Iterator<Item = (u32, Distance)> {
        let len = self.order.len();
        // A stranger begins anywhere.
        let start = member as usize % len.max(1);
        let (mut seen, reach) = match self.spots.get(member as usize) {
            Some(spot) => (spot.position..spot.position + 1, spot.reach.clone()),
            None => (start..start, array::from_fn(|_| start..start)),
        };
        Distance::ALL.into_iter().flat_map(move |distance| {
            let ring = if distance == Distance::Far { 0..len } else { reach[distance as usize].clone() };
            let inner = std::mem::replace(&mut seen, ring.clone());
            (inner.end..ring.end).chain(ring.start..inner.start).map(move |position| (self.order[position], distance))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two nodes of two clusters of two cores of two threads; members go to cores first, as places do.
    fn machine() -> Neighbours {
        let address = |member: usize| [Some(member % 8), Some(member % 8 / 2), Some(member % 8 / 4)];
        Neighbours::new(&(0..16).map(address).collect::<Vec<_>>())
    }

    fn sorted(ids: &[(u32, Distance)]) -> Vec<u32> {
        let mut ids: Vec<_> = ids.iter().map(|(id, _)| *id).collect();
        ids.sort_unstable();
        ids
    }

    #[test]
    fn the_nearest_come_first() {
        let found: Vec<_> = machine().of(3).collect();
        assert_eq!(sorted(&found[..1]), [11], "the other thread of the core");
        assert_eq!(sorted(&found[1..3]), [2, 10], "the other core of the cluster");
        assert_eq!(sorted(&found[3..7]), [0, 1, 8, 9], "the other cluster of the node");
        assert_eq!(sorted(&found), (0..16).filter(|id| *id != 3).collect::<Vec<_>>());
        let far = |distance| found.iter().filter(|(_, of)| *of == distance).count();
        assert_eq!(Distance::ALL.map(far), [1, 2, 4, 8]);
    }

    #[test]
    fn who_is_not_bound_is_far_from_all() {
        let neighbours = machine();
        assert_eq!(neighbours.first_stranger(), 16);
        let of_stranger: Vec<_> = neighbours.of(17).collect();
        assert_eq!(sorted(&of_stranger), (0..16).collect::<Vec<_>>());
        assert!(of_stranger.iter().all(|(_, distance)| *distance == Distance::Far));
        assert_eq!(Neighbours::new(&[]).of(2).count(), 0);
    }

    #[test]
    fn who_is_bound_to_more_than_one_unit_shares_none_of_them() {
        let neighbours = Neighbours::new(&[[None, Some(0), Some(0)], [None, Some(0), Some(0)], [None, Some(1), Some(0)]]);
        assert_eq!(neighbours.of(0).collect::<Vec<_>>(), [(1, Distance::Cluster), (2, Distance::Node)]);
    }
}
