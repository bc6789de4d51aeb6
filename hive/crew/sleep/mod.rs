//! How members without work go to sleep, and who is woken for new work: one small interface, and the protocols behind it.
//!
//! A member goes through these steps, each by its own call: it searches; it announces that it is sleepy; it searches once more; it falls asleep, unless
//! something has been posted since. Around them stand the steps that all protocols share, in `rest.rs`: the change of state, the fences, the last
//! look, the bed.

mod counters;
mod jec;
mod tickle;

use jec::Jec;
use tickle::Tickle;

/// What a sleepy member remembers until it falls asleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Announced(u32);

/// The protocol of a crew.
pub(crate) struct Sleep(Protocol);

enum Protocol {
    /// There are no tasks, and nobody is counted: for models of regions alone.
    NoTasks,
    Jec(Jec),
    Tickle(Tickle),
}

impl Sleep {
    #[allow(dead_code, reason = "for the models")]
    pub(crate) fn without_tasks() -> Self {
        Self(Protocol::NoTasks)
    }

    pub(crate) fn jec() -> Self {
        Self(Protocol::Jec(Jec::new()))
    }

    pub(crate) fn tickle() -> Self {
        Self(Protocol::Tickle(Tickle::new()))
    }

    /// Whether there are tasks at all.
    #[inline(always)]
    pub(super) fn has_tasks(&self) -> bool {
        !matches!(self.0, Protocol::NoTasks)
    }

    /// A member has no work and searches for some.
    pub(super) fn search(&self) {
        match &self.0 {
            Protocol::NoTasks => {}
            Protocol::Jec(jec) => jec.search(),
            Protocol::Tickle(tickle) => tickle.search(),
        }
    }

    /// It has found some, or goes away.
    pub(super) fn find(&self) {
        match &self.0 {
            Protocol::NoTasks => {}
            Protocol::Jec(jec) => jec.find(),
            Protocol::Tickle(tickle) => tickle.find(),
        }
    }

    /// It announces that it is about to sleep. None: it may not, now.
    pub(super) fn announce(&self, member: u32) -> Option<Announced> {
        match &self.0 {
            Protocol::NoTasks => Some(Announced(0)),
            Protocol::Jec(jec) => Some(jec.announce()),
            Protocol::Tickle(tickle) => tickle.announce(member),
        }
    }

    /// It counts itself asleep, unless something has been posted since it announced that. Says whether.
    pub(super) fn fall_asleep(&self, announced: Announced) -> bool {
        match &self.0 {
            Protocol::NoTasks => true,
            Protocol::Jec(jec) => jec.fall_asleep(announced),
            Protocol::Tickle(_) => true,
        }
    }

    /// It is in state ASLEEP. Says whether it may stay there: whether nothing has been posted meanwhile.
    pub(super) fn confirm(&self, announced: Announced) -> bool {
        match &self.0 {
            Protocol::NoTasks | Protocol::Jec(_) => true,
            Protocol::Tickle(tickle) => tickle.confirm(announced),
        }
    }

    /// A sleeper is awake, and searches. Called by whoever has taken it out of ASLEEP.
    pub(super) fn rise(&self) {
        match &self.0 {
            Protocol::NoTasks | Protocol::Tickle(_) => {}
            Protocol::Jec(jec) => jec.rise(),
        }
    }

    /// A sleeper is parked where it lies.
    pub(super) fn park(&self) {
        match &self.0 {
            Protocol::NoTasks => {}
            Protocol::Jec(jec) => jec.park(),
            Protocol::Tickle(tickle) => tickle.find(),
        }
    }

    /// `jobs` have been posted for anybody, and a fence executed. How many sleepers are to be woken.
    pub(super) fn post(&self, jobs: u32) -> u32 {
        match &self.0 {
            Protocol::NoTasks => 0,
            Protocol::Jec(jec) => jec.post(jobs),
            Protocol::Tickle(tickle) => {
                if tickle.post() {
                    u32::MAX
                } else {
                    0
                }
            }
        }
    }

    /// Whether somebody would like to have work, asleep or not.
    #[inline(always)]
    pub(super) fn is_anybody_inactive(&self) -> bool {
        match &self.0 {
            Protocol::NoTasks => false,
            Protocol::Jec(jec) => jec.is_anybody_inactive(),
            Protocol::Tickle(tickle) => tickle.is_anybody_inactive(),
        }
    }
}
