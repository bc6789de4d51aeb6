//! Waits for which too little of the stack is left (`sys/stack_room.rs`).
//!
//! Elsewhere a bee that waits runs whatever task it finds, on top of what waits. If that task waits as well, another
//! one comes on top of it, and so on: as many as there are tasks. So from some depth on a bee runs only what it has to:
//!
//! - In a yield it runs nothing. The program has to see to it that what it waits for is run elsewhere.
//! - In a join, a scope, or a call into another task pool it runs what it waits for itself, as far as it can know that:
//!   the second half of the join, if that has come back to the top of the bee's deque; and what has been queued there
//!   since the scope began, because all that is on top of what was there before. These nest no deeper than the program
//!   itself does.
//!
//! Otherwise it leaves the CPU to others. What it waits for is then in the middle of being run, by a bee that has
//! stolen it, or lies in the deque of one, below what that bee waits for. Bees cannot wait for each other in a circle
//! by this. What a bee has stolen, it has stolen before it began what it waits for; and what it waits for was begun
//! before another bee stole a part of it. Each step along a chain of such waits leads to something that was begun
//! later, so the chain ends, at a bee that is running something.
//!
//! Tasks that can be got at in another way make an exception: those that only the waiting bee may run, and those that
//! come through the injector, as where two task pools call each other. So a bee that has waited for some time runs a
//! task all the same. It does so again after as long a time, so the stack is used up slowly at worst, and a program
//! that needs this goes on slowly instead of not at all.

use std::time::Duration;

use crate::protocol::tasks::latch::Latch;
use crate::protocol::tasks::task::Task;
use crate::protocol::tasks::task_context::TaskContext;
use crate::sync::{nap, yield_core};

/// How often a bee that could run a task, but has too little room, yields before it naps.
const YIELDS: u32 = 16;

/// How often it naps before it runs one all the same: for `FIRST_NAP`, and then for twice as long each time. In all
/// that is 50 ms.
const NAPS: u32 = 10;
const FIRST_NAP: Duration = Duration::from_micros(50);

impl TaskContext<'_> {
    /// Has the bee ask at once where the stack of its thread ends, and not only when it has used some of it: a sandbox
    /// may forbid that later. For a thread that belongs to the team.
    pub(crate) fn ask_for_end_of_stack(&self) {
        self.stack_room.ask();
    }

    /// How many tasks lie in the bee's deque below those that are queued in a scope which begins now.
    pub(crate) fn deque_floor(&self) -> usize {
        // A breadth-first bee takes what was there before first.
        if self.pool_rules.is_some_and(|rules| rules.is_breadth_first) { usize::MAX } else { self.deque().len() }
    }

    /// The same for a join. The second half got into the deque at some time while the first ran, and may lie below
    /// what that has left there. Only where nobody steals, it must still be there.
    pub(super) fn floor_of_join(&self) -> usize {
        if self.is_alone_in_pool() { 0 } else { usize::MAX }
    }

    /// Whether a yield may run a task. If not, this lets others have what the bee keeps to itself.
    pub(super) fn has_room_for_yield(&self) -> bool {
        self.stack_room.is_left() || self.share_before_vain_yield()
    }

    #[cold]
    fn share_before_vain_yield(&self) -> bool {
        self.team.policy().abort_if_forked();
        self.held_credit.give_back();
        self.share_all_joins();
        false
    }

    /// As `run_until_found`, where too little of the stack is left.
    #[cold]
    #[inline(never)]
    pub(super) fn wait_out_of_room(&self, latch: &Latch, sought: Option<*const ()>, mut floor: usize) -> bool {
        // All that she waits for is in her own queues, and she finds it there before anything else.
        if self.is_lone_queen() {
            return self.run_until_found(latch, sought);
        }
        // If others rely on this bee to search, they are told that it does not.
        self.end_search();
        let mut is_found = false;
        while !latch.is_set() && !is_found {
            let task = self.take_awaited(sought, floor).or_else(|| {
                self.held_credit.give_back();
                // From now on halves of joins further out lie on top of what is the bee's own.
                if self.share_all_joins() {
                    floor = usize::MAX;
                }
                self.steal_pacing.while_waiting(|| self.leave_to_others(latch))
            });
            is_found = task.is_some_and(|task| !self.run_unless_sought(task, sought));
        }
        is_found
    }

    /// Runs `task`, unless it is that of the job `sought`. Returns whether it has run it.
    #[inline(always)]
    pub(super) fn run_unless_sought(&self, task: Task, sought: Option<*const ()>) -> bool {
        if sought.is_some_and(|job| task.is_of(job)) {
            self.steal_pacing.forget_steal();
            return false;
        }
        self.run(task);
        true
    }

    /// Takes the newest task of the bee's deque, if that is the one which is sought, or lies above `floor`.
    fn take_awaited(&self, sought: Option<*const ()>, floor: usize) -> Option<Task> {
        let is_above = self.deque().len() > floor;
        if !is_above && sought.is_none() {
            return None;
        }
        let task = self.deque().pop()?;
        if is_above || sought.is_some_and(|job| task.is_of(job)) {
            return Some(task);
        }
        self.push(task);
        None
    }

    /// Waits for `latch` for some time, and then looks for a task.
    fn leave_to_others(&self, latch: &Latch) -> Option<Task> {
        for round in 0..YIELDS + NAPS {
            if latch.is_set() {
                return None;
            }
            match round.checked_sub(YIELDS) {
                None => yield_core(),
                Some(naps) => self.team.policy().while_off_core(|| nap(FIRST_NAP * (1 << naps))),
            }
        }
        if latch.is_set() { None } else { self.find_task() }
    }
}
