//! Which bees are near which others, in terms of the hardware that their places share. `Team::others_by_distance` uses
//! it: bees steal tasks from the nearest bees first, and notify the nearest first.

use std::array;
use std::ops::Range;

/// How far one bee is from another: the narrowest piece of hardware that their places share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Distance {
    /// They are on hardware threads of one core.
    Core = 0,
    /// They are on cores of one NUMA node that share a last-level cache.
    Cluster = 1,
    /// They are on one NUMA node.
    Node = 2,
    /// They share none of these, or at least one of them is not bound to a place.
    Far = 3,
}

impl Distance {
    pub(crate) const ALL: [Self; 4] = [Self::Core, Self::Cluster, Self::Node, Self::Far];
}

/// The numbers of the core, the cluster and the NUMA node that a bee is bound to, in this order. `None` where the bee
/// is not bound to a single one.
pub(crate) type Location = [Option<usize>; 3];

/// The bees of a team that are bound to places, in an order in which bees that share hardware are next to each other.
/// All other bees are far from every bee.
pub(crate) struct Neighbours {
    /// The bees' ids, sorted by node, then cluster, then core.
    order: Box<[u32]>,
    /// One for each bee, by the bee's id.
    neighbourhoods: Box<[Neighbourhood]>,
}

/// Where one bee and its neighbours are in the order.
struct Neighbourhood {
    /// The index of the bee in the order.
    position: usize,
    /// For each distance, the range of the order that holds all bees at most that far away, including the bee itself.
    /// Each range contains the one before it.
    reach: [Range<usize>; Distance::ALL.len()],
}

impl Neighbours {
    /// The neighbours of bees 0 to `locations.len() - 1`, each of which is bound where its location says. All later
    /// bees are unbound.
    pub(crate) fn new(locations: &[Location]) -> Self {
        let mut order: Box<[u32]> = (0..locations.len() as u32).collect();
        // Sorted by the widest piece of hardware first and the narrowest last, so that the bees of each piece form one
        // range.
        order.sort_by_key(|&bee| {
            let [core, cluster, node] = locations[bee as usize];
            (node, cluster, core)
        });
        // At first each bee reaches itself alone, and everybody only at the distance `Far`.
        let anywhere = || Neighbourhood { position: 0, reach: array::from_fn(|_| 0..locations.len()) };
        let mut neighbourhoods: Box<[Neighbourhood]> = locations.iter().map(|_| anywhere()).collect();
        for (position, &bee) in order.iter().enumerate() {
            neighbourhoods[bee as usize].position = position;
            neighbourhoods[bee as usize].reach[..Distance::Far as usize].fill(position..position + 1);
        }
        // Then each run of bees with the same core, cluster or node becomes the reach of each bee in it. A run ends
        // where a wider piece of hardware does: a last-level cache may have several nodes under it, and then a bee's
        // cluster is only the part of it that is on the bee's node.
        for distance in [Distance::Core, Distance::Cluster, Distance::Node] {
            let level = distance as usize;
            // The piece of hardware and all wider ones.
            let units = |bee: u32| &locations[bee as usize][level..];
            let mut end = 0;
            for run in order.chunk_by(|&a, &b| units(a)[0].is_some() && units(a) == units(b)) {
                let range = end..end + run.len();
                end = range.end;
                for &bee in run {
                    let reach = &mut neighbourhoods[bee as usize].reach;
                    // A bee that shares this piece with nobody, or is not bound to a single one, reaches as far as at
                    // the distance before.
                    reach[level] = if run.len() > 1 || level == 0 { range.clone() } else { reach[level - 1].clone() };
                }
            }
        }
        Self { order, neighbourhoods }
    }

    /// The lowest id of a bee that is far from all others because no location was given for it.
    pub(crate) fn first_unbound(&self) -> u32 {
        self.order.len() as u32
    }

    /// All other bees that have a location, the nearest first, each with its distance. Bees that are equally far are
    /// listed starting with the one after `bee` in the order, and then around, so that not all bees turn to the same
    /// one first.
    pub(crate) fn by_distance(&self, bee: u32) -> impl Iterator<Item = (u32, Distance)> {
        let len = self.order.len();
        // A bee without a location is far from all others. It starts at a position that depends on its id.
        let start = bee as usize % len.max(1);
        let (mut seen, reach) = match self.neighbourhoods.get(bee as usize) {
            Some(neighbourhood) => (neighbourhood.position..neighbourhood.position + 1, neighbourhood.reach.clone()),
            None => (start..start, array::from_fn(|_| start..start)),
        };
        // `seen` is the range listed so far. Each distance adds what its own range has beyond that: first the bees
        // after it, then those before it.
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

    /// As `pack:2 l3:1 group:4 [numa] core:3 pu:1`: two sockets with one last-level cache each, four nodes under each
    /// cache, three cores on each node, and one bee on each core.
    fn sub_numa_machine() -> Neighbours {
        let location = |bee: usize| [Some(bee), Some(bee / 12), Some(bee / 3)];
        Neighbours::new(&(0..24).map(location).collect::<Vec<_>>())
    }

    /// Sixteen bees on two nodes, each of two clusters, of two cores, of two hardware threads. Bees 0 to 7 are on the
    /// first threads of the eight cores, bees 8 to 15 on the second ones, as places are usually listed.
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
    fn of_the_bees_under_a_cache_with_several_nodes_those_on_the_own_node_come_first() {
        let found: Vec<_> = sub_numa_machine().by_distance(4).collect();
        assert_eq!(found[..2], [(5, Distance::Cluster), (3, Distance::Cluster)]);
        assert_eq!(sorted(&found), (0..24).filter(|id| *id != 4).collect::<Vec<_>>(), "each once");
        assert!(found[2..].iter().all(|(_, distance)| *distance == Distance::Far));
    }

    /// Even where a location does not say all, or where the locations contradict each other.
    #[test]
    fn each_other_bee_is_listed_once_and_no_nearer_one_later() {
        let units = [None, Some(0), Some(1)];
        let locations: Vec<Location> = units
            .iter()
            .flat_map(|&core| units.iter().flat_map(move |&cluster| units.map(|node| [core, cluster, node])))
            .collect();
        for &a in &locations {
            for &b in &locations {
                for &c in &locations {
                    let neighbours = Neighbours::new(&[a, b, c]);
                    for bee in 0..3 {
                        let found: Vec<_> = neighbours.by_distance(bee).collect();
                        let others: Vec<_> = (0..3).filter(|id| *id != bee).collect();
                        assert_eq!(sorted(&found), others, "of bee {bee} at {:?}", [a, b, c]);
                        assert!(found.is_sorted_by_key(|(_, distance)| *distance as usize), "{found:?}");
                    }
                }
            }
        }
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
