//! The task context: what a bee needs to run tasks on its own thread. It has the bee's end of its deque and its
//! joins, runs tasks, and waits for latches. A worker has one for its whole life (`Shared::run_worker`); a thread in
//! the queen's place has one while it runs tasks (`tasks/enter.rs`). How a bee looks for a task is in `search.rs`, and
//! how a bee without work falls asleep is in `idle.rs`. The steps are described in `docs/sleep.md`.

use std::cell::Cell;

use crate::protocol::tasks::demand::Demand;
use crate::protocol::tasks::deque_marks::DequeMark;
use crate::protocol::tasks::held_credit::HeldCredit;
use crate::protocol::tasks::latch::Latch;
use crate::protocol::tasks::linked_joins::LinkedJoins;
use crate::protocol::tasks::pool_rules::PoolRules;
use crate::protocol::tasks::task::Task;
use crate::protocol::worker::slot::{Slot, SlotState, TaskPhase};
use crate::protocol::{QueenGuard, Team};
use crate::sync::{Counter, Event, EventKind, StealPacing, Worker, has_stack_room};

/// A bee that runs tasks. It stays on the bee's own thread.
pub(crate) struct TaskContext<'c> {
    pub(crate) team: &'c Team,
    /// The number of the bee.
    pub(crate) id: u32,
    /// The slot of the bee.
    pub(crate) slot: &'c Slot,
    /// The bee's end of its deque. None only while this is dropped.
    deque: Option<Worker<Task>>,
    /// The mark that tells others that there may be tasks in the deque.
    pub(super) mark: DequeMark<'c>,
    /// The joins that the bee is in the middle of, but for those that are visible to all as they begin.
    pub(crate) joins: LinkedJoins,
    /// What the bee knows of the others' demand for joins.
    pub(super) demand: Demand<'c>,
    /// The rules of the task pool that the team belongs to. None: the team is that of a hive.
    pub(super) pool_rules: Option<PoolRules>,
    /// In a task pool: how many more levels of joins the task in hand puts into the deque as they begin.
    pub(super) visible_levels_left: Cell<u32>,
    /// What the bee has in hand of the count of the scope whose tasks it runs.
    pub(crate) held_credit: HeldCredit,
    /// What the bee knows of its steals: whether it may steal now.
    pub(super) steal_pacing: StealPacing,
    /// How many searches for a task have begun. It wraps.
    pub(super) search_count: Cell<u32>,
    /// Whether the sleep protocol counts the bee among those without work. Set when the bee begins to search, and
    /// cleared when it has found something, parks, or goes away.
    pub(super) is_counted: Cell<bool>,
    /// Whether another bee has woken this one and it has had nothing to do since. For statistics only.
    woke_without_work: Cell<bool>,
    /// Whether the bee has done its first wait on its semaphore, or needs none. A worker is hired PARKED, and until
    /// that wait its semaphore may hold the permit of its first wake. It must take that permit before it blocks again.
    pub(super) is_past_first_wake: Cell<bool>,
    /// How many tasks and joins the bee is in the middle of. Of the joins of a task that are linked, only the outermost
    /// counts, and each that has been shared from the end of its first half on.
    depth: Cell<u32>,
    /// What `depth` was as the task in hand began; 0: the bee is in none.
    depth_of_task: Cell<u32>,
    /// Whether the bee has said that it looks for tasks, and not yet that it has stopped. This stays set while the bee
    /// runs a task that it has found that way.
    is_in_search_phase: Cell<bool>,
    /// The team's queen lock, while this thread has the queen's place for the sake of tasks and has not lent the lock
    /// to a region.
    queen_guard: Cell<Option<QueenGuard<'c>>>,
    /// Whether it has lent the lock to a region, which is running.
    pub(super) has_lent_queen_guard: Cell<bool>,
}

impl<'c> TaskContext<'c> {
    /// A context for bee `id` of the team, which has been hired and has no other context. Counts a worker as hired.
    ///
    /// # Panics
    /// If the bee has another context.
    pub(crate) fn new(team: &'c Team, id: u32) -> Self {
        // First, because what the bee does from here on must be found by others.
        team.hired.count_in(id);
        let slot = team.slot(id);
        Self {
            team,
            id,
            slot,
            deque: Some(slot.queues.acquire_deque()),
            mark: team.deque_marks.mark_of(id),
            joins: LinkedJoins::new(),
            demand: team.sleep.demand(),
            pool_rules: team.fixed.pool_rules,
            visible_levels_left: Cell::new(team.fixed.pool_rules.map_or(0, |rules| rules.visible_levels)),
            held_credit: HeldCredit::new(),
            steal_pacing: StealPacing::default(),
            search_count: Cell::new(0),
            is_counted: Cell::new(false),
            woke_without_work: Cell::new(false),
            is_past_first_wake: Cell::new(id == 0),
            depth: Cell::new(0),
            depth_of_task: Cell::new(0),
            is_in_search_phase: Cell::new(false),
            queen_guard: Cell::new(None),
            has_lent_queen_guard: Cell::new(false),
        }
    }

    /// A context for what is left to be run when the thread of bee `id` has ended, or has never begun.
    pub(crate) fn of_ended_bee(team: &'c Team, id: u32) -> Self {
        let context = Self::new(team, id);
        // Nobody wakes it for the first time.
        context.is_past_first_wake.set(true);
        context
    }

    /// A context for a thread in the queen's place, which holds the queen lock of the team and is in no region of it.
    pub(crate) fn for_queen(team: &'c Team, queen_guard: QueenGuard<'c>) -> Self {
        let context = Self::new(team, 0);
        context.queen_guard.set(Some(queen_guard));
        context
    }

    /// Lends the queen lock to `run`, for a region. `run` gets None if the lock is not here to be lent, or if the
    /// bee is in the middle of a task or a join, which another bee may be waiting for.
    pub(crate) fn lend_queen_guard<R>(&self, run: impl FnOnce(Option<&mut QueenGuard<'c>>) -> R) -> R {
        // Takes the guard back even if `run` unwinds.
        struct ReturnOnDrop<'h, 'c>(&'h TaskContext<'c>, Option<QueenGuard<'c>>);
        impl Drop for ReturnOnDrop<'_, '_> {
            fn drop(&mut self) {
                self.0.queen_guard.set(self.1.take());
                self.0.has_lent_queen_guard.set(false);
            }
        }
        if self.depth.get() > 0 {
            return run(None);
        }
        let mut lent = ReturnOnDrop(self, self.queen_guard.take());
        self.has_lent_queen_guard.set(lent.1.is_some());
        run(lent.1.as_mut().map(QueenGuard::in_present_mode))
    }

    /// Notes the beginning of something that others may be waiting for: a task, or both halves of a join. Nothing may
    /// unwind between this and `end_task`.
    #[inline(always)]
    pub(crate) fn begin_task(&self) {
        self.depth.set(self.depth.get() + 1);
    }

    /// Notes the end of what `begin_task` has noted.
    #[inline(always)]
    pub(crate) fn end_task(&self) {
        self.depth.set(self.depth.get() - 1);
    }

    /// Whether the bee is in the middle of no join that the task in hand has begun.
    pub(super) fn is_outside_of_joins(&self) -> bool {
        self.depth.get() == self.depth_of_task.get()
    }

    /// Whether others may be waiting for what the bee is in the middle of. For a worker they always may.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.id > 0 || self.depth.get() > 0
    }

    #[inline(always)]
    pub(super) fn deque(&self) -> &Worker<Task> {
        self.deque.as_ref().expect("a task context in use")
    }

    /// Queues a task that any bee may run, in the bee's own deque, and tells others of it if there are any.
    pub(crate) fn push(&self, task: Task) {
        if self.is_alone_in_pool() {
            // The only thread of a task pool runs it before it sleeps, and no other looks for it.
            self.deque().push(task);
        } else if self.is_lone_queen() {
            self.keep_task(task);
        } else {
            self.push_and_notify(task);
        }
    }

    /// As `push`, and in a hive of the queen alone a worker is woken for the task.
    pub(crate) fn push_and_notify(&self, task: Task) {
        self.team.queue_and_notify(self.id, Some(self.mark), || self.deque().push(task));
    }

    /// Moves the tasks that are still in the bee's own queues to the injector, for any bee. For a thread that leaves
    /// the queen's place.
    pub(crate) fn inject_remaining(&self) {
        while let Some(task) = self.deque().pop() {
            self.team.inject(task);
        }
        self.team.inject_mailbox(self.slot);
    }

    /// Has a bee that is in no task, and that has seen the regions up to epoch `last_epoch`, say that it looks for
    /// tasks. Returns whether it may: it may not if a region that includes it has been announced, because it must come
    /// to that region first. See `region/announcement.rs`.
    pub(crate) fn try_enter_search_phase(&self, last_epoch: u64) -> bool {
        if !self.is_in_search_phase.get() {
            self.is_in_search_phase.set(self.team.try_mark_looking(self.slot, last_epoch));
        }
        self.is_in_search_phase.get()
    }

    /// Runs `work`, the start handler of a worker before its first region, as if it were a task: a thread that must not
    /// wait for a task does not wait for this either.
    pub(crate) fn run_as_task(&self, work: impl FnOnce()) {
        self.slot.set_phase(TaskPhase::InTask);
        self.begin_task();
        let (outer, outside) = (self.depth_of_task.replace(self.depth.get()), self.joins.begin_task());
        work();
        self.joins.end_task(outside);
        self.depth_of_task.set(outer);
        self.end_task();
        self.slot.set_phase(TaskPhase::Idle);
    }

    /// Has a bee that is in no task say that it no longer looks for tasks, because it has found none. For a bee in a
    /// task this does nothing. Always returns None, so that it can end a chain of searches.
    pub(crate) fn leave_search_phase<T>(&self) -> Option<T> {
        if self.depth.get() == 0 && self.is_in_search_phase.replace(false) {
            self.slot.set_phase(TaskPhase::Idle);
        }
        None
    }

    /// Runs `task`, and then what is at the top of the bee's deque, as long as a search would begin there and
    /// `may_go_on` says that nothing else goes before. For a worker that is in no task.
    pub(crate) fn run_with_own(&self, task: Task, may_go_on: impl Fn() -> bool) {
        self.run(task);
        while let Some(next) = if may_go_on() && !self.has_bound_task() { self.find_own_newest() } else { None } {
            self.run(next);
        }
        self.held_credit.give_back();
    }

    /// Runs a task. The bee no longer counts as one that searches.
    pub(crate) fn run(&self, task: Task) {
        // Before the task begins: if other bees relied on this one to search, they are replaced now.
        self.end_search();
        self.slot.counters.increment(Counter::Tasks);
        self.slot.set_phase(TaskPhase::InTask);
        self.begin_task();
        let (outer, outside) = (self.depth_of_task.replace(self.depth.get()), self.joins.begin_task());
        let steal = self.steal_pacing.begin_task();
        self.team.run_recorded(self.id, || task.run(Some(&self.held_credit)));
        if let Some(steal) = steal {
            self.steal_pacing.learn(steal);
        }
        self.joins.end_task(outside);
        self.depth_of_task.set(outer);
        self.end_task();
        // If the process was forked in the task, the child ends here.
        self.team.policy().abort_if_forked();
        // A task that was run while the bee waits in another task does not change the phase of the outer one.
        if self.depth.get() == 0 {
            // In the middle of its part of a region a bee has not said that it looks for tasks, and would not say that
            // it has stopped. So it is Idle again.
            self.slot.set_phase(if self.is_in_search_phase.get() { TaskPhase::Looking } else { TaskPhase::Idle });
        }
    }

    /// Has the sleep protocol no longer count the bee among those that search, if it does: the bee has found work,
    /// parks, or goes away.
    #[inline(always)]
    pub(crate) fn end_search(&self) {
        if self.is_counted.get() {
            self.end_search_slow();
        }
    }

    /// The part of `end_search` for a bee that is counted.
    #[cold]
    fn end_search_slow(&self) {
        let _in_flight = self.team.track_in_flight();
        self.is_counted.set(false);
        self.woke_without_work.set(false);
        self.slot.counters.set_searching(false);
        self.team.log(self.id, || Event::end(EventKind::Search));
        // The bee's search ends before its pause from stealing does, at whose end it would have asked. So it asks now,
        // because other bees may want what has been offered meanwhile.
        if self.steal_pacing.is_paused() {
            self.team.sleep.ask();
        }
        // As long as this bee was counted, bees that posted tasks may have woken nobody because of it.
        // Step: find
        if self.team.sleep.end_search(self.id) {
            // Step: pass on
            self.team.replace_searcher(self.id);
        }
    }

    /// Has the sleep protocol count the bee among those that search, if it does not do so yet.
    #[inline(always)]
    pub(crate) fn begin_search(&self) {
        if self.team.sleep.supports_tasks() && !self.is_counted.replace(true) {
            self.slot.counters.set_searching(true);
            self.team.log(self.id, || Event::begin(EventKind::Search));
            // Step: search
            self.team.sleep.begin_search(self.id);
        }
    }

    /// Records that the bee is about to sleep, in its counters and its log.
    pub(crate) fn record_sleep(&self) {
        let counters = &self.slot.counters;
        counters.increment(Counter::Sleeps);
        // A bee that is asleep does not search, even though it keeps its place among those without work.
        counters.set_searching(false);
        if self.woke_without_work.get() {
            counters.increment(Counter::WakesForNothing);
        }
        self.slot.log.write(Event::begin(EventKind::Sleep));
    }

    /// Records that the bee is awake again. `was_asleep`: whether it was asleep until now; if not, a shrink has parked
    /// it meanwhile. `is_woken`: whether another thread has woken it, rather than the bee itself after a poll.
    pub(crate) fn resume_from_sleep(&self, was_asleep: bool, is_woken: bool) {
        if is_woken {
            self.slot.counters.increment(Counter::Wakes);
        }
        self.woke_without_work.set(is_woken && was_asleep);
        let log = &self.slot.log;
        if was_asleep {
            log.write(Event::resume(is_woken));
            self.slot.counters.set_searching(self.is_counted.get());
        } else {
            // The thread that has parked the bee has marked the time in this log. The log gets what would have been
            // written then.
            log.write_at_mark(Event::resume(false));
            log.write_at_mark(Event::begin(EventKind::Park));
            log.write(Event::resume(is_woken));
            log.write(Event::end(EventKind::Search));
            // That thread has also taken the bee off the counts of the sleep protocol.
            self.is_counted.set(false);
            // Step: unpark
            self.team.sleep.count_unparked(self.id);
        }
    }

    /// Runs tasks until `latch` is set, and sleeps while there are none. The bee is the latch's owner. `floor`: what
    /// `deque_floor` said as that began which the latch stands for; `usize::MAX`: nothing of it is in the bee's deque.
    pub(crate) fn wait_until(&self, latch: &Latch, floor: usize) {
        if !latch.is_set() {
            self.wait_until_found(latch, None, floor);
        }
    }

    /// Runs tasks, and sleeps while there are none, until `latch` is set, which is that of `job`, the second half of a
    /// join whose task has been shared. If no bee has begun that task, this bee may find it while it looks for tasks.
    /// Returns whether it has found it: then the task has not been run, its latch is not set, and the caller runs the
    /// job itself.
    pub(crate) fn reclaim_or_wait<T>(&self, job: *const T, latch: &Latch) -> bool {
        self.wait_until_found(latch, Some(job.cast()), self.floor_of_join())
    }

    /// Runs tasks until `latch` is set or the task of the job `sought` is found. Returns whether it was found; it has
    /// not been run. `floor`: see `deque_floor`.
    fn wait_until_found(&self, latch: &Latch, sought: Option<*const ()>, floor: usize) -> bool {
        self.within_wait(|| {
            if has_stack_room() {
                self.run_until_found(latch, sought)
            } else {
                self.wait_out_of_room(latch, sought, floor)
            }
        })
    }

    // Inlined, as the next one: the task runs on top of these frames.
    #[inline(always)]
    pub(super) fn run_until_found(&self, latch: &Latch, sought: Option<*const ()>) -> bool {
        let mut is_found = false;
        // The latch is looked at again after each task.
        while !latch.is_set() && !is_found {
            match self.find_own_newest().or_else(|| self.find_in_wait(latch)) {
                Some(task) => is_found = !self.run_unless_sought(task, sought),
                // `wait_for_task` has seen the latch set.
                None => break,
            }
        }
        self.end_search();
        is_found
    }

    /// Looks for a task elsewhere than at the top of the bee's deque, and waits for one, until `latch` is set.
    fn find_in_wait(&self, latch: &Latch) -> Option<Task> {
        // What the bee has in hand of a scope may be all that the latch waits for.
        self.held_credit.give_back();
        if latch.is_set() {
            return None;
        }
        self.find_task().or_else(|| self.steal_pacing.while_waiting(|| self.wait_for_task(latch)))
    }

    /// Waits until there is a task, which it returns, or until `latch` is set.
    #[cold]
    fn wait_for_task(&self, latch: &Latch) -> Option<Task> {
        // The bee has run all else that is its own. What is left of its joins further out may now be run by any bee,
        // this one included.
        if self.share_all_joins() {
            if let Some(task) = self.find_task() {
                return Some(task);
            }
        }
        let mut spinner = self.team.policy().spinner();
        // At once, without polling first: other bees share their joins with those that are known to have nothing to do.
        // A surplus bee does not count among these.
        if self.slot.state() != SlotState::Surplus {
            self.begin_search();
        }
        while !latch.is_set() {
            // Once polling is over, sleep, or park if the bee is surplus.
            let found = if spinner.spin_once() { self.find_task() } else { self.sleep_or_park(|| latch.is_set()) };
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Blocks in the middle of something until there is something to do or `should_wake`. Returns a task that was found
    /// on the way.
    fn sleep_or_park(&self, should_wake: impl Fn() -> bool) -> Option<Task> {
        // A start handler waits, for a latch. The thread that sets the latch wakes this worker, because it is PARKED,
        // or has done so.
        if !self.is_past_first_wake.get() {
            self.wait_for_first_wake();
            return None;
        }
        match self.slot.state() {
            // A surplus bee leaves its core here as everywhere, and is woken for its latch and for tasks that only it
            // may run.
            // Step: surplus
            SlotState::Surplus => self.surplus_task().or_else(|| {
                self.park(should_wake);
                None
            }),
            // Other bees are about to end what this one waits for, so it need not sleep.
            // Step: terminated
            SlotState::Terminated => {
                self.team.policy().yield_core();
                self.find_task()
            }
            // AWAKE, or NOTIFIED if the bee was parked here and has been woken by a grow. In the second case
            // `go_to_sleep` does not sleep, and `finish_waking` makes the bee AWAKE.
            _ => {
                // Step: sleep
                let found = self.go_to_sleep(should_wake);
                self.slot.finish_waking();
                found
            }
        }
    }
}

impl Drop for TaskContext<'_> {
    fn drop(&mut self) {
        // From here on nobody relies on the bee to search, and no scope waits for what it has had in hand.
        self.end_search();
        self.held_credit.give_back();
        // With the tasks in it, for the next context of this bee. The field `queen_guard` is dropped after this, so the
        // next queen finds the deque.
        if let Some(deque) = self.deque.take() {
            self.slot.queues.release_deque(deque);
        }
    }
}
