//! What can be seen of a crew from outside: what each member says that it is doing or has done, and whether it is in bed.

use super::Crew;
use super::slot::State;
use crate::sync::{Activity, Event, Note};

/// What members write down of what they are doing, in one word, so that it is one comparison where that is nothing.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Notes(u8);

impl Notes {
    const NONE: Self = Self(0);
    /// Each notes what it is doing now, for `Crew::sight`.
    pub(super) const WATCHED: Self = Self(1);
    /// Each logs what it does, for `Crew::logs`.
    pub(super) const LOGGED: Self = Self(2);

    pub(super) fn and(self, more: Self) -> Self {
        Self(self.0 | more.0)
    }

    #[inline(always)]
    pub(super) fn has(self, kind: Self) -> bool {
        self.0 & kind.0 != 0
    }
}

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
        let word = self.root().look();
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
        if self.settled.notes != Notes::NONE {
            self.write_note(member, activity());
        }
    }

    #[cold]
    fn write_note(&self, member: u32, activity: Activity) {
        let (word, slot) = (self.root().look(), self.slot(member));
        let region = word.epoch() as u32;
        if self.settled.notes.has(Notes::WATCHED) {
            slot.doing.set(Note { region, activity });
        }
        slot.log.write(Event::of(activity, region, word.team()));
    }

    /// Notes that a member runs a task while it does.
    #[inline(always)]
    pub(super) fn note_task(&self, member: u32, task: impl FnOnce()) {
        if self.settled.notes == Notes::NONE {
            return task();
        }
        let slot = self.slot(member);
        let before = slot.doing.get();
        self.write_note(member, Activity::Task);
        task();
        slot.doing.set(before);
        slot.log.write(Event::Done);
    }

    /// Logs what is nothing to those who watch, in a crew that is traced.
    #[inline(always)]
    pub(crate) fn log(&self, member: u32, event: impl FnOnce() -> Event) {
        if self.settled.notes.has(Notes::LOGGED) {
            self.write_log(member, event());
        }
    }

    #[cold]
    fn write_log(&self, member: u32, event: Event) {
        self.slot(member).log.write(event);
    }
}
