//! Waits for which too little of the stack is left (`sys/stack_room.rs`).
//!
//! Elsewhere a bee that waits runs whatever task it finds, on top of what waits. If that task waits as well, another
//! one comes on top of it, and so on: as many as there are tasks. So from some depth on a bee runs only what it has to:
//!
//! - In a yield it runs nothing. The program has to see to it that what it waits for is run elsewhere.
//! - In a join, a scope, or a call into another task pool it runs what it waits for itself, as far as it can know that:
//!   the second half of the join, and what has got into the bee's deque since that was put there; what has been queued
//!   there since the scope began, because all that is on top of what was there before. These nest no deeper than the
//!   program itself does. A queen alone runs whatever is on top: she is the only one to run it.
//!
//! Otherwise it leaves the CPU to others. What it waits for is then in the middle of being run, by a bee that has
//! stolen it, or lies in the deque of one, below what that bee waits for. Bees cannot wait for each other in a circle
//! by this. What a bee has stolen, it has stolen before it began what it waits for; and what it waits for was begun
//! before another bee stole a part of it. Each step along a chain of such waits leads to something that was begun
//! later, so the chain ends, at a bee that is running something.
//!
//! Tasks that can be got at in another way make an exception: what a yield waits for; those that only the waiting bee
//! may run; those that come through the injector, as where two task pools call each other; and those of a scope that
//! lie no higher in the deque than there were others when it began, because thieves have taken some of these. So a bee
//! that has waited for 50 ms in vain runs tasks all the same. If one of them comes to such a wait as well, twice the
//! time passes there, and so on (`run_late`). So the stack is used up very slowly at worst, and a program that needs
//! this goes on slowly instead of not at all.

use std::time::{Duration, Instant};

use crate::protocol::tasks::latch::Latch;
use crate::protocol::tasks::task::Task;
use crate::protocol::tasks::task_context::TaskContext;
use crate::sync::{has_stack_room, nap, run_late, run_late_in_yield, yield_core};

/// How often a bee that could run a task, but has too little room, yields before it naps.
const YIELDS: u32 = 16;

/// How long it naps first, and then twice as long each time, but so often at most.
const FIRST_NAP: Duration = Duration::from_micros(50);
const NAP_DOUBLINGS: u32 = 4;

impl TaskContext<'_> {
    /// How many tasks lie in the bee's deque below those that are queued in a scope which begins now. (Thieves take the
    /// lowest ones, so fewer may later.)
    pub(crate) fn deque_floor(&self) -> usize {
        if self.is_breadth_first() { usize::MAX } else { self.deque().len() }
    }

    /// What `deque_floor` is for a join whose second half is in the deque, or has been stolen. If it has been stolen,
    /// then so has all that lay below it. So all that the bee finds before it has got into the deque later, while the
    /// first half ran.
    pub(super) fn floor_of_join(&self) -> usize {
        if self.is_breadth_first() { usize::MAX } else { 0 }
    }

    /// Whether the bee takes what has been in its deque for longest first.
    fn is_breadth_first(&self) -> bool {
        self.pool_rules.is_some_and(|rules| rules.is_breadth_first)
    }

    /// Runs the task that `find` finds, for a yield. If the stack has no room for that, the yield lets others have what
    /// the bee keeps to itself, and runs a task only if those before it have run none for some time.
    #[inline(always)]
    pub(super) fn run_in_yield(&self, find: impl FnOnce() -> Option<Task>) -> bool {
        let run = || find().map(|task| self.within_wait(|| self.run(task))).is_some();
        if has_stack_room() { run() } else { self.run_in_vain_yield(run) }
    }

    #[cold]
    #[inline(never)]
    fn run_in_vain_yield(&self, run: impl FnOnce() -> bool) -> bool {
        self.team.policy().abort_if_forked();
        self.held_credit.give_back();
        self.share_all_joins();
        run_late_in_yield(run)
    }

    /// As `run_until_found`, where too little of the stack is left.
    #[cold]
    #[inline(never)]
    pub(super) fn wait_out_of_room(&self, latch: &Latch, sought: Option<*const ()>, mut floor: usize) -> bool {
        // If others rely on this bee to search, they are told that it does not.
        self.end_search();
        let (mut vain_since, mut vain_rounds) = (None, 0);
        while !latch.is_set() {
            // A forked child has a copy of its parent's tasks.
            self.team.policy().abort_if_forked();
            let mut is_found = false;
            let mut run = |task| {
                is_found = !self.run_unless_sought(task, sought);
                true
            };
            let has_run = self.take_awaited(sought, floor).is_some_and(&mut run) || {
                self.held_credit.give_back();
                // From now on halves of joins further out lie on top of what is the bee's own.
                if self.share_all_joins() {
                    floor = usize::MAX;
                }
                let since = *vain_since.get_or_insert_with(Instant::now);
                run_late(since, || self.find_task().is_some_and(run))
            };
            if is_found {
                return true;
            }
            if has_run {
                vain_rounds = 0;
            } else {
                self.steal_pacing.while_waiting(|| self.leave_to_others(vain_rounds));
                vain_rounds += 1;
            }
        }
        false
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

    /// Takes the newest task of the bee's deque, if that is the one which is sought, or lies above `floor`, or the bee
    /// is a queen alone, for whom nobody else runs it.
    fn take_awaited(&self, sought: Option<*const ()>, floor: usize) -> Option<Task> {
        let is_above = self.deque().len() > floor || self.is_lone_queen();
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

    /// Leaves the CPU to others, for as long as befits a bee that has done so `rounds` times already.
    fn leave_to_others(&self, rounds: u32) {
        match rounds.checked_sub(YIELDS) {
            None => yield_core(),
            Some(naps) => self.team.policy().while_off_core(|| nap(FIRST_NAP * (1 << naps.min(NAP_DOUBLINGS)))),
        }
    }
}
