//! A case as it runs: its hives, what its threads are inside of, and what has been seen.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hive::Hive;

use super::super::common::wait_until;
use super::case::Case;
use super::expectation::{View, WaitCycle};
use super::fault::{PlannedPanic, defuse_payload};
use super::frames::{Frame, FrameRegistry, HiveId, Wait};
use super::hive_pool::PooledHive;
use super::step::run_from;

/// How a case has ended.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ending {
    Result,
    /// With the panic that the case asked for, in its caller.
    Panic,
    /// The panic handler has heard of that panic.
    ReachedHandler,
    /// With a panic or an error of the documentation's, whose text begins so.
    Documented(&'static str),
    /// What it comes to waits for itself, and has not been called.
    NotCalled(WaitCycle),
}

/// As the child tells it to its parent.
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
    /// What `hive::current` calls them.
    pub(crate) numbers: [usize; 2],
    /// Shared with the case's mirror image.
    pub(crate) frames: Arc<FrameRegistry>,
    is_concurrent: AtomicBool,
    /// How often the end of the nest has been reached.
    reached: AtomicUsize,
    /// How often by tasks that nobody in the nest waits for.
    expected_later: AtomicUsize,
    /// Such tasks that have not ended.
    detached: AtomicUsize,
    /// Tasks that the innermost body waits for, and whose they are.
    pending_tasks: Mutex<Vec<(HiveId, Arc<AtomicBool>)>>,
    /// Panics that are for the panic handler.
    handler_panics: AtomicUsize,
    endings: Mutex<Vec<Ending>>,
    faults: Mutex<Vec<String>>,
}

impl Run {
    pub(crate) fn new(case: Case, hives: [PooledHive; 2]) -> Arc<Self> {
        Self::with_frames(case, hives, Arc::default())
    }

    /// A case, and perhaps another one that has the same book.
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

    /// Something is not as it should be.
    pub(crate) fn fail(&self, fault: String) {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).push(fault);
    }

    pub(crate) fn check(&self, is_right: bool, otherwise: impl FnOnce() -> String) {
        if !is_right {
            self.fail(otherwise());
        }
    }

    /// `hive::current` says that the thread is this bee of one of the two hives.
    pub(crate) fn check_current(&self, hive: HiveId, bee: usize) {
        let Some(&number) = self.numbers.get(hive) else { return };
        let current = hive::current();
        self.check(current == Some((number, bee)), || {
            let named = current.map(|(number, bee)| (self.numbers.iter().position(|&known| known == number), bee));
            format!("current() is {named:?}, and the thread runs something as bee {bee} of hive {hive}")
        });
    }

    pub(crate) fn record_ending(&self, ending: Ending) {
        self.endings.lock().unwrap_or_else(PoisonError::into_inner).push(ending);
    }

    /// Other threads of the case go their own ways from here on.
    pub(crate) fn mark_concurrent(&self) {
        // Relaxed: whoever comes after has it from this thread.
        self.is_concurrent.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_concurrent(&self) -> bool {
        self.is_concurrent.load(Ordering::Relaxed)
    }

    pub(crate) fn count_reached(&self) {
        self.reached.fetch_add(1, Ordering::Relaxed);
    }

    /// A task of `hive`, which is to set what this returns.
    pub(crate) fn add_pending_task(&self, hive: HiveId) -> Arc<AtomicBool> {
        let is_done = Arc::new(AtomicBool::new(false));
        self.pending_tasks.lock().unwrap_or_else(PoisonError::into_inner).push((hive, Arc::clone(&is_done)));
        is_done
    }

    /// Waits for the tasks that have been promised, if somebody can run them.
    pub(crate) fn wait_for_pending_tasks(&self) {
        let promises = self.pending_tasks.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (hive, is_done) in promises {
            let _waits = self.frames.enter(&[Frame::Waiting(Wait::Polling)]);
            if !self.view().can_run_tasks(hive, self.hive_sets[hive].bees()) {
                return self.record_ending(Ending::NotCalled(WaitCycle::Task));
            }
            while !is_done.load(Ordering::Acquire) {
                hive::yield_now();
            }
        }
    }

    /// What the calling thread sees.
    pub(crate) fn view(&self) -> View {
        let (own, others) = self.frames.chains();
        View { own, others, is_concurrent: self.is_concurrent(), is_mirrored: self.case.is_mirrored }
    }

    /// A task that nobody in the nest waits for.
    pub(crate) fn detach(self: &Arc<Self>) -> Detached {
        self.detached.fetch_add(1, Ordering::Relaxed);
        Detached(Arc::clone(self))
    }

    /// Runs what nobody waits for: a panic of the case's is for the panic handler.
    pub(crate) fn run_detached<R>(&self, work: impl FnOnce() -> R) -> R {
        catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
            if payload.is::<PlannedPanic>() {
                self.handler_panics.fetch_add(1, Ordering::Relaxed);
                self.record_ending(Ending::ReachedHandler);
            }
            resume_unwind(payload)
        })
    }

    /// Runs all calls. Returns how often the end of the nest is reached by those who are waited for.
    pub(crate) fn run_calls(self: &Arc<Self>) -> usize {
        catch_unwind(AssertUnwindSafe(|| run_from(self, 0))).unwrap_or_else(|payload| {
            match defuse_payload(payload) {
                Ok(_) => self.record_ending(Ending::Panic),
                Err(other) => self.fail(format!("panics: {}", message(&*other))),
            }
            0
        })
    }

    /// Waits for the tasks that nobody in the nest waits for. Returns how many panics are for the panic handler.
    pub(crate) fn finish(&self) -> usize {
        // Acquire: what they have written is seen.
        wait_until(|| self.detached.load(Ordering::Acquire) == 0);
        self.handler_panics.load(Ordering::Relaxed)
    }

    /// Says how all has ended.
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

/// Says that the task has ended when it is dropped.
pub(crate) struct Detached(Arc<Run>);

impl Detached {
    /// The task has reached the end of the nest so often.
    pub(crate) fn expect_reached(&self, expected: usize) {
        self.0.expected_later.fetch_add(expected, Ordering::Relaxed);
    }
}

impl Drop for Detached {
    fn drop(&mut self) {
        // Release: publishes what the task has written.
        self.0.detached.fetch_sub(1, Ordering::Release);
    }
}

pub(crate) fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&'static str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".to_owned())
}
