//! Sleep as the engines of Mercury have it: who posts a task tells one bee of it, by a word of that bee's own, and says why. What is told is never lost: a
//! bee that has been told does not fall asleep.
//!
//! ```text
//!                   own queues empty        last look done
//!  WORKING ───► IDLE ──────────► STEALING ───────────► SLEEPING
//!     ▲ ▲        │ │                │ │                   │
//!     │ └────────┘ │ mail           │ │ mail, work        │ mail, work: and woken
//!     │ has work   └────────────┐   │ └───┐   ┌───────────┘
//!     │                         ▼   │     ▼   ▼
//!     └─────────────────────── NOTIFIED, and why ──► found something: WORKING
//!                                                    nothing at home or there: STEALING
//! ```
//!
//! A bee that has not got round to counting itself among the searching is WORKING still: whatever it is told of it finds by itself.

use crossbeam_utils::CachePadded;

use crate::protocol::tasks::sleep::{Notification, NotifyOutcome, SleepAlgorithm, SleepToken};
use crate::sync::{AtomicU32, Ordering};

/// The words of bees. Above `REASONS`, the reason of a notification.
const WORKING: u32 = 0;
const IDLE: u32 = 1;
const STEALING: u32 = 2;
const SLEEPING: u32 = 3;
const NOTIFIED_OF_MAILBOX: u32 = 4;
/// Plus the number of the bee whose queue has work.
const NOTIFIED_OF_WORK: u32 = 5;

pub(crate) struct Notify {
    /// Bees that are STEALING or SLEEPING. Whoever makes one leave these counts it off.
    notifiable: CachePadded<AtomicU32>,
    states: Box<[CachePadded<AtomicU32>]>,
}

fn is_notifiable(state: u32) -> bool {
    matches!(state, STEALING | SLEEPING)
}

/// The word of one who has been told.
fn notified_state(notification: Notification) -> u32 {
    match notification {
        Notification::Mailbox => NOTIFIED_OF_MAILBOX,
        Notification::DequeOf(other) => NOTIFIED_OF_WORK + other,
    }
}

impl Notify {
    pub(crate) fn new(max_bees: u32) -> Self {
        let states = (0..max_bees).map(|_| CachePadded::new(AtomicU32::new(WORKING))).collect();
        Self { notifiable: CachePadded::new(AtomicU32::new(0)), states }
    }

    fn state(&self, bee: u32) -> u32 {
        // Relaxed: a hint. Whoever acts on it does so by `change`.
        self.states[bee as usize].load(Ordering::Relaxed)
    }

    fn change(&self, bee: u32, from: u32, to: u32) -> bool {
        let state = &self.states[bee as usize];
        // Acquire: pairs with the fence in `go_to_sleep`, before which a bee that is SLEEPING has become ASLEEP: whoever tells it finds it so.
        state.compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Whatever `me` was, it is `targets` now, which is not open. What it was.
    fn replace_state(&self, me: u32, to: u32) -> u32 {
        // Relaxed: the fences of whoever posts and whoever sleeps order what must not be missed.
        let before = self.states[me as usize].swap(to, Ordering::Relaxed);
        if is_notifiable(before) {
            // Step: count off
            self.count_off_notifiable();
        }
        before
    }

    fn count_off_notifiable(&self) {
        // Relaxed: a count; whoever reads a stale one finds out by the words.
        // Step: open
        let before = self.notifiable.fetch_sub(1, Ordering::Relaxed);
        debug_assert!(before > 0, "one fewer notifiable bee than none");
    }
}

impl SleepAlgorithm for Notify {
    fn begin_search(&self, me: u32) {
        // Step: idle
        self.change(me, WORKING, IDLE);
    }

    /// What it was told of is not there any more. What it has been told since stays.
    fn begin_steal(&self, me: u32, notification: Option<Notification>) {
        let expected = notification.map_or(IDLE, notified_state);
        if self.state(me) == expected {
            // Before the change, so that the count is never too low.
            // Relaxed: as in `count_off_notifiable`.
            // Step: open
            self.notifiable.fetch_add(1, Ordering::Relaxed);
            // Step: stealing
            if !self.change(me, expected, STEALING) {
                // Step: count off
                self.count_off_notifiable();
            }
        }
    }

    /// Whoever told it may have meant other work than what it has found; and others may have told it nothing because it had been told already.
    fn end_search(&self, me: u32) -> bool {
        // Only a bee itself leaves WORKING.
        // Step: close
        // Step: anybody open
        self.replace_state(me, WORKING) != IDLE && self.inactive() > 0
    }

    fn announce_sleepy(&self, me: u32) -> Option<SleepToken> {
        // Step: steal
        self.begin_steal(me, None);
        Some(SleepToken(STEALING))
    }

    /// Fails if it has been told something.
    fn confirm_asleep(&self, me: u32, _token: SleepToken) -> bool {
        // Step: sleeping
        self.change(me, STEALING, SLEEPING)
    }

    /// If it was told, it still has to hear of it.
    fn count_woken(&self, bee: u32) {
        // Step: stealing
        self.change(bee, SLEEPING, STEALING);
    }

    /// Not `count_parked`: the one who parks may come to it late, when the bee is up again and in other states.
    fn count_unparked(&self, me: u32) {
        // Step: close
        self.replace_state(me, WORKING);
    }

    /// One for each job, as long as there are some to tell.
    fn announce_jobs(&self, jobs: u32) -> u32 {
        // Relaxed: the fence before this orders it.
        // Step: open
        jobs.min(self.notifiable.load(Ordering::Relaxed))
    }

    fn notify_bee(&self, bee: u32, notification: Notification) -> NotifyOutcome {
        loop {
            let state = self.state(bee);
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

    /// Nobody else changes the word of one who has been told.
    fn notification(&self, me: u32) -> Option<Notification> {
        // Step: look
        match self.state(me) {
            WORKING | IDLE | STEALING | SLEEPING => None,
            NOTIFIED_OF_MAILBOX => Some(Notification::Mailbox),
            state => Some(Notification::DequeOf(state - NOTIFIED_OF_WORK)),
        }
    }

    #[inline(always)]
    fn inactive(&self) -> u32 {
        // Relaxed: a hint.
        self.notifiable.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bee that has looked everywhere.
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
