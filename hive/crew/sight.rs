//! What can be seen of a crew from outside: what each member says that it is doing, and whether it is in bed.

use super::Crew;
use super::slot::State;
use crate::sync::{Activity, Note};

/// A crew at one moment, or over a few: members go on meanwhile.
pub(crate) struct Sight {
    /// The region that began last, as the notes have it, and its team.
    pub(crate) region: u32,
    pub(crate) team: u32,
    /// By number.
    pub(crate) members: Vec<Seen>,
}

/// A member.
pub(crate) struct Seen {
    pub(crate) note: Note,
    pub(crate) is_asleep: bool,
    pub(crate) is_parked: bool,
}

impl Crew {
    pub(crate) fn sight(&self) -> Sight {
        let word = self.signal.look();
        let members = self.all_slots().map(|slot| Seen {
            note: slot.doing.get(),
            is_asleep: slot.state() == State::Asleep,
            is_parked: slot.state() == State::Parked,
        });
        Sight { region: word.epoch() as u32, team: word.team(), members: members.collect() }
    }

    /// Notes what a member does in the region that is on.
    #[inline(always)]
    pub(super) fn note(&self, member: u32, activity: impl FnOnce() -> Activity) {
        if self.settled.is_watched {
            self.write_note(member, activity());
        }
    }

    #[cold]
    fn write_note(&self, member: u32, activity: Activity) {
        self.slot(member).doing.set(Note { region: self.signal.look().epoch() as u32, activity });
    }

    /// Notes that a member runs a task while it does.
    #[inline(always)]
    pub(super) fn note_task(&self, member: u32, task: impl FnOnce()) {
        if !self.settled.is_watched {
            return task();
        }
        let before = self.slot(member).doing.get();
        self.write_note(member, Activity::Task);
        task();
        self.slot(member).doing.set(before);
    }
}
