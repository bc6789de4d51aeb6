//! One call of a nest: which it is, what is inside of it, and whether it returns or panics as it should.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use hive::Hive;

use super::book::{Chain, Entered, Frame, HiveId, Wait};
use super::case::{Kind, Level, Verb};
use super::fault::{At, First, Parts, Planned, defused, panic};
use super::oracle::{Circle, View};
use super::run::{Ending, Run, message};
use super::{handlers, loops, regions, sizes, tasks, threads};

/// Runs the calls of a case from one depth on. Returns how often the end of the nest is reached by those who are waited for.
pub(crate) fn go(run: &Arc<Run>, depth: usize) -> usize {
    if run.case.fault.and_then(|fault| fault.caught) != Some(depth) {
        return call_and_panic(run, depth);
    }
    catch_unwind(AssertUnwindSafe(|| call_and_panic(run, depth))).unwrap_or_else(|payload| match defused(payload) {
        Ok(_) => 0,
        Err(other) => resume_unwind(other),
    })
}

fn call_and_panic(run: &Arc<Run>, depth: usize) -> usize {
    run.fault_at(At::Before(depth));
    let Some(&Level { verb, on }) = run.case.levels.get(depth) else {
        run.keep_promises();
        run.reach();
        return 1;
    };
    let reached = call(verb, &Step { run, depth, on });
    run.fault_at(At::After(depth));
    reached
}

fn call(verb: Verb, step: &Step<'_>) -> usize {
    match verb {
        Verb::Alone => regions::alone(step),
        Verb::Queen => regions::one_of_all(step, |_, id| id == 0),
        Verb::Worker => regions::one_of_all(step, |count, id| id + 1 == count),
        Verb::Team => regions::team(step),
        Verb::ParFor => loops::par_for(step),
        Verb::ParReduce => loops::par_reduce(step),
        Verb::ForEach => loops::for_each(step),
        Verb::Single => loops::single(step),
        Verb::Install => tasks::install(step),
        Verb::Join => tasks::join(step, true),
        Verb::JoinSecond => tasks::join(step, false),
        Verb::Scope => tasks::scope(step, true),
        Verb::ScopeTask => tasks::scope(step, false),
        Verb::Spawn => tasks::spawn(step),
        Verb::SpawnOn => tasks::spawn_on(step),
        Verb::SpawnAhead => tasks::spawn_ahead(step),
        Verb::Detach => tasks::detach(step),
        Verb::Broadcast => tasks::broadcast(step),
        Verb::Grow => sizes::grow(step),
        Verb::Shrink => sizes::shrink(step),
        Verb::DropNew => sizes::drop_new(step),
        Verb::DropOwn => sizes::drop_own(step),
        Verb::Hot => regions::hot(step),
        Verb::PanicHandler => handlers::panic_handler(step),
        Verb::StartHandler => handlers::start_handler(step),
        Verb::ExitHandler => handlers::exit_handler(step),
        Verb::BeeEnd => threads::bee_end(step),
        Verb::Unwinding => threads::unwinding(step),
        Verb::Thread => threads::thread(step),
        Verb::ThreadEnd => threads::thread_end(step),
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
        &self.run.hives[self.on]
    }

    /// The hives that what is inside of this call is on, without those that it builds.
    pub(crate) fn later_hives(&self) -> impl Iterator<Item = HiveId> {
        let later = self.run.case.levels[self.depth + 1..].iter();
        later.filter(|level| level.verb.kind() == Kind::Given).map(|level| level.on)
    }

    /// What is inside of this call.
    pub(crate) fn rest(&self) -> usize {
        let reached = go(self.run, self.depth + 1);
        self.run.fault_at(At::Both(self.depth));
        reached
    }

    /// What part `number` does beside that.
    pub(crate) fn beside(&self, number: usize) {
        let panics = |at| at == At::Beside(self.depth) || at == At::Both(self.depth);
        if self.run.case.fault.is_some_and(|fault| panics(fault.at)) {
            panic(&self.run.case, number);
        }
    }

    pub(crate) fn enter(&self, frames: &[Frame]) -> Entered<'r> {
        self.run.book.enter(frames)
    }

    /// The calling thread waits from here on, unless it is heard of again.
    pub(crate) fn wait(&self, how: Wait) -> Entered<'r> {
        self.enter(&[Frame::Waits(how)])
    }

    pub(crate) fn view(&self) -> View {
        self.run.view()
    }

    pub(crate) fn own_chain(&self) -> Chain {
        self.run.book.chains().0
    }

    /// The call waits for itself, and is not made.
    pub(crate) fn not_called(&self, why: Circle) -> usize {
        self.run.end(Ending::NotCalled(why));
        0
    }

    pub(crate) fn check(&self, is_right: bool, otherwise: impl FnOnce() -> String) {
        self.run.check(is_right, || format!("{}: {}", self.run.case.call(self.depth), otherwise()));
    }

    /// Makes a call that returns if none of its `parts` panics, and goes on with the panic of the one that comes `first` if some do. None: it does neither.
    pub(crate) fn call<R>(&self, parts: &Parts, first: First, call: impl FnOnce() -> R) -> Option<R> {
        match catch_unwind(AssertUnwindSafe(call)) {
            Ok(result) => {
                let lost = parts.allowed(first);
                self.check(lost.is_empty(), || format!("returns, and part {lost:?} has panicked"));
                Some(result)
            }
            Err(payload) => match payload.downcast::<Planned>() {
                Ok(planned) => {
                    let allowed = parts.allowed(first);
                    let part = planned.part;
                    self.check(allowed.contains(&part), || format!("goes on with the panic of part {part}, not {allowed:?}"));
                    resume_unwind(planned)
                }
                Err(other) => {
                    self.check(false, || format!("panics: {}", message(&*other)));
                    None
                }
            },
        }
    }

    /// Makes a call that has no part of the nest's, and returns.
    pub(crate) fn call_alone<R>(&self, call: impl FnOnce() -> R) -> Option<R> {
        self.call(&Parts::default(), First::Any, call)
    }

    /// Makes a call that is to panic with this text.
    pub(crate) fn call_panics<R>(&self, text: &'static str, call: impl FnOnce() -> R) -> usize {
        match catch_unwind(AssertUnwindSafe(call)) {
            Err(panic) => self.check(message(&*panic).contains(text), || format!("panics: {}", message(&*panic))),
            Ok(_) => self.check(false, || format!("returns, and does not panic: {text}")),
        }
        self.run.end(Ending::Documented(text));
        0
    }
}
