//! What each bee says that it is doing, for the watchdog, which reports regions that make no progress.
//!
//! Each bee's slot has an [`ActivityCell`]. The protocols write it, in hives that are watched, through
//! `Team::set_activity` and `Team::run_recorded`; `Team::snapshot` reads it and makes a [`Snapshot`]. In hives that are
//! traced the same calls become log entries: see `trace/event.rs`.

use std::sync::atomic::{AtomicU64, Ordering};

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

/// An activity and the region that it belongs to, as the low 32 bits of that region's epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RegionActivity {
    pub(crate) region: u32,
    pub(crate) activity: Activity,
}

/// The largest number of a barrier that fits into the packed word. Later barriers have this number, too.
const MAX_BARRIER: u32 = (1 << 24) - 1;

impl RegionActivity {
    /// The packed word: the region in bits 32 to 63, the barrier's number in bits 8 to 31, the kind of activity in bits
    /// 0 to 7. A word of zeros means idle.
    fn to_bits(self) -> u64 {
        let (kind, number) = match self.activity {
            Activity::Idle => (0, 0),
            Activity::InTask => (1, 0),
            Activity::InRegion(passed) => (2, passed),
            Activity::AtBarrier(number) => (3, number),
            Activity::AtRegionEnd => (4, 0),
            Activity::LeftRegion => (5, 0),
        };
        u64::from(self.region) << 32 | u64::from(number.min(MAX_BARRIER)) << 8 | kind
    }

    fn from_bits(bits: u64) -> Self {
        let number = (bits as u32) >> 8;
        let activity = match bits & 0xff {
            1 => Activity::InTask,
            2 => Activity::InRegion(number),
            3 => Activity::AtBarrier(number),
            4 => Activity::AtRegionEnd,
            5 => Activity::LeftRegion,
            _ => Activity::Idle,
        };
        Self { region: (bits >> 32) as u32, activity }
    }
}

/// The activity of one bee. The bee itself writes it, in watched hives only; the watchdog's thread reads it.
#[derive(Default)]
pub(crate) struct ActivityCell(AtomicU64);

impl ActivityCell {
    pub(crate) fn set(&self, activity: RegionActivity) {
        // Relaxed: the value is only shown to people, and nothing is published with it.
        self.0.store(activity.to_bits(), Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> RegionActivity {
        // Relaxed: see `set`.
        RegionActivity::from_bits(self.0.load(Ordering::Relaxed))
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
    pub(crate) record: RegionActivity,
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
        assert_eq!(cell.get(), RegionActivity { region: 0, activity: Activity::Idle });
        for activity in [
            Activity::InTask,
            Activity::InRegion(0),
            Activity::AtBarrier(MAX_BARRIER),
            Activity::AtRegionEnd,
            Activity::LeftRegion,
            Activity::Idle,
        ] {
            let written = RegionActivity { region: u32::MAX, activity };
            cell.set(written);
            assert_eq!(cell.get(), written);
        }
        cell.set(RegionActivity { region: 1, activity: Activity::InRegion(u32::MAX) });
        assert_eq!(cell.get().activity, Activity::InRegion(MAX_BARRIER));
    }
}
