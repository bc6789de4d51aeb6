//! The tasks of a queen who is the only bee of her hive. She runs them herself, or leaves them to a worker when she
//! goes (`TaskContext::inject_remaining`). So she tells nobody of them, and wakes nobody.
//!
//! Another thread may make the hive grow meanwhile. Then the new bees are told of what she has kept: she may be about
//! to wait for that, somewhere else than in the hive. The queen puts a task into a queue, executes a *fence*, and looks
//! at the hive's size. The other thread changes the size, executes a *fence*, and looks into her queues. One of the two
//! fences comes first, and the thread whose fence comes second sees what the other has done before its own. See
//! `docs/sleep.md`.

use crate::protocol::Team;
use crate::protocol::tasks::task::Task;
use crate::protocol::tasks::task_context::TaskContext;
use crate::sync::{Ordering, fence, has_stack_room};

/// How many tasks a lone queen keeps in her deque. A deque is one piece of memory, and is copied as it grows and as it
/// shrinks again: with many tasks, that takes longer than to run them. The rest goes to her mailbox, a list of small
/// pieces: nobody else puts anything there, because no task is sent to a queen.
const MOST_IN_DEQUE: usize = 1024;

impl TaskContext<'_> {
    /// Whether this bee is the queen of a hive of one bee, whose workers, if there are any, are surplus or parked. Bee
    /// 0 of a task pool is none: it may wait in the middle of a task for what other threads of the pool run. Nor is she
    /// in a region that has begun while the hive was larger: at its end she runs no tasks.
    pub(super) fn is_lone_queen(&self) -> bool {
        self.id == 0 && self.team.bees() == 1 && !self.is_in_pool() && !self.has_lent_queen_guard.get()
    }

    /// Queues a task of a lone queen.
    // Out of line: `push` is also part of wake-ups on cores that have been idle, where each cache line of code counts.
    #[inline(never)]
    pub(super) fn keep_task(&self, task: Task) {
        let _in_flight = self.team.track_in_flight();
        // Where little of the stack is left, a wait at first runs only what lies at the top of the bee's own deque
        // (`deep_waits.rs`). So what it may wait for goes there, even if the deque becomes longer than usual.
        if self.deque().len() < MOST_IN_DEQUE || !has_stack_room() {
            self.deque().push(task);
            // This executes a fence, which pairs with the one in `share_lone_queens_tasks`.
            self.mark.announce_push();
            self.share_unless_alone();
        } else {
            self.keep_in_mailbox(task);
        }
    }

    /// Queues a task of a lone queen whose deque has as many as it is to have.
    pub(crate) fn keep_in_mailbox(&self, task: Task) {
        self.slot.queues.mailbox.push(task);
        // Pairs with the fence in `share_lone_queens_tasks`.
        fence(Ordering::SeqCst);
        self.share_unless_alone();
    }

    /// Moves some tasks from a lone queen's mailbox to her deque, and returns the oldest.
    pub(super) fn take_kept_task(&self) -> Option<Task> {
        let _in_flight = self.team.track_in_flight();
        let task = self.slot.queues.mailbox.take_batch(self.deque())?;
        // While the tasks were moved they were in neither queue. So the fence that this executes comes after that.
        self.mark.announce_push();
        self.share_unless_alone();
        Some(task)
    }

    /// Shares a lone queen's tasks if the hive has grown meanwhile. The caller has executed a fence since it has queued
    /// something.
    fn share_unless_alone(&self) {
        if !self.is_lone_queen() {
            self.team.share_lone_queens_tasks();
        }
    }
}

impl Team {
    /// Tells the bees of a hive that has grown of the tasks that the queen has kept for herself. Called by the thread
    /// that has changed the size, and by the queen if she finds it changed.
    #[cold]
    pub(crate) fn share_lone_queens_tasks(&self) {
        let _in_flight = self.track_in_flight();
        // Pairs with the fences in `keep_task`, `keep_in_mailbox` and `take_kept_task`: either the queen sees the new
        // size, or her tasks are seen here.
        fence(Ordering::SeqCst);
        self.inject_mailbox(self.slot(0));
        self.notify_of_queued(0);
        // As long as she was alone, the demand for her joins counted as answered although she offered none.
        self.sleep.ask();
    }
}
