//! What a team shows to the outside: what each bee is doing and has done, and whether it is asleep or parked. The bees
//! record it here, in hives where that is asked for; the watchdog and the tracer read it (`observe/`).

use crate::protocol::Team;
use crate::protocol::worker::slot::SlotState;
use crate::sync::{BeeState, Event, EventKind, Snapshot};

/// What the bees of a team record. All kinds are in one word, so that a team that records nothing finds that out by one
/// comparison.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Instrumentation(u8);

impl Instrumentation {
    /// The bees record nothing.
    const NONE: Self = Self(0);
    /// Each bee keeps what it is doing now, for `Team::snapshot`.
    pub(crate) const WATCHED: Self = Self(1);
    /// Each bee keeps a log of what it does, for `Team::logs`.
    pub(crate) const LOGGED: Self = Self(2);

    /// These kinds and those of `more` together.
    pub(crate) fn with(self, more: Self) -> Self {
        Self(self.0 | more.0)
    }

    /// Whether `kind` is recorded.
    #[inline(always)]
    pub(crate) fn has(self, kind: Self) -> bool {
        self.0 & kind.0 != 0
    }
}

impl Team {
    /// What the queen and the workers hired so far are doing now.
    pub(crate) fn snapshot(&self) -> Snapshot {
        // The word is read before the bees' records, so a bee may already be in a later region than the one returned.
        let word = self.region_word();
        let states = self.all_slots().map(|slot| BeeState {
            record: slot.activity.get(),
            is_asleep: slot.state() == SlotState::Asleep,
            is_parked: slot.state() == SlotState::Parked,
        });
        Snapshot { region: word.epoch() as u32, bees: word.bees(), states: states.collect() }
    }

    /// Records what bee `bee` does in the region that is running, by the event that begins it (see `ActivityCell`).
    /// `event` is called only if something is recorded. Called by the bee itself.
    #[inline(always)]
    pub(crate) fn set_activity(&self, bee: u32, event: impl FnOnce() -> Event) {
        if self.fixed.instrumentation != Instrumentation::NONE {
            self.write_activity(bee, event());
        }
    }

    /// Shows the activity of a bee to the watchdog, if there is one, and writes nothing to the bee's log.
    pub(crate) fn show_activity(&self, bee: u32, event: Event) {
        if self.fixed.instrumentation.has(Instrumentation::WATCHED) {
            self.slot(bee).activity.set(self.in_this_region(event));
        }
    }

    /// Writes the activity of a bee to whatever this team records.
    #[cold]
    fn write_activity(&self, bee: u32, event: Event) {
        self.show_activity(bee, event);
        // The log is closed, and this does nothing, in a team that is not traced.
        self.slot(bee).log.write(self.in_this_region(event));
    }

    /// The event with the numbers of the region that is running: which one it is and, if it begins, its size.
    fn in_this_region(&self, event: Event) -> Event {
        let word = self.region_word();
        let small = if event == Event::begin(EventKind::Region) { word.bees() } else { event.small };
        Event { small, large: word.epoch() as u32, ..event }
    }

    /// Runs `task`, and records that bee `bee` is in a task meanwhile. Called by the bee itself.
    #[inline(always)]
    pub(crate) fn run_recorded(&self, bee: u32, task: impl FnOnce()) {
        if self.fixed.instrumentation == Instrumentation::NONE { task() } else { self.run_and_record(bee, task) }
    }

    /// `run_recorded` in a team that is traced or watched. Out of line, so that the usual way has a small stack frame.
    #[cold]
    #[inline(never)]
    fn run_and_record(&self, bee: u32, task: impl FnOnce()) {
        let slot = self.slot(bee);
        // A task may run in the middle of a region or of another task, which the bee then goes on with.
        let before = slot.activity.get();
        self.write_activity(bee, Event::begin(EventKind::Task));
        task();
        slot.activity.set(before);
        slot.log.write(Event::end(EventKind::Task));
    }

    /// Writes `event`, which means nothing to the watchdog, into the log of bee `bee` in a team that is traced. Called
    /// by the bee itself.
    #[inline(always)]
    pub(crate) fn log(&self, bee: u32, event: impl FnOnce() -> Event) {
        if self.fixed.instrumentation.has(Instrumentation::LOGGED) {
            self.write_log(bee, event());
        }
    }

    #[cold]
    fn write_log(&self, bee: u32, event: Event) {
        self.slot(bee).log.write(event);
    }
}
