//! Who is near to whom: in this order bees steal from one another and wake one another.

use std::array;
use std::ops::Range;

/// How far one bee is from another, in what their places share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Distance {
    /// Hardware threads of one core.
    Core = 0,
    /// Cores under one last-level cache.
    Cluster = 1,
    /// One NUMA node.
    Node = 2,
    /// Anything else, and bees that are not bound.
    Far = 3,
}

impl Distance {
    pub(crate) const ALL: [Self; 4] = [Self::Core, Self::Cluster, Self::Node, Self::Far];
}

/// The numbers of the core, the cluster and the node that a bee is bound to, where it is bound to one.
pub(crate) type Location = [Option<usize>; 3];

/// The bees of a team that are bound somewhere, ordered so that those who share something are next to each other. The other bees are far from all.
pub(crate) struct Neighbours {
    order: Box<[u32]>,
    neighbourhoods: Box<[Neighbourhood]>,
}

/// Where a bee is in the order, and where those are that are no further than so far.
struct Neighbourhood {
    position: usize,
    reach: [Range<usize>; Distance::ALL.len()],
}

impl Neighbours {
    /// Given where each of the first bees is bound. The bees after these are strangers.
    pub(crate) fn new(locations: &[Location]) -> Self {
        let mut order: Box<[u32]> = (0..locations.len() as u32).collect();
        // From the widest to the narrowest, so that each unit is one range.
        order.sort_by_key(|&bee| {
            let [core, cluster, node] = locations[bee as usize];
            (node, cluster, core)
        });
        let anywhere = || Neighbourhood { position: 0, reach: array::from_fn(|_| 0..locations.len()) };
        let mut neighbourhoods: Box<[Neighbourhood]> = locations.iter().map(|_| anywhere()).collect();
        for (position, &bee) in order.iter().enumerate() {
            neighbourhoods[bee as usize].position = position;
            neighbourhoods[bee as usize].reach[..Distance::Far as usize].fill(position..position + 1);
        }
        for distance in [Distance::Core, Distance::Cluster, Distance::Node] {
            let level = distance as usize;
            let unit = |bee: u32| locations[bee as usize][level];
            let mut end = 0;
            for run in order.chunk_by(|&a, &b| unit(a).is_some() && unit(a) == unit(b)) {
                let range = end..end + run.len();
                end = range.end;
                run.iter().for_each(|&bee| neighbourhoods[bee as usize].reach[level] = range.clone());
            }
        }
        Self { order, neighbourhoods }
    }

    /// The first bee that is a stranger to all.
    pub(crate) fn first_unbound(&self) -> u32 {
        self.order.len() as u32
    }

    /// All others that are bound somewhere, the nearest first, with their distance. Those that are equally far begin with the one after `member`, so that not all turn
    /// to the same.
    pub(crate) fn by_distance(&self, bee: u32) -> impl Iterator<Item = (u32, Distance)> {
        let len = self.order.len();
        // A stranger begins anywhere.
        let start = bee as usize % len.max(1);
        let (mut seen, reach) = match self.neighbourhoods.get(bee as usize) {
            Some(neighbourhood) => (neighbourhood.position..neighbourhood.position + 1, neighbourhood.reach.clone()),
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

    /// Two nodes of two clusters of two cores of two threads; bees go to cores first, as places do.
    fn machine() -> Neighbours {
        let location = |bee: usize| [Some(bee % 8), Some(bee % 8 / 2), Some(bee % 8 / 4)];
        Neighbours::new(&(0..16).map(location).collect::<Vec<_>>())
    }

    fn sorted(ids: &[(u32, Distance)]) -> Vec<u32> {
        let mut ids: Vec<_> = ids.iter().map(|(id, _)| *id).collect();
        ids.sort_unstable();
        ids
    }

    #[test]
    fn the_nearest_come_first() {
        let found: Vec<_> = machine().by_distance(3).collect();
        assert_eq!(sorted(&found[..1]), [11], "the other thread of the core");
        assert_eq!(sorted(&found[1..3]), [2, 10], "the other core of the cluster");
        assert_eq!(sorted(&found[3..7]), [0, 1, 8, 9], "the other cluster of the node");
        assert_eq!(sorted(&found), (0..16).filter(|id| *id != 3).collect::<Vec<_>>());
        let far = |distance| found.iter().filter(|(_, of)| *of == distance).count();
        assert_eq!(Distance::ALL.map(far), [1, 2, 4, 8]);
    }

    #[test]
    fn an_unbound_bee_is_far_from_all() {
        let neighbours = machine();
        assert_eq!(neighbours.first_unbound(), 16);
        let of_unbound: Vec<_> = neighbours.by_distance(17).collect();
        assert_eq!(sorted(&of_unbound), (0..16).collect::<Vec<_>>());
        assert!(of_unbound.iter().all(|(_, distance)| *distance == Distance::Far));
        assert_eq!(Neighbours::new(&[]).by_distance(2).count(), 0);
    }

    #[test]
    fn a_bee_bound_to_more_than_one_unit_shares_none_of_them() {
        let neighbours =
            Neighbours::new(&[[None, Some(0), Some(0)], [None, Some(0), Some(0)], [None, Some(1), Some(0)]]);
        assert_eq!(neighbours.by_distance(0).collect::<Vec<_>>(), [(1, Distance::Cluster), (2, Distance::Node)]);
    }
}
