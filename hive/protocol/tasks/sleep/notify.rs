//! Sleep by notifying, after the engines of Mercury. A bee that posts a task tells one other bee of it, by a word of
//! that bee's own which also says why. No notification is lost: a bee that has been notified does not fall asleep.
//!
//! ```text
//!                   own queues empty        last check done
//!  WORKING ───► IDLE ──────────► STEALING ───────────► SLEEPING
//!     ▲ ▲        │ │                │ │                   │
//!     │ └────────┘ │ mail           │ │ mail, work        │ mail, work: and woken
//!     │ has work   └────────────┐   │ └───┐   ┌───────────┘
//!     │                         ▼   │     ▼   ▼
//!     └─────────────────────── NOTIFIED, and why ──► found something: WORKING
//!                                                    found nothing there: STEALING
//! ```
//!
//! A bee that has not counted itself among those that search yet is still WORKING, and is not notified: it finds by
//! itself whatever it would be told of. See `docs/sleep.md`.

use crossbeam_utils::CachePadded;

use crate::protocol::tasks::sleep::{Notification, NotifyOutcome, SleepAlgorithm, SleepToken};
use crate::sync::{AtomicU32, Ordering};

/// The bee has work, or has not said that it searches.
const WORKING: u32 = 0;
/// The bee searches, and has not finished with its own queues.
const IDLE: u32 = 1;
/// The bee looks into the deques of the others, or is about to fall asleep.
const STEALING: u32 = 2;
/// The bee is asleep: its slot is in state ASLEEP, or a shrink has parked it there.
const SLEEPING: u32 = 3;
/// The bee has been told that its mailbox has a task.
const NOTIFIED_OF_MAILBOX: u32 = 4;
/// This plus a bee's number: the bee has been told that the deque of that one has work.
const NOTIFIED_OF_WORK: u32 = 5;

/// The protocol.
pub(crate) struct Notify {
    /// How many bees are STEALING or SLEEPING. The count goes up before a bee becomes one of these. The thread that
    /// makes the bee leave them takes it off afterwards. So the count is never too low.
    notifiable: CachePadded<AtomicU32>,
    /// The state of each bee, one of the constants above. The bee itself changes it, and others change it to a
    /// notification.
    states: Box<[CachePadded<AtomicU32>]>,
}

/// Whether a bee in this state may be told of work, and is counted in `notifiable`.
fn is_notifiable(state: u32) -> bool {
    matches!(state, STEALING | SLEEPING)
}

/// The state of a bee that has been told `notification`.
fn notified_state(notification: Notification) -> u32 {
    match notification {
        Notification::Mailbox => NOTIFIED_OF_MAILBOX,
        Notification::DequeOf(other) => NOTIFIED_OF_WORK + other,
    }
}

impl Notify {
    /// For a team of up to `max_bees` bees, all of which have work.
    pub(crate) fn new(max_bees: u32) -> Self {
        let states = (0..max_bees).map(|_| CachePadded::new(AtomicU32::new(WORKING))).collect();
        Self { notifiable: CachePadded::new(AtomicU32::new(0)), states }
    }

    /// The notifiable bees.
    pub(crate) fn inactive(&self) -> u32 {
        // Relaxed: a hint.
        self.notifiable.load(Ordering::Relaxed)
    }

    /// The state of a bee.
    fn state(&self, bee: u32) -> u32 {
        // Relaxed: a hint. A caller that acts on it does so by `change`, or is the bee itself.
        self.states[bee as usize].load(Ordering::Relaxed)
    }

    /// Changes the state of a bee from `from` to `to` if it is `from`. Returns whether it was.
    fn change(&self, bee: u32, from: u32, to: u32) -> bool {
        let state = &self.states[bee as usize];
        // Acquire: pairs with the fence in `TaskContext::go_to_sleep`. A bee has become ASLEEP before that fence and
        // SLEEPING after it, so a thread that notifies a SLEEPING bee finds its state ASLEEP. No Release: the task that
        // the bee is told of is ordered by fences, as in `replace_state`. Failure is Relaxed: nothing was changed.
        state.compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Changes the state of bee `me` to `to`, which is not a notifiable one, whatever it was. Returns what it was.
    fn replace_state(&self, me: u32, to: u32) -> u32 {
        // Relaxed: what must not be missed is ordered by the fences of the bees that post and of those that sleep.
        let before = self.states[me as usize].swap(to, Ordering::Relaxed);
        if is_notifiable(before) {
            // Step: count off
            self.count_off_notifiable();
        }
        before
    }

    /// Takes off a bee that is no longer notifiable.
    fn count_off_notifiable(&self) {
        // Relaxed: a count. A thread that reads an old one finds out by the states.
        // Step: open
        let before = self.notifiable.fetch_sub(1, Ordering::Relaxed);
        debug_assert!(before > 0, "one fewer notifiable bee than none");
    }
}

impl SleepAlgorithm for Notify {
    /// Begins with the bee's own queues. The bee is not notifiable yet.
    fn begin_search(&self, me: u32) {
        // Step: idle
        self.change(me, WORKING, IDLE);
    }

    /// Makes the bee notifiable. If it was told of work, it has looked there and found nothing. What it has been told
    /// since then stays: the bee has yet to look there.
    fn begin_steal(&self, me: u32, notification: Option<Notification>) {
        let expected = notification.map_or(IDLE, notified_state);
        if self.state(me) == expected {
            // Counted before the change, so that the count is never too low. Relaxed: as in `count_off_notifiable`.
            // Step: open
            self.notifiable.fetch_add(1, Ordering::Relaxed);
            // Step: stealing
            if !self.change(me, expected, STEALING) {
                // Step: count off
                self.count_off_notifiable();
            }
        }
    }

    /// If the bee was notified or notifiable, others may have relied on it. It may have found other work than what it
    /// was told of; and a bee that has posted since may not have told it, because it had been told already. So what is
    /// queued is to be passed on, if there is a bee to tell.
    fn end_search(&self, me: u32) -> bool {
        // Only the bee itself leaves WORKING, so from here on it is not notified.
        // Step: close
        // Step: any bee open
        self.replace_state(me, WORKING) != IDLE && self.inactive() > 0
    }

    /// Makes the bee notifiable if it is still IDLE. If it has been told something, it stays so, and `confirm_asleep`
    /// fails.
    fn announce_sleepy(&self, me: u32) -> Option<SleepToken> {
        // Step: steal
        self.begin_steal(me, None);
        Some(SleepToken(STEALING))
    }

    /// Fails if the bee has been told something.
    fn confirm_asleep(&self, me: u32, _token: SleepToken) -> bool {
        // Step: sleeping
        self.change(me, STEALING, SLEEPING)
    }

    /// A sleeper that was woken without having been notified goes on as one that steals. If it was notified, its state
    /// stays as it is, because the bee has yet to read it.
    fn count_woken(&self, bee: u32) {
        // Step: stealing
        self.change(bee, SLEEPING, STEALING);
    }

    /// This is not done by `count_parked`: the thread that parks a bee may get there late, when the bee runs again and
    /// is in another state.
    fn count_unparked(&self, me: u32) {
        // Step: close
        self.replace_state(me, WORKING);
    }

    /// One bee for each task, as far as there are bees to tell.
    fn announce_jobs(&self, jobs: u32) -> u32 {
        // Relaxed: the fence that the caller has executed orders it.
        // Step: open
        jobs.min(self.notifiable.load(Ordering::Relaxed))
    }

    /// Tells a bee that is notifiable, and of its mailbox also one that is IDLE. The caller wakes one that is SLEEPING.
    fn notify_bee(&self, bee: u32, notification: Notification) -> NotifyOutcome {
        loop {
            // Repeated if the state changes between this look and the change below.
            let state = self.state(bee);
            // An IDLE bee is told of its mailbox only, which it may have looked into already. Work elsewhere it finds
            // by itself, when it goes on to the deques of the others.
            if !(is_notifiable(state) || (state == IDLE && notification == Notification::Mailbox)) {
                return NotifyOutcome::Busy;
            }
            // Step: notified
            if self.change(bee, state, notified_state(notification)) {
                if is_notifiable(state) {
                    // Step: count off
                    self.count_off_notifiable();
                }
                return if state == SLEEPING { NotifyOutcome::MustWake } else { NotifyOutcome::Received };
            }
        }
    }

    /// While a bee is notified no other thread changes its state.
    fn notification(&self, me: u32) -> Option<Notification> {
        // Step: look
        match self.state(me) {
            WORKING | IDLE | STEALING | SLEEPING => None,
            NOTIFIED_OF_MAILBOX => Some(Notification::Mailbox),
            state => Some(Notification::DequeOf(state - NOTIFIED_OF_WORK)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes bee `bee` one that has looked into its own queues and may be told of work.
    fn make_stealing(notify: &Notify, bee: u32) {
        notify.begin_search(bee);
        notify.begin_steal(bee, None);
    }

    #[test]
    fn a_bee_is_notified_once_and_knows_of_what() {
        let notify = Notify::new(3);
        assert_eq!(notify.announce_jobs(1), 0, "nobody searches");
        make_stealing(&notify, 1);
        assert_eq!(notify.announce_jobs(2), 1);
        assert_eq!(notify.notify_bee(2, Notification::DequeOf(0)), NotifyOutcome::Busy);
        assert_eq!(notify.notify_bee(1, Notification::DequeOf(0)), NotifyOutcome::Received);
        assert_eq!((notify.notify_bee(1, Notification::DequeOf(0)), notify.announce_jobs(1)), (NotifyOutcome::Busy, 0));
        assert_eq!(notify.notification(1), Some(Notification::DequeOf(0)));
    }

    #[test]
    fn a_notification_stays_until_the_bee_has_looked_there() {
        let notify = Notify::new(3);
        make_stealing(&notify, 1);
        notify.notify_bee(1, Notification::DequeOf(2));
        notify.begin_steal(1, None);
        assert_eq!(
            (notify.notification(1), notify.inactive()),
            (Some(Notification::DequeOf(2)), 0),
            "it has not looked there"
        );
        notify.begin_steal(1, Some(Notification::DequeOf(2)));
        assert_eq!((notify.notification(1), notify.inactive()), (None, 1), "and now it has");
    }

    #[test]
    fn a_notified_bee_that_finds_something_else_is_to_pass_it_on() {
        let notify = Notify::new(3);
        make_stealing(&notify, 1);
        make_stealing(&notify, 2);
        notify.notify_bee(1, Notification::DequeOf(0));
        assert!(notify.end_search(1));
    }

    #[test]
    fn a_notified_bee_does_not_fall_asleep() {
        let notify = Notify::new(2);
        make_stealing(&notify, 1);
        let token = notify.announce_sleepy(1).unwrap();
        notify.notify_bee(1, Notification::DequeOf(0));
        assert!(!notify.confirm_asleep(1, token));
        let notification = notify.notification(1);
        assert_eq!(notification, Some(Notification::DequeOf(0)));
        notify.begin_steal(1, notification);
        let token = notify.announce_sleepy(1).unwrap();
        assert!(notify.confirm_asleep(1, token), "it has looked there");
        assert_eq!(notify.notify_bee(1, Notification::DequeOf(0)), NotifyOutcome::MustWake);
    }

    #[test]
    fn an_idle_bee_is_notified_of_its_mailbox_and_not_of_work() {
        let notify = Notify::new(2);
        notify.begin_search(1);
        assert_eq!(notify.notify_bee(1, Notification::DequeOf(0)), NotifyOutcome::Busy);
        assert_eq!(notify.notify_bee(1, Notification::Mailbox), NotifyOutcome::Received);
        assert_eq!(notify.notification(1), Some(Notification::Mailbox));
    }

    #[test]
    fn a_bee_that_finds_work_is_not_notified_and_is_counted_off() {
        let notify = Notify::new(3);
        make_stealing(&notify, 1);
        make_stealing(&notify, 2);
        assert!(notify.end_search(1), "another one searches");
        assert!(!notify.end_search(2));
        assert_eq!(notify.inactive(), 0);
        assert_eq!(notify.notify_bee(1, Notification::Mailbox), NotifyOutcome::Busy);
    }
}
