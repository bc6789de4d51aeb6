//! The bees that may be asleep, the nearest to one bee first: among these a thread looks for sleepers to wake for
//! tasks.
//!
//! On a core that has been idle, a wake-up takes the time of the cache lines that it needs, code and data. So in a hive
//! of as many bees as one word has bits, this works with sets of bees, and touches no bee that cannot be asleep.

use std::iter;

use crate::protocol::neighbours::{ByDistance, Neighbours};
use crate::protocol::worker::occupancy::{MaybeAsleep, Occupancy};

/// An iterator over the ids of these bees.
pub(crate) struct NearestSleepers<'n> {
    neighbours: &'n Neighbours,
    /// The bee from which distances are counted. It is the first of all if it may be asleep itself.
    bee: u32,
    /// The bees that have not been listed yet, as far as they have a bit.
    asleep: MaybeAsleep,
    /// In a hive some of whose bees have no bit: all bees that have not been looked at yet.
    many: Option<Many<'n>>,
}

/// A bee and all others.
struct Many<'n> {
    itself: Option<u32>,
    others: ByDistance<'n>,
}

impl<'n> NearestSleepers<'n> {
    /// Those among the bees up to `last` that `occupancy` says now. The caller knows that these have been hired. A
    /// worker that is being hired meanwhile may be asleep as well, but nothing says that the caller sees its slot.
    #[inline(always)]
    pub(crate) fn new(occupancy: &Occupancy, neighbours: &'n Neighbours, bee: u32, last: u32) -> Self {
        let asleep = occupancy.maybe_asleep();
        let (asleep, many) = if MaybeAsleep::have_bits(last) {
            (asleep.up_to(last), None)
        } else {
            (asleep, Some(Many::new(neighbours, bee, last)))
        };
        Self { neighbours, bee, asleep, many }
    }
}

impl<'n> Many<'n> {
    #[cold]
    fn new(neighbours: &'n Neighbours, bee: u32, last: u32) -> Self {
        Self { itself: Some(bee), others: neighbours.by_distance(bee, last) }
    }

    #[cold]
    fn next(&mut self) -> Option<u32> {
        self.itself.take().or_else(|| self.others.next().map(|(id, _)| id))
    }
}

impl Iterator for NearestSleepers<'_> {
    type Item = u32;

    #[inline(always)]
    fn next(&mut self) -> Option<u32> {
        if let Some(many) = &mut self.many {
            return iter::from_fn(|| many.next()).find(|id| self.asleep.includes(*id));
        }
        let nearest = self.neighbours.nearest_of(self.bee, self.asleep.bits())?;
        self.asleep.remove(nearest);
        Some(nearest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(occupancy: &Occupancy, bee: u32, last: u32) -> Vec<u32> {
        // Pairs of bees have a core in common.
        let locations: Vec<_> = (0..=last).map(|id| [Some(id as usize / 2), None, None]).collect();
        NearestSleepers::new(occupancy, &Neighbours::new(&locations), bee, last).collect()
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
