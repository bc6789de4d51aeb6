//! A bee at work on tasks: its end of its deque, and what it does while it waits for something.

use std::cell::Cell;

use crate::protocol::neighbours::Distance;
use crate::protocol::region::announcement::TaskPhase;
use crate::protocol::tasks::deque_marks::DequeMark;
use crate::protocol::tasks::join_buffer::JoinBuffer;
use crate::protocol::tasks::latch::Latch;
use crate::protocol::tasks::sleep::Notification;
use crate::protocol::tasks::task::Task;
use crate::protocol::worker::slot::{Slot, SlotState};
use crate::protocol::{Leadership, Team};
use crate::sync::{Counter, Event, Worker};

/// So often a look for work begins elsewhere than in the bee's own queue.
const FAIR_SEARCH_INTERVAL: u32 = 64;

/// A bee that runs tasks, on its own thread.
pub(crate) struct TaskContext<'c> {
    team: &'c Team,
    id: u32,
    slot: &'c Slot,
    /// None only while this is dropped.
    deque: Option<Worker<Task>>,
    /// Where it says that there are tasks in that.
    mark: DequeMark<'c>,
    join_buffer: JoinBuffer,
    /// How often it has looked for work.
    search_count: Cell<u32>,
    /// Whether it is counted among those without work.
    is_inactive: Cell<bool>,
    /// Whether it was woken and has had nothing to do since.
    woke_without_work: Cell<bool>,
    /// Whether it has left the bed that a bee is hired in. Until then there may be a post in its bed, which it takes before it goes to
    /// bed again.
    is_past_first_wake: Cell<bool>,
    /// Tasks, and joins whose second half it keeps, that it is in the middle of.
    depth: Cell<u32>,
    /// Whether it is not idle, as a bee: it looks for tasks, or is in the middle of one.
    is_in_search_phase: Cell<bool>,
    /// The turn, while its thread is in the queen's place for the sake of tasks and has not lent it to a region.
    leadership: Cell<Option<Leadership<'c>>>,
}

impl<'c> TaskContext<'c> {
    /// Bee `id` of the team, which is nowhere else.
    pub(crate) fn new(team: &'c Team, id: u32) -> Self {
        team.hired.count_in(id);
        let slot = team.slot(id);
        Self {
            team,
            id,
            slot,
            deque: Some(slot.queues.acquire_deque()),
            mark: team.deque_marks.mark_of(id),
            join_buffer: JoinBuffer::new(),
            search_count: Cell::new(0),
            is_inactive: Cell::new(false),
            woke_without_work: Cell::new(false),
            is_past_first_wake: Cell::new(id == 0),
            depth: Cell::new(0),
            is_in_search_phase: Cell::new(false),
            leadership: Cell::new(None),
        }
    }

    /// The queen of a team between regions, whose turn it is.
    pub(crate) fn for_queen(team: &'c Team, leadership: Leadership<'c>) -> Self {
        let context = Self::new(team, 0);
        context.leadership.set(Some(leadership));
        context
    }

    /// Lends the turn, for a region, to `run`; None if there is none to lend, or the bee is in the middle of a task or a join, which a bee may be waiting for.
    pub(crate) fn lend_leadership<R>(&self, run: impl FnOnce(Option<&mut Leadership<'c>>) -> R) -> R {
        struct ReturnOnDrop<'h, 'c>(&'h Cell<Option<Leadership<'c>>>, Option<Leadership<'c>>);
        impl Drop for ReturnOnDrop<'_, '_> {
            fn drop(&mut self) {
                self.0.set(self.1.take());
            }
        }
        if self.depth.get() > 0 {
            return run(None);
        }
        let mut lent = ReturnOnDrop(&self.leadership, self.leadership.take());
        run(lent.1.as_mut())
    }

    /// Begins what others may be waiting for: a task, or both halves of a join. Nothing unwinds between this and `leave`.
    #[inline(always)]
    pub(crate) fn begin_task(&self) {
        self.depth.set(self.depth.get() + 1);
    }

    /// Ends it.
    #[inline(always)]
    pub(crate) fn end_task(&self) {
        self.depth.set(self.depth.get() - 1);
    }

    /// Whether others may be waiting for what the bee is in the middle of.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.id > 0 || self.depth.get() > 0
    }

    #[inline(always)]
    fn deque(&self) -> &Worker<Task> {
        self.deque.as_ref().expect("a task context in use")
    }

    pub(crate) fn team(&self) -> &'c Team {
        self.team
    }

    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    pub(crate) fn slot(&self) -> &'c Slot {
        self.slot
    }

    /// Queues a task that any bee may run.
    pub(crate) fn push(&self, task: Task) {
        // A queen alone runs it herself, or leaves it to a bee when she goes.
        if self.is_lone_queen() {
            self.deque().push(task);
            self.mark.announce_push();
        } else {
            self.team.queue_and_notify(self.id, Some(self.mark), || self.deque().push(task));
        }
    }

    /// Whether it is the queen, without a bee that is not surplus.
    fn is_lone_queen(&self) -> bool {
        self.id == 0 && self.team.bees() == 1
    }

    /// Whether one more task can be kept. It can where fewer are kept than may be; else the oldest are shared if somebody has nothing to do.
    #[inline(always)]
    pub(crate) fn make_room(&self) -> bool {
        !self.join_buffer.is_full() || self.share_joins()
    }

    /// Keeps a task until somebody has nothing to do. Returns what `take_back` needs.
    #[inline(always)]
    pub(crate) fn buffer_join(&self, task: Task) -> usize {
        self.join_buffer.push(task)
    }

    /// Takes back the task that was kept last, unless it has been shared. Says whether it was there.
    #[inline(always)]
    pub(crate) fn reclaim_join(&self, number: usize) -> bool {
        self.join_buffer.reclaim(number)
    }

    /// Shares tasks that are kept with those who have nothing to do. Says whether any.
    #[inline(always)]
    pub(crate) fn share_joins(&self) -> bool {
        self.team.sleep.is_any_inactive() && self.share_joins_with(self.team.sleep.inactive())
    }

    /// The same, but for one bee at least: bees that have only just ended something are not counted among those who have nothing to do yet.
    pub(crate) fn share_joins_now(&self) -> bool {
        self.share_joins_with(self.team.sleep.inactive().max(1))
    }

    /// Sees that as many tasks as there are `idle` bees lie in its queue, as far as there are any: the oldest, which are the largest in a recursion.
    #[cold]
    fn share_joins_with(&self, idle_bees: u32) -> bool {
        if self.is_lone_queen() {
            return false;
        }
        let _in_flight = self.team.track_in_flight();
        let wanted = (idle_bees as usize).saturating_sub(self.deque().len());
        let oldest = (0..wanted).map_while(|_| self.join_buffer.pop_oldest());
        let shared = oldest.map(|task| self.deque().push(task)).count();
        if shared > 0 {
            self.team.notify_of_jobs(shared as u32, self.id, Some(self.mark));
        }
        shared > 0
    }

    /// Gives what is still queued here to whoever has time. For a bee that goes away.
    pub(crate) fn inject_remaining(&self) {
        while let Some(task) = self.deque().pop() {
            self.team.inject(task);
        }
    }

    /// A task to run: its own, by mail, from outside, or another bee's where one may be.
    pub(crate) fn find_task(&self) -> Option<Task> {
        self.find_task_with(Self::steal_where_marked)
    }

    /// The same, and it looks into the queues of all others, whatever is known of them.
    pub(crate) fn find_task_exhaustively(&self) -> Option<Task> {
        self.find_task_with(Self::steal_anywhere)
    }

    fn find_task_with(&self, steal_from_others: impl Fn(&Self) -> Option<Task>) -> Option<Task> {
        // A forked child has the tasks that its parent had, and is not to run them.
        self.team.policy().abort_if_forked();
        let search_count = self.search_count.get().wrapping_add(1);
        self.search_count.set(search_count);
        // Step: elsewhere
        if search_count.is_multiple_of(FAIR_SEARCH_INTERVAL)
            && let Some(task) = self.find_fairly(search_count / FAIR_SEARCH_INTERVAL)
        {
            return Some(task);
        }
        // Step: told
        let notification = if self.is_inactive.get() { self.team.sleep.notification(self.id) } else { None };
        // Step: own
        // Step: mail
        let from_own_queues = || self.deque().pop().or_else(|| self.take_from_mailbox());
        // Step: where told
        let from_notified = || match notification {
            Some(Notification::DequeOf(other)) => self.steal_from(other),
            Some(Notification::Mailbox) | None => None,
        };
        // Step: inbox
        from_own_queues()
            .or_else(from_notified)
            .or_else(|| self.take_from_injector())
            .or_else(|| self.steal(notification, steal_from_others))
    }

    /// A task from where a look that begins at home may never get to: one that spawns itself again for ever is always found before. The `turn` says where to begin,
    /// because what is found first here may come again for ever, too.
    #[cold]
    fn find_fairly(&self, round: u32) -> Option<Task> {
        let sources = [Self::take_from_mailbox, Self::take_from_injector, Self::take_own_oldest, Self::steal_anywhere];
        (0..sources.len()).find_map(|offset| sources[(round as usize + offset) % sources.len()](self))
    }

    fn take_from_mailbox(&self) -> Option<Task> {
        self.slot.queues.take_from_mailbox()
    }

    fn take_own_oldest(&self) -> Option<Task> {
        self.slot.queues.steal()
    }

    fn take_from_injector(&self) -> Option<Task> {
        self.take_batch(|deque| self.team.injector.take_batch(deque))
    }

    /// Looks into the others' queues, having looked at home and where it was told to.
    fn steal(
        &self,
        notification: Option<Notification>,
        steal_from_others: impl Fn(&Self) -> Option<Task>,
    ) -> Option<Task> {
        if self.is_inactive.get() {
            // Step: steal
            self.team.sleep.begin_steal(self.id, notification);
        }
        // Step: others
        steal_from_others(self)
    }

    fn steal_where_marked(&self) -> Option<Task> {
        let marks = &self.team.deque_marks;
        if !marks.is_another_marked(self.id, self.team.hired.count()) {
            return None;
        }
        let mut marked = self.team.others_by_distance(self.id).filter(|(slot, _)| marks.mark_of(slot.id).is_set());
        marked.find_map(|(slot, distance)| self.steal_from_slot(slot, distance))
    }

    fn steal_anywhere(&self) -> Option<Task> {
        self.team.others_by_distance(self.id).find_map(|(slot, distance)| self.steal_from_slot(slot, distance))
    }

    fn steal_from(&self, other: u32) -> Option<Task> {
        let (slot, distance) = self.team.others_by_distance(self.id).find(|(slot, _)| slot.id == other)?;
        self.steal_from_slot(slot, distance)
    }

    fn steal_from_slot(&self, victim: &Slot, distance: Distance) -> Option<Task> {
        if victim.queues.is_deque_empty()
            && self.team.deque_marks.mark_of(victim.id).clear_if_empty(|| victim.queues.is_deque_empty())
        {
            return None;
        }
        let task = self.take_batch(|deque| victim.queues.steal_batch(deque))?;
        self.slot.counters.increment(match distance {
            Distance::Core => Counter::StealsInCore,
            Distance::Cluster => Counter::StealsInCluster,
            Distance::Node => Counter::StealsInNode,
            Distance::Far => Counter::StealsFromFar,
        });
        self.team.log(self.id, || Event::Steal { from: victim.id, distance: distance as u32 });
        Some(task)
    }

    /// Takes a task from where there may be many, and some of the others for later.
    fn take_batch(&self, take: impl FnOnce(&Worker<Task>) -> Option<Task>) -> Option<Task> {
        let _in_flight = self.team.track_in_flight();
        let task = take(self.deque())?;
        if !self.deque().is_empty() {
            // While they were in neither queue, others may have looked in vain.
            self.team.notify_of_jobs(1, self.id, Some(self.mark));
        }
        Some(task)
    }

    /// A task for a bee that is in none, if there is something that looks like one.
    pub(crate) fn next_task(&self, last_epoch: u64) -> Option<Task> {
        let has_own = || !self.deque().is_empty() || self.team.has_mailbox_task(self.slot);
        let may_find_one = self.team.may_have_task_for(self.id) || has_own();
        let found = if may_find_one && self.try_enter_search_phase(last_epoch) { self.find_task() } else { None };
        found.or_else(|| self.leave_search_phase())
    }

    /// Has a bee that is in no task, and has seen the regions up to `last_epoch`, begin to look for tasks. Says no if it may not: it has
    /// to come to a region first. See `nested.rs`.
    pub(crate) fn try_enter_search_phase(&self, last_epoch: u64) -> bool {
        if !self.is_in_search_phase.get() {
            self.is_in_search_phase.set(self.team.try_mark_looking(self.slot, last_epoch));
        }
        self.is_in_search_phase.get()
    }

    /// Runs what a bee does before its first region, as if it were a task: who must not wait for a task does not wait for this.
    pub(crate) fn run_as_task(&self, work: impl FnOnce()) {
        self.slot.phase.set(TaskPhase::InTask);
        self.begin_task();
        work();
        self.end_task();
        self.slot.phase.set(TaskPhase::Idle);
    }

    /// A bee that is in no task has found none. For others this does nothing.
    pub(crate) fn leave_search_phase<T>(&self) -> Option<T> {
        if self.depth.get() == 0 && self.is_in_search_phase.replace(false) {
            self.slot.phase.set(TaskPhase::Idle);
        }
        None
    }

    /// Runs a task, if there is one. Says whether.
    pub(crate) fn run_one(&self) -> bool {
        self.find_task().map(|task| self.run(task)).is_some()
    }

    pub(crate) fn run(&self, task: Task) {
        self.end_search();
        self.slot.counters.increment(Counter::Tasks);
        self.slot.phase.set(TaskPhase::InTask);
        self.begin_task();
        self.team.run_recorded(self.id, || task.run());
        self.end_task();
        // A child that was forked in it goes no further.
        self.team.policy().abort_if_forked();
        if self.depth.get() == 0 {
            // In the middle of its part of a region a bee has not begun to look, and would not say that it has stopped.
            self.slot.phase.set(if self.is_in_search_phase.get() { TaskPhase::Looking } else { TaskPhase::Idle });
        }
    }

    /// Counts the bee off those who search, if it is counted: it has found work, goes to bed, or goes away.
    #[inline(always)]
    pub(crate) fn end_search(&self) {
        if self.is_inactive.get() {
            self.end_search_slow();
        }
    }

    #[cold]
    fn end_search_slow(&self) {
        let _in_flight = self.team.track_in_flight();
        self.is_inactive.set(false);
        self.woke_without_work.set(false);
        self.slot.counters.set_searching(false);
        self.team.log(self.id, || Event::SearchEnd);
        // Step: find
        if self.team.sleep.end_search(self.id) {
            // Step: pass on
            self.team.replace_searcher(self.id);
        }
    }

    /// Notes that it searches.
    #[inline(always)]
    pub(crate) fn begin_search(&self) {
        if self.team.sleep.supports_tasks() && !self.is_inactive.replace(true) {
            self.slot.counters.set_searching(true);
            self.team.log(self.id, || Event::SearchBegin);
            // Step: search
            self.team.sleep.begin_search(self.id);
        }
    }

    /// Notes that the bee goes to bed.
    pub(crate) fn record_sleep(&self) {
        let counters = &self.slot.counters;
        counters.increment(Counter::Sleeps);
        counters.set_searching(false);
        if self.woke_without_work.get() {
            counters.increment(Counter::WakesForNothing);
        }
        self.slot.log.write(Event::Sleep);
    }

    /// Notes that it has got up, out of ASLEEP or out of PARKED, because somebody has woken it or by itself.
    pub(crate) fn resume_from_sleep(&self, was_asleep: bool, is_woken: bool) {
        if is_woken {
            self.slot.counters.increment(Counter::Wakes);
        }
        self.woke_without_work.set(is_woken && was_asleep);
        let log = &self.slot.log;
        if was_asleep {
            log.write(Event::Resume { is_woken });
            self.slot.counters.set_searching(self.is_inactive.get());
        } else {
            // It was parked where it lay, by whoever has marked when.
            log.write_at_mark(Event::Resume { is_woken: false });
            log.write_at_mark(Event::Park);
            log.write(Event::Resume { is_woken });
            log.write(Event::SearchEnd);
            // Who parked it has counted it off.
            self.is_inactive.set(false);
            // Step: unpark
            self.team.sleep.count_unparked(self.id);
        }
    }

    /// Runs tasks until `latch` is set; sleeps when there are none.
    pub(crate) fn wait_until(&self, latch: &Latch) {
        self.wait_until_found(latch, |_| false);
    }

    /// The same for the latch of a task that was kept and has been shared. If nobody has begun that, the bee may find it among the tasks that
    /// it looks for. Then it is its own again: says whether it is.
    pub(crate) fn reclaim_or_wait(&self, shared: &Task, latch: &Latch) -> bool {
        self.wait_until_found(latch, |task| task.is_same(shared))
    }

    fn wait_until_found(&self, latch: &Latch, is_sought: impl Fn(&Task) -> bool) -> bool {
        let mut is_found = false;
        while !latch.is_set() && !is_found {
            match self.find_task().or_else(|| self.wait_for_task(latch)) {
                Some(task) if is_sought(&task) => is_found = true,
                Some(task) => self.run(task),
                None => break,
            }
        }
        self.end_search();
        is_found
    }

    /// Waits until there is a task, or `latch` is set.
    #[cold]
    fn wait_for_task(&self, latch: &Latch) -> Option<Task> {
        let mut spinner = self.team.policy().spinner();
        if self.slot.state() != SlotState::Surplus {
            // At once: others share their joins with those who are known to have nothing to do.
            self.begin_search();
        }
        while !latch.is_set() {
            let found = if spinner.spin_once() { self.find_task() } else { self.sleep_or_park(|| latch.is_set()) };
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Lies in the bed that a bee is hired in, until it is called for the first time. Nothing for one that has been
    /// called.
    ///
    /// A bee is hired parked, and has its start handler to run before it lies there. Meanwhile it may be called and so
    /// come to other states, and owes its bed a wait for the post of that; it must not go to bed again before.
    pub(crate) fn wait_for_first_wake(&self) {
        if !self.is_past_first_wake.replace(true) {
            self.end_search();
            self.block_parked();
        }
    }

    /// Goes to bed in the middle of something, until there is something to do or `should_wake`. Returns a task that is found on the way.
    fn sleep_or_park(&self, should_wake: impl Fn() -> bool) -> Option<Task> {
        if !self.is_past_first_wake.get() {
            // Whoever does what it waits for calls it, as it is parked; or has done so.
            self.wait_for_first_wake();
            return None;
        }
        match self.slot.state() {
            // A surplus bee gives up its core here as elsewhere, and is called for what it waits for and for what only it may run.
            // Step: surplus
            SlotState::Surplus => self.surplus_task().or_else(|| {
                self.park(should_wake);
                None
            }),
            // Others are about to end what it waits for.
            // Step: dismissed
            SlotState::Terminated => {
                self.team.policy().yield_core();
                self.find_task()
            }
            _ => {
                // Step: sleep
                let found = self.go_to_sleep(should_wake);
                self.slot.finish_waking();
                found
            }
        }
    }

    /// What a surplus bee still has to do: what only it may, and anything at all where it is the only one.
    pub(crate) fn surplus_task(&self) -> Option<Task> {
        if !self.team.sleep.supports_tasks() {
            return None;
        }
        // Step: mail
        // Step: only one
        self.take_from_mailbox().or_else(|| if self.team.bees() == 1 { self.find_task_exhaustively() } else { None })
    }
}

impl Drop for TaskContext<'_> {
    fn drop(&mut self) {
        self.end_search();
        if let Some(deque) = self.deque.take() {
            self.slot.queues.release_deque(deque);
        }
    }
}
