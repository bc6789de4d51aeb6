//! The main loop of a worker's thread: poll for the start of a region, run the worker's part of it and arrive at its
//! end; run tasks between regions; fall asleep when nothing has come for a while; park when the worker is surplus.
//! `Shared::run_worker` (`pool/worker_thread.rs`) runs it on each thread that the hive has made. The protocol of starts
//! is described in `docs/start.md`, that of sleep in `docs/sleep.md`, that of parking in `docs/resize.md`.

use std::mem;
use std::ops::ControlFlow;

use crate::protocol::Team;
use crate::protocol::abort_on_unwind::AbortOnUnwind;
use crate::protocol::region::group_part::GroupPart;
use crate::protocol::region::groups::Group;
use crate::protocol::region::led_groups::LedGroups;
use crate::protocol::region::region_context::RegionContext;
use crate::protocol::region::stand_in::LentBody;
use crate::protocol::region::start_line::{StartLine, StartOrder, StartWord};
use crate::protocol::tasks::task::Task;
use crate::protocol::tasks::task_context::TaskContext;
use crate::protocol::worker::ran_part::RanPart;
use crate::protocol::worker::slot::{Slot, SlotState};
use crate::sync::{BackOff, Counter, Event, EventKind, Ordering, PollTime, TimedWait};

/// A worker at work: bee `id` of the team, on a thread of its own.
pub(crate) struct Worker<'h, 'c> {
    pub(super) team: &'c Team,
    /// The worker's own slot.
    pub(super) slot: &'c Slot,
    id: u32,
    /// The epoch of the last region that this worker has seen on its start line. It begins with the epoch at the time
    /// when the worker was hired. It cannot begin with the epoch that the thread finds when it gets going: that may
    /// already be the first region that includes this worker.
    last_epoch: u64,
    /// Whether the worker has said that it is away (`availability.rs`). It says so before it sleeps, parks or takes a
    /// task, and comes back when a region needs it.
    is_away: bool,
    /// How long the worker leaves the start line alone after it has arrived.
    back_off: BackOff,
    /// How long the worker polls before it sleeps.
    poll_time: PollTime,
    /// The epoch of the last region that the worker had to wait for.
    waited_epoch: u64,
    /// Whether the worker has unbound itself for its sleep and has not been seen bound since. Its waker may have bound
    /// it again: `Slot::sleep_binding` knows.
    pub(super) may_be_unbound: bool,
    /// Whether the worker has slept since its last region or task. (`poll_time` knows that only of sleeps before which
    /// it has read the clock.)
    has_slept: bool,
    /// The number of the group in which the worker receives the starts of regions.
    group_id: u32,
    /// That group.
    group: &'c Group,
    /// The start line of that group, which the worker polls.
    start_line: &'c StartLine,
    /// Whether the team has one group only. Then a shorter path runs its regions.
    is_only_group: bool,
    /// The groups that this worker leads: it passes the starts of regions on to them.
    led_groups: LedGroups,
    /// What the worker runs tasks with.
    task_context: &'h TaskContext<'c>,
}

impl<'h, 'c> Worker<'h, 'c> {
    /// The worker whose context `task_context` is. `hired_at` is the epoch of its start line at the time when it was
    /// hired.
    pub(crate) fn new(task_context: &'h TaskContext<'c>, hired_at: u64) -> Self {
        let (team, id) = (task_context.team, task_context.id);
        let group_id = team.fixed.shape.start_group(id);
        let (group, led_groups) = (team.group(group_id), LedGroups::new(&team.fixed.shape, id));
        let is_only_group = team.fixed.shape.group_count() == 1;
        Self {
            team,
            slot: team.slot(id),
            id,
            last_epoch: hired_at,
            is_away: true,
            back_off: BackOff::new(),
            poll_time: PollTime::new(team.policy()),
            waited_epoch: hired_at,
            may_be_unbound: false,
            has_slept: false,
            group_id,
            group,
            start_line: group.start_line(),
            is_only_group,
            led_groups,
            task_context,
        }
    }

    /// Runs until the worker is terminated.
    pub(crate) fn run(mut self) {
        // A worker is hired PARKED, and takes part in nothing before it has been woken for the first time.
        self.task_context.wait_for_first_wake();
        self.team.restore_float_mode();
        let policy = self.team.policy();
        // A call of `stop_spinning` after the moment of `spin_epoch` ends the polling of this worker.
        let (mut spinner, mut spin_epoch) = (policy.spinner(), policy.spin_epoch());
        loop {
            if let Some(word) = self.poll_start() {
                let was_away = self.is_away;
                if was_away || !self.slot.availability.begin(word.epoch()) {
                    // If another bee has stood in for this worker meanwhile, the next poll finds nothing.
                    if !self.come_back() && was_away {
                        self.note_late_arrival();
                        spinner = policy.worker_spinner(spin_epoch, self.poll_time.limit());
                    }
                    continue;
                }
                let timed_wait = self.poll_time.end_wait(&spinner);
                // A bee in a region is not one that looks for work.
                self.task_context.end_search();
                // Read before the region: a thread that learns that this part of the region has ended and calls
                // `stop_spinning` after that means this worker as well.
                spin_epoch = policy.spin_epoch();
                if !self.run_region_after(timed_wait, word) {
                    spinner = policy.spent_spinner();
                    continue;
                }
            } else if !self.slot.is_awake() {
                // The state is NOTIFIED, SURPLUS or TERMINATED.
                if self.handle_state().is_break() {
                    return;
                }
            } else if let Some(task) =
                if spinner.should_check_tasks() { self.poll_tasks(spinner.is_hot()) } else { None }
            {
                // A task was found. Not every poll looks for one (`should_check_tasks`), because that touches more
                // cache lines than the start word.
                self.run_task(task);
                (spinner, spin_epoch) = (policy.spinner_after_task(), policy.spin_epoch());
                continue;
            } else if spinner.spin_once() {
                if !spinner.is_hot() {
                    self.leave_shared_cpu();
                }
                continue;
            } else {
                self.poll_time.begin_sleep(&spinner);
                if self.sleep_or_run_task().is_break() {
                    continue;
                }
                spin_epoch = policy.spin_epoch();
            }
            // The time of polling begins anew. A call of `stop_spinning` since `spin_epoch` ends it.
            spinner = policy.worker_spinner(spin_epoch, self.poll_time.limit());
        }
    }

    /// The start word of a new region that includes this worker, if there is one. A region that does not include it
    /// changes only `last_epoch`, and does not keep the worker awake.
    #[inline(always)]
    fn poll_start(&mut self) -> Option<StartWord> {
        let word = self.start_line.load();
        let is_included = word.includes(self.id, self.last_epoch);
        self.last_epoch = word.epoch();
        is_included.then_some(word)
    }

    /// Says that the worker goes away: from here on another bee may stand in for it in a region that starts. Returns
    /// whether it may go: no region that includes it has started. Otherwise it is to poll again, and to come back.
    fn leave(&mut self) -> bool {
        if !self.is_away {
            self.is_away = true;
            self.last_epoch = self.slot.availability.leave(self.last_epoch);
        }
        // A look after the fence in `leave`: a leader that has not seen the worker away relies on it.
        !self.is_start_pending()
    }

    /// Says that the worker is there again. If others have stood in for it meanwhile, the regions in which they have
    /// done so are behind it. Returns whether it has come in time for a region that includes it.
    #[cold]
    fn come_back(&mut self) -> bool {
        self.last_epoch = self.slot.availability.come_back();
        self.is_away = false;
        if mem::take(&mut self.has_slept) {
            self.team.wake_delay.note_arrival();
        }
        self.is_start_pending()
    }

    /// Learns from having been woken for a loop and having come too late for it, perhaps because the kernel has queued
    /// the worker behind the thread that has woken it.
    #[cold]
    fn note_late_arrival(&mut self) {
        self.poll_time.note_late_arrival();
        self.team.policy().leave_wakers_cpu();
    }

    /// Runs this worker's part of the region of `word`. `wait`: None if that came at once. Returns whether to poll for
    /// the next region.
    #[inline(always)]
    fn run_region_after(&mut self, wait: Option<TimedWait>, word: StartWord) -> bool {
        match wait {
            None => {
                self.run_region(word);
                true
            }
            Some(wait) => self.run_timed_region(word, wait),
        }
    }

    /// Runs this worker's part of the region of `word`, after a `wait` that was not over at once, and learns from it.
    /// Returns whether to poll for the next region.
    #[cold]
    #[inline(never)]
    #[expect(unsafe_code, reason = "reads what the start signal lends")]
    fn run_timed_region(&mut self, word: StartWord, wait: TimedWait) -> bool {
        // Not where regions follow each other at once: there this would take too long.
        self.team.restore_float_mode();
        // SAFETY: as in `run_region`.
        let body = unsafe { self.start_line.order() }.body_fn.hash();
        let ran = self.run_region(word);
        let part = wait.part();
        let (policy, binding) = (self.team.policy(), &self.slot.sleep_binding);
        let is_unbound = binding.is_unbound() && !binding.has_left();
        let may_share_cpu = is_unbound || policy.binds_no_worker();
        if may_share_cpu {
            // The queen may be waiting for this CPU.
            policy.yield_if_it_pays();
        }
        let work = part.work(ran.has_met_others);
        let is_cold_region = wait.has_slept() && !ran.is_loop && self.team.are_woken_by_queen();
        if is_cold_region {
            self.team.cold_parts.record(body, work);
        }
        // Whether no region has come between this one and the last for which the worker has waited.
        let is_next = mem::replace(&mut self.waited_epoch, word.epoch()) + 1 == word.epoch();
        // If the waker has bound the worker again, it had reason to think that the region is long.
        let was_bound_again = mem::replace(&mut self.may_be_unbound, is_unbound) && !is_unbound;
        let is_short = is_cold_region && is_next && !work.is_long() && !was_bound_again;
        self.poll_time.learn(wait, part, ran.is_loop, is_short);
        let is_to_poll = !may_share_cpu || policy.keeps_spinning() || !self.poll_time.may_sleep_unbound();
        if is_to_poll {
            if is_unbound {
                self.bind_again();
            }
        } else {
            // The queen may be about to go on, on this CPU, so the worker does not poll. Its wake-up ends here, and not
            // in the main loop, which begins to poll anew after that.
            self.slot.finish_waking();
        }
        is_to_poll
    }

    /// Runs this worker's part of the region of `word`, and arrives at its end.
    #[inline(always)]
    #[expect(unsafe_code, reason = "reads what the start signal lends")]
    fn run_region(&mut self, word: StartWord) -> RanPart {
        // SAFETY: `word` was just loaded and includes this worker, which arrives at the end of that region only below.
        let order = unsafe { self.start_line.order() };
        let bees = word.bees();
        if !self.is_only_group {
            return self.run_region_in_groups(word, order);
        }
        // The only group: the whole team is in it, and no other group collects it.
        let barrier = self.group.barrier(self.start_line, bees);
        let own_part = GroupPart { group_id: self.group_id, bees, is_collected: false, base: order.base, barrier };
        let context = RegionContext::new(self.team, self.id, bees, word.epoch(), own_part);
        self.run_body(order, &context);
        self.team.arrive_at_end(&own_part, &context);
        // Arrived: the start line is left alone for a moment, so that the queen does not have to fetch it back.
        self.back_off.delay();
        RanPart::of(&context)
    }

    /// `run_region` for a worker in a team of several groups. It first starts the groups that it leads, and arrives in
    /// its own group when all bees of those have left.
    // Kept out of line: inlining it slows the path for a single group, which is the only one on small machines.
    #[inline(never)]
    #[expect(unsafe_code, reason = "lends on what the start signal lends")]
    fn run_region_in_groups(&mut self, word: StartWord, order: StartOrder) -> RanPart {
        let (team, bees) = (self.team, word.bees());
        // The part of the team that is in this worker's own group.
        let own_part = team.worker_part(self.group_id, bees, order.base);
        let context = RegionContext::new(team, self.id, bees, word.epoch(), own_part);
        // A worker that leads no group has nobody to start or to wait for.
        if self.led_groups.is_empty() {
            self.run_body(order, &context);
            team.arrive_at_end(&own_part, &context);
            self.back_off.delay();
            return RanPart::of(&context);
        }
        // From here on the groups that this worker leads rely on it, so it must not unwind.
        let abort_guard = AbortOnUnwind::new("between the start of a group and its end");
        let led_parts = self.led_groups.parts(team, bees);
        // Some bees of these groups may be asleep; then this worker waits longer for them at the end before it blocks.
        let had_sleepers = team.start_led_groups(word, order, self.group_id, &led_parts);
        let context = context.with_led_parts(&led_parts);
        self.run_body(order, &context);
        // Waits until all bees of the groups that this worker leads have left: it arrives in its own group for them
        // all.
        // SAFETY: the body is there until the region has ended, and this worker arrives at its end only below.
        let lent_body = unsafe { LentBody::new(order.body_fn, &self.start_line.closure_cell) };
        // Relaxed: this worker has read the start word. The queen writes again only when it has left the region.
        let is_loop = team.last_loop.load(Ordering::Relaxed) == word.epoch();
        let lent_body = is_loop.then_some(lent_body);
        team.finish_led_groups(&mut self.led_groups, &context, had_sleepers, lent_body);
        team.arrive_at_end(&own_part, &context);
        abort_guard.disarm();
        self.back_off.delay();
        RanPart::of(&context)
    }

    /// Runs the region's body for this worker. A panic in it is caught and recorded.
    #[inline(always)]
    #[expect(unsafe_code, reason = "runs the caller's closure, which the start signal lends")]
    fn run_body(&mut self, order: StartOrder, context: &RegionContext<'_>) {
        self.team.set_activity(self.id, || Event::begin(EventKind::Region));
        // SAFETY: the queen has stored the body that this order was made for in the cell, or a pointer to it, and takes
        // it back only when every bee of the team has left.
        self.team.run_catching_panic(context, || unsafe { order.body_fn.run(&self.start_line.closure_cell, context) });
        self.slot.counters.increment(Counter::Regions);
        self.team.set_activity(self.id, || Event::end(EventKind::Region));
    }

    /// Looks for a task. `has_just_begun`: whether the worker has only just begun to wait. It is then not yet counted
    /// among those that search, because the next region may follow at once, and a region is not to pay for that count.
    /// A task pool has no regions, and who hands a task over to it would wake another worker.
    fn poll_tasks(&mut self, has_just_begun: bool) -> Option<Task> {
        if !self.team.sleep.supports_tasks() {
            return None;
        }
        if !has_just_begun || self.task_context.is_in_pool() {
            self.task_context.begin_search();
        }
        // The worker goes away before it takes a task, because the task may take long.
        if self.task_context.may_find_task() && self.leave() {
            self.task_context.next_task(self.last_epoch)
        } else {
            self.task_context.leave_search_phase()
        }
    }

    /// Runs a task. The wait before it says nothing about regions.
    fn run_task(&mut self, task: Task) {
        self.poll_time.forget_wait();
        if self.may_be_unbound {
            self.bind_again();
        }
        self.has_slept = false;
        self.task_context.run_with_own(task, || self.slot.is_awake() && !self.is_start_pending());
        self.team.restore_float_mode();
    }

    /// Does what a state other than AWAKE demands. Break: the worker has been terminated, and ends.
    #[cold]
    fn handle_state(&mut self) -> ControlFlow<()> {
        // A forked child has none of the threads that would wake this one, and must not run its parent's tasks.
        self.team.policy().abort_if_forked();
        let state = self.slot.state();
        if self.may_be_unbound && state != SlotState::Notified {
            self.bind_again();
        }
        match state {
            // Step: notified
            SlotState::Notified => self.slot.finish_waking(),
            // A surplus worker runs what only it can run before it parks.
            // Step: surplus
            SlotState::Surplus if !self.leave() => {}
            SlotState::Surplus => match self.next_surplus_task() {
                Some(task) => self.run_task(task),
                None => self.task_context.park(|| self.is_start_pending()),
            },
            // Step: terminated
            SlotState::Terminated => {
                // The last tasks are run by whichever worker finds them, before it ends.
                // Step: find
                if self.team.sleep.supports_tasks() {
                    self.task_context.run_all();
                }
                return ControlFlow::Break(());
            }
            // AWAKE again: a grow has cancelled the order to park.
            SlotState::Awake => {}
            state @ (SlotState::Asleep | SlotState::Parked) => {
                unreachable!("bee {} is awake and in state {state:?}", self.id)
            }
        }
        ControlFlow::Continue(())
    }

    /// A task that a surplus worker, which is in no task, still has to run.
    fn next_surplus_task(&self) -> Option<Task> {
        let may_look = self.team.sleep.supports_tasks() && self.task_context.try_enter_search_phase(self.last_epoch);
        if !may_look {
            return None;
        }
        self.task_context.surplus_task().or_else(|| self.task_context.leave_search_phase())
    }

    /// Falls asleep, or runs a task that is found on the way. Break: the worker has not slept, because something was
    /// posted meanwhile, or has ended its sleep by itself, after a poll interval. It looks once more, and then sleeps
    /// again without polling as long as before.
    fn sleep_or_run_task(&mut self) -> ControlFlow<()> {
        if let Some(task) = self.sleep() {
            self.run_task(task);
        } else if self.slot.is_awake() && !self.is_start_pending() {
            return ControlFlow::Break(());
        }
        // Something was run, or the worker was woken, or its state or a start demands something: polling begins anew.
        ControlFlow::Continue(())
    }

    /// Falls asleep until a region or a task needs this worker. Returns a task that was found on the way.
    fn sleep(&mut self) -> Option<Task> {
        // A region may have changed it, and what wakes the worker may be a task.
        self.team.restore_float_mode();
        if self.poll_time.may_sleep_unbound() {
            self.unbind();
        }
        if !self.leave() {
            return None;
        }
        if !self.task_context.try_enter_search_phase(self.last_epoch) {
            // A region that waits for this worker has been announced and is about to start. Until then the worker may
            // not look for tasks, as it must before it sleeps.
            self.team.policy().yield_core();
            return None;
        }
        let found = self.task_context.go_to_sleep(|| self.is_start_pending());
        self.has_slept = true;
        found.or_else(|| self.task_context.leave_search_phase())
    }

    /// Whether a region that includes this worker has started. It is the part of the last check before sleep that
    /// concerns neither the worker's state nor tasks: everything else that the worker would have to wake for comes
    /// through those.
    fn is_start_pending(&self) -> bool {
        self.start_line.load().includes(self.id, self.last_epoch)
    }
}
