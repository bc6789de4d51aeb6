//! How a bee without work falls asleep or parks, and what there is for it to do. These are the steps that all sleep
//! protocols have in common; what each of them counts is in `sleep/`, and how a bee is woken is in `worker/wake.rs`.
//! The steps and the proof are in `docs/sleep.md`, and so is a table of what "searching" and "asleep" mean where. A
//! comment `Step: NAME` names an operation of the SPIN models: see `protocol/mod.rs`.
//!
//! A bee that posts a task puts it where others find it, executes a fence, reads the counts, and wakes sleepers. A bee
//! that falls asleep announces it, searches once more, counts itself asleep unless something has been posted since,
//! changes its state, executes a fence, and checks everything once more. One of the two fences comes first, and the bee
//! that executes the second one sees what the other wrote before its own. So the last check keeps a task from being
//! missed; the announcement only avoids most of the sleeps that the last check would end at once.

use std::time::Duration;

use crate::protocol::Team;
use crate::protocol::tasks::deque_marks::DequeMark;
use crate::protocol::tasks::sleep::Notification;
use crate::protocol::tasks::task::Task;
use crate::protocol::tasks::task_context::TaskContext;
use crate::protocol::worker::slot::{Slot, SlotState};
use crate::sync::{Counter, Event, EventKind, Ordering, fence};

/// How often a parked bee looks for tasks while a region waits for it.
const LOOK_WHILE_PARKED: Duration = Duration::from_millis(1);

impl TaskContext<'_> {
    /// Sleeps until another thread wakes the bee, unless there is something to do. Returns a task that was found on the
    /// way; None if the bee has slept, or if it could not because something had been posted.
    ///
    /// `should_wake`: whether something has happened that the bee must be awake for, other than a task or a change of
    /// its state: the start of a region, or a latch that has been set.
    #[cold]
    pub(crate) fn go_to_sleep(&self, should_wake: impl Fn() -> bool) -> Option<Task> {
        let (team, slot) = (self.team, self.slot);
        // The bee counts as one of those that search, if it does not yet.
        // Step: search
        self.begin_search();
        // Step: announce
        let Some(token) = team.sleep.announce_sleepy(self.id) else {
            // The protocol does not let this bee sleep now, because another one is just about to.
            team.policy().yield_core();
            // Step: not now
            return self.find_task();
        };
        // The search after the announcement, in the deques themselves: a task posted before it is found here, and one
        // posted after it makes the next step fail.
        // Step: look again
        if let Some(task) = self.find_task_exhaustively().or_else(|| self.leave_search_phase()) {
            return Some(task);
        }
        // Something has been posted since the announcement.
        // Step: fall asleep
        if !team.sleep.try_fall_asleep(token) {
            return None;
        }
        // Counted before the state changes, so that a thread that ends the sleep always finds this bee counted.
        // Step: occupancy
        team.occupancy.count_asleep(self.id);
        // The change fails if another thread has made the bee surplus or terminated it.
        // Step: asleep
        if !slot.change(SlotState::Awake, SlotState::Asleep) {
            // Step: not awake
            team.uncount_sleeper(slot);
            return None;
        }
        // If the fence of a region's queen comes first, the bee sees her start word in the last check below. If this
        // one comes first, she sees this sleeper. The same holds for tasks, mail and latches. Pairs with the fences in
        // `Team::wake_if_asleep`, `Team::notify_of_jobs`, `Team::send_to_mailbox` and `Team::set_latch`.
        // Step: fence
        fence(Ordering::SeqCst);
        // Step: confirm
        // Step: last check
        if !team.sleep.confirm_asleep(self.id, token) || self.is_needed(&should_wake) {
            // There is something to do: undo the sleep, unless another thread has already ended it.
            // Step: awake
            if slot.change(SlotState::Asleep, SlotState::Awake) {
                // Step: uncount sleeper
                team.uncount_sleeper(slot);
                return None;
            }
            // Another thread has ended this sleep. If that was a shrink, the bee is now PARKED, and the thread that
            // needs it may have looked before there was a sleeper to be seen. So the bee wakes itself, which posts the
            // semaphore that it waits on below. Tasks that any bee may run are passed on to others instead.
            if should_wake() || team.has_mailbox_task(slot) {
                // Step: wake itself
                team.wake_bee(self.id);
            } else {
                // Step: pass on
                team.notify_of_queued(self.id);
            }
        }
        self.block_asleep(&should_wake);
        None
    }

    /// Parks a surplus bee: it leaves its core until the hive grows again, or until it is woken for something that only
    /// it can do. Returns at once if the bee is not surplus any more, or if there is something to do.
    ///
    /// `should_wake`: as for `go_to_sleep`.
    #[cold]
    pub(crate) fn park(&self, should_wake: impl Fn() -> bool) {
        let (team, slot) = (self.team, self.slot);
        // A parked bee does not count as one of those that search.
        // Step: work
        self.end_search();
        // In flight until the tasks that this bee was relied on for have been passed on.
        let in_flight = team.track_in_flight();
        // The change fails if a grow has made the bee AWAKE again, or if it has been terminated.
        // Step: parked
        if !slot.change(SlotState::Surplus, SlotState::Parked) {
            return;
        }
        // For the same reason as in `go_to_sleep`. Pairs with the fences in `Team::wake_if_asleep`,
        // `Team::notify_of_jobs`, `Team::send_to_mailbox` and `Team::set_latch`.
        // Step: fence
        fence(Ordering::SeqCst);
        // A parked bee is needed for a region or a latch, for its mailbox, and at times for every task.
        // Step: last check
        let is_for_all = || team.is_surplus_for_all_tasks(slot) && team.has_queued_task();
        let is_needed = should_wake() || team.has_mailbox_task(slot) || is_for_all();
        // Step: surplus
        if is_needed && slot.change(SlotState::Parked, SlotState::Surplus) {
            // It was never parked, so it stays counted among the pending parks.
            return;
        }
        // Before others can see that the bee has parked, so that whoever has waited for that finds this park in the
        // statistics.
        slot.counters.increment_shared(Counter::Parks);
        // A bee that has posted a task may have relied on this one. The park is still pending meanwhile: if this wakes
        // the bee itself, for the tasks of a hive of the queen alone, whoever waits for its core goes on waiting.
        // Step: pass on
        team.notify_of_queued(self.id);
        // From here on the bee is certain to wait on its semaphore. If another thread has already made it SURPLUS again
        // to wake it, that thread has counted it once more.
        // Step: parked
        team.pending_parks.remove();
        drop(in_flight);
        self.block_parked(|| self.wait_until_unparked());
    }

    /// Calls `wait`, which blocks on the semaphore and returns whether another thread has posted it, and writes to the
    /// log that the bee is parked and that it goes on. The state is PARKED, or another thread has ended that already.
    fn block_parked(&self, wait: impl FnOnce() -> bool) {
        let log = &self.slot.log;
        log.write(Event::begin(EventKind::Park));
        // A worker off its core is not counted among the threads that want one (`sys/wait.rs`).
        let is_woken = self.team.policy().while_off_core(wait);
        log.write(Event::resume(is_woken));
    }

    /// Blocks until the worker is woken for the first time. Returns at once if that wake has been waited for before.
    ///
    /// A worker is hired PARKED, but runs its start handler before it blocks. Meanwhile it may be woken, and so be in
    /// other states. Whatever the state, its first wait on the semaphore has to be for that wake: if it slept or parked
    /// with the permit of that wake still there, it would run in a state that says it is blocked.
    pub(crate) fn wait_for_first_wake(&self) {
        if !self.is_past_first_wake.replace(true) {
            self.end_search();
            self.block_parked(|| {
                self.slot.semaphore.wait();
                true
            });
        }
    }

    /// Waits for a post of the semaphore. While a region waits for the bee, which is in the middle of a wait itself,
    /// the bee also looks for tasks now and then, because nobody wakes a parked bee for them; if there are any, it
    /// makes itself SURPLUS, and returns false. If a region starts later, its leader posts.
    fn wait_until_unparked(&self) -> bool {
        let (team, slot) = (self.team, self.slot);
        while team.is_awaited_by_region(slot) {
            if slot.semaphore.wait_for(LOOK_WHILE_PARKED) {
                return true;
            }
            // If the change fails, another thread has ended the park, and its post is on its way.
            // Step: get up
            let get_up = || slot.change(SlotState::Parked, SlotState::Surplus);
            if team.has_queued_task() && team.pending_parks.add_if(get_up) {
                return false;
            }
        }
        slot.semaphore.wait();
        true
    }

    /// The last check before sleep: whether there is anything that the bee would have to be awake for. It includes the
    /// deques of all bees: a bee that has just pushed a task there may have found this bee counted asleep, but its
    /// state not yet ASLEEP, and then it has woken nobody.
    fn is_needed(&self, should_wake: impl Fn() -> bool) -> bool {
        let team = self.team;
        should_wake() || team.has_mailbox_task(self.slot) || team.has_queued_task()
    }

    /// Blocks on the semaphore. The state is ASLEEP, or another thread has ended that already. Afterwards, wakes those
    /// that this bee was asked to wake.
    fn block_asleep(&self, should_wake: impl Fn() -> bool) {
        let (team, slot) = (self.team, self.slot);
        self.record_sleep();
        let is_woken = team.policy().while_off_core(|| self.wait_until_unblocked(should_wake));
        self.resume_from_sleep(!is_woken || slot.was_asleep(), is_woken);
        // Before any work of its own: the queen of a region relies on this bee to wake its range.
        team.wake_region_range(slot);
        team.wake_requested(slot);
    }

    /// Waits for a post of the semaphore. In a hive with a poll interval the bee also looks for something to do after
    /// each interval. Returns whether the semaphore was posted; if not, the bee has made itself AWAKE.
    fn wait_until_unblocked(&self, should_wake: impl Fn() -> bool) -> bool {
        let (team, slot) = (self.team, self.slot);
        // Without a poll interval only a post ends the wait.
        let Some(poll) = team.policy().poll_interval() else {
            slot.semaphore.wait();
            return true;
        };
        while !slot.semaphore.wait_for(poll) {
            // Polls only count while the bee is asleep: after a shrink it is parked, and is woken by a post.
            if slot.state() != SlotState::Asleep || !self.is_needed(&should_wake) {
                continue;
            }
            // A rescue is counted if this work would have been missed without polling. That would be a fault of the
            // protocol.
            let is_rescue = team.is_wake_lost(slot);
            // After `is_wake_lost`, which must not see this bee searching, and before the change of state, so that no
            // other bee counts a rescue for a task that this one is about to run. Nothing else depends on it.
            slot.counters.set_searching(true);
            if slot.change(SlotState::Asleep, SlotState::Awake) {
                team.uncount_sleeper(slot);
                if is_rescue {
                    slot.counters.increment(Counter::Rescues);
                }
                return false;
            }
            // Another thread has woken or parked the bee in the meantime. If it was woken, a post is on its way.
            slot.counters.set_searching(false);
        }
        true
    }
}

impl Team {
    /// Queues one task, which any bee may run, by calling `queue`, and tells others of it. `from` is the number of the
    /// bee that calls this; a thread that is no bee gives the queen's. `mark`: the mark of the deque that `queue`
    /// pushes to, or None for another queue.
    pub(crate) fn queue_and_notify(&self, from: u32, mark: Option<DequeMark<'_>>, queue: impl FnOnce()) {
        let _in_flight = self.track_in_flight();
        queue();
        self.notify_of_jobs(1, from, mark);
    }

    /// Queues a task that only bee `id` may run, and makes sure that the bee looks for it.
    pub(crate) fn send_to_mailbox(&self, id: u32, task: Task) {
        let _in_flight = self.track_in_flight();
        // Step: mailbox
        self.slot(id).queues.mailbox.push(task);
        // Either the bee finds the task in its last check before it blocks, or it is seen blocked below. Pairs with the
        // fences in `TaskContext::go_to_sleep` and `TaskContext::park`.
        // Step: fence
        fence(Ordering::SeqCst);
        // Step: tell
        self.sleep.notify_bee(id, Notification::Mailbox);
        // Step: call
        self.wake_bee(id);
    }

    /// Whether there is a task that only the bee of `slot` may run, as far as this thread can see.
    pub(crate) fn has_mailbox_task(&self, slot: &Slot) -> bool {
        self.sleep.supports_tasks() && !slot.queues.mailbox.is_empty()
    }

    /// Whether the worker of `slot`, which is surplus, is to run any task that there is. It is in a hive of the queen
    /// alone, all of whose workers are surplus. It also is if it waits in the middle of something while a region waits
    /// for it, because all bees that could have run what it waits for may be in that region.
    pub(crate) fn is_surplus_for_all_tasks(&self, slot: &Slot) -> bool {
        self.bees() == 1 || self.is_awaited_by_region(slot)
    }

    /// Whether a region waits for the worker of `slot`, and the worker is in the middle of something, in which it
    /// waits. (One between two tasks comes to the region by itself.)
    pub(crate) fn is_awaited_by_region(&self, slot: &Slot) -> bool {
        let start_line = self.group(self.fixed.shape.start_group(slot.id)).start_line();
        let includes = |last_epoch| start_line.load().includes(slot.id, last_epoch);
        slot.availability.is_awaited(|last_epoch| slot.is_in_task() && includes(last_epoch))
    }

    /// Whether there is a task that any bee may run, as far as this thread can see. Looks into the injector and every
    /// deque.
    pub(crate) fn has_queued_task(&self) -> bool {
        self.sleep.supports_tasks()
            && (!self.injector.is_empty() || self.all_slots().any(|slot| !slot.queues.stealer.is_empty()))
    }

    /// How many tasks that any bee may run there are, as far as this thread can see. Counts up to `limit` of them.
    pub(crate) fn count_queued(&self, limit: u32) -> u32 {
        let mut count = self.injector.len();
        for slot in self.all_slots() {
            if count >= limit as usize {
                break;
            }
            count += slot.queues.stealer.len();
        }
        count.min(limit as usize) as u32
    }

    /// Whether the bee of `slot`, which is asleep, should have been woken: there is work for it, no bee was woken for
    /// that, and no bee is about to find it. This is known only in a hive with a poll interval, and only of tasks.
    fn is_wake_lost(&self, slot: &Slot) -> bool {
        // Only a hive with a poll interval counts what is in flight.
        let Some(in_flight) = &self.fixed.in_flight else { return false };
        // A bee in one of these states looks for tasks, or soon will.
        let is_looking = |slot: &Slot| {
            slot.counters.is_searching() || matches!(slot.state(), SlotState::Notified | SlotState::Surplus)
        };
        // Tasks must be queued before and after it was seen that no bee is looking: one that looked in between may have
        // taken them.
        let is_task_missed = || self.has_queued_task() && !self.all_slots().any(is_looking) && self.has_queued_task();
        in_flight.holds_with_none_in_flight(|| {
            slot.state() == SlotState::Asleep && (self.has_mailbox_task(slot) || is_task_missed())
        })
    }

    /// In a hive with a poll interval, marks the time from now until the guard is dropped as part of a step after which
    /// some bee may have to be woken. `is_wake_lost` finds no wake lost during that time.
    pub(crate) fn track_in_flight(&self) -> Option<impl Drop + '_> {
        self.fixed.in_flight.as_ref().map(|in_flight| in_flight.begin())
    }
}
