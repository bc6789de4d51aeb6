//! A member at work on tasks: its end of its deque, and what it does while it waits for something.

use std::cell::Cell;

use super::Crew;
use super::latch::Latch;
use super::task::Task;
use crate::sync::Worker;

/// A member that runs tasks, on its own thread.
pub(crate) struct Hand<'c> {
    crew: &'c Crew,
    id: u32,
    /// None only while this is dropped.
    own: Option<Worker<Task>>,
    /// Second halves of joins that nobody has asked for yet, oldest first. Not in the deque, where each would cost what only stolen ones need.
    kept: [Cell<Option<Task>>; KEPT],
    /// How many of them there have been, and how many have gone to the deque.
    kept_end: Cell<usize>,
    kept_start: Cell<usize>,
    /// Whether it is counted among those without work.
    is_counted: Cell<bool>,
}

/// Joins beyond these run their halves in order: what is kept is enough to share, and it is the larger.
const KEPT: usize = 8;

impl<'c> Hand<'c> {
    /// Member `id` of the crew, which is nowhere else.
    pub(crate) fn new(crew: &'c Crew, id: u32) -> Self {
        Self {
            crew,
            id,
            own: Some(crew.slot(id).desk.sit_down()),
            kept: Default::default(),
            kept_end: Cell::new(0),
            kept_start: Cell::new(0),
            is_counted: Cell::new(false),
        }
    }

    #[inline(always)]
    fn own(&self) -> &Worker<Task> {
        self.own.as_ref().expect("a hand in use")
    }

    pub(crate) fn crew(&self) -> &'c Crew {
        self.crew
    }

    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// Queues a task that any member may run.
    pub(crate) fn push(&self, task: Task) {
        self.own().push(task);
        // A queen alone runs it herself, or leaves it to a bee when she goes.
        if self.id > 0 || self.crew.bees() > 1 {
            self.crew.post(1);
        }
    }

    /// Whether as many tasks are kept as may be.
    #[inline(always)]
    pub(crate) fn has_kept_enough(&self) -> bool {
        self.kept_end.get() - self.kept_start.get() == KEPT
    }

    /// Keeps a task until somebody asks for work. Returns what `take_back` needs.
    #[inline(always)]
    pub(crate) fn keep(&self, task: Task) -> usize {
        let number = self.kept_end.get();
        self.kept[number % KEPT].set(Some(task));
        self.kept_end.set(number + 1);
        number
    }

    /// Takes back the task that was kept last, unless it has been shared. Says whether it was there.
    #[inline(always)]
    pub(crate) fn take_back(&self, number: usize) -> bool {
        let is_there = number >= self.kept_start.get();
        if is_there {
            debug_assert_eq!(number + 1, self.kept_end.get(), "joins end in the reverse order of their beginning");
            self.kept_end.set(number);
        } else {
            // All before it have been shared, too.
            self.kept_end.set(self.kept_start.get());
        }
        is_there
    }

    /// Shares the oldest task kept if somebody has nothing to do.
    #[inline(always)]
    pub(crate) fn share(&self) {
        if self.crew.sleep.is_anybody_inactive() && self.kept_start.get() < self.kept_end.get() {
            self.share_oldest();
        }
    }

    #[cold]
    fn share_oldest(&self) {
        // One at a time: who takes it looks for more when it is done.
        if self.own().is_empty() {
            let number = self.kept_start.get();
            self.kept_start.set(number + 1);
            if let Some(task) = self.kept[number % KEPT].take() {
                self.push(task);
            }
        }
    }

    /// Gives what is still queued here to whoever has time. For a member that goes away.
    pub(crate) fn leave_tasks(&self) {
        let mut left = 0;
        while let Some(task) = self.own().pop() {
            self.crew.inbox.push(task);
            left += 1;
        }
        if left > 0 {
            self.crew.post(left);
        }
    }

    /// A task to run: its own, by mail, from outside, or another member's.
    pub(super) fn find(&self) -> Option<Task> {
        let desk = &self.crew.slot(self.id).desk;
        let task = self.own().pop().or_else(|| desk.take_mail()).or_else(|| self.crew.inbox.take());
        task.or_else(|| self.steal())
    }

    fn steal(&self) -> Option<Task> {
        let victims = self.crew.all_slots().enumerate().filter(|(id, _)| *id != self.id as usize);
        victims.filter(|(_, slot)| !slot.desk.is_bare()).find_map(|(_, slot)| slot.desk.steal())
    }

    /// Runs a task, if there is one. Says whether.
    pub(crate) fn run_one(&self) -> bool {
        self.find().map(|task| self.run(task)).is_some()
    }

    pub(super) fn run(&self, task: Task) {
        self.work();
        task.run();
    }

    /// Notes that the member has something to do.
    pub(super) fn work(&self) {
        if self.is_counted.replace(false) {
            self.crew.sleep.find();
        }
    }

    /// Notes that it searches.
    pub(super) fn search(&self) {
        if !self.is_counted.replace(true) {
            self.crew.sleep.search();
        }
    }

    pub(super) fn is_counted(&self) -> &Cell<bool> {
        &self.is_counted
    }

    /// Runs tasks until `latch` is set; sleeps when there are none.
    pub(crate) fn work_until(&self, latch: &Latch) {
        let slot = self.crew.slot(self.id);
        let mut patience = self.crew.policy().patience();
        while !latch.is_set() {
            if let Some(task) = self.find() {
                self.run(task);
                patience = self.crew.policy().patience();
            } else if !patience.poll_again() {
                let found = self.crew.go_to_sleep(self.id, &self.is_counted, || latch.is_set(), || self.find());
                // Woken, unless a shrink has had the bee in the meantime: that waits until its tasks are done.
                slot.wake_up();
                if let Some(task) = found {
                    self.run(task);
                    patience = self.crew.policy().patience();
                }
            }
        }
        self.work();
    }
}

impl Drop for Hand<'_> {
    fn drop(&mut self) {
        self.work();
        if let Some(own) = self.own.take() {
            self.crew.slot(self.id).desk.get_up(own);
        }
    }
}
