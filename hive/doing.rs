//! What a member says that it is doing, for whoever watches a hive that does not get on.

use std::sync::atomic::{AtomicU64, Ordering};

/// What a member is doing, as far as regions and tasks go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    Nothing,
    /// It runs a task, or waits in one.
    Task,
    /// It runs its part of a region, and has passed so many barriers.
    Part(u32),
    /// It waits at this barrier of its region, from 1.
    Barrier(u32),
    /// The queen waits at the end of a region.
    End,
    /// It has come to the end of its region.
    Left,
}

/// An activity, and the region that it belongs to: the low bits of its epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) region: u32,
    pub(crate) activity: Activity,
}

/// Barriers are told apart up to this many.
const BARRIERS: u32 = (1 << 24) - 1;

impl Note {
    fn to_bits(self) -> u64 {
        let (kind, number) = match self.activity {
            Activity::Nothing => (0, 0),
            Activity::Task => (1, 0),
            Activity::Part(passed) => (2, passed),
            Activity::Barrier(number) => (3, number),
            Activity::End => (4, 0),
            Activity::Left => (5, 0),
        };
        u64::from(self.region) << 32 | u64::from(number.min(BARRIERS)) << 8 | kind
    }

    fn from_bits(bits: u64) -> Self {
        let number = (bits as u32) >> 8;
        let activity = match bits & 0xff {
            1 => Activity::Task,
            2 => Activity::Part(number),
            3 => Activity::Barrier(number),
            4 => Activity::End,
            5 => Activity::Left,
            _ => Activity::Nothing,
        };
        Self { region: (bits >> 32) as u32, activity }
    }
}

/// A member's own note. Written in hives that are watched only.
#[derive(Default)]
pub(crate) struct Doing(AtomicU64);

impl Doing {
    pub(crate) fn set(&self, note: Note) {
        // Relaxed: for a reader's eyes.
        self.0.store(note.to_bits(), Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> Note {
        // Relaxed: as above.
        Note::from_bits(self.0.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let doing = Doing::default();
        assert_eq!(doing.get(), Note { region: 0, activity: Activity::Nothing });
        for activity in
            [Activity::Task, Activity::Part(0), Activity::Barrier(BARRIERS), Activity::End, Activity::Left, Activity::Nothing]
        {
            let note = Note { region: u32::MAX, activity };
            doing.set(note);
            assert_eq!(doing.get(), note);
        }
        doing.set(Note { region: 1, activity: Activity::Part(u32::MAX) });
        assert_eq!(doing.get().activity, Activity::Part(BARRIERS));
    }
}
