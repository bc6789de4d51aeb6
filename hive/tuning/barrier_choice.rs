//! Which shape a hive's barriers have: the one that was asked for or, for `auto`, one that follows from the number of
//! bees and their places.
//!
//! `Shared::new` asks for it once, when a hive is built. See `docs/shape.md`, "Which shape".

use std::fmt;

use crate::protocol::neighbours::Location;
use crate::protocol::region::shape::{BarrierShape, Shape};

/// The smallest number of bees for which it pays to meet in groups. The model in `docs/scaling.md` predicts it, for
/// clusters of eight.
const MIN_BEES_FOR_GROUPS: u32 = 10;

/// The shape of a hive's barriers, and why it was chosen.
pub(crate) struct BarrierChoice {
    /// The chosen shape.
    pub(crate) shape: BarrierShape,
    /// Why it was chosen, as the report says it. Empty: the program or the environment has named the shape.
    reason: &'static str,
}

/// The reason where all bees are in one group, whatever the shape.
const SINGLE_GROUP: &str = " (auto: the bees share a last-level cache, or their caches are not known)";
/// The reason where the shape follows from the number of bees and their places.
const BY_PLACES: &str = " (auto: by the number of bees and their places)";

impl BarrierChoice {
    /// Chooses the shape for a hive that starts with `bees` bees at `locations`, for which the program or the
    /// environment asks for `requested`.
    pub(crate) fn for_request(requested: BarrierShape, bees: u32, locations: &[Location]) -> Self {
        let (shape, reason) = match requested {
            BarrierShape::Auto => Self::choose(bees, locations),
            shape => (shape, ""),
        };
        Self { shape, reason }
    }

    /// For `auto`: the shape with the narrowest groups, if there are groups and enough bees for them.
    fn choose(bees: u32, locations: &[Location]) -> (BarrierShape, &'static str) {
        let has_groups = |shape: &BarrierShape| Shape::new(*shape, locations, bees).group_count() > 1;
        match [BarrierShape::Cluster, BarrierShape::Node].into_iter().find(has_groups) {
            None => (BarrierShape::Flat, SINGLE_GROUP),
            Some(_) if bees < MIN_BEES_FOR_GROUPS => (BarrierShape::Flat, BY_PLACES),
            Some(narrowest) => (narrowest, BY_PLACES),
        }
    }
}

impl fmt::Display for BarrierChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.shape, self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The report's text for `auto` and bees in these clusters on these nodes.
    fn auto_text(units: impl Iterator<Item = [Option<usize>; 2]>) -> String {
        let locations: Vec<Location> = units.map(|[cluster, node]| [None, cluster, node]).collect();
        BarrierChoice::for_request(BarrierShape::Auto, locations.len() as u32, &locations).to_string()
    }

    #[test]
    fn groups_need_several_caches_and_enough_bees() {
        let in_clusters_of_four = |bees| auto_text((0..bees).map(|bee| [Some(bee / 4), Some(bee / 8)]));
        let single_group = "flat (auto: the bees share a last-level cache, or their caches are not known)";
        assert_eq!(in_clusters_of_four(1), single_group);
        assert_eq!(in_clusters_of_four(4), single_group);
        assert_eq!(in_clusters_of_four(9), "flat (auto: by the number of bees and their places)");
        assert_eq!(in_clusters_of_four(10), "cluster (auto: by the number of bees and their places)");
    }

    #[test]
    fn bees_whose_clusters_are_not_known_meet_by_node_or_by_number() {
        let on_two_nodes = (0..16).map(|bee| [None, Some(bee / 8)]);
        assert_eq!(auto_text(on_two_nodes), "node (auto: by the number of bees and their places)");
        let bound_nowhere = (0..40).map(|_| [None; 2]);
        assert_eq!(auto_text(bound_nowhere), "cluster (auto: by the number of bees and their places)");
    }

    #[test]
    fn what_is_asked_for_is_taken() {
        assert_eq!(BarrierChoice::for_request(BarrierShape::Node, 1, &[]).to_string(), "node");
    }
}
