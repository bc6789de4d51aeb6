//! How a bee goes to bed when it has nothing to do, and how others are told of new work. The protocol's own words are in `sleep/`.
//!
//! Who posts: puts the task where others find it, *fence*, reads the counts, wakes. Who goes to sleep: announces it, searches once more, counts itself asleep unless
//! something has been posted since, changes its state, *fence*, looks at everything once more. Whoever executes its fence second sees
//! what the other wrote before its own. The announcement spares most sleeps that would end at once; the last look is what nothing gets past.

use std::array;

use crate::protocol::Team;
use crate::protocol::tasks::deque_marks::DequeMark;
use crate::protocol::tasks::sleep::{Notification, NotifyOutcome};
use crate::protocol::tasks::task::Task;
use crate::protocol::tasks::task_context::TaskContext;
use crate::protocol::worker::slot::{Slot, SlotState};
use crate::sync::{Counter, Event, InFlight, MAX_TASK_WAKES, Ordering, fence};

impl TaskContext<'_> {
    /// Sleeps until somebody wakes the bee, unless there is something to do. Returns a task that is found on the way.
    ///
    /// `should_wake`: whether there is something that it has to be up for and that comes neither through its state nor as a task.
    #[cold]
    pub(crate) fn go_to_sleep(&self, should_wake: impl Fn() -> bool) -> Option<Task> {
        let (team, slot) = (self.team(), self.slot());
        // Step: search
        self.begin_search();
        // Step: announce
        let Some(token) = team.sleep.announce_sleepy(self.id()) else {
            team.policy().yield_core();
            // Step: not now
            return self.find_task();
        };
        // Step: look again
        if let Some(task) = self.find_task_exhaustively().or_else(|| self.leave_search_phase()) {
            return Some(task);
        }
        // Step: fall asleep
        if !team.sleep.try_fall_asleep(token) {
            return None;
        }
        // Step: attendance
        team.occupancy.count_asleep(self.id());
        // Step: asleep
        if !slot.change(SlotState::Awake, SlotState::Asleep) {
            // Step: not awake
            team.count_awake(slot);
            return None;
        }
        // If the fence of a region's queen comes first, her region is seen below; if this one does, she sees this sleeper.
        // Pairs with the fences in `Team::wake_if_asleep`, `notify_of_jobs`, `send_to_mailbox` and `set_latch`.
        // Step: fence
        fence(Ordering::SeqCst);
        // Step: confirm
        // Step: last look
        if !team.sleep.confirm_asleep(self.id(), token) || self.is_needed(&should_wake) {
            // Step: awake
            if slot.change(SlotState::Asleep, SlotState::Awake) {
                // Step: count up
                team.count_awake(slot);
                return None;
            }
            // Somebody else has ended this sleep. If it was a shrink, the bee lies parked where it is, and who called it may have looked
            // before there was a sleeper to see: the bee calls itself, and takes the post below. What anybody may do is handed on to others.
            if should_wake() || team.has_mailbox_task(slot) {
                // Step: call itself
                team.wake_bee(self.id());
            } else {
                // Step: hand on
                team.notify_of_queued(self.id());
            }
        }
        self.block_asleep(&should_wake);
        None
    }

    /// Gives up the core until the hive grows again, or until the bee is called. A surplus bee does, which is then parked.
    ///
    /// `should_wake`: as for `go_to_sleep`.
    #[cold]
    pub(crate) fn park(&self, should_wake: impl Fn() -> bool) {
        let (team, slot) = (self.team(), self.slot());
        // Step: work
        self.end_search();
        let in_flight = team.track_in_flight();
        // Step: parked
        if !slot.change(SlotState::Surplus, SlotState::Parked) {
            return;
        }
        // As in `go_to_sleep`: pairs with the fences in `Team::wake_if_asleep`, `notify_of_jobs`, `send_to_mailbox` and `set_latch`.
        // Step: fence
        fence(Ordering::SeqCst);
        // Step: last look
        let is_needed = should_wake() || team.has_mailbox_task(slot) || (team.bees() == 1 && team.has_queued_task());
        // Step: surplus
        if is_needed && slot.change(SlotState::Parked, SlotState::Surplus) {
            // Still counted as not yet tucked in.
            return;
        }
        // Step: tucked in
        team.pending_parks.remove();
        slot.counters.increment_shared(Counter::Parks);
        // Step: hand on
        team.notify_of_queued(self.id());
        drop(in_flight);
        self.block_parked();
    }

    /// Lies in bed, in state PARKED or after somebody has ended that.
    pub(crate) fn block_parked(&self) {
        let log = &self.slot().log;
        log.write(Event::Park);
        self.team().policy().while_off_core(|| self.slot().semaphore.wait());
        log.write(Event::Resume { is_woken: true });
    }

    /// The last look: at everything that the bee would have to be up for. Also at the others' own queues: who has just queued something there may have seen this
    /// bee counted, and not yet ASLEEP.
    fn is_needed(&self, should_wake: impl Fn() -> bool) -> bool {
        let team = self.team();
        should_wake() || team.has_mailbox_task(self.slot()) || team.has_queued_task()
    }

    /// Lies in bed, in state ASLEEP or after somebody has ended that.
    fn block_asleep(&self, should_wake: impl Fn() -> bool) {
        let (team, slot) = (self.team(), self.slot());
        self.record_sleep();
        let is_woken = team.policy().while_off_core(|| self.wait_until_unblocked(should_wake));
        self.resume_from_sleep(!is_woken || slot.was_asleep(), is_woken);
        // Before any work of its own: a region's queen relies on this bee to call those in its charge.
        team.wake_region_range(slot);
        team.wake_requested(slot);
    }

    /// Waits for a post. In a hive that polls also for something to do; says whether it was a post.
    fn wait_until_unblocked(&self, should_wake: impl Fn() -> bool) -> bool {
        let (team, slot) = (self.team(), self.slot());
        let Some(poll) = team.policy().poll_interval() else {
            slot.semaphore.wait();
            return true;
        };
        while !slot.semaphore.wait_for(poll) {
            if slot.state() != SlotState::Asleep || !self.is_needed(&should_wake) {
                continue;
            }
            let is_rescue = team.is_wake_lost(slot);
            // Before anybody can see that it is up.
            slot.counters.set_searching(true);
            if slot.change(SlotState::Asleep, SlotState::Awake) {
                team.count_awake(slot);
                if is_rescue {
                    slot.counters.increment(Counter::Rescues);
                }
                return false;
            }
            slot.counters.set_searching(false);
        }
        true
    }
}

impl Team {
    /// Takes a bee off the count of sleepers: it has left ASLEEP, which the caller has seen to, or has failed to get there.
    pub(crate) fn count_awake(&self, slot: &Slot) {
        // Step: attendance
        self.occupancy.count_awake(slot.id);
        // Step: rise
        self.sleep.count_woken(slot.id);
    }

    /// Queues a task where all find it, and tells others of it as `from_group`, who may be a thread from outside in the
    /// queen's name. `mark`: the mark of the deque that it is put into, if it is one.
    pub(crate) fn queue_and_notify(&self, from: u32, mark: Option<DequeMark<'_>>, queue: impl FnOnce()) {
        let _in_flight = self.track_in_flight();
        queue();
        self.notify_of_jobs(1, from, mark);
    }

    /// Tells others of `jobs` new tasks that anybody may run, and that the calling bee has put into its own deque,
    /// of which `mark` is the mark, or that are elsewhere.
    pub(crate) fn notify_of_jobs(&self, jobs: u32, from: u32, mark: Option<DequeMark<'_>>) {
        // Step: fence
        match mark {
            Some(mark) => mark.announce_push(),
            // Pairs with the fences in `go_to_sleep` and `count_parked`.
            None => fence(Ordering::SeqCst),
        }
        // Step: post
        let wanted = self.sleep.announce_jobs(jobs);
        if wanted > 0 {
            self.notify_some(wanted, from);
        }
        // Step: lone queen
        if self.occupancy.read().bees() == 1 {
            self.wake_first_worker();
        }
    }

    /// Puts a task where only bee `id` finds it, and makes sure that it looks.
    pub(crate) fn send_to_mailbox(&self, id: u32, task: Task) {
        let _in_flight = self.track_in_flight();
        // Step: mailbox
        self.slot(id).queues.push_to_mailbox(task);
        // Pairs with the fences in `go_to_sleep` and `count_parked`.
        // Step: fence
        fence(Ordering::SeqCst);
        // Step: tell
        self.sleep.notify_bee(id, Notification::Mailbox);
        // Step: call
        self.wake_bee(id);
    }

    #[cold]
    fn notify_some(&self, wanted: u32, from: u32) {
        if self.sleep.wakes_by_tree() {
            self.wake_sleepers(wanted, from);
        } else {
            self.nearest_first(from)
                .filter(|slot| self.notify_of_work(slot, from))
                .take(wanted as usize)
                .for_each(drop);
        }
    }

    /// All bees, the nearest to `from_group` first: itself, too, because a thread from outside speaks for a queen who may
    /// be asleep.
    fn nearest_first(&self, from: u32) -> impl Iterator<Item = &Slot> {
        std::iter::once(self.slot(from)).chain(self.others_by_distance(from).map(|(slot, _)| slot))
    }

    /// Tells a bee of work in the queue of `from_group`. Says whether it will look.
    fn notify_of_work(&self, slot: &Slot, from: u32) -> bool {
        // Step: tell
        match self.sleep.notify_bee(slot.id, Notification::DequeOf(from)) {
            NotifyOutcome::Received => true,
            // Step: wake
            NotifyOutcome::MustWake => {
                slot.state() == SlotState::Asleep && self.wake(slot, SlotState::Asleep, SlotState::Notified)
            }
            NotifyOutcome::Busy => false,
        }
    }

    /// Wakes so many sleepers, as by a tree: two here, each of whom is to wake a half of the others before it does
    /// anything else.
    fn wake_sleepers(&self, wanted: u32, from: u32) {
        let _in_flight = self.track_in_flight();
        let here = wanted.min(MAX_TASK_WAKES);
        let asleep = self.nearest_first(from).filter(|slot| slot.state() == SlotState::Asleep);
        // Step: take out of bed
        let mut claimed = asleep.filter(|slot| self.begin_wake(slot, SlotState::Asleep, SlotState::Notified));
        // All of them are taken out of bed, and so counted among those who search, before the first is posted. While one is on its
        // way, nobody takes itself for the last who searches, and wakes those whom these are to wake.
        let claimed: [_; MAX_TASK_WAKES as usize] =
            array::from_fn(|number| if number < here as usize { claimed.next() } else { None });
        let mut remaining = wanted - here;
        for (number, slot) in claimed.into_iter().flatten().enumerate() {
            let others = remaining.div_ceil(here - number as u32);
            remaining -= others;
            slot.wake_request.set(from, others);
            // Step: bed
            slot.unblock(SlotState::Asleep);
        }
    }

    /// Has a bee that has been woken for tasks wake those whom it was told to, if there are tasks still. Nobody
    /// relies on it: were it left out, who is the last to search would find out, and wake them later.
    fn wake_requested(&self, slot: &Slot) {
        let Some((waker, others)) = slot.wake_request.take() else { return };
        slot.log.write(Event::Woken { by: waker });
        if others > 0 {
            let _in_flight = self.track_in_flight();
            // While a thief moves tasks they are in no queue, so there may be more than can be seen.
            let wanted = others.min(2 * self.count_queued(others));
            if wanted > 0 {
                // Step: wake others
                self.wake_sleepers(wanted, slot.id);
            }
        }
    }

    /// Calls a bee for the sake of the tasks of a hive that is the queen alone. It parks again when there are none left.
    #[cold]
    fn wake_first_worker(&self) {
        if self.has_worker() && self.has_queued_task() {
            self.wake_bee(1);
        }
    }

    /// Tells others of the tasks that are queued, because bee `from_group` will not see to them: it parks, or has found enough to do.
    pub(crate) fn notify_of_queued(&self, from: u32) {
        if self.has_queued_task() {
            let _in_flight = self.track_in_flight();
            // All that is there, where those who are woken share the work of waking. Told of one task at a time, the last of
            // them would be up only after as many wakes as there are tasks.
            let jobs = if self.sleep.wakes_by_tree() { self.count_queued(self.bees()).max(1) } else { 1 };
            // Step: tell
            self.notify_of_jobs(jobs, from, None);
        }
    }

    /// Bee `from_group` has counted itself off those who search. If others have relied on it for more work than it takes, it tells somebody else.
    #[cold]
    pub(crate) fn replace_searcher(&self, from: u32) {
        // Pairs with the one in `notify_of_jobs`: either that counts this bee no longer, or the task is seen here.
        // Step: fence
        fence(Ordering::SeqCst);
        // Step: hand on
        self.notify_of_queued(from);
    }

    pub(crate) fn has_mailbox_task(&self, slot: &Slot) -> bool {
        self.sleep.supports_tasks() && slot.queues.has_mailbox_task()
    }

    /// Whether there may be a task that any bee may run, but for those in the own deque of `member`. Cheap, and
    /// sometimes late: nobody sleeps on the strength of it.
    pub(crate) fn may_have_task_for(&self, bee: u32) -> bool {
        self.sleep.supports_tasks()
            && (!self.injector.is_empty() || self.deque_marks.is_another_marked(bee, self.hired.count()))
    }

    /// Whether there is a task that any bee may run, as far as can be seen.
    pub(crate) fn has_queued_task(&self) -> bool {
        self.sleep.supports_tasks()
            && (!self.injector.is_empty() || self.all_slots().any(|slot| !slot.queues.is_deque_empty()))
    }

    /// How many such tasks there are, as far as can be seen; no more than `most` of them are counted.
    fn count_queued(&self, limit: u32) -> u32 {
        let mut count = self.injector.len();
        for slot in self.all_slots() {
            if count >= limit as usize {
                break;
            }
            count += slot.queues.deque_len();
        }
        count.min(limit as usize) as u32
    }

    /// Whether the owner of a slot, which is asleep, has work that nobody was woken for, and that nobody is about to see to. Known only in a
    /// hive that polls, and only of tasks.
    fn is_wake_lost(&self, slot: &Slot) -> bool {
        let Some(in_flight) = &self.in_flight else { return false };
        let is_looking = |slot: &Slot| {
            slot.counters.is_searching() || matches!(slot.state(), SlotState::Notified | SlotState::Surplus)
        };
        // Queued before and after it is seen that nobody looks.
        let is_task_missed = || self.has_queued_task() && !self.all_slots().any(is_looking) && self.has_queued_task();
        in_flight.holds_with_none_in_flight(|| {
            slot.state() == SlotState::Asleep && (self.has_mailbox_task(slot) || is_task_missed())
        })
    }

    /// Marks a step after which somebody may have to be woken, in a hive that polls.
    pub(crate) fn track_in_flight(&self) -> Option<impl Drop + '_> {
        self.in_flight.as_ref().map(InFlight::begin)
    }
}
