//! One call of a nest: dispatches to the operation, runs what is inside of the call, and checks whether the call
//! returns or panics as it should.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use hive::Hive;

use super::case::{Level, Operation, OperationKind};
use super::expectation::{View, WaitCycle};
use super::fault::{FaultPoint, First, PartsRun, PlannedPanic, defuse_payload, throw};
use super::frames::{Entered, Frame, FrameStack, HiveId, Wait};
use super::run::{Ending, Run, message};
use super::{async_calls, handlers, loops, regions, sizes, tasks, threads};

/// Runs the calls of a case from `depth` on. Returns how often those that are waited for reach the end of the nest.
pub(crate) fn run_from(run: &Arc<Run>, depth: usize) -> usize {
    if run.case.fault.and_then(|fault| fault.caught_at) != Some(depth) {
        return call_and_panic(run, depth);
    }
    catch_unwind(AssertUnwindSafe(|| call_and_panic(run, depth))).unwrap_or_else(|payload| {
        match defuse_payload(payload) {
            Ok(_) => 0,
            Err(other) => resume_unwind(other),
        }
    })
}

fn call_and_panic(run: &Arc<Run>, depth: usize) -> usize {
    run.fault_at(FaultPoint::Before(depth));
    let Some(&Level { verb, on }) = run.case.levels.get(depth) else {
        run.wait_for_pending_tasks();
        run.count_reached();
        return 1;
    };
    let reached = call_operation(verb, &Step { run, depth, on });
    run.fault_at(FaultPoint::After(depth));
    reached
}

fn call_operation(operation: Operation, step: &Step<'_>) -> usize {
    match operation {
        Operation::Alone => regions::alone(step),
        Operation::Queen => regions::one_bee_continues(step, |_, id| id == 0),
        Operation::Worker => regions::one_bee_continues(step, |count, id| id + 1 == count),
        Operation::Team => regions::team(step),
        Operation::ParFor => loops::par_for(step),
        Operation::ParReduce => loops::par_reduce(step),
        Operation::ForEach => loops::for_each(step),
        Operation::Single => loops::single(step),
        Operation::Install => tasks::install(step),
        Operation::Join => tasks::join(step, true),
        Operation::JoinSecond => tasks::join(step, false),
        Operation::Scope => tasks::scope(step, true),
        Operation::ScopeTask => tasks::scope(step, false),
        Operation::Spawn => tasks::spawn(step),
        Operation::SpawnOn => tasks::spawn_on(step),
        Operation::SpawnAhead => tasks::spawn_ahead(step),
        Operation::Detach => tasks::detach(step),
        Operation::SpawnAsync => async_calls::spawn_async(step),
        Operation::RunAsync => async_calls::run_async(step),
        Operation::CancelAsync => async_calls::cancel_async(step),
        Operation::Broadcast => tasks::broadcast(step),
        Operation::Grow => sizes::grow(step),
        Operation::Shrink => sizes::shrink(step),
        Operation::DropNew => sizes::drop_new(step),
        Operation::DropOwn => sizes::drop_own(step),
        Operation::Hot => regions::keep_spinning(step),
        Operation::PanicHandler => handlers::panic_handler(step),
        Operation::StartHandler => handlers::start_handler(step),
        Operation::ExitHandler => handlers::exit_handler(step),
        Operation::BeeEnd => threads::bee_exit(step),
        Operation::Unwinding => threads::unwinding(step),
        Operation::Thread => threads::thread(step),
        Operation::ThreadEnd => threads::thread_exit(step),
    }
}

/// One call of a nest, on the thread that makes it.
pub(crate) struct Step<'r> {
    pub(crate) run: &'r Arc<Run>,
    pub(crate) depth: usize,
    /// The hive that is called.
    pub(crate) on: HiveId,
}

impl<'r> Step<'r> {
    pub(crate) fn hive(&self) -> &'r Arc<Hive> {
        &self.run.hive_sets[self.on]
    }

    /// The hives that the calls inside of this call are made on, without those that they build.
    pub(crate) fn later_hives(&self) -> impl Iterator<Item = HiveId> {
        let later = self.run.case.levels[self.depth + 1..].iter();
        later.filter(|level| level.verb.kind() == OperationKind::Given).map(|level| level.on)
    }

    /// Runs what is inside of this call.
    pub(crate) fn run_rest(&self) -> usize {
        let reached = run_from(self.run, self.depth + 1);
        self.run.fault_at(FaultPoint::Both(self.depth));
        reached
    }

    /// Runs part `number` of what this call does beside that.
    pub(crate) fn run_concurrent_part(&self, number: usize) {
        let panics = |at| at == FaultPoint::Concurrent(self.depth) || at == FaultPoint::Both(self.depth);
        if self.run.case.fault.is_some_and(|fault| panics(fault.at)) {
            throw(&self.run.case, number);
        }
    }

    pub(crate) fn enter(&self, frames: &[Frame]) -> Entered<'r> {
        self.run.frames.enter(frames)
    }

    /// Records that the calling thread waits from here on, until the guard is dropped or further frames are added.
    pub(crate) fn wait(&self, how: Wait) -> Entered<'r> {
        self.enter(&[Frame::Waiting(how)])
    }

    pub(crate) fn view(&self) -> View {
        self.run.view()
    }

    pub(crate) fn own_chain(&self) -> FrameStack {
        self.run.frames.chains().0
    }

    /// Records that the call would wait for itself and is not made.
    pub(crate) fn not_called(&self, why: WaitCycle) -> usize {
        self.run.record_ending(Ending::NotCalled(why));
        0
    }

    pub(crate) fn check(&self, is_right: bool, otherwise: impl FnOnce() -> String) {
        self.run.check(is_right, || format!("{}: {}", self.run.case.call(self.depth), otherwise()));
    }

    /// Makes a call. It must return if none of its `parts` panics; if some do, it must end with the panic that `first`
    /// selects. None: it did something else.
    pub(crate) fn call<R>(&self, parts: &PartsRun, first: First, call: impl FnOnce() -> R) -> Option<R> {
        match catch_unwind(AssertUnwindSafe(call)) {
            Ok(result) => {
                let lost = parts.allowed(first);
                self.check(lost.is_empty(), || format!("returns, and part {lost:?} has panicked"));
                Some(result)
            }
            Err(payload) => match payload.downcast::<PlannedPanic>() {
                Ok(planned) => {
                    let allowed = parts.allowed(first);
                    let part = planned.part;
                    self.check(allowed.contains(&part), || {
                        format!("goes on with the panic of part {part}, not {allowed:?}")
                    });
                    resume_unwind(planned)
                }
                Err(other) => {
                    self.check(false, || format!("panics: {}", message(&*other)));
                    None
                }
            },
        }
    }

    /// Makes a call that runs no part of the nest, and that must return.
    pub(crate) fn call_alone<R>(&self, call: impl FnOnce() -> R) -> Option<R> {
        self.call(&PartsRun::default(), First::Any, call)
    }

    /// Makes a call that must panic with this text.
    pub(crate) fn call_panics<R>(&self, text: &'static str, call: impl FnOnce() -> R) -> usize {
        match catch_unwind(AssertUnwindSafe(call)) {
            Err(panic) => self.check(message(&*panic).contains(text), || format!("panics: {}", message(&*panic))),
            Ok(_) => self.check(false, || format!("returns, and does not panic: {text}")),
        }
        self.run.record_ending(Ending::Documented(text));
        0
    }
}
