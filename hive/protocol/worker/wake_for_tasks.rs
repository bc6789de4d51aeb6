//! Waking bees for tasks: whom a thread tells of the tasks that it has queued, and how the sleepers among these are
//! woken. The table of all wakes, and why none is lost, is in `wake.rs`.
//!
//! On a core that has been idle, a wake-up takes the time of the cache lines that it needs, code and data. So the usual
//! case, one sleeper for one task, is one short function, and what large hives and other sleep protocols need in
//! addition is kept out of it.

use std::{array, iter};

use crate::protocol::Team;
use crate::protocol::tasks::deque_marks::DequeMark;
use crate::protocol::tasks::sleep::{Notification, NotifyOutcome};
use crate::protocol::worker::nearest_sleepers::{nearest_of_few, nearest_of_many};
use crate::protocol::worker::occupancy::TRACKED_BEES;
use crate::protocol::worker::slot::{Slot, SlotState};
use crate::sync::{Event, EventKind, MAX_TASK_WAKES, Ordering, fence};

impl Team {
    /// Tells others of `jobs` new tasks that any bee may run. They are queued already: in the deque of bee `from`,
    /// whose mark is `mark`, or elsewhere if that is None.
    pub(crate) fn notify_of_jobs(&self, jobs: u32, from: u32, mark: Option<DequeMark<'_>>) {
        // After the tasks have been queued, before the counts are read: either a bee that falls asleep finds the tasks
        // in its last check, or it is seen asleep here.
        // Step: fence
        match mark {
            Some(mark) => {
                self.slot(from).counters.note_offer();
                mark.announce_push();
            }
            // Pairs with the fences in `TaskContext::go_to_sleep` and `TaskContext::park`. (So does the one in
            // `announce_push`.)
            None => fence(Ordering::SeqCst),
        }
        // How many bees to tell depends on how many are searching already.
        // Step: post
        let wanted = self.sleep.announce_jobs(jobs);
        if wanted > 0 {
            self.notify_some(wanted, from);
        }
        // In a hive of the queen alone all workers are surplus, so the sleep protocol counts none of them as a sleeper.
        // Step: lone queen
        self.wake_first_worker_of_lone_queen();
    }

    /// Wakes worker 1 if the hive consists of the queen alone and has tasks: see `wake_first_worker`.
    #[inline(always)]
    pub(crate) fn wake_first_worker_of_lone_queen(&self) {
        if self.occupancy.read().bees() == 1 {
            self.wake_first_worker();
        }
    }

    /// Tells `wanted` bees, the nearest to bee `from` first, of work that bee `from` has queued, in its deque or
    /// elsewhere. The caller has called `track_in_flight`.
    // Not `#[cold]`, which would put it far away from its callers: on a core that has been idle, a page of code more
    // costs time.
    #[inline(never)]
    fn notify_some(&self, wanted: u32, from: u32) {
        let last = self.hired.count();
        if !self.sleep.wakes_by_tree() {
            self.notify_one_by_one(wanted, from);
        } else if wanted > 1 || last >= TRACKED_BEES {
            self.wake_sleepers(wanted, from, last);
        } else if let Some(slot) = self.claim_next(&mut self.sleepers(from, last)) {
            self.wake_claimed(slot, from, 0);
        }
    }

    /// Tells one bee after another, until `wanted` will look.
    #[cold]
    fn notify_one_by_one(&self, wanted: u32, from: u32) {
        // Bee `from` itself as well: that may be the queen's number in the name of a thread from outside, and the queen
        // may be asleep.
        iter::once(self.slot(from))
            .chain(self.others_by_distance(from).map(|(slot, _)| slot))
            .filter(|slot| self.notify_of_work(slot, from))
            .take(wanted as usize)
            .for_each(drop);
    }

    /// Tells a bee to look into the deque of bee `from`, and wakes it if it sleeps. (If the work is in another queue,
    /// the search that this begins finds it there.) Returns whether it will look: not if it need not be told, see
    /// `NotifyOutcome::Busy`, nor if another thread has woken or parked it meanwhile; then the next bee is told.
    fn notify_of_work(&self, slot: &Slot, from: u32) -> bool {
        // Step: tell
        match self.sleep.notify_bee(slot.id, Notification::DequeOf(from)) {
            NotifyOutcome::Received => true,
            // The protocol has told a sleeper, which must be woken, if it has not been woken by another thread.
            // Step: wake
            NotifyOutcome::MustWake => {
                slot.state() == SlotState::Asleep && self.wake(slot, SlotState::Asleep, SlotState::Notified)
            }
            NotifyOutcome::Busy => false,
        }
    }

    /// Wakes `wanted` sleepers, the nearest to bee `from` first, as by a tree: this thread wakes up to
    /// `MAX_TASK_WAKES` of them, and asks each of these to wake its part of the others before it does anything else.
    /// `last`: the number of the last worker that has been hired.
    #[inline(never)]
    fn wake_sleepers(&self, wanted: u32, from: u32, last: u32) {
        if last < TRACKED_BEES {
            self.wake_first_of(self.sleepers(from, last), wanted, from);
        } else {
            let sleepers = nearest_of_many(&self.fixed.neighbours, from, last, self.occupancy.maybe_asleep());
            self.wake_first_of(sleepers, wanted, from);
        }
    }

    /// Wakes the first `wanted` of these bees that are asleep, in the same way.
    fn wake_first_of(&self, mut sleepers: impl Iterator<Item = u32>, wanted: u32, from: u32) {
        let here = wanted.min(MAX_TASK_WAKES);
        // All of these are claimed, and so counted among those that search, before the first is posted. Otherwise,
        // while one is on its way, another bee could take itself for the last that searches, and wake the sleepers that
        // these are to wake.
        // Step: unblock
        let claimed: [_; MAX_TASK_WAKES as usize] =
            array::from_fn(|number| if number < here as usize { self.claim_next(&mut sleepers) } else { None });
        let mut remaining = wanted - here;
        // The sleepers that remain are divided among those that were claimed.
        for (number, slot) in claimed.into_iter().flatten().enumerate() {
            let others = remaining.div_ceil(here - number as u32);
            remaining -= others;
            self.wake_claimed(slot, from, others);
        }
    }

    /// The bees up to `last` that may be asleep, the nearest to bee `from` first. Each of them has a bit.
    #[inline(always)]
    fn sleepers(&self, from: u32, last: u32) -> impl Iterator<Item = u32> {
        nearest_of_few(&self.fixed.neighbours, from, last, self.occupancy.maybe_asleep())
    }

    /// Claims the next of these bees that is asleep. The caller has to wake it.
    #[inline(always)]
    fn claim_next(&self, sleepers: &mut impl Iterator<Item = u32>) -> Option<&Slot> {
        for id in sleepers {
            let slot = self.slot(id);
            // The state is read again by the change that claims the sleeper.
            if slot.state() == SlotState::Asleep && self.begin_wake(slot, SlotState::Asleep, SlotState::Notified) {
                return Some(slot);
            }
        }
        None
    }

    /// Wakes a sleeper that has been claimed, and asks it to wake `others`.
    #[inline(always)]
    fn wake_claimed(&self, slot: &Slot, from: u32, others: u32) {
        slot.wake_request.set(from, others);
        self.bind_again(slot);
        // Step: semaphore
        slot.unblock(SlotState::Asleep);
    }

    /// Has a bee that has been woken for tasks wake those that it was asked to wake, as long as there are tasks.
    /// Correctness does not depend on it: without it, the last bee that searches would find the tasks, and would wake
    /// the sleepers later.
    pub(crate) fn wake_requested(&self, slot: &Slot) {
        let Some((waker, others)) = slot.wake_request.take() else { return };
        slot.log.write(Event::numbered(EventKind::Woken, 0, waker));
        if others > 0 {
            let _in_flight = self.track_in_flight();
            // Twice as many as are queued: while a thief moves tasks they are in no queue, so there may be more than
            // can be seen.
            let wanted = others.min(2 * self.count_queued(others));
            if wanted > 0 {
                // Step: wake others
                self.wake_sleepers(wanted, slot.id, self.hired.count());
            }
        }
    }

    /// Wakes worker 1 for the tasks of a hive of the queen alone. It parks again when there are none left.
    #[cold]
    fn wake_first_worker(&self) {
        if self.has_worker() && self.has_queued_task() {
            self.wake_bee(1);
        }
    }

    /// Tells others of the tasks that are queued, because bee `from` will not see to them: it parks, or it has found
    /// enough work.
    pub(crate) fn notify_of_queued(&self, from: u32) {
        if self.has_queued_task() {
            let _in_flight = self.track_in_flight();
            // If woken bees share in the waking, all tasks are counted at once. If bees were told of one task at a
            // time, the last of them would be awake only after as many wakes as there are tasks.
            let jobs = if self.sleep.wakes_by_tree() { self.count_queued(self.bees()).max(1) } else { 1 };
            // No mark is set: the tasks may be in any deque, and each owner has set the mark of its own.
            // Step: tell
            self.notify_of_jobs(jobs, from, None);
        }
    }

    /// Tells others of the tasks that are queued, after bee `from` has stopped searching and the sleep protocol has
    /// said that others may have relied on its search.
    #[cold]
    pub(crate) fn replace_searcher(&self, from: u32) {
        // Either a bee that posts a task does not count this one any more, or this one sees the task below. Pairs with
        // the fence in `notify_of_jobs`.
        // Step: fence
        fence(Ordering::SeqCst);
        // Step: pass on
        self.notify_of_queued(from);
    }
}
