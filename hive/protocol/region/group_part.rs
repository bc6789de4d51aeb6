//! The part that a group of bees has in one region, and the parts of all the groups that one bee leads: what a bee
//! needs to know of its groups while it runs its part of the region. `led_groups.rs` makes them when the region begins.

use std::cell::Cell;

use crate::protocol::region::barrier::Barrier;
use crate::protocol::region::barrier_word::{BaseCount, View};
use crate::protocol::region::shape::MAX_LEVELS;
use crate::sync::Deadline;

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

/// A region that its queen has begun alone, and may have to start on the workers yet: see `late_start.rs`. It lies on
/// her stack, and only her thread uses it.
pub(crate) struct Unstarted {
    /// Until when she goes on alone.
    pub(crate) deadline: Deadline,
    /// Whether some worker was asleep as the region was started. None: it has not been started.
    pub(crate) some_asleep: Cell<Option<bool>>,
    /// The address of the `LateOrder` by which it is started.
    pub(crate) order: *const (),
}

impl Unstarted {
    /// Whether the region has been started on the workers.
    pub(crate) fn is_started(&self) -> bool {
        self.some_asleep.get().is_some()
    }
}

/// The parts of the groups that a bee leads in one region, and the region if its queen has begun it alone.
#[derive(Clone, Copy)]
pub(crate) struct LedParts<'c> {
    /// The parts, the widest first. The entries after the last part are `None`.
    parts: [Option<GroupPart<'c>>; MAX_LEVELS],
    /// The region, if its queen has begun it alone. It may have been started since. Only she has this, in her own part
    /// and in those that she runs in the names of workers before she starts the region.
    pub(crate) unstarted: Option<&'c Unstarted>,
}

impl<'c> LedParts<'c> {
    /// For a bee that leads no group, or only groups in which it is the team's only bee.
    pub(crate) const NONE: Self = Self { parts: [None; MAX_LEVELS], unstarted: None };

    /// The first of these parts, as many as a bee can lead.
    pub(crate) fn new(parts: impl IntoIterator<Item = GroupPart<'c>>) -> Self {
        let mut led_parts = Self::NONE;
        parts.into_iter().zip(&mut led_parts.parts).for_each(|(part, entry)| *entry = Some(part));
        led_parts
    }

    /// The same parts, for the queen of a region that may have to be started yet.
    pub(crate) fn with_unstarted(self, unstarted: &'c Unstarted) -> Self {
        Self { unstarted: Some(unstarted), ..self }
    }

    /// Removes and returns the widest part, marked as not collected. For the queen, whose own group this is.
    pub(crate) fn take_widest(&mut self) -> Option<GroupPart<'c>> {
        // The first entry moves to the end, where it is taken out, and the others move up by one.
        self.parts.rotate_left(1);
        let widest = self.parts[MAX_LEVELS - 1].take();
        widest.map(|widest| GroupPart { is_collected: false, ..widest })
    }

    /// The parts, the widest first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &GroupPart<'c>> + Clone {
        self.parts.iter().flatten()
    }

    /// Whether the bee leads no group. Then a barrier has nothing to do but to wait.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.parts[0].is_none()
    }
}
