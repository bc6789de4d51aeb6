//! Which bees are near which others, in terms of the hardware that their places share. `Team::others_by_distance` uses
//! it: bees steal tasks from the nearest bees first, and notify the nearest first.

use std::ops::Range;
use std::{array, iter};

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
    /// For each of the distances `Core`, `Cluster` and `Node`, the bees at most that far away, as a set with a bit for
    /// each bee whose id is below 64.
    near: [u64; Distance::Far as usize],
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
        let anywhere = || Neighbourhood { position: 0, reach: array::from_fn(|_| 0..locations.len()), near: [0; 3] };
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
        for own in &mut neighbourhoods {
            let bits = |range: &Range<usize>| order[range.clone()].iter().filter_map(|id| 1_u64.checked_shl(*id));
            own.near = array::from_fn(|level| bits(&own.reach[level]).fold(0, |set, bit| set | bit));
        }
        Self { order, neighbourhoods }
    }

    /// The one of a set of bees, given as one bit for each id below 64, that is nearest to bee `bee`, which is below 64
    /// too; that bee itself if it is in the set. Of those that are equally near, the one with the next id. None: the
    /// set is empty.
    #[inline]
    pub(crate) fn nearest_of(&self, bee: u32, set: u64) -> Option<u32> {
        // The only one is the nearest. On a core that has been idle, what says who is near whom has to be fetched.
        if set.is_power_of_two() {
            return Some(set.trailing_zeros());
        }
        let next_of = |set: u64| {
            let not_before = set & (u64::MAX << bee);
            (set != 0).then(|| if not_before != 0 { not_before } else { set }.trailing_zeros())
        };
        let near = self.neighbourhoods.get(bee as usize).and_then(|own| {
            let level = own.near.iter().find(|near| **near & set != 0)?;
            next_of(level & set)
        });
        near.or_else(|| next_of(set))
    }

    /// The bees with ids up to `last`, without `bee`, the nearest first, each with its distance. Bees that are equally
    /// far are listed starting with the one after `bee` in the order, and then around, so that not all bees turn to the
    /// same one first. Those without a location come last.
    ///
    /// Written as one short loop: it is part of a wake-up, and the core of the thread that makes it may have been idle
    /// for so long that each cache line of code has to be fetched.
    #[inline]
    pub(crate) fn by_distance(&self, bee: u32, last: u32) -> impl Iterator<Item = (u32, Distance)> {
        let own = self.neighbourhoods.get(bee as usize);
        // A bee without a location is far from all others. It starts at a position that depends on its id.
        let start = own.map_or_else(|| (bee as usize).checked_rem(self.order.len()).unwrap_or(0), |own| own.position);
        let mut listed = start..start + usize::from(own.is_some());
        // What is left of the present distance: first the bees after those that are nearer, then those before them.
        let (mut after, mut before, mut next_level) = (0..0, 0..0, 0);
        let mut unbound = self.order.len() as u32..last + 1;
        iter::from_fn(move || {
            loop {
                match after.next().or_else(|| before.next()) {
                    Some(position) if self.order[position] <= last => {
                        return Some((self.order[position], Distance::ALL[next_level - 1]));
                    }
                    Some(_) => {}
                    // The next distance adds what its range of the order has beyond what is listed.
                    None if listed.len() < self.order.len() => {
                        let reach = match (Distance::ALL[next_level], own) {
                            (Distance::Far, _) => 0..self.order.len(),
                            (_, Some(own)) => own.reach[next_level].clone(),
                            (_, None) => listed.clone(),
                        };
                        next_level += 1;
                        (after, before) = (listed.end..reach.end, reach.start..listed.start);
                        listed = reach;
                    }
                    None => return unbound.find(|&id| id != bee).map(|id| (id, Distance::Far)),
                }
            }
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
        let found: Vec<_> = machine().by_distance(3, 15).collect();
        assert_eq!(sorted(&found[..1]), [11], "the other thread of the core");
        assert_eq!(sorted(&found[1..3]), [2, 10], "the other core of the cluster");
        assert_eq!(sorted(&found[3..7]), [0, 1, 8, 9], "the other cluster of the node");
        assert_eq!(sorted(&found), (0..16).filter(|id| *id != 3).collect::<Vec<_>>());
        let far = |distance| found.iter().filter(|(_, of)| *of == distance).count();
        assert_eq!(Distance::ALL.map(far), [1, 2, 4, 8]);
    }

    #[test]
    fn of_the_bees_under_a_cache_with_several_nodes_those_on_the_own_node_come_first() {
        let found: Vec<_> = sub_numa_machine().by_distance(4, 23).collect();
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
                        let found: Vec<_> = neighbours.by_distance(bee, 2).collect();
                        let others: Vec<_> = (0..3).filter(|id| *id != bee).collect();
                        assert_eq!(sorted(&found), others, "of bee {bee} at {:?}", [a, b, c]);
                        assert!(found.is_sorted_by_key(|(_, distance)| *distance as usize), "{found:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_nearest_of_a_set_is_as_near_as_the_first_one_listed() {
        for (neighbours, bees) in [(machine(), 16), (sub_numa_machine(), 24), (Neighbours::new(&[]), 5)] {
            for bee in 0..bees + 2 {
                let distances: Vec<_> = neighbours.by_distance(bee, bees).collect();
                // Some hundred sets, by a generator of Lehmer's kind.
                let sets = (0..300).scan(1_u64, |state, _| {
                    *state = state.wrapping_mul(0xda94_2042_e4dd_58b5).wrapping_add(1);
                    Some((*state >> 32) & ((1 << (bees + 1)) - 1) & !(1 << bee))
                });
                for set in sets {
                    let nearest = neighbours.nearest_of(bee, set);
                    let distance_of = |id: u32| distances.iter().find(|(other, _)| *other == id).unwrap().1;
                    let expected = distances.iter().find(|(id, _)| set & 1 << id != 0).map(|(_, distance)| *distance);
                    assert_eq!(nearest.map(distance_of), expected, "bee {bee}, {set:b}");
                    assert!(nearest.is_none_or(|id| set & 1 << id != 0));
                    assert_eq!(neighbours.nearest_of(bee, set | 1 << bee), Some(bee));
                }
            }
        }
        assert_eq!(Neighbours::new(&[]).nearest_of(3, 0b10011), Some(4));
        assert_eq!(Neighbours::new(&[]).nearest_of(3, 0b111), Some(0));
    }

    #[test]
    fn an_unbound_bee_is_far_from_all() {
        let neighbours = machine();
        let of_unbound: Vec<_> = neighbours.by_distance(17, 18).collect();
        assert_eq!(sorted(&of_unbound), [(0..17).collect(), vec![18]].concat());
        assert!(of_unbound.iter().all(|(_, distance)| *distance == Distance::Far));
        let of_bound: Vec<_> = neighbours.by_distance(3, 18).collect();
        assert_eq!(of_bound[15..], [(16, Distance::Far), (17, Distance::Far), (18, Distance::Far)]);
        let all_unbound: Vec<_> = Neighbours::new(&[]).by_distance(2, 3).collect();
        assert_eq!(all_unbound, [(0, Distance::Far), (1, Distance::Far), (3, Distance::Far)]);
    }

    #[test]
    fn bees_that_are_not_there_yet_are_left_out() {
        let ids: Vec<_> = machine().by_distance(3, 10).map(|(id, _)| id).collect();
        assert!([2, 10].contains(&ids[0]), "11, which is the nearest, is left out: {ids:?}");
        let mut ascending = ids.clone();
        ascending.sort_unstable();
        assert_eq!(ascending, [0, 1, 2, 4, 5, 6, 7, 8, 9, 10]);
    }

    #[test]
    fn a_bee_bound_to_more_than_one_unit_shares_none_of_them() {
        let neighbours =
            Neighbours::new(&[[None, Some(0), Some(0)], [None, Some(0), Some(0)], [None, Some(1), Some(0)]]);
        assert_eq!(neighbours.by_distance(0, 2).collect::<Vec<_>>(), [(1, Distance::Cluster), (2, Distance::Node)]);
    }
}
