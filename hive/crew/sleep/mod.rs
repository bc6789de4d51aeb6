//! How members without work go to sleep, and who is woken for new work: one small interface, and the protocols behind it, a file each.
//!
//! A member goes through these steps, each by its own call: it searches; it announces that it is sleepy; it searches once more; it falls asleep, unless
//! something has been posted since. Around them stand the steps that all protocols share, in `rest.rs`: the change of state, the fences, the last
//! look, the bed.

mod counters;
mod jec;
mod notify;
mod tickle;

use jec::Jec;
use notify::Notify;
use tickle::Tickle;

/// What a sleepy member remembers until it falls asleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Announced(u32);

/// What became of telling a member of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// It is up, and will look.
    Heard,
    /// It is to be woken, if its state says that it is asleep.
    ToBeWoken,
    /// It has work, or has been told of some.
    Busy,
}

/// Why a member was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// There is a task that only it may run.
    Mail,
    /// There is work in the queue of this member.
    WorkAt(u32),
}

/// A protocol. Methods whose first argument is `me` are called by that member, on its own thread.
trait Protocol {
    /// `me` has nothing to do, and searches.
    fn search(&self, me: u32);

    /// It has looked in vain where it is at home and where it was `told` to, and is about to look into the others' queues.
    fn steal(&self, _me: u32, _told: Option<Reason>) {}

    /// It has work, or goes away. Whether somebody may have relied on it for more work than it has taken.
    fn find(&self, me: u32) -> bool;

    /// It is about to sleep. None: it may not, now.
    fn announce(&self, me: u32) -> Option<Announced>;

    /// It counts itself asleep, unless something has been posted since it announced that. Says whether.
    fn fall_asleep(&self, _announced: Announced) -> bool {
        true
    }

    /// It is in state ASLEEP. Says whether it may stay there: whether nothing has been posted meanwhile.
    fn confirm(&self, _me: u32, _announced: Announced) -> bool {
        true
    }

    /// A sleeper is up, and searches. Called by whoever has taken it out of ASLEEP, before it can know.
    fn rise(&self, _member: u32) {}

    /// A sleeper is parked where it lies. Called by whoever has done that.
    fn park(&self, _member: u32) {}

    /// `me` was parked where it lay, and is up again, with something to do.
    fn unpark(&self, _me: u32) {}

    /// `jobs` have been posted for anybody, and a fence executed. How many members are to be told, nearest first.
    fn post(&self, jobs: u32) -> u32;

    /// Whether it is enough to wake one of those who are to be told, if that one wakes others before it does anything
    /// else.
    fn wakes_by_tree(&self) -> bool {
        false
    }

    /// Tells a member.
    fn tell(&self, _member: u32, _reason: Reason) -> Told {
        Told::ToBeWoken
    }

    /// What `me` has been told. It stays so until `steal` or `find`: who finds something else meanwhile passes it on.
    fn told(&self, _me: u32) -> Option<Reason> {
        None
    }

    /// How many would like to have work, asleep or not. A hint.
    fn inactive(&self) -> u32;
}

/// The protocol of a crew.
pub(crate) struct Sleep(Kind);

enum Kind {
    /// There are no tasks, and nobody is counted: for models of regions alone.
    NoTasks,
    Jec(Jec),
    Tickle(Tickle),
    Notify(Box<Notify>),
}

/// Calls a method of the crew's protocol; without tasks it is the last argument.
macro_rules! each {
    ($kind:expr, $protocol:ident => $call:expr, $without:expr) => {
        match $kind {
            Kind::NoTasks => $without,
            Kind::Jec($protocol) => $call,
            Kind::Tickle($protocol) => $call,
            Kind::Notify($protocol) => $call,
        }
    };
}

impl Sleep {
    #[allow(dead_code, reason = "for the models")]
    pub(crate) fn without_tasks() -> Self {
        Self(Kind::NoTasks)
    }

    pub(crate) fn jec() -> Self {
        Self(Kind::Jec(Jec::new()))
    }

    pub(crate) fn tickle() -> Self {
        Self(Kind::Tickle(Tickle::new()))
    }

    /// For a crew of up to `members`.
    pub(crate) fn notify(members: u32) -> Self {
        Self(Kind::Notify(Box::new(Notify::new(members))))
    }

    /// Whether there are tasks at all.
    #[inline(always)]
    pub(super) fn has_tasks(&self) -> bool {
        !matches!(self.0, Kind::NoTasks)
    }

    pub(crate) fn search(&self, me: u32) {
        each!(&self.0, protocol => protocol.search(me), ());
    }

    pub(super) fn steal(&self, me: u32, told: Option<Reason>) {
        each!(&self.0, protocol => protocol.steal(me, told), ());
    }

    pub(super) fn find(&self, me: u32) -> bool {
        each!(&self.0, protocol => protocol.find(me), false)
    }

    pub(crate) fn announce(&self, me: u32) -> Option<Announced> {
        each!(&self.0, protocol => protocol.announce(me), Some(Announced(0)))
    }

    pub(crate) fn fall_asleep(&self, announced: Announced) -> bool {
        each!(&self.0, protocol => protocol.fall_asleep(announced), true)
    }

    pub(super) fn confirm(&self, me: u32, announced: Announced) -> bool {
        each!(&self.0, protocol => protocol.confirm(me, announced), true)
    }

    pub(super) fn rise(&self, member: u32) {
        each!(&self.0, protocol => protocol.rise(member), ());
    }

    pub(super) fn park(&self, member: u32) {
        each!(&self.0, protocol => protocol.park(member), ());
    }

    pub(super) fn unpark(&self, me: u32) {
        each!(&self.0, protocol => protocol.unpark(me), ());
    }

    pub(crate) fn post(&self, jobs: u32) -> u32 {
        each!(&self.0, protocol => protocol.post(jobs), 0)
    }

    pub(super) fn wakes_by_tree(&self) -> bool {
        each!(&self.0, protocol => protocol.wakes_by_tree(), false)
    }

    pub(super) fn tell(&self, member: u32, reason: Reason) -> Told {
        each!(&self.0, protocol => protocol.tell(member, reason), Told::ToBeWoken)
    }

    pub(super) fn told(&self, me: u32) -> Option<Reason> {
        each!(&self.0, protocol => protocol.told(me), None)
    }

    #[inline(always)]
    pub(super) fn inactive(&self) -> u32 {
        each!(&self.0, protocol => protocol.inactive(), 0)
    }

    #[inline(always)]
    pub(super) fn is_anybody_inactive(&self) -> bool {
        self.inactive() > 0
    }
}
