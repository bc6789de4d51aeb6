//! What a member writes down in a hive that is traced.

use super::Activity;

/// What begins, ends or happens at one moment of a member's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// Its part of this region begins, whose team is so large.
    Region { number: u32, team: u32 },
    /// It has left the region.
    Left,
    /// It waits at this barrier of its region, from 1.
    Barrier(u32),
    /// It has come past the barrier.
    Passed,
    /// It waits for what another member of its region brings about.
    Wait,
    /// That has come, or never will.
    Come,
    /// The queen waits at the end of a region.
    End,
    /// The queen calls bees that are in bed to her region.
    Call,
    /// They are called.
    Called,
    /// A thread takes the queen's place for the sake of tasks.
    Place,
    /// It has left the queen's place.
    Gone,
    /// It runs a task.
    Task,
    /// The task has ended.
    Done,
    /// It has nothing to do, and searches for a task.
    Search,
    /// It has something to do.
    Found,
    /// It has taken a task from this member's queue; how far away that is: `Distance` as a number.
    Steal { from: u32, distance: u32 },
    /// It was woken for the sake of tasks, by this member or in its name.
    Woken { by: u32 },
    /// It sleeps because there was nothing to do.
    Sleep,
    /// It is parked.
    Park,
    /// It sleeps in the middle of a region: at a barrier, or the queen at the end.
    Doze,
    /// The hive is so large. No member's, but the hive's own.
    Size(u32),
    /// It is up again, because somebody has woken it or by itself.
    Up { is_woken: bool },
}

impl Event {
    /// What the beginning of an activity is, in the region that is on.
    pub(crate) fn of(activity: Activity, region: u32, team: u32) -> Self {
        match activity {
            Activity::Nothing => Self::Done,
            Activity::Task => Self::Task,
            Activity::Part(0) => Self::Region { number: region, team },
            Activity::Part(_) => Self::Passed,
            Activity::Barrier(number) => Self::Barrier(number),
            Activity::End => Self::End,
            Activity::Left => Self::Left,
        }
    }

    /// Whether this is the end of what `begin` began.
    pub(crate) fn ends(self, begin: Self) -> bool {
        matches!(
            (self, begin),
            (Self::Left, Self::Region { .. })
                | (Self::Passed, Self::Barrier(_))
                | (Self::Come, Self::Wait)
                | (Self::Called, Self::Call)
                | (Self::Gone, Self::Place)
                | (Self::Done, Self::Task)
                | (Self::Found, Self::Search)
                | (Self::Up { .. }, Self::Sleep | Self::Park | Self::Doze)
        )
    }

    pub(crate) fn to_bits(self) -> u64 {
        let (kind, small, large) = match self {
            Self::Region { number, team } => (0, team, number),
            Self::Left => (1, 0, 0),
            Self::Barrier(number) => (2, 0, number),
            Self::Passed => (3, 0, 0),
            Self::End => (4, 0, 0),
            Self::Call => (5, 0, 0),
            Self::Called => (6, 0, 0),
            Self::Place => (7, 0, 0),
            Self::Gone => (8, 0, 0),
            Self::Task => (9, 0, 0),
            Self::Done => (10, 0, 0),
            Self::Search => (11, 0, 0),
            Self::Found => (12, 0, 0),
            Self::Steal { from, distance } => (13, distance, from),
            Self::Sleep => (14, 0, 0),
            Self::Park => (15, 0, 0),
            Self::Doze => (16, 0, 0),
            Self::Up { is_woken } => (17, u32::from(is_woken), 0),
            Self::Size(bees) => (18, 0, bees),
            Self::Wait => (19, 0, 0),
            Self::Come => (20, 0, 0),
            Self::Woken { by } => (21, 0, by),
        };
        u64::from(large) << 32 | u64::from(small) << 8 | kind
    }

    pub(crate) fn from_bits(bits: u64) -> Self {
        let (small, large) = (bits as u32 >> 8, (bits >> 32) as u32);
        match bits & 0xff {
            0 => Self::Region { number: large, team: small },
            1 => Self::Left,
            2 => Self::Barrier(large),
            3 => Self::Passed,
            4 => Self::End,
            5 => Self::Call,
            6 => Self::Called,
            7 => Self::Place,
            8 => Self::Gone,
            9 => Self::Task,
            10 => Self::Done,
            11 => Self::Search,
            12 => Self::Found,
            13 => Self::Steal { from: large, distance: small },
            14 => Self::Sleep,
            15 => Self::Park,
            16 => Self::Doze,
            17 => Self::Up { is_woken: small != 0 },
            18 => Self::Size(large),
            19 => Self::Wait,
            20 => Self::Come,
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
            Event::Region { number: u32::MAX, team: 65_535 },
            Event::Barrier(u32::MAX),
            Event::Steal { from: 65_534, distance: 3 },
            Event::Woken { by: 65_534 },
            Event::Up { is_woken: true },
            Event::Up { is_woken: false },
            Event::Size(65_535),
        ];
        let begins = [
            Event::Wait,
            Event::End,
            Event::Call,
            Event::Place,
            Event::Task,
            Event::Search,
            Event::Sleep,
            Event::Park,
            Event::Doze,
        ];
        let ends = [Event::Come, Event::Left, Event::Passed, Event::Called, Event::Gone, Event::Done, Event::Found];
        for event in numbered.into_iter().chain(begins).chain(ends) {
            assert_eq!(Event::from_bits(event.to_bits()), event);
        }
    }
}
