//! Operations with tasks: `install`, `join`, `scope`, `spawn`, `spawn_on` and `broadcast`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::super::common::sys;
use super::expectation::{Broadcast, TaskRunner, WaitCycle};
use super::fault::{DropBomb, First, PartsRun};
use super::frames::{Entered, Frame, HiveId, Wait};
use super::run::{Run, message};
use super::step::{Step, run_from};
use super::surroundings;

pub(crate) const NO_BROADCAST: &str = "broadcast is called on a bee or inside a region";
pub(crate) const NO_SUCH_BEE: &str = "has no such bee";

impl<'r> Step<'r> {
    /// Where the thread runs the body of an `install` and the like, and a guard for the frames of the position that it
    /// takes. Err: the call would wait for itself.
    fn task_runner(&self) -> Result<(TaskRunner, Entered<'r>), usize> {
        match self.view().task_runner(self.on, self.hive().bees()) {
            TaskRunner::Never(why) => Err(self.not_called(why)),
            TaskRunner::NewQueen => Ok((TaskRunner::NewQueen, self.enter(&[Frame::QueenPosition(self.on)]))),
            bee => Ok((bee, self.enter(&[]))),
        }
    }

    /// Called at the beginning of the body of an `install`, a `join` or a `scope`. `runner` is where it was expected to
    /// run, and `caller` is the thread that made the call; now it is known where it really runs.
    fn begin_body(&self, runner: TaskRunner, caller: i32) -> (TaskRunner, Entered<'r>) {
        let here = sys::tid();
        let runner = match runner {
            TaskRunner::NewQueenOrAnyBee if here != caller => TaskRunner::AnyBee,
            // It was not known until here that the caller has taken the queen's position, so the frame is added only
            // now. Other threads may have taken the position to be free.
            TaskRunner::NewQueenOrAnyBee => return (TaskRunner::Queen, self.enter(&[Frame::QueenPosition(self.on)])),
            bee => bee,
        };
        if runner == TaskRunner::AnyBee {
            self.check(here != caller, || "the body runs on the caller, whose place is taken".to_owned());
            return (runner, self.enter_task());
        }
        self.check(here == caller, || format!("the body of {runner:?} runs on another thread"));
        match runner {
            TaskRunner::NewQueenOrNobody if self.is_current(0) => {
                (TaskRunner::NewQueen, self.enter(&[Frame::QueenPosition(self.on)]))
            }
            TaskRunner::NewQueenOrNobody => (TaskRunner::Nobody, self.enter(&[])),
            TaskRunner::NewQueen => {
                self.run.check_current(self.on, 0);
                (runner, self.enter(&[]))
            }
            _ => (runner, self.enter(&[])),
        }
    }

    /// Records a task of the hive on the thread that runs it.
    pub(crate) fn enter_task(&self) -> Entered<'r> {
        enter_task(self.run, self.on)
    }

    /// The number of the bee of the hive that the calling thread is.
    pub(crate) fn bee_that_runs_this(&self) -> usize {
        bee_that_runs_this(self.run, self.on)
    }

    /// Whether the innermost thing that the thread is inside of is this bee of the hive.
    fn is_current(&self, bee: usize) -> bool {
        hive::current().is_some_and(|current| (current.hive, current.id) == (self.run.numbers[self.on], bee))
    }
}

/// The number of the bee of `hive` that the record has for the calling thread.
fn known_bee(run: &Run, hive: HiveId) -> Option<usize> {
    run.frames.chains().0.iter().find_map(|frame| match *frame {
        Frame::Bee(of, bee) if of == hive => Some(bee),
        _ => None,
    })
}

fn bee_that_runs_this(run: &Run, hive: HiveId) -> usize {
    known_bee(run, hive).unwrap_or_else(|| match hive::current() {
        Some(current) if current.id > 0 => current.id,
        other => {
            run.fail(format!("what only a bee of hive {hive} could run is run by {other:?}"));
            1
        }
    })
}

/// Records a task of `hive` on the thread that runs it.
pub(crate) fn enter_task(run: &Run, hive: HiveId) -> Entered<'_> {
    if run.frames.chains().0.is_empty() {
        if let Some(frames) = surroundings::frames_of_caller(hive) {
            run.check_current(hive, 0);
            return run.frames.enter(&frames);
        }
        let bee = bee_that_runs_this(run, hive);
        return run.frames.enter(&[Frame::Bee(hive, bee), Frame::Task(hive)]);
    }
    run.check_current(hive, known_bee(run, hive).unwrap_or(0));
    run.frames.enter(&[Frame::Task(hive)])
}

pub(crate) fn install(step: &Step<'_>) -> usize {
    let (runner, _place) = match step.task_runner() {
        Ok(bee) => bee,
        Err(reached) => return reached,
    };
    let (caller, parts) = (sys::tid(), PartsRun::default());
    let _waits = step.wait(Wait::Blocked);
    let work = || {
        let _in = step.begin_body(runner, caller);
        (step.run_rest(), "installed", DropBomb::of(&step.run.case))
    };
    let installed = step.call(&parts, First::Any, || step.hive().install(|| parts.run(0, work)));
    let Some((reached, result, mut explosive)) = installed else { return 0 };
    explosive.defuse();
    step.check(result == "installed", || format!("the result is {result:?}"));
    reached
}

/// A join. Both halves are counted; one of them runs the rest.
pub(crate) fn join(step: &Step<'_>, rest_in_first: bool) -> usize {
    let (runner, _place) = match step.task_runner() {
        Ok(bee) => bee,
        Err(reached) => return reached,
    };
    let (caller, parts) = (sys::tid(), PartsRun::default());
    let _waits = step.wait(wait_of(step, runner));
    let half = |number: usize| {
        // It is not specified which thread runs the second half.
        let is_at_home = number == 0 || sys::tid() == caller;
        let _in = if is_at_home { step.begin_half(runner, caller) } else { step.enter_task() };
        if (number == 0) == rest_in_first {
            return (step.run_rest(), number, DropBomb::of(&step.run.case));
        }
        step.run_concurrent_part(number);
        (0, number, DropBomb::of(&step.run.case))
    };
    let halves = || step.hive().join(|| parts.run(0, || half(0)), || parts.run(1, || half(1)));
    let Some((mut first, mut second)) = step.call(&parts, First::Lowest, halves) else { return 0 };
    first.2.defuse();
    second.2.defuse();
    step.check((first.1, second.1) == (0, 1), || format!("the results are those of {} and {}", first.1, second.1));
    first.0 + second.0
}

impl<'r> Step<'r> {
    /// Called at the beginning of a half of a join that runs on the calling thread of that join.
    fn begin_half(&self, runner: TaskRunner, caller: i32) -> Entered<'r> {
        match self.begin_body(runner, caller) {
            (TaskRunner::Nobody | TaskRunner::AnyBee, in_body) => in_body,
            (TaskRunner::InRegionOrNewQueen, in_body) => in_body.and(&[Frame::TaskPerhaps(self.on)]),
            (_, in_body) => in_body.and(&[Frame::Task(self.on)]),
        }
    }
}

/// How a thread waits for a join or a scope.
fn wait_of(step: &Step<'_>, runner: TaskRunner) -> Wait {
    match runner {
        TaskRunner::AnyBee | TaskRunner::Nobody | TaskRunner::InRegionOrNewQueen => Wait::Blocked,
        _ => Wait::RunningTasks(step.on),
    }
}

/// A scope. The body and two tasks are counted; the body or the first task runs the rest.
pub(crate) fn scope(step: &Step<'_>, rest_in_body: bool) -> usize {
    let (runner, _place) = match step.task_runner() {
        Ok(bee) => bee,
        Err(reached) => return reached,
    };
    let (counted, reached) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (caller, parts) = (sys::tid(), PartsRun::default());
    let _waits = step.wait(wait_of(step, runner));
    let task = |number: usize, runner: TaskRunner| {
        counted.fetch_add(1, Ordering::Relaxed);
        if number == 1 && !rest_in_body {
            let _in = match runner {
                // If the caller is no bee, it runs the tasks itself after the body.
                TaskRunner::Nobody => step.enter(&[]),
                TaskRunner::InRegionOrNewQueen if sys::tid() == caller => step.enter(&[Frame::TaskPerhaps(step.on)]),
                _ => step.enter_task(),
            };
            reached.fetch_add(step.run_rest(), Ordering::Relaxed);
        } else {
            step.run_concurrent_part(number);
        }
    };
    let scoped = || {
        step.hive().scope(|scope| {
            parts.run(0, || {
                let (runner, _in) = step.begin_body(runner, caller);
                for number in 1..3 {
                    let (task, parts) = (&task, &parts);
                    scope.spawn(move |_| parts.run(number, || task(number, runner)));
                }
                if rest_in_body {
                    reached.fetch_add(step.run_rest(), Ordering::Relaxed);
                }
                ("scoped", DropBomb::of(&step.run.case))
            })
        })
    };
    let result = step.call(&parts, First::Body, scoped);
    if let Some((result, mut explosive)) = result {
        explosive.defuse();
        step.check(result == "scoped", || format!("the result is {result:?}"));
    }
    let counted = counted.into_inner();
    step.check(counted == 2, || format!("{counted} of 2 tasks have run when the scope has ended"));
    reached.into_inner()
}

/// What a task tells its spawner, which polls.
#[derive(Default)]
struct DoneFlag {
    is_done: AtomicBool,
    reached: AtomicUsize,
}

/// Sets the flag when it is dropped.
struct SetsDoneOnDrop(Arc<DoneFlag>);

impl Drop for SetsDoneOnDrop {
    fn drop(&mut self) {
        // Release: pairs with the Acquire of the spawner's poll in `wait_for`; publishes what the task has done.
        self.0.is_done.store(true, Ordering::Release);
    }
}

/// Queues the rest as a task by `queue`, and polls until it is done.
fn wait_for(step: &Step<'_>, queue: impl FnOnce(Box<dyn FnOnce() + Send>)) -> usize {
    let done = Arc::new(DoneFlag::default());
    let (says, run, depth, on) = (SetsDoneOnDrop(Arc::clone(&done)), Arc::clone(step.run), step.depth, step.on);
    let _waits = step.wait(Wait::Polling);
    let task = Box::new(move || {
        let _in = enter_task(&run, on);
        says.0.reached.store(run.run_detached(|| run_from(&run, depth + 1)), Ordering::Relaxed);
    });
    if step.call_alone(|| queue(task)).is_some() {
        // Acquire: pairs with the Release in the drop of `SetsDoneOnDrop`.
        while !done.is_done.load(Ordering::Acquire) {
            hive::yield_now();
        }
    }
    done.reached.load(Ordering::Relaxed)
}

pub(crate) fn spawn(step: &Step<'_>) -> usize {
    if !step.view().can_run_tasks(step.on, step.hive().bees()) {
        return step.not_called(WaitCycle::Task);
    }
    wait_for(step, |task| step.hive().spawn(task))
}

pub(crate) fn spawn_on(step: &Step<'_>) -> usize {
    let n = step.hive().bees();
    if n == 1 {
        return no_such_bee(step);
    }
    if !step.view().takes_mailbox(step.on, n - 1) {
        return step.not_called(WaitCycle::Task);
    }
    let hive = Arc::clone(step.hive());
    let on = step.on;
    let run = Arc::clone(step.run);
    wait_for(step, |task| {
        hive.spawn_on(n - 1, move || {
            let bee = bee_that_runs_this(&run, on);
            run.check(bee == n - 1, || format!("what was queued for bee {} is run by bee {bee}", n - 1));
            task();
        });
    })
}

/// In a hive of the queen alone there is no such bee, unless one has been hired before.
fn no_such_bee(step: &Step<'_>) -> usize {
    let most = step.hive().max_bees();
    step.call_panics(NO_SUCH_BEE, || step.hive().spawn_on(most, || ()))
}

/// Runs the rest beside a task that the innermost body waits for.
pub(crate) fn spawn_ahead(step: &Step<'_>) -> usize {
    let kept = step.run.add_pending_task(step.on);
    // Release: pairs with the Acquire in `wait_for_pending_tasks`.
    step.call_alone(|| step.hive().spawn(move || kept.store(true, Ordering::Release)));
    step.run_rest()
}

/// A task that runs at some time, beside the other threads of the case.
pub(crate) fn detach(step: &Step<'_>) -> usize {
    step.run.mark_concurrent();
    let (detached, run, depth, on) = (step.run.detach(), Arc::clone(step.run), step.depth, step.on);
    step.call_alone(|| {
        step.hive().spawn(move || {
            let _in = enter_task(&run, on);
            detached.expect_reached(run.run_detached(|| run_from(&run, depth + 1)));
        });
    });
    0
}

/// A broadcast. Every bee is counted; the last one runs the rest.
pub(crate) fn broadcast(step: &Step<'_>) -> usize {
    let n = step.hive().bees();
    match step.view().broadcast(step.on, n) {
        Broadcast::Never(why) => return step.not_called(why),
        Broadcast::Panics => return step.call_panics(NO_BROADCAST, || step.hive().broadcast(|bee| bee)),
        Broadcast::Either => return broadcast_if_allowed(step),
        Broadcast::Runs => {}
    }
    let (reached, parts) = (AtomicUsize::new(0), PartsRun::default());
    let _waits = step.wait(Wait::RunningTasks(step.on));
    let part = |bee: usize| {
        let _in = step.enter_task();
        step.check(step.is_current(bee), || format!("bee {bee}'s part is run by {:?}", hive::current()));
        if bee + 1 == n {
            reached.fetch_add(step.run_rest(), Ordering::Relaxed);
        } else {
            step.run_concurrent_part(bee);
        }
        (bee, DropBomb::of(&step.run.case))
    };
    let broadcast = || step.hive().broadcast(|bee| parts.run(bee, || part(bee)));
    if let Some(mut results) = step.call(&parts, First::Any, broadcast) {
        results.iter_mut().for_each(|(_, explosive)| explosive.defuse());
        let bees: Vec<_> = results.iter().map(|&(bee, _)| bee).collect();
        step.check(bees.iter().copied().eq(1..n), || format!("the results are those of {bees:?}"));
    }
    reached.into_inner()
}

/// A broadcast of which it is not known whether it panics.
fn broadcast_if_allowed(step: &Step<'_>) -> usize {
    match catch_unwind(AssertUnwindSafe(|| step.hive().broadcast(|bee| bee))) {
        Ok(bees) => {
            step.check(bees.iter().copied().eq(1..bees.len() + 1), || format!("the results are those of {bees:?}"))
        }
        Err(panic) => step.check(message(&*panic).contains(NO_BROADCAST), || format!("panics: {}", message(&*panic))),
    }
    0
}
