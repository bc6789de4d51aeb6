//! How a bee shares the second halves of its joins: they wait in its join buffer (`join_buffer.rs`), where only the bee
//! itself sees them, and are moved to its deque while there are bees with nothing to do.

use crate::protocol::tasks::task::Task;
use crate::protocol::tasks::task_context::TaskContext;

impl TaskContext<'_> {
    /// Makes room for one more task in the join buffer, and returns whether there is room. If the buffer is full, its
    /// oldest tasks are shared with bees that have nothing to do; if there are none, there is no room.
    #[inline(always)]
    pub(crate) fn try_make_room(&self) -> bool {
        !self.join_buffer.is_full() || self.share_joins()
    }

    /// Puts the second half of a join into the buffer, and returns its number, which `reclaim_join` needs. There is
    /// room.
    #[inline(always)]
    pub(crate) fn buffer_join(&self, task: Task) -> u64 {
        self.join_buffer.push(task)
    }

    /// Takes back the task that was buffered last, whose number is `number`, unless it has been shared. Returns whether
    /// it was still in the buffer.
    #[inline(always)]
    pub(crate) fn reclaim_join(&self, number: u64) -> bool {
        self.join_buffer.reclaim(number)
    }

    /// Shares as many buffered tasks as there are bees with nothing to do. Returns whether any task was shared.
    #[inline(always)]
    pub(crate) fn share_joins(&self) -> bool {
        self.team.sleep.is_any_inactive() && self.share_joins_with(self.team.sleep.inactive())
    }

    /// The same, but shares one task at least: a bee that has only just ended something is not counted yet among those
    /// with nothing to do.
    pub(crate) fn share_joins_now(&self) -> bool {
        self.share_joins_with(self.team.sleep.inactive().max(1))
    }

    /// Moves tasks from the join buffer to the deque until the deque has one for each of `idle_bees` bees, or the
    /// buffer is empty. It moves the oldest first, which are the largest in a recursion. Returns whether it has moved
    /// any.
    #[cold]
    fn share_joins_with(&self, idle_bees: u32) -> bool {
        // There is no bee to share with.
        if self.is_lone_queen() {
            return false;
        }
        let _in_flight = self.team.track_in_flight();
        // Tasks that are in the deque already count as shared.
        let wanted = (idle_bees as usize).saturating_sub(self.deque().len());
        let oldest = (0..wanted).map_while(|_| self.join_buffer.pop_oldest());
        let shared = oldest.map(|task| self.deque().push(task)).count();
        if shared > 0 {
            self.team.notify_of_jobs(shared as u32, self.id, Some(self.mark));
        }
        shared > 0
    }

    /// Moves all tasks from the join buffer to the deque, for a bee that has nothing else to run. Returns whether there
    /// were any.
    pub(crate) fn share_all_joins(&self) -> bool {
        let oldest = std::iter::from_fn(|| self.join_buffer.pop_oldest());
        oldest.map(|task| self.push(task)).count() > 0
    }
}
