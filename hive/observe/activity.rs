//! What each bee says that it is doing, for the watchdog, which reports regions that make no progress.
//!
//! Each bee's slot has an [`ActivityCell`]. The protocols write it, in hives that are watched, through
//! `Team::set_activity` and `Team::run_recorded`; `Team::snapshot` reads it and makes a [`Snapshot`]. In hives that are
//! traced the same calls become log entries: see `trace/event.rs`.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::observe::trace::event::{Event, EventKind};

/// What one bee is doing, as far as regions and tasks are concerned: the event that has begun it. The bee itself writes
/// it, in watched hives only; the watchdog's thread reads it. `large` is always the region.
///
/// - The begin of a `Region`, or the end of a `Barrier` with its number: the bee runs its part of the region.
/// - The begin of a `Barrier` with its number: it waits there.
/// - The begin of a `QueenWait`: it is the queen and waits at the end of the region.
/// - The end of a `Region`: it has come to its end.
/// - The begin of a `Task`: it runs a task, or waits for something inside a task.
/// - The end of a `Task`: it has written nothing yet.
pub(crate) struct ActivityCell(AtomicU64);

impl Default for ActivityCell {
    fn default() -> Self {
        Self(AtomicU64::new(Event::end(EventKind::Task).to_bits()))
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
    /// What the bee has recorded last, with the region that it belongs to.
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
        assert_eq!(cell.get(), Event::end(EventKind::Task));
        let written = Event::numbered(EventKind::Barrier, 7, u32::MAX);
        cell.set(written);
        assert_eq!(cell.get(), written);
    }
}
