//! The sleep protocols: how the bees without work are counted, and which of them are told of new work or woken for it.
//! One small interface, `Sleep`, hides three protocols: `jec.rs`, the default, `tickle.rs` and `notify.rs`. A hive
//! chooses one when it is built.
//!
//! A bee calls one method for each step that it takes: it searches, announces that it is sleepy, searches once more,
//! and falls asleep unless something has been posted since. What all protocols have in common around these steps is in
//! `tasks/idle.rs`: the change of state, the fences, the last check, and the semaphore. See `docs/sleep.md`.

pub(crate) mod jec;
pub(crate) mod notify;
pub(crate) mod tickle;

use crate::protocol::tasks::demand::Demand;
use crate::protocol::tasks::sleep::jec::Jec;
use crate::protocol::tasks::sleep::notify::Notify;
use crate::protocol::tasks::sleep::tickle::Tickle;
use crate::sync::AtomicU64;

/// What a bee has to remember from its announcement that it is sleepy until it falls asleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SleepToken(u32);

/// The result of telling a bee of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotifyOutcome {
    /// The bee is awake, and will look.
    Received,
    /// The bee has to be woken, if its state is ASLEEP.
    MustWake,
    /// The bee need not be told: it has work, has been told of some already, or still looks into its own queues.
    Busy,
}

/// What a bee was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notification {
    /// There is a task that only this bee may run.
    Mailbox,
    /// There is work in the deque of the bee with this number.
    DequeOf(u32),
}

/// A sleep protocol. Methods whose first argument is `me` are called by that bee, on its own thread; those with `bee`
/// by any thread.
trait SleepAlgorithm {
    /// Bee `me` has nothing to do, and searches from now on.
    fn begin_search(&self, me: u32);

    /// Bee `me` has found nothing in its own queues, nor where `notification` told it to look. It is about to look into
    /// the deques of the others.
    fn begin_steal(&self, _me: u32, _notification: Option<Notification>) {}

    /// Bee `me` has found work, parks, or goes away. Returns whether others may have relied on it for more work than it
    /// takes, so that the caller has to tell other bees of what is queued.
    fn end_search(&self, me: u32) -> bool;

    /// Bee `me` is about to sleep. None: it may not sleep now.
    fn announce_sleepy(&self, me: u32) -> Option<SleepToken>;

    /// Counts the calling bee asleep, unless something has been posted since the announcement that `token` is from.
    /// Returns whether it has.
    fn try_fall_asleep(&self, _token: SleepToken) -> bool {
        true
    }

    /// Bee `me` is in state ASLEEP and has executed its fence. Returns whether it may stay there: whether it has not
    /// been told of anything that has been posted meanwhile.
    fn confirm_asleep(&self, _me: u32, _token: SleepToken) -> bool {
        true
    }

    /// A sleeper is awake, and searches. Called by the thread that has taken it out of ASLEEP, before the bee itself
    /// runs; or by the bee itself.
    fn count_woken(&self, _bee: u32) {}

    /// A sleeper has been parked. Called by the thread that has changed its state.
    fn count_parked(&self, _bee: u32) {}

    /// Bee `me` was parked while it was asleep, and runs again, with something to do.
    fn count_unparked(&self, _me: u32) {}

    /// `jobs` tasks have been queued that any bee may run, and a SeqCst fence has been executed. Returns how many bees
    /// are to be told of them, the nearest first.
    fn announce_jobs(&self, jobs: u32) -> u32;

    /// Whether a waker may leave some of the bees that are to be told to those that it wakes, which then wake them
    /// before they do anything else.
    fn wakes_by_tree(&self) -> bool {
        false
    }

    /// Tells a bee of work.
    fn notify_bee(&self, _bee: u32, _notification: Notification) -> NotifyOutcome {
        NotifyOutcome::MustWake
    }

    /// What bee `me` was told last. It stays until `begin_steal` or `end_search`. A bee that finds other work first is
    /// made to pass it on by `end_search`.
    fn notification(&self, _me: u32) -> Option<Notification> {
        None
    }

    /// A bee that searches would take the joins of others again, after it has left them alone for a while.
    fn ask(&self) {}
}

/// The sleep protocol of a team.
pub(crate) struct Sleep {
    protocol: Selected,
    /// Always 0: what stands for the demand in a protocol that has no word for it.
    unchanging: AtomicU64,
}

/// The protocols to choose from.
enum Selected {
    /// The team runs no tasks, and nobody is counted. For models of regions alone.
    NoTasks,
    Jec(Jec),
    Tickle(Tickle),
    Notify(Box<Notify>),
}

/// Makes the methods of `Sleep` that pass a call on to the team's protocol. Each is a line: the signature without
/// `&self`, and the result in a team without tasks.
macro_rules! pass_on {
    ($($name:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)?, without tasks $without:expr;)*) => {$(
        pub(crate) fn $name(&self, $($argument: $kind),*) $(-> $result)? {
            match &self.protocol {
                // The default protocol costs one comparison, where a jump table would be one more cache line to fetch.
                Selected::Jec(protocol) => protocol.$name($($argument),*),
                other => seldom(|| match other {
                    Selected::NoTasks => $without,
                    Selected::Jec(protocol) => protocol.$name($($argument),*),
                    Selected::Tickle(protocol) => protocol.$name($($argument),*),
                    Selected::Notify(protocol) => protocol.$name($($argument),*),
                }),
            }
        }
    )*};
}

/// Calls `call`, out of the way of what is usually done instead.
#[cold]
#[inline(never)]
fn seldom<R>(call: impl FnOnce() -> R) -> R {
    call()
}

impl Sleep {
    fn by(protocol: Selected) -> Self {
        Self { protocol, unchanging: AtomicU64::new(0) }
    }

    /// For a team that runs no tasks.
    #[allow(dead_code, reason = "for the models")]
    pub(crate) fn without_tasks() -> Self {
        Self::by(Selected::NoTasks)
    }

    /// The jobs event counter, the default.
    pub(crate) fn jec() -> Self {
        Self::by(Selected::Jec(Jec::default()))
    }

    /// One sleepy bee at a time, and all sleepers woken at once.
    pub(crate) fn tickle() -> Self {
        Self::by(Selected::Tickle(Tickle::default()))
    }

    /// One bee told at a time, for a team of up to `max_bees` bees.
    pub(crate) fn notify(max_bees: u32) -> Self {
        Self::by(Selected::Notify(Box::new(Notify::new(max_bees))))
    }

    /// Whether the team runs tasks at all. (Not whether there are any.)
    #[inline(always)]
    pub(crate) fn supports_tasks(&self) -> bool {
        !matches!(self.protocol, Selected::NoTasks)
    }

    // These methods do what `SleepAlgorithm` says of them.
    pass_on! {
        begin_search(me: u32), without tasks ();
        begin_steal(me: u32, notification: Option<Notification>), without tasks ();
        end_search(me: u32) -> bool, without tasks false;
        announce_sleepy(me: u32) -> Option<SleepToken>, without tasks Some(SleepToken(0));
        try_fall_asleep(token: SleepToken) -> bool, without tasks true;
        confirm_asleep(me: u32, token: SleepToken) -> bool, without tasks true;
        count_woken(bee: u32), without tasks ();
        count_parked(bee: u32), without tasks ();
        count_unparked(me: u32), without tasks ();
        announce_jobs(jobs: u32) -> u32, without tasks 0;
        wakes_by_tree() -> bool, without tasks false;
        notify_bee(bee: u32, notification: Notification) -> NotifyOutcome, without tasks NotifyOutcome::MustWake;
        notification(me: u32) -> Option<Notification>, without tasks None;
        ask(), without tasks ();
    }

    /// How many bees would like to have work, asleep or not, by what one of them has read of their demand. A hint.
    pub(crate) fn inactive_at(&self, reading: u64) -> u32 {
        match &self.protocol {
            Selected::NoTasks => 0,
            Selected::Jec(_) => Jec::inactive_at(reading),
            Selected::Tickle(tickle) => tickle.inactive(),
            Selected::Notify(notify) => notify.inactive(),
        }
    }

    /// The demand for work, for one bee.
    pub(crate) fn demand(&self) -> Demand<'_> {
        match &self.protocol {
            Selected::Jec(jec) => jec.demand(),
            Selected::NoTasks | Selected::Tickle(_) | Selected::Notify(_) => Demand::unknown(&self.unchanging),
        }
    }
}
