//! Operations that run the rest of a nest in a handler, and what all operations need that run it on some other thread.

use super::super::common::wait_until;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hive::{Builder, Hive};

use super::fault::{Payload, defuse_payload};
use super::frames::{Frame, HiveId, Wait};
use super::hive_pool;
use super::run::{Detached, Run};
use super::step::{Step, run_from};
use super::tasks::enter_task;

/// Who gets the panic of a remote rest.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PanicReceiver {
    Waiter,
    PanicHandler,
}

/// The rest of a nest, to be run once by some other thread.
pub(crate) struct RemoteRest {
    rest: Mutex<Option<Rest>>,
    receiver: PanicReceiver,
    state: Mutex<Progress>,
}

/// How far a remote rest has come.
enum Progress {
    Open,
    /// The thread that was to wait for it does not.
    Abandoned(Detached),
    Done(Result<usize, Payload>),
}

struct Rest {
    run: Arc<Run>,
    depth: usize,
    frames: Vec<Frame>,
}

impl RemoteRest {
    /// What is inside of a call, for a thread that is then inside of `frames`.
    pub(crate) fn new(step: &Step<'_>, frames: &[Frame], heard: PanicReceiver) -> Arc<Self> {
        Self::of(step.run, step.depth + 1, frames, heard)
    }

    /// The calls of a case from `depth` on.
    pub(crate) fn of(run: &Arc<Run>, depth: usize, frames: &[Frame], heard: PanicReceiver) -> Arc<Self> {
        let rest = Rest { run: Arc::clone(run), depth, frames: frames.to_vec() };
        Arc::new(Self { rest: Mutex::new(Some(rest)), receiver: heard, state: Mutex::new(Progress::Open) })
    }

    /// Runs it, unless a thread has done so already.
    pub(crate) fn run_once(&self) {
        let taken = self.rest.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Rest { run, depth, frames }) = taken else { return };
        if depth == 0 {
            // A start handler may run before the hive has grown to the size for which its bee was hired.
            wait_until(|| run.hive_sets[0].bees() >= run.case.sizes[0]);
        }
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let _in = run.frames.enter(&frames);
            run_from(&run, depth)
        }));
        match (ended, self.receiver) {
            (Err(payload), PanicReceiver::PanicHandler) => {
                // Recorded before other threads can see that it is done.
                let unheard = catch_unwind(AssertUnwindSafe(|| run.run_detached(|| resume_unwind(payload))));
                self.end(Ok(0));
                unheard.unwrap_or_else(|payload| resume_unwind(payload))
            }
            (ended, _) => self.end(ended),
        }
    }

    fn end(&self, ended: Result<usize, Payload>) {
        let mut state = self.lock();
        let Progress::Abandoned(detached) = &*state else { return *state = Progress::Done(ended) };
        match ended {
            Ok(reached) => detached.expect_reached(reached),
            // The panic goes no further, because no caller is there to get it.
            Err(payload) => defuse_payload(payload).map_or_else(|other| resume_unwind(other), |_| ()),
        }
        *state = Progress::Done(Ok(0));
    }

    pub(crate) fn is_done(&self) -> bool {
        matches!(*self.lock(), Progress::Done(_))
    }

    /// How often it has reached the end of the nest. If its panic is for the waiter, it continues here.
    pub(crate) fn result(&self) -> usize {
        let state = mem::replace(&mut *self.lock(), Progress::Open);
        let Progress::Done(result) = state else { panic!("it has been run") };
        result.unwrap_or_else(|payload| resume_unwind(payload))
    }

    /// The same, after the hive whose bee runs it has been dropped. Such a drop does not wait if the hive's bees may be
    /// waiting for its caller. Then they finish by themselves, and no thread of the nest waits for the result.
    pub(crate) fn result_after_drop(&self, step: &Step<'_>) -> usize {
        if step.run.is_concurrent() {
            let mut state = self.lock();
            if matches!(*state, Progress::Open) {
                *state = Progress::Abandoned(step.run.detach());
                return 0;
            }
        }
        self.result()
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one bee's handler is to do, once that is known.
#[derive(Clone)]
pub(crate) struct HandlerSlot {
    bee: usize,
    errand: Arc<Mutex<Option<Arc<RemoteRest>>>>,
}

impl HandlerSlot {
    pub(crate) fn new(bee: usize) -> Self {
        Self { bee, errand: Arc::default() }
    }

    pub(crate) fn set(&self, errand: &Arc<RemoteRest>) {
        *self.errand.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(errand));
    }

    /// The handler.
    pub(crate) fn handler(&self) -> impl Fn(usize) + Send + Sync + 'static {
        let slot = self.clone();
        move |bee| {
            let errand =
                if bee == slot.bee { slot.errand.lock().unwrap_or_else(PoisonError::into_inner).take() } else { None };
            errand.into_iter().for_each(|errand| errand.run_once());
        }
    }
}

/// A hive that is built on the way, as large as hive A. No other thread knows of it.
pub(crate) struct NewHive {
    hive: Hive,
    pub(crate) id: HiveId,
    /// The number of its last bee. If the hive is of the queen alone, the number of the worker that will be hired.
    pub(crate) last: usize,
}

impl NewHive {
    pub(crate) fn last_of(step: &Step<'_>) -> usize {
        step.run.case.sizes[0].max(2) - 1
    }

    pub(crate) fn build(step: &Step<'_>, ask: impl FnOnce(Builder) -> Builder) -> Option<Self> {
        let builder = hive_pool::builder(step.run.case.waiting).bees(step.run.case.sizes[0]);
        let built = step.call_alone(|| ask(builder).build())?;
        step.check(built.is_ok(), || format!("no hive: {built:?}"));
        Some(Self { hive: built.ok()?, id: step.run.frames.new_hive(), last: Self::last_of(step) })
    }

    /// Builds a hive that the caller drops while its bees run the rest. None: the drop would not wait, because the bees
    /// may come to wait for the caller.
    pub(crate) fn build_to_drop(step: &Step<'_>, ask: impl FnOnce(Builder) -> Builder) -> Option<Self> {
        if step.view().may_close_a_cycle(step.later_hives()) {
            step.run.mark_concurrent();
        }
        Self::build(step, ask)
    }

    /// Makes the last bee run a task.
    pub(crate) fn spawn_on_last(&self, task: impl FnOnce() + Send + 'static) {
        if self.hive.bees() == 1 { self.hive.spawn(task) } else { self.hive.spawn_on(self.last, task) }
    }

    /// Runs a region of all bees, and makes sure that the last bee has been hired.
    ///
    /// `may_be_busy`: a bee may still be in its start handler, so that a region inside of something may have one bee.
    pub(crate) fn run_region(&self, may_be_busy: bool) {
        let n = self.hive.bees();
        let ids = self.hive.spmd_map(n, |bee| bee.id());
        assert!(
            ids.iter().copied().eq(0..n) || (may_be_busy && ids == [0]),
            "a region of a new hive, which is free: {ids:?}"
        );
        self.spawn_on_last(|| ());
    }
}

/// A task panics, and the panic handler, which gets the rest as the payload, runs it.
pub(crate) fn panic_handler(step: &Step<'_>) -> usize {
    if !step.view().can_run_tasks(step.on, step.hive().bees()) {
        return step.not_called(super::expectation::WaitCycle::Task);
    }
    let errand = RemoteRest::new(step, &[], PanicReceiver::Waiter);
    let (run, on, in_handler) = (Arc::clone(step.run), step.on, Arc::clone(&errand));
    let on_panic = hive_pool::OnPanic::new(move || {
        let _in = enter_task(&run, on);
        in_handler.run_once();
    });
    let _waits = step.wait(Wait::Polling);
    step.call_alone(|| step.hive().spawn(|| resume_unwind(Box::new(on_panic))));
    while !errand.is_done() {
        hive::yield_now();
    }
    errand.result()
}

/// Runs the rest in the start handler of a new hive, while the caller waits for that bee in a region or until it is
/// told of the end.
pub(crate) fn start_handler(step: &Step<'_>) -> usize {
    let id = step.run.frames.new_hive();
    let slot = HandlerSlot::new(NewHive::last_of(step));
    let errand = RemoteRest::new(step, &[Frame::Bee(id, NewHive::last_of(step))], PanicReceiver::PanicHandler);
    slot.set(&errand);
    let _waits = step.wait(Wait::Blocked);
    if let Some(new) = NewHive::build_to_drop(step, |builder| builder.start_handler(slot.handler())) {
        step.call_alone(|| new.run_region(true));
        step.call_alone(|| drop(new));
    }
    errand.result_after_drop(step)
}

pub(crate) fn exit_handler(step: &Step<'_>) -> usize {
    let slot = HandlerSlot::new(NewHive::last_of(step));
    let Some(new) = NewHive::build_to_drop(step, |builder| builder.exit_handler(slot.handler())) else { return 0 };
    let errand = RemoteRest::new(step, &[Frame::Bee(new.id, new.last)], PanicReceiver::PanicHandler);
    slot.set(&errand);
    let _waits = step.wait(Wait::Blocked);
    step.call_alone(|| new.run_region(false));
    step.call_alone(|| drop(new));
    errand.result_after_drop(step)
}
