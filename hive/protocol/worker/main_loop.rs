//! A bee's life: poll for a start, run its part, arrive; run tasks in between; sleep when nothing has come for a while; park when it is
//! surplus.

use std::ops::ControlFlow;

use crate::protocol::Team;
use crate::protocol::abort_on_unwind::AbortOnUnwind;
use crate::protocol::region::groups::Group;
use crate::protocol::region::region_context::RegionContext;
use crate::protocol::region::start_line::{StartLine, StartOrder, StartWord};
use crate::protocol::region::tree::{GroupPart, Tree};
use crate::protocol::tasks::task::Task;
use crate::protocol::tasks::task_context::TaskContext;
use crate::protocol::worker::slot::{Slot, SlotState};
use crate::sync::{Activity, BackOff, Counter};

/// The life of a bee: bee `id` of the team, on a thread of its own.
pub(crate) struct Worker<'h, 'c> {
    team: &'c Team,
    slot: &'c Slot,
    id: u32,
    /// The epoch of the last region that this bee knows of. It starts as the epoch at which the bee was hired, not as whatever the
    /// thread finds when it gets going: that may already be the first region it has a part in.
    last_epoch: u64,
    back_off: BackOff,
    /// The group in which it hears of regions.
    group_id: u32,
    group: &'c Group,
    start_line: &'c StartLine,
    /// Whether that is the only one.
    is_only_group: bool,
    /// Those to which it passes them on.
    tree: Tree,
    /// What it runs tasks with.
    task_context: &'h TaskContext<'c>,
}

impl<'h, 'c> Worker<'h, 'c> {
    /// The bee whose `context` it is, hired when the team had come to the region `hired_at`.
    pub(crate) fn new(task_context: &'h TaskContext<'c>, hired_at: u64) -> Self {
        let (team, id) = (task_context.team(), task_context.id());
        let group_id = team.fixed.shape.start_group(id);
        let (group, tree) = (team.group(group_id), Tree::new(&team.fixed.shape, id));
        let is_only_group = team.fixed.shape.group_count() == 1;
        Self {
            team,
            slot: team.slot(id),
            id,
            last_epoch: hired_at,
            back_off: BackOff::new(),
            group_id,
            group,
            start_line: group.start_line(),
            is_only_group,
            tree,
            task_context,
        }
    }

    /// Lives until dismissed.
    pub(crate) fn run(mut self) {
        self.task_context.wait_for_first_wake();
        let policy = self.team.policy();
        let (mut spinner, mut spin_epoch) = (policy.spinner(), policy.spin_epoch());
        loop {
            if let Some(word) = self.poll_start() {
                self.task_context.end_search();
                // Who hears that the part has ended, and relaxes the hive then, means this bee as well.
                spin_epoch = policy.spin_epoch();
                self.run_region(word);
                self.back_off.delay();
            } else if !self.slot.is_awake() {
                if self.handle_state().is_break() {
                    return;
                }
            } else if spinner.should_check_tasks()
                && let Some(task) = self.poll_tasks(spinner.is_hot())
            {
                self.task_context.run(task);
                (spinner, spin_epoch) = (policy.spinner_after_task(), policy.spin_epoch());
                continue;
            } else if spinner.spin_once() {
                continue;
            } else if let Some(task) = self.sleep() {
                self.task_context.run(task);
                spin_epoch = policy.spin_epoch();
            } else if self.slot.is_awake() && !self.is_start_pending() {
                // Something has been posted meanwhile: once more, without waiting as long again.
                continue;
            } else {
                spin_epoch = policy.spin_epoch();
            }
            spinner = policy.spinner_since(spin_epoch);
        }
    }

    /// The team that a new region calls this bee to. Regions that do not are remembered and nothing else: they do not keep
    /// the bee awake.
    #[inline(always)]
    fn poll_start(&mut self) -> Option<StartWord> {
        let word = self.start_line.load();
        let is_included = word.includes(self.id, self.last_epoch);
        self.last_epoch = word.epoch();
        is_included.then_some(word)
    }

    #[inline(always)]
    #[expect(unsafe_code, reason = "reads what the start signal lends")]
    fn run_region(&mut self, word: StartWord) {
        // SAFETY: the word just seen calls this bee, which leaves below.
        let order = unsafe { self.start_line.order() };
        let bees = word.bees();
        if !self.is_only_group {
            return self.run_region_in_groups(word, order);
        }
        let barrier = self.group.barrier(self.start_line, bees);
        let own_part = GroupPart { group_id: self.group_id, bees, is_collected: false, base: order.base, barrier };
        let context = RegionContext::new(self.team, self.id, bees, word.epoch(), own_part);
        self.run_body(order, &context);
        self.team.arrive_at_end(&own_part, &context);
    }

    /// Runs the part of one in a hive of several groups.
    // Apart: inlined, it would slow the other down, which is all of a small machine.
    #[inline(never)]
    fn run_region_in_groups(&mut self, word: StartWord, order: StartOrder) {
        let (team, bees) = (self.team, word.bees());
        let own_part = team.worker_part(self.group_id, self.group, bees, order.base);
        let context = RegionContext::new(team, self.id, bees, word.epoch(), own_part);
        if self.tree.is_empty() {
            self.run_body(order, &context);
            return team.arrive_at_end(&own_part, &context);
        }
        let abort_guard = AbortOnUnwind::new("between the start of a group and its end");
        let children = self.tree.children(team, bees);
        let had_sleepers = team.start_children(word, order, self.group_id, &children);
        let context = context.with_children(&children);
        self.run_body(order, &context);
        team.finish_children(&mut self.tree, &context, had_sleepers);
        team.arrive_at_end(&own_part, &context);
        abort_guard.disarm();
    }

    #[inline(always)]
    #[expect(unsafe_code, reason = "runs the caller's closure, which the start signal lends")]
    fn run_body(&mut self, order: StartOrder, context: &RegionContext<'_>) {
        self.team.set_activity(self.id, || Activity::InRegion(0));
        // SAFETY: the queen has laid a part for this job there, or told of one, and takes it back when every bee of the team has left.
        self.team.run_catching_panic(context, || unsafe { order.body_fn.run(&self.start_line.closure_cell, context) });
        self.slot.counters.increment(Counter::Regions);
        self.team.set_activity(self.id, || Activity::LeftRegion);
    }

    /// Looks for a task. A bee that has only just begun to wait is not counted among those without work: a region may be next.
    fn poll_tasks(&self, has_just_begun: bool) -> Option<Task> {
        if !self.team.sleep.supports_tasks() {
            return None;
        }
        if !has_just_begun {
            self.task_context.begin_search();
        }
        self.task_context.next_task(self.last_epoch)
    }

    /// Does what a state other than AWAKE asks for. Break: the bee is dismissed.
    #[cold]
    fn handle_state(&mut self) -> ControlFlow<()> {
        // As in `TaskContext::find`; and in a forked child nobody would call the bee to get up again.
        self.team.policy().abort_if_forked();
        match self.slot.state() {
            // Step: notified
            SlotState::Notified => self.slot.finish_waking(),
            // Step: surplus
            SlotState::Surplus => match self.next_surplus_task() {
                Some(task) => self.task_context.run(task),
                None => self.task_context.park(|| self.is_start_pending()),
            },
            // Step: dismissed
            SlotState::Terminated => {
                self.drain_tasks();
                return ControlFlow::Break(());
            }
            // AWAKE again: the order to park was cancelled.
            SlotState::Awake => {}
            state @ (SlotState::Asleep | SlotState::Parked) => {
                unreachable!("bee {} is awake and in state {state:?}", self.id)
            }
        }
        ControlFlow::Continue(())
    }

    /// What a surplus bee that is in no task still has to do.
    fn next_surplus_task(&self) -> Option<Task> {
        let may_look = self.team.sleep.supports_tasks() && self.task_context.try_enter_search_phase(self.last_epoch);
        if may_look {
            self.task_context.surplus_task().or_else(|| self.task_context.leave_search_phase())
        } else {
            None
        }
    }

    /// Runs what is still queued when the hive ends.
    fn drain_tasks(&self) {
        if self.team.sleep.supports_tasks() {
            // Step: find
            while let Some(task) = self.task_context.find_task_exhaustively() {
                self.task_context.run(task);
            }
        }
    }

    /// Gives up the core until a region or a task needs this bee.
    fn sleep(&self) -> Option<Task> {
        if !self.task_context.try_enter_search_phase(self.last_epoch) {
            // The region is about to start.
            self.team.policy().yield_core();
            return None;
        }
        self.task_context.go_to_sleep(|| self.is_start_pending()).or_else(|| self.task_context.leave_search_phase())
    }

    /// The last look before sleeping: at everything from outside that this bee would have to wake for and that comes neither through its
    /// own state nor as a task.
    fn is_start_pending(&self) -> bool {
        self.start_line.load().includes(self.id, self.last_epoch)
    }
}
