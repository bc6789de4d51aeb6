//! What a bee says that it is doing, for whoever watches a hive that does not get on.

use std::sync::atomic::{AtomicU64, Ordering};

/// What a bee is doing, as far as regions and tasks go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    Idle,
    /// It runs a task, or waits in one.
    InTask,
    /// It runs its part of a region, and has passed so many barriers.
    InRegion(u32),
    /// It waits at this barrier of its region, from 1.
    AtBarrier(u32),
    /// The queen waits at the end of a region.
    AtRegionEnd,
    /// It has come to the end of its region.
    LeftRegion,
}

/// An activity, and the region that it belongs to: the low bits of its epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RegionActivity {
    pub(crate) region: u32,
    pub(crate) activity: Activity,
}

/// Barriers are told apart up to this many.
const MAX_BARRIER: u32 = (1 << 24) - 1;

impl RegionActivity {
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

/// A bee's own note. Written in hives that are watched only.
#[derive(Default)]
pub(crate) struct ActivityCell(AtomicU64);

impl ActivityCell {
    pub(crate) fn set(&self, activity: RegionActivity) {
        // Relaxed: for a reader's eyes.
        self.0.store(activity.to_bits(), Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> RegionActivity {
        // Relaxed: as above.
        RegionActivity::from_bits(self.0.load(Ordering::Relaxed))
    }
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
