//! What each bee says that it is doing, for the watchdog, which reports regions that make no progress.
//!
//! Each bee's slot has an [`ActivityCell`]. The protocols write it, in hives that are watched, through
//! `Team::set_activity` and `Team::run_recorded`; `Team::snapshot` reads it and makes a [`Snapshot`]. In hives that are
//! traced the same calls become log entries: see `trace/event.rs`.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::observe::trace::event::{Event, EventKind, MAX_SMALL};

/// What a bee is doing, as far as regions and tasks are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    /// None of the others. A bee that has written nothing yet is idle, too.
    Idle,
    /// It runs a task, or waits for something inside a task.
    InTask,
    /// It runs the body of its region, and has passed this many barriers of it.
    InRegion(u32),
    /// It waits at this barrier of its region. The first barrier is number 1.
    AtBarrier(u32),
    /// It is the queen and waits at the end of a region for the other bees.
    AtRegionEnd,
    /// It has come to the end of its region.
    LeftRegion,
}

impl Activity {
    /// The event that marks its beginning, in the region `region` with `bees` bees.
    pub(crate) fn event(self, region: u32, bees: u32) -> Event {
        let (event, small) = match self {
            Self::Idle => (Event::end(EventKind::Task), 0),
            Self::InTask => (Event::begin(EventKind::Task), 0),
            Self::InRegion(0) => (Event::begin(EventKind::Region), bees),
            Self::InRegion(passed) => (Event::end(EventKind::Barrier), passed.min(MAX_SMALL)),
            Self::AtBarrier(number) => (Event::begin(EventKind::Barrier), number.min(MAX_SMALL)),
            Self::AtRegionEnd => (Event::begin(EventKind::QueenWait), 0),
            Self::LeftRegion => (Event::end(EventKind::Region), 0),
        };
        Event { small, large: region, ..event }
    }
}

/// The activity of one bee, as the event that has begun it. The bee itself writes it, in watched hives only; the
/// watchdog's thread reads it.
pub(crate) struct ActivityCell(AtomicU64);

impl Default for ActivityCell {
    fn default() -> Self {
        Self(AtomicU64::new(Activity::Idle.event(0, 0).to_bits()))
    }
}

impl ActivityCell {
    pub(crate) fn set(&self, event: Event) {
        // Relaxed: the value is only shown to people, and nothing is published with it.
        self.0.store(event.to_bits(), Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> Event {
        // Relaxed: see `set`.
        Event::from_bits(self.0.load(Ordering::Relaxed))
    }
}

/// A team as it is at one moment, or rather over a few: the bees go on meanwhile.
pub(crate) struct Snapshot {
    /// The region that has begun last: the low 32 bits of its epoch, as the bees' records have it.
    pub(crate) region: u32,
    /// The size of the team of that region.
    pub(crate) bees: u32,
    /// What each bee is doing. The index is the number of the bee.
    pub(crate) states: Vec<BeeState>,
}

/// What one bee is doing.
pub(crate) struct BeeState {
    /// What the bee has recorded last: an event of `Activity::event`, with the region that it belongs to.
    pub(crate) record: Event,
    /// Whether its state is ASLEEP.
    pub(crate) is_asleep: bool,
    /// Whether its state is PARKED.
    pub(crate) is_parked: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_activity_is_read_as_it_was_written() {
        let cell = ActivityCell::default();
        assert_eq!(cell.get(), Activity::Idle.event(0, 0));
        for activity in [
            Activity::InTask,
            Activity::InRegion(0),
            Activity::AtBarrier(u32::MAX),
            Activity::InRegion(u32::MAX),
            Activity::AtRegionEnd,
            Activity::LeftRegion,
            Activity::Idle,
        ] {
            let written = activity.event(u32::MAX, 65_535);
            cell.set(written);
            assert_eq!(cell.get(), written);
        }
    }
}
