//! How bees without work go to sleep, and who is woken for new work: one small interface, and the protocols behind it, a file each.
//!
//! A bee goes through these steps, each by its own call: it searches; it announces that it is sleepy; it searches once more; it falls asleep, unless
//! something has been posted since. Around them stand the steps that all protocols share, in `rest.rs`: the change of state, the fences, the last
//! look, the bed.

pub(crate) mod jec;
pub(crate) mod jec_counters;
pub(crate) mod notify;
pub(crate) mod tickle;

use crate::protocol::tasks::sleep::jec::Jec;
use crate::protocol::tasks::sleep::notify::Notify;
use crate::protocol::tasks::sleep::tickle::Tickle;

/// What a sleepy bee remembers until it falls asleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SleepToken(u32);

/// What became of telling a bee of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotifyOutcome {
    /// It is up, and will look.
    Received,
    /// It is to be woken, if its state says that it is asleep.
    MustWake,
    /// It has work, or has been told of some.
    Busy,
}

/// Why a bee was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notification {
    /// There is a task that only it may run.
    Mailbox,
    /// There is work in the queue of this bee.
    DequeOf(u32),
}

/// A protocol. Methods whose first argument is `me` are called by that bee, on its own thread.
trait SleepAlgorithm {
    /// `me` has nothing to do, and searches.
    fn begin_search(&self, me: u32);

    /// It has looked in vain where it is at home and where it was `notification` to, and is about to look into the others' queues.
    fn begin_steal(&self, _me: u32, _notification: Option<Notification>) {}

    /// It has work, or goes away. Whether somebody may have relied on it for more work than it has taken.
    fn end_search(&self, me: u32) -> bool;

    /// It is about to sleep. None: it may not, now.
    fn announce_sleepy(&self, me: u32) -> Option<SleepToken>;

    /// It counts itself asleep, unless something has been posted since it announced that. Says whether.
    fn try_fall_asleep(&self, _token: SleepToken) -> bool {
        true
    }

    /// It is in state ASLEEP. Says whether it may stay there: whether nothing has been posted meanwhile.
    fn confirm_asleep(&self, _me: u32, _token: SleepToken) -> bool {
        true
    }

    /// A sleeper is up, and searches. Called by whoever has taken it out of ASLEEP, before it can know.
    fn count_woken(&self, _bee: u32) {}

    /// A sleeper is parked where it lies. Called by whoever has done that.
    fn count_parked(&self, _bee: u32) {}

    /// `me` was parked where it lay, and is up again, with something to do.
    fn count_unparked(&self, _me: u32) {}

    /// `jobs` have been posted for anybody, and a fence executed. How many bees are to be told, nearest first.
    fn announce_jobs(&self, jobs: u32) -> u32;

    /// Whether it is enough to wake one of those who are to be told, if that one wakes others before it does anything
    /// else.
    fn wakes_by_tree(&self) -> bool {
        false
    }

    /// Tells a bee.
    fn notify_bee(&self, _bee: u32, _notification: Notification) -> NotifyOutcome {
        NotifyOutcome::MustWake
    }

    /// What `me` has been told. It stays so until `steal` or `find`: who finds something else meanwhile passes it on.
    fn notification(&self, _me: u32) -> Option<Notification> {
        None
    }

    /// How many would like to have work, asleep or not. A hint.
    fn inactive(&self) -> u32;
}

/// The protocol of a team.
pub(crate) struct Sleep(Selected);

enum Selected {
    /// There are no tasks, and nobody is counted: for models of regions alone.
    NoTasks,
    Jec(Jec),
    Tickle(Tickle),
    Notify(Box<Notify>),
}

/// Calls a method of the team's protocol; without tasks it is the last argument.
macro_rules! dispatch {
    ($kind:expr, $protocol:ident => $call:expr, $without:expr) => {
        match $kind {
            Selected::NoTasks => $without,
            Selected::Jec($protocol) => $call,
            Selected::Tickle($protocol) => $call,
            Selected::Notify($protocol) => $call,
        }
    };
}

impl Sleep {
    #[allow(dead_code, reason = "for the models")]
    pub(crate) fn without_tasks() -> Self {
        Self(Selected::NoTasks)
    }

    pub(crate) fn jec() -> Self {
        Self(Selected::Jec(Jec::new()))
    }

    pub(crate) fn tickle() -> Self {
        Self(Selected::Tickle(Tickle::new()))
    }

    /// For a team of up to `members`.
    pub(crate) fn notify(max_bees: u32) -> Self {
        Self(Selected::Notify(Box::new(Notify::new(max_bees))))
    }

    /// Whether there are tasks at all.
    #[inline(always)]
    pub(crate) fn supports_tasks(&self) -> bool {
        !matches!(self.0, Selected::NoTasks)
    }

    pub(crate) fn begin_search(&self, me: u32) {
        dispatch!(&self.0, protocol => protocol.begin_search(me), ());
    }

    pub(crate) fn begin_steal(&self, me: u32, notification: Option<Notification>) {
        dispatch!(&self.0, protocol => protocol.begin_steal(me, notification), ());
    }

    pub(crate) fn end_search(&self, me: u32) -> bool {
        dispatch!(&self.0, protocol => protocol.end_search(me), false)
    }

    pub(crate) fn announce_sleepy(&self, me: u32) -> Option<SleepToken> {
        dispatch!(&self.0, protocol => protocol.announce_sleepy(me), Some(SleepToken(0)))
    }

    pub(crate) fn try_fall_asleep(&self, token: SleepToken) -> bool {
        dispatch!(&self.0, protocol => protocol.try_fall_asleep(token), true)
    }

    pub(crate) fn confirm_asleep(&self, me: u32, token: SleepToken) -> bool {
        dispatch!(&self.0, protocol => protocol.confirm_asleep(me, token), true)
    }

    pub(crate) fn count_woken(&self, bee: u32) {
        dispatch!(&self.0, protocol => protocol.count_woken(bee), ());
    }

    pub(crate) fn count_parked(&self, bee: u32) {
        dispatch!(&self.0, protocol => protocol.count_parked(bee), ());
    }

    pub(crate) fn count_unparked(&self, me: u32) {
        dispatch!(&self.0, protocol => protocol.count_unparked(me), ());
    }

    pub(crate) fn announce_jobs(&self, jobs: u32) -> u32 {
        dispatch!(&self.0, protocol => protocol.announce_jobs(jobs), 0)
    }

    pub(crate) fn wakes_by_tree(&self) -> bool {
        dispatch!(&self.0, protocol => protocol.wakes_by_tree(), false)
    }

    pub(crate) fn notify_bee(&self, bee: u32, notification: Notification) -> NotifyOutcome {
        dispatch!(&self.0, protocol => protocol.notify_bee(bee, notification), NotifyOutcome::MustWake)
    }

    pub(crate) fn notification(&self, me: u32) -> Option<Notification> {
        dispatch!(&self.0, protocol => protocol.notification(me), None)
    }

    #[inline(always)]
    pub(crate) fn inactive(&self) -> u32 {
        dispatch!(&self.0, protocol => protocol.inactive(), 0)
    }

    #[inline(always)]
    pub(crate) fn is_any_inactive(&self) -> bool {
        self.inactive() > 0
    }
}
