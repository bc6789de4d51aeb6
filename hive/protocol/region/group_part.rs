//! The part that a group of bees has in one region, and the parts of all the groups that one bee leads: what a bee
//! needs to know of its groups while it runs its part of the region. `led_groups.rs` makes them when the region begins.

use crate::protocol::region::barrier::Barrier;
use crate::protocol::region::barrier_word::{BaseCount, View};
use crate::protocol::region::shape::MAX_LEVELS;

/// The part that a group has in one region.
#[derive(Clone, Copy)]
pub(crate) struct GroupPart<'c> {
    pub(crate) group_id: u32,
    /// How many bees of the region's team are in the group, the leader included.
    pub(crate) bees: u32,
    /// Whether the leader collects the group's arrivals, because it represents the group in a wider one: see `View`.
    pub(crate) is_collected: bool,
    /// The counts of the barrier at the beginning of the region.
    pub(crate) base: BaseCount,
    /// The barrier of the group for this number of bees.
    pub(crate) barrier: &'c Barrier,
}

impl GroupPart<'_> {
    /// The view of a bee that has passed `barriers_passed` barriers of the region.
    #[inline(always)]
    pub(crate) fn view(&self, barriers_passed: u64) -> View {
        View { bees: self.bees, is_collected: self.is_collected, base: self.base, barriers_passed }
    }
}

/// The parts of the groups that a bee leads in one region, the widest first. The entries after the last part are
/// `None`.
#[derive(Clone, Copy)]
pub(crate) struct LedParts<'c>(pub(crate) [Option<GroupPart<'c>>; MAX_LEVELS]);

impl<'c> LedParts<'c> {
    /// For a bee that leads no group, or only groups in which it is the team's only bee.
    pub(crate) const NONE: Self = Self([None; MAX_LEVELS]);

    /// Removes and returns the widest part, marked as not collected. For the queen, whose own group this is.
    pub(crate) fn take_widest(&mut self) -> Option<GroupPart<'c>> {
        // The first entry moves to the end, where it is taken out, and the others move up by one.
        self.0.rotate_left(1);
        self.0[MAX_LEVELS - 1].take().map(|widest| GroupPart { is_collected: false, ..widest })
    }

    /// The parts, the widest first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &GroupPart<'c>> + Clone {
        self.0.iter().flatten()
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.0[0].is_none()
    }
}
