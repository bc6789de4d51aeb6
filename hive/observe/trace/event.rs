//! `Event`: one entry of a bee's log, in a hive that is traced.
//!
//! The protocols write events through `Team::log`, `Team::set_activity` and the slots' logs; `chrome_json.rs` turns
//! them into the slices and instants of the file. An event is packed into one word, so that an entry of the log is two
//! words.

use crate::observe::activity::Activity;

/// What begins, ends or happens on a bee at one moment. "It" is the bee whose log the event is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// It begins the body of a region: `number` is the low 32 bits of the region's epoch, `bees` the size of the team.
    RegionBegin { number: u32, bees: u32 },
    /// It has left the region.
    RegionEnd,
    /// It arrives at this barrier of its region and waits. The first barrier is number 1.
    BarrierBegin(u32),
    /// It has passed the barrier.
    BarrierEnd,
    /// It waits, in the middle of its region, for something that another bee of the region does and that is not a
    /// barrier.
    WaitBegin,
    /// That wait has ended: the other bee has done it, or never will.
    WaitEnd,
    /// It is the queen and waits at the end of a region for the other bees.
    QueenWait,
    /// It wakes bees that are asleep, for its region.
    WakeBegin,
    /// It has woken them.
    WakeEnd,
    /// A thread takes the queen's slot in order to run tasks.
    QueenSlotBegin,
    /// The thread has left the queen's slot.
    QueenSlotEnd,
    /// It runs a task.
    TaskBegin,
    /// The task has ended.
    TaskEnd,
    /// It has nothing to do and searches for a task.
    SearchBegin,
    /// It has something to do, and ends its search.
    SearchEnd,
    /// It has stolen a task from the queue of bee `from`; `distance` is the `Distance` between the two, as a number.
    Steal { from: u32, distance: u32 },
    /// It was woken because of tasks, by bee `by` or on that bee's behalf.
    Woken { by: u32 },
    /// It goes to sleep because there was nothing to do.
    Sleep,
    /// It parks, or was parked while it slept.
    Park,
    /// It blocks in the middle of a region: at a barrier or, as the queen, at the region's end.
    Block,
    /// The hive has this many bees from now on. This event is in the hive's list of sizes, not in a bee's log.
    TeamSize(u32),
    /// It is awake again. `is_woken`: another thread has woken it; otherwise it woke up by itself.
    Resume { is_woken: bool },
}

impl Event {
    /// The event that marks the beginning of an activity, in the region `region` with `bees` bees.
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

    /// Whether this event is the end of something.
    pub(crate) fn is_end(self) -> bool {
        matches!(
            self,
            Self::RegionEnd
                | Self::BarrierEnd
                | Self::WaitEnd
                | Self::WakeEnd
                | Self::QueenSlotEnd
                | Self::TaskEnd
                | Self::SearchEnd
                | Self::Resume { .. }
        )
    }

    /// Whether this event is the end of what `begin` began.
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

    /// The packed word: the kind in bits 0 to 7, a number of up to 24 bits in bits 8 to 31, and a number of up to 32
    /// bits in bits 32 to 63. The small one is never cut off: it is a team's size, which has 16 bits, or less.
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

    /// The event that `to_bits` packed into this word.
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
