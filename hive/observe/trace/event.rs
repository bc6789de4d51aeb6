//! What a bee writes down in a hive that is traced.

use crate::observe::activity::Activity;

/// What begins, ends or happens at one moment of a bee's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// Its part of this region begins, whose team is so large.
    RegionBegin { number: u32, bees: u32 },
    /// It has left the region.
    RegionEnd,
    /// It waits at this barrier of its region, from 1.
    BarrierBegin(u32),
    /// It has come past the barrier.
    BarrierEnd,
    /// It waits for what another bee of its region brings about.
    WaitBegin,
    /// That has come, or never will.
    WaitEnd,
    /// The queen waits at the end of a region.
    QueenWait,
    /// The queen calls bees that are in bed to her region.
    WakeBegin,
    /// They are called.
    WakeEnd,
    /// A thread takes the queen's place for the sake of tasks.
    QueenSlotBegin,
    /// It has left the queen's place.
    QueenSlotEnd,
    /// It runs a task.
    TaskBegin,
    /// The task has ended.
    TaskEnd,
    /// It has nothing to do, and searches for a task.
    SearchBegin,
    /// It has something to do.
    SearchEnd,
    /// It has taken a task from this bee's queue; how far away that is: `Distance` as a number.
    Steal { from: u32, distance: u32 },
    /// It was woken for the sake of tasks, by this bee or in its name.
    Woken { by: u32 },
    /// It sleeps because there was nothing to do.
    Sleep,
    /// It is parked.
    Park,
    /// It sleeps in the middle of a region: at a barrier, or the queen at the end.
    Block,
    /// The hive is so large. No bee's, but the hive's own.
    TeamSize(u32),
    /// It is up again, because somebody has woken it or by itself.
    Resume { is_woken: bool },
}

impl Event {
    /// What the beginning of an activity is, in the region that is on.
    pub(crate) fn from_activity(activity: Activity, region: u32, bees: u32) -> Self {
        match activity {
            Activity::Idle => Self::TaskEnd,
            Activity::InTask => Self::TaskBegin,
            Activity::InRegion(0) => Self::RegionBegin { number: region, bees },
            Activity::InRegion(_) => Self::BarrierEnd,
            Activity::AtBarrier(number) => Self::BarrierBegin(number),
            Activity::AtRegionEnd => Self::QueenWait,
            Activity::LeftRegion => Self::RegionEnd,
        }
    }

    /// Whether this is the end of what `begin_region` began.
    pub(crate) fn is_end_of(self, begin: Self) -> bool {
        matches!(
            (self, begin),
            (Self::RegionEnd, Self::RegionBegin { .. })
                | (Self::BarrierEnd, Self::BarrierBegin(_))
                | (Self::WaitEnd, Self::WaitBegin)
                | (Self::WakeEnd, Self::WakeBegin)
                | (Self::QueenSlotEnd, Self::QueenSlotBegin)
                | (Self::TaskEnd, Self::TaskBegin)
                | (Self::SearchEnd, Self::SearchBegin)
                | (Self::Resume { .. }, Self::Sleep | Self::Park | Self::Block)
        )
    }

    pub(crate) fn to_bits(self) -> u64 {
        let (kind, small, large) = match self {
            Self::RegionBegin { number, bees } => (0, bees, number),
            Self::RegionEnd => (1, 0, 0),
            Self::BarrierBegin(number) => (2, 0, number),
            Self::BarrierEnd => (3, 0, 0),
            Self::QueenWait => (4, 0, 0),
            Self::WakeBegin => (5, 0, 0),
            Self::WakeEnd => (6, 0, 0),
            Self::QueenSlotBegin => (7, 0, 0),
            Self::QueenSlotEnd => (8, 0, 0),
            Self::TaskBegin => (9, 0, 0),
            Self::TaskEnd => (10, 0, 0),
            Self::SearchBegin => (11, 0, 0),
            Self::SearchEnd => (12, 0, 0),
            Self::Steal { from, distance } => (13, distance, from),
            Self::Sleep => (14, 0, 0),
            Self::Park => (15, 0, 0),
            Self::Block => (16, 0, 0),
            Self::Resume { is_woken } => (17, u32::from(is_woken), 0),
            Self::TeamSize(bees) => (18, 0, bees),
            Self::WaitBegin => (19, 0, 0),
            Self::WaitEnd => (20, 0, 0),
            Self::Woken { by } => (21, 0, by),
        };
        u64::from(large) << 32 | u64::from(small) << 8 | kind
    }

    pub(crate) fn from_bits(bits: u64) -> Self {
        let (small, large) = (bits as u32 >> 8, (bits >> 32) as u32);
        match bits & 0xff {
            0 => Self::RegionBegin { number: large, bees: small },
            1 => Self::RegionEnd,
            2 => Self::BarrierBegin(large),
            3 => Self::BarrierEnd,
            4 => Self::QueenWait,
            5 => Self::WakeBegin,
            6 => Self::WakeEnd,
            7 => Self::QueenSlotBegin,
            8 => Self::QueenSlotEnd,
            9 => Self::TaskBegin,
            10 => Self::TaskEnd,
            11 => Self::SearchBegin,
            12 => Self::SearchEnd,
            13 => Self::Steal { from: large, distance: small },
            14 => Self::Sleep,
            15 => Self::Park,
            16 => Self::Block,
            17 => Self::Resume { is_woken: small != 0 },
            18 => Self::TeamSize(large),
            19 => Self::WaitBegin,
            20 => Self::WaitEnd,
            21 => Self::Woken { by: large },
            kind => unreachable!("no event is written as kind {kind}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_read_as_it_was_written() {
        let numbered = [
            Event::RegionBegin { number: u32::MAX, bees: 65_535 },
            Event::BarrierBegin(u32::MAX),
            Event::Steal { from: 65_534, distance: 3 },
            Event::Woken { by: 65_534 },
            Event::Resume { is_woken: true },
            Event::Resume { is_woken: false },
            Event::TeamSize(65_535),
        ];
        let begins = [
            Event::WaitBegin,
            Event::QueenWait,
            Event::WakeBegin,
            Event::QueenSlotBegin,
            Event::TaskBegin,
            Event::SearchBegin,
            Event::Sleep,
            Event::Park,
            Event::Block,
        ];
        let ends = [
            Event::WaitEnd,
            Event::RegionEnd,
            Event::BarrierEnd,
            Event::WakeEnd,
            Event::QueenSlotEnd,
            Event::TaskEnd,
            Event::SearchEnd,
        ];
        for event in numbered.into_iter().chain(begins).chain(ends) {
            assert_eq!(Event::from_bits(event.to_bits()), event);
        }
    }
}
