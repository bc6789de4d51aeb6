//! Sleep as the engines of Mercury have it: who posts a task tells one member of it, by a word of that member's own, and says why. What is told is never lost: a
//! member that has been told does not fall asleep.
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
//! A member that has not got round to counting itself among the searching is WORKING still: whatever it is told of it finds by itself.

use crossbeam_utils::CachePadded;

use super::{Announced, Protocol, Reason, Told};
use crate::sync::{AtomicU32, Ordering};

/// The words of members. Above `REASONS`, the reason of a notification.
const WORKING: u32 = 0;
const IDLE: u32 = 1;
const STEALING: u32 = 2;
const SLEEPING: u32 = 3;
const NOTIFIED_OF_MAIL: u32 = 4;
/// Plus the number of the member whose queue has work.
const NOTIFIED_OF_WORK: u32 = 5;

pub(super) struct Notify {
    /// Members that are STEALING or SLEEPING. Whoever makes one leave these counts it off.
    open: CachePadded<AtomicU32>,
    words: Box<[CachePadded<AtomicU32>]>,
}

fn is_open(word: u32) -> bool {
    matches!(word, STEALING | SLEEPING)
}

/// The word of one who has been told.
fn notified(reason: Reason) -> u32 {
    match reason {
        Reason::Mail => NOTIFIED_OF_MAIL,
        Reason::WorkAt(other) => NOTIFIED_OF_WORK + other,
    }
}

impl Notify {
    pub(super) fn new(members: u32) -> Self {
        let words = (0..members).map(|_| CachePadded::new(AtomicU32::new(WORKING))).collect();
        Self { open: CachePadded::new(AtomicU32::new(0)), words }
    }

    fn word(&self, member: u32) -> u32 {
        // Relaxed: a hint. Whoever acts on it does so by `change`.
        self.words[member as usize].load(Ordering::Relaxed)
    }

    fn change(&self, member: u32, from: u32, to: u32) -> bool {
        let word = &self.words[member as usize];
        // Acquire: pairs with the fence in `go_to_sleep`, before which a member that is SLEEPING has become ASLEEP: whoever tells it finds it so.
        word.compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Whatever `me` was, it is `to` now, which is not open. What it was.
    fn close(&self, me: u32, to: u32) -> u32 {
        // Relaxed: the fences of whoever posts and whoever sleeps order what must not be missed.
        let before = self.words[me as usize].swap(to, Ordering::Relaxed);
        if is_open(before) {
            // Step: count off
            self.count_off();
        }
        before
    }

    fn count_off(&self) {
        // Relaxed: a count; whoever reads a stale one finds out by the words.
        // Step: open
        let before = self.open.fetch_sub(1, Ordering::Relaxed);
        debug_assert!(before > 0, "one fewer open than none");
    }
}

impl Protocol for Notify {
    fn search(&self, me: u32) {
        // Step: idle
        self.change(me, WORKING, IDLE);
    }

    /// What it was told of is not there any more. What it has been told since stays.
    fn steal(&self, me: u32, told: Option<Reason>) {
        let looked = told.map_or(IDLE, notified);
        if self.word(me) == looked {
            // Before the change, so that the count is never too low.
            // Relaxed: as in `count_off`.
            // Step: open
            self.open.fetch_add(1, Ordering::Relaxed);
            // Step: stealing
            if !self.change(me, looked, STEALING) {
                // Step: count off
                self.count_off();
            }
        }
    }

    /// Whoever told it may have meant other work than what it has found; and others may have told it nothing because it had been told already.
    fn find(&self, me: u32) -> bool {
        // Only a member itself leaves WORKING.
        // Step: close
        // Step: anybody open
        self.close(me, WORKING) != IDLE && self.inactive() > 0
    }

    fn announce(&self, me: u32) -> Option<Announced> {
        // Step: steal
        self.steal(me, None);
        Some(Announced(STEALING))
    }

    /// Fails if it has been told something.
    fn confirm(&self, me: u32, _announced: Announced) -> bool {
        // Step: sleeping
        self.change(me, STEALING, SLEEPING)
    }

    /// If it was told, it still has to hear of it.
    fn rise(&self, member: u32) {
        // Step: stealing
        self.change(member, SLEEPING, STEALING);
    }

    /// Not `park`: the one who parks may come to it late, when the member is up again and in other states.
    fn unpark(&self, me: u32) {
        // Step: close
        self.close(me, WORKING);
    }

    /// One for each job, as long as there are some to tell.
    fn post(&self, jobs: u32) -> u32 {
        // Relaxed: the fence before this orders it.
        // Step: open
        jobs.min(self.open.load(Ordering::Relaxed))
    }

    fn tell(&self, member: u32, reason: Reason) -> Told {
        loop {
            let word = self.word(member);
            if !(is_open(word) || (word == IDLE && reason == Reason::Mail)) {
                return Told::Busy;
            }
            // Step: notified
            if self.change(member, word, notified(reason)) {
                if is_open(word) {
                    // Step: count off
                    self.count_off();
                }
                return if word == SLEEPING { Told::ToBeWoken } else { Told::Heard };
            }
        }
    }

    /// Nobody else changes the word of one who has been told.
    fn told(&self, me: u32) -> Option<Reason> {
        // Step: look
        match self.word(me) {
            WORKING | IDLE | STEALING | SLEEPING => None,
            NOTIFIED_OF_MAIL => Some(Reason::Mail),
            word => Some(Reason::WorkAt(word - NOTIFIED_OF_WORK)),
        }
    }

    #[inline(always)]
    fn inactive(&self) -> u32 {
        // Relaxed: a hint.
        self.open.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A member that has looked everywhere.
    fn stealing(notify: &Notify, member: u32) {
        notify.search(member);
        notify.steal(member, None);
    }

    #[test]
    fn one_is_told_once_and_says_why() {
        let notify = Notify::new(3);
        assert_eq!(notify.post(1), 0, "nobody searches");
        stealing(&notify, 1);
        assert_eq!(notify.post(2), 1);
        assert_eq!(notify.tell(2, Reason::WorkAt(0)), Told::Busy);
        assert_eq!(notify.tell(1, Reason::WorkAt(0)), Told::Heard);
        assert_eq!((notify.tell(1, Reason::WorkAt(0)), notify.post(1)), (Told::Busy, 0));
        assert_eq!(notify.told(1), Some(Reason::WorkAt(0)));
    }

    #[test]
    fn what_one_was_told_stays_until_it_has_looked_there() {
        let notify = Notify::new(3);
        stealing(&notify, 1);
        notify.tell(1, Reason::WorkAt(2));
        notify.steal(1, None);
        assert_eq!((notify.told(1), notify.inactive()), (Some(Reason::WorkAt(2)), 0), "it has not looked there");
        notify.steal(1, Some(Reason::WorkAt(2)));
        assert_eq!((notify.told(1), notify.inactive()), (None, 1), "and now it has");
    }

    #[test]
    fn who_was_told_and_finds_something_else_is_to_pass_it_on() {
        let notify = Notify::new(3);
        stealing(&notify, 1);
        stealing(&notify, 2);
        notify.tell(1, Reason::WorkAt(0));
        assert!(notify.find(1));
    }

    #[test]
    fn who_has_been_told_does_not_fall_asleep() {
        let notify = Notify::new(2);
        stealing(&notify, 1);
        let announced = notify.announce(1).unwrap();
        notify.tell(1, Reason::WorkAt(0));
        assert!(!notify.confirm(1, announced));
        let told = notify.told(1);
        assert_eq!(told, Some(Reason::WorkAt(0)));
        notify.steal(1, told);
        let announced = notify.announce(1).unwrap();
        assert!(notify.confirm(1, announced), "it has looked there");
        assert_eq!(notify.tell(1, Reason::WorkAt(0)), Told::ToBeWoken);
    }

    #[test]
    fn mail_is_told_to_the_idle_and_work_is_not() {
        let notify = Notify::new(2);
        notify.search(1);
        assert_eq!(notify.tell(1, Reason::WorkAt(0)), Told::Busy);
        assert_eq!(notify.tell(1, Reason::Mail), Told::Heard);
        assert_eq!(notify.told(1), Some(Reason::Mail));
    }

    #[test]
    fn who_finds_work_is_told_nothing_and_counted_off() {
        let notify = Notify::new(3);
        stealing(&notify, 1);
        stealing(&notify, 2);
        assert!(notify.find(1), "another one searches");
        assert!(!notify.find(2));
        assert_eq!(notify.inactive(), 0);
        assert_eq!(notify.tell(1, Reason::Mail), Told::Busy);
    }
}
