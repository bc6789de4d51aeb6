//! The bees that may be asleep, the nearest to one bee first: among these a thread looks for sleepers to wake for
//! tasks.
//!
//! On a core that has been idle, a wake-up takes the time of the cache lines that it needs, code and data. So this
//! works with sets of bees, and touches no bee that cannot be asleep. In a hive of more bees than one word has bits,
//! those without a bit are listed whatever they do, and the caller looks at each.

use std::iter;

use crate::protocol::neighbours::Neighbours;
use crate::protocol::worker::occupancy::TRACKED_BEES;

/// The bees of `asleep` up to `last`, each of which has a bit: the nearest to `bee` first. `bee` is the first of all if
/// it may be asleep itself: a thread from outside wakes bees in the name of the queen, who may be asleep.
///
/// The caller knows that the bees up to `last` have been hired. A worker that is being hired meanwhile may be asleep as
/// well, but nothing says that the caller sees its slot.
#[inline(always)]
pub(crate) fn nearest_of_few(neighbours: &Neighbours, bee: u32, last: u32, asleep: u64) -> impl Iterator<Item = u32> {
    let mut asleep = asleep & (u64::MAX >> (TRACKED_BEES - 1 - last));
    iter::from_fn(move || {
        let nearest = neighbours.nearest_of(bee, asleep)?;
        asleep &= !(1 << nearest);
        Some(nearest)
    })
}

/// The bees up to `last` that may be asleep, in a hive some of whose bees have no bit in `asleep`: those of `asleep`
/// and all without a bit. `bee` comes first, and then the nearest to it.
pub(crate) fn nearest_of_many(neighbours: &Neighbours, bee: u32, last: u32, asleep: u64) -> impl Iterator<Item = u32> {
    let others = neighbours.by_distance(bee, last).map(|(id, _)| id);
    iter::once(bee).chain(others).filter(move |id| *id >= TRACKED_BEES || asleep & (1 << id) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::worker::occupancy::Occupancy;

    fn listed(occupancy: &Occupancy, bee: u32, last: u32) -> Vec<u32> {
        // Pairs of bees have a core in common.
        let locations: Vec<_> = (0..=last).map(|id| [Some(id as usize / 2), None, None]).collect();
        let neighbours = Neighbours::new(&locations);
        if last < TRACKED_BEES {
            nearest_of_few(&neighbours, bee, last, occupancy.maybe_asleep()).collect()
        } else {
            nearest_of_many(&neighbours, bee, last, occupancy.maybe_asleep()).collect()
        }
    }

    #[test]
    fn all_who_may_be_asleep_are_listed_and_the_nearest_comes_first() {
        for last in [9, 90] {
            let occupancy = Occupancy::new();
            [1, 4, 6, 8].into_iter().for_each(|id| occupancy.count_asleep(id));
            let of_seven = listed(&occupancy, 7, last);
            assert_eq!((of_seven[0], of_seven.len()), (6, if last == 9 { 4 } else { 4 + 27 }), "{of_seven:?}");
            assert!([1, 4, 6, 8].iter().all(|id| of_seven.contains(id)));
            assert_eq!(listed(&occupancy, 8, last)[0], 8, "a bee is nearest to itself");
            assert!(!listed(&occupancy, 7, 7).contains(&8), "one that the caller does not know of is left out");
            occupancy.uncount_sleeper(6);
            assert!(!listed(&occupancy, 7, last).contains(&6));
        }
    }
}
