//! What the bees of a task pool do otherwise than those of a hive (`pool_rules.rs`): joins that are visible to all bees
//! as they begin, and yields that say what they have done.

use crate::protocol::tasks::latch::Latch;
use crate::protocol::tasks::pool_rules::PoolRules;
use crate::protocol::tasks::task::Task;
use crate::protocol::tasks::task_context::TaskContext;
use crate::sync::has_stack_room;

impl<'c> TaskContext<'c> {
    /// Whether the bee belongs to a task pool.
    #[inline(always)]
    pub(crate) fn is_in_pool(&self) -> bool {
        self.pool_rules.is_some()
    }

    /// The rules of the task pool that the bee belongs to.
    #[inline]
    pub(crate) fn pool_rules(&self) -> PoolRules {
        self.pool_rules.unwrap_or_else(|| unreachable!("only bees of pools are asked"))
    }

    /// Whether the bee is the only thread of a task pool.
    #[inline(always)]
    pub(crate) fn is_alone_in_pool(&self) -> bool {
        self.pool_rules.is_some_and(|rules| rules.visible_levels == 0)
    }

    /// Whether a join that begins now is to be visible to all bees at once.
    #[inline(always)]
    pub(crate) fn is_next_join_visible(&self) -> bool {
        self.visible_levels_left.get() > 0
    }

    /// Puts the second half of a join, which is to be visible, into the deque.
    #[inline]
    pub(crate) fn push_visible_join(&self, task: Task) {
        self.visible_levels_left.set(self.visible_levels_left.get() - 1);
        self.push(task);
    }

    /// Queues a task that the code of the thread has spawned. What is spawned in the first half of a join is run before
    /// the second half, as in Rayon: so halves that the bee has kept to itself go into the deque first, below the task.
    pub(crate) fn push_spawned(&self, task: Task) {
        self.share_all_joins();
        self.push(task);
    }

    /// Takes the task of `job`, the second half of a visible join, back out of the deque, if it is the next one there.
    /// If another task is, which the first half has left behind, runs that; but not if `latch`, that of the job, says
    /// that the second half has ended, because then there is nothing to wait for. Returns whether the bee has the task
    /// of `job` again, and nobody else runs it.
    pub(crate) fn reclaim_visible_join<T>(&self, job: *const T, latch: &Latch) -> bool {
        self.visible_levels_left.set(self.visible_levels_left.get() + 1);
        if latch.is_set() {
            return false;
        }
        match self.deque().pop() {
            Some(next) if next.is_of(job) => true,
            Some(next) if has_stack_room() => {
                self.within_wait(|| self.run(next));
                false
            }
            // The caller waits for the second half then, in a way that needs less of the stack.
            Some(next) => {
                self.push(next);
                false
            }
            None => false,
        }
    }

    /// Runs `wait`, which runs other tasks, with the levels of joins counted anew: each of these tasks begins a
    /// recursion of its own.
    ///
    /// If the bee keeps halves of joins of the recursions further out, a later share may put these on top of the halves
    /// of joins that such a task has in the deque. Then the bee runs them first (`reclaim_visible_join`).
    pub(crate) fn within_wait<R>(&self, wait: impl FnOnce() -> R) -> R {
        let levels = self.pool_rules.map_or(0, |rules| rules.visible_levels);
        let outer = self.visible_levels_left.replace(levels);
        let result = wait();
        self.visible_levels_left.set(outer);
        self.held_credit.give_back();
        result
    }

    /// Whether the bee has tasks that wait to be run: in its own deque, or second halves of its joins.
    pub(crate) fn has_pending_tasks(&self) -> bool {
        !self.deque().is_empty() || !self.joins.is_empty()
    }

    /// Runs one task of the bee's own: from its deque, from its mailbox, or else the second half of a join that it is
    /// in the middle of. Returns whether there was one.
    pub(crate) fn run_one_own(&self) -> bool {
        let own = || self.deque().pop().or_else(|| self.take_from_mailbox());
        self.run_in_yield(|| own().or_else(|| if self.share_all_joins() { own() } else { None }))
    }

    /// Runs the tasks that are left in the whole team, until there are none.
    pub(crate) fn run_all(&self) {
        while let Some(task) = self.find_task_exhaustively() {
            self.run(task);
        }
    }
}
