//! What can be seen of a team from outside: what each bee says that it is doing or has done, and whether it is in bed.

use crate::protocol::Team;
use crate::protocol::worker::slot::SlotState;
use crate::sync::{Activity, Event, RegionActivity};

/// What bees write down of what they are doing, in one word, so that it is one comparison where that is nothing.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Instrumentation(u8);

impl Instrumentation {
    const NONE: Self = Self(0);
    /// Each notes what it is doing now, for `Team::sight`.
    pub(crate) const WATCHED: Self = Self(1);
    /// Each logs what it does, for `Team::logs`.
    pub(crate) const LOGGED: Self = Self(2);

    pub(crate) fn with(self, more: Self) -> Self {
        Self(self.0 | more.0)
    }

    #[inline(always)]
    pub(crate) fn has(self, kind: Self) -> bool {
        self.0 & kind.0 != 0
    }
}

/// A team at one moment, or over a few: bees go on meanwhile.
pub(crate) struct Snapshot {
    /// The region that began last, as the notes have it, and its team.
    pub(crate) region: u32,
    pub(crate) bees: u32,
    /// By number.
    pub(crate) states: Vec<BeeState>,
}

/// A bee.
pub(crate) struct BeeState {
    pub(crate) record: RegionActivity,
    pub(crate) is_asleep: bool,
    pub(crate) is_parked: bool,
}

impl Team {
    pub(crate) fn snapshot(&self) -> Snapshot {
        let word = self.root_line().load();
        let states = self.all_slots().map(|slot| BeeState {
            record: slot.activity.get(),
            is_asleep: slot.state() == SlotState::Asleep,
            is_parked: slot.state() == SlotState::Parked,
        });
        Snapshot { region: word.epoch() as u32, bees: word.bees(), states: states.collect() }
    }

    /// Notes what a bee does in the region that is on.
    #[inline(always)]
    pub(crate) fn set_activity(&self, bee: u32, activity: impl FnOnce() -> Activity) {
        if self.fixed.instrumentation != Instrumentation::NONE {
            self.write_activity(bee, activity());
        }
    }

    #[cold]
    fn write_activity(&self, bee: u32, activity: Activity) {
        let (word, slot) = (self.root_line().load(), self.slot(bee));
        let region = word.epoch() as u32;
        if self.fixed.instrumentation.has(Instrumentation::WATCHED) {
            slot.activity.set(RegionActivity { region, activity });
        }
        slot.log.write(Event::from_activity(activity, region, word.bees()));
    }

    /// Notes that a bee runs a task while it does.
    #[inline(always)]
    pub(crate) fn run_recorded(&self, bee: u32, task: impl FnOnce()) {
        if self.fixed.instrumentation == Instrumentation::NONE {
            return task();
        }
        let slot = self.slot(bee);
        let before = slot.activity.get();
        self.write_activity(bee, Activity::InTask);
        task();
        slot.activity.set(before);
        slot.log.write(Event::TaskEnd);
    }

    /// Logs what is nothing to those who watch, in a team that is traced.
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
