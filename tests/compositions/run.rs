//! A case while it runs: its hives, the frames of its threads, and what has been observed.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hive::Hive;

use super::super::common::wait_until;
use super::case::{Case, Groups};
use super::expectation::{View, WaitCycle};
use super::fault::{PlannedPanic, defuse_payload};
use super::frames::{Frame, FrameRegistry, HiveId, Wait};
use super::hive_pool::PooledHive;
use super::step::run_from;
use super::surroundings::Surroundings;

/// How a case has ended.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ending {
    Result,
    /// With the panic that the case asked for, in its caller.
    Panic,
    /// The panic handler was given that panic.
    ReachedHandler,
    /// With a documented panic or error, whose text begins like this.
    Documented(&'static str),
    /// A call would have waited for itself and was not made.
    NotCalled(WaitCycle),
}

/// As the child process reports it to its parent.
impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Result => f.write_str("the right result"),
            Self::Panic => f.write_str("the case's own panic, in its caller"),
            Self::ReachedHandler => f.write_str("the case's own panic, in the panic handler"),
            Self::Documented(text) => write!(f, "the documented panic: {text}"),
            Self::NotCalled(circle) => write!(f, "not called, because it waits for itself: {circle:?}"),
        }
    }
}

pub(crate) struct Run {
    pub(crate) case: Case,
    pub(crate) hive_sets: [Arc<Hive>; 2],
    /// The numbers of the hives in `hive::current`.
    pub(crate) numbers: [u64; 2],
    /// Shared with the case's mirror image.
    pub(crate) frames: Arc<FrameRegistry>,
    is_concurrent: AtomicBool,
    /// How often the end of the nest has been reached.
    reached: AtomicUsize,
    /// How often tasks that no thread of the nest waits for are to reach it.
    expected_later: AtomicUsize,
    /// How many such tasks have not ended.
    detached: AtomicUsize,
    /// The tasks that the innermost body waits for, with their hives.
    pending_tasks: Mutex<Vec<(HiveId, Arc<AtomicBool>)>>,
    /// How many panics are for the panic handler.
    handler_panics: AtomicUsize,
    endings: Mutex<Vec<Ending>>,
    faults: Mutex<Vec<String>>,
}

impl Run {
    pub(crate) fn new(case: Case, hives: [PooledHive; 2]) -> Arc<Self> {
        Self::with_frames(case, hives, Arc::default())
    }

    /// A case with this record of frames, which it may share with another case.
    pub(crate) fn with_frames(case: Case, hives: [PooledHive; 2], book: Arc<FrameRegistry>) -> Arc<Self> {
        Arc::new(Self {
            is_concurrent: AtomicBool::new(case.is_mirrored),
            case,
            numbers: hives.each_ref().map(|hive| hive.number),
            hive_sets: hives.map(|hive| hive.hive),
            frames: book,
            reached: AtomicUsize::new(0),
            expected_later: AtomicUsize::new(0),
            detached: AtomicUsize::new(0),
            pending_tasks: Mutex::new(Vec::new()),
            handler_panics: AtomicUsize::new(0),
            endings: Mutex::new(Vec::new()),
            faults: Mutex::new(Vec::new()),
        })
    }

    /// Records that something is not as it should be.
    pub(crate) fn fail(&self, fault: String) {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).push(fault);
    }

    pub(crate) fn check(&self, is_right: bool, otherwise: impl FnOnce() -> String) {
        if !is_right {
            self.fail(otherwise());
        }
    }

    /// Checks that `hive::current` names this bee, if the hive is one of the case's two.
    pub(crate) fn check_current(&self, hive: HiveId, bee: usize) {
        let Some(&number) = self.numbers.get(hive) else { return };
        let current = hive::current().map(|current| (current.hive, current.id));
        self.check(current == Some((number, bee)), || {
            let named = current.map(|(number, bee)| (self.numbers.iter().position(|&known| known == number), bee));
            format!("current() is {named:?}, and the thread runs something as bee {bee} of hive {hive}")
        });
    }

    pub(crate) fn record_ending(&self, ending: Ending) {
        self.endings.lock().unwrap_or_else(PoisonError::into_inner).push(ending);
    }

    /// Notes that other threads of the case run independently from here on.
    pub(crate) fn mark_concurrent(&self) {
        // Relaxed: a thread that must see this is started, or given its work, by this thread afterwards.
        self.is_concurrent.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_concurrent(&self) -> bool {
        self.is_concurrent.load(Ordering::Relaxed)
    }

    pub(crate) fn count_reached(&self) {
        self.reached.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds a task of `hive`, which must set the flag that this returns.
    pub(crate) fn add_pending_task(&self, hive: HiveId) -> Arc<AtomicBool> {
        let is_done = Arc::new(AtomicBool::new(false));
        self.pending_tasks.lock().unwrap_or_else(PoisonError::into_inner).push((hive, Arc::clone(&is_done)));
        is_done
    }

    /// Waits for the pending tasks, if there is a thread that can run them.
    pub(crate) fn wait_for_pending_tasks(&self) {
        let promises = self.pending_tasks.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (hive, is_done) in promises {
            let _waits = self.frames.enter(&[Frame::Waiting(Wait::Polling)]);
            if !self.view().can_run_tasks(hive, self.hive_sets[hive].bees()) {
                return self.record_ending(Ending::NotCalled(WaitCycle::Task));
            }
            // Acquire: pairs with the Release of the task, in `spawn_ahead`.
            while !is_done.load(Ordering::Acquire) {
                hive::yield_now();
            }
        }
    }

    /// What is known to the calling thread.
    pub(crate) fn view(&self) -> View {
        let (own, others) = self.frames.chains();
        let has_callers = self.case.surroundings == Surroundings::Callers;
        View {
            own,
            others,
            is_concurrent: self.is_concurrent(),
            is_mirrored: self.case.is_mirrored,
            is_relay: self.case.waiting.groups == Groups::Relay,
            has_callers,
        }
    }

    /// Counts a task that no thread of the nest waits for.
    pub(crate) fn detach(self: &Arc<Self>) -> Detached {
        self.detached.fetch_add(1, Ordering::Relaxed);
        Detached(Arc::clone(self))
    }

    /// Runs something that no thread waits for: if it panics as the case asks, the panic is for the panic handler.
    pub(crate) fn run_detached<R>(&self, work: impl FnOnce() -> R) -> R {
        catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
            if payload.is::<PlannedPanic>() {
                self.handler_panics.fetch_add(1, Ordering::Relaxed);
                self.record_ending(Ending::ReachedHandler);
            }
            resume_unwind(payload)
        })
    }

    /// Runs all calls. Returns how often those that are waited for reach the end of the nest.
    pub(crate) fn run_calls(self: &Arc<Self>) -> usize {
        catch_unwind(AssertUnwindSafe(|| run_from(self, 0))).unwrap_or_else(|payload| {
            match defuse_payload(payload) {
                Ok(_) => self.record_ending(Ending::Panic),
                Err(other) => self.fail(format!("panics: {}", message(&*other))),
            }
            0
        })
    }

    /// Waits for the tasks that no thread of the nest waits for. Returns how many panics are for the panic handler.
    pub(crate) fn finish(&self) -> usize {
        // Acquire: pairs with the Release in the drop of `Detached`, so that what the tasks have written is visible.
        wait_until(|| self.detached.load(Ordering::Acquire) == 0);
        self.handler_panics.load(Ordering::Relaxed)
    }

    /// How the case has ended. Err: something was not as it should be.
    pub(crate) fn result(&self, expected: usize) -> Result<Ending, String> {
        let reached = self.reached.load(Ordering::Relaxed);
        let expected = expected + self.expected_later.load(Ordering::Relaxed);
        let is_right = reached == expected || self.case.fault.is_some();
        self.check(is_right, || format!("the innermost body was reached {reached} times, not {expected}"));
        let faults = std::mem::take(&mut *self.faults.lock().unwrap_or_else(PoisonError::into_inner));
        if !faults.is_empty() {
            return Err(faults.join("; "));
        }
        Ok(self.endings.lock().unwrap_or_else(PoisonError::into_inner).iter().max().cloned().unwrap_or(Ending::Result))
    }
}

/// Marks the task as ended when it is dropped.
pub(crate) struct Detached(Arc<Run>);

impl Detached {
    /// Says how often the task is to reach the end of the nest.
    pub(crate) fn expect_reached(&self, expected: usize) {
        self.0.expected_later.fetch_add(expected, Ordering::Relaxed);
    }
}

impl Drop for Detached {
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `finish`; publishes what the task has written.
        self.0.detached.fetch_sub(1, Ordering::Release);
    }
}

pub(crate) fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&'static str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".to_owned())
}
