//! A case as it runs: its hives, what its threads are inside of, and what has been seen.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hive::Hive;

use super::super::common::until;
use super::book::{Book, Frame, HiveId, Wait};
use super::case::Case;
use super::fault::{Planned, defused};
use super::oracle::{Circle, View};
use super::pool::Pooled;
use super::step::go;

/// How a case has ended.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ending {
    Result,
    /// With the panic that the case asked for, in its caller.
    Panic,
    /// The panic handler has heard of that panic.
    Heard,
    /// With a panic or an error of the documentation's, whose text begins so.
    Documented(&'static str),
    /// What it comes to waits for itself, and has not been called.
    NotCalled(Circle),
}

/// As the child tells it to its parent.
impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Result => f.write_str("the right result"),
            Self::Panic => f.write_str("the case's own panic, in its caller"),
            Self::Heard => f.write_str("the case's own panic, in the panic handler"),
            Self::Documented(text) => write!(f, "the documented panic: {text}"),
            Self::NotCalled(circle) => write!(f, "not called, because it waits for itself: {circle:?}"),
        }
    }
}

pub(crate) struct Run {
    pub(crate) case: Case,
    pub(crate) hives: [Arc<Hive>; 2],
    /// What `hive::current` calls them.
    pub(crate) numbers: [usize; 2],
    /// Shared with the case's mirror image.
    pub(crate) book: Arc<Book>,
    is_crowded: AtomicBool,
    /// How often the end of the nest has been reached.
    reached: AtomicUsize,
    /// How often by tasks that nobody in the nest waits for.
    expected_later: AtomicUsize,
    /// Such tasks that have not ended.
    detached: AtomicUsize,
    /// Tasks that the innermost body waits for, and whose they are.
    promises: Mutex<Vec<(HiveId, Arc<AtomicBool>)>>,
    /// Panics that are for the panic handler.
    unheard: AtomicUsize,
    endings: Mutex<Vec<Ending>>,
    faults: Mutex<Vec<String>>,
}

impl Run {
    pub(crate) fn new(case: Case, hives: [Pooled; 2]) -> Arc<Self> {
        Self::beside(case, hives, Arc::default())
    }

    /// A case, and perhaps another one that has the same book.
    pub(crate) fn beside(case: Case, hives: [Pooled; 2], book: Arc<Book>) -> Arc<Self> {
        Arc::new(Self {
            is_crowded: AtomicBool::new(case.is_mirrored),
            case,
            numbers: hives.each_ref().map(|hive| hive.number),
            hives: hives.map(|hive| hive.hive),
            book,
            reached: AtomicUsize::new(0),
            expected_later: AtomicUsize::new(0),
            detached: AtomicUsize::new(0),
            promises: Mutex::new(Vec::new()),
            unheard: AtomicUsize::new(0),
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

    /// `hive::current` says that the thread is this member of one of the two hives.
    pub(crate) fn check_current(&self, hive: HiveId, member: usize) {
        let Some(&number) = self.numbers.get(hive) else { return };
        let current = hive::current();
        self.check(current == Some((number, member)), || {
            let named = current.map(|(number, member)| (self.numbers.iter().position(|&known| known == number), member));
            format!("current() is {named:?}, and the thread runs something as member {member} of hive {hive}")
        });
    }

    pub(crate) fn end(&self, ending: Ending) {
        self.endings.lock().unwrap_or_else(PoisonError::into_inner).push(ending);
    }

    /// Other threads of the case go their own ways from here on.
    pub(crate) fn crowd(&self) {
        // Relaxed: whoever comes after has it from this thread.
        self.is_crowded.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_crowded(&self) -> bool {
        self.is_crowded.load(Ordering::Relaxed)
    }

    pub(crate) fn reach(&self) {
        self.reached.fetch_add(1, Ordering::Relaxed);
    }

    /// A task of `hive`, which is to set what this returns.
    pub(crate) fn promise(&self, hive: HiveId) -> Arc<AtomicBool> {
        let kept = Arc::new(AtomicBool::new(false));
        self.promises.lock().unwrap_or_else(PoisonError::into_inner).push((hive, Arc::clone(&kept)));
        kept
    }

    /// Waits for the tasks that have been promised, if somebody can run them.
    pub(crate) fn keep_promises(&self) {
        let promises = self.promises.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (hive, kept) in promises {
            let _waits = self.book.enter(&[Frame::Waits(Wait::Polling)]);
            if !self.view().is_served(hive, self.hives[hive].bees()) {
                return self.end(Ending::NotCalled(Circle::Task));
            }
            while !kept.load(Ordering::Acquire) {
                hive::yield_now();
            }
        }
    }

    /// What the calling thread sees.
    pub(crate) fn view(&self) -> View {
        let (own, others) = self.book.chains();
        View { own, others, is_crowded: self.is_crowded(), is_mirrored: self.case.is_mirrored }
    }

    /// A task that nobody in the nest waits for.
    pub(crate) fn detach(self: &Arc<Self>) -> Detached {
        self.detached.fetch_add(1, Ordering::Relaxed);
        Detached(Arc::clone(self))
    }

    /// Runs what nobody waits for: a panic of the case's is for the panic handler.
    pub(crate) fn unwatched<R>(&self, work: impl FnOnce() -> R) -> R {
        catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
            if payload.is::<Planned>() {
                self.unheard.fetch_add(1, Ordering::Relaxed);
                self.end(Ending::Heard);
            }
            resume_unwind(payload)
        })
    }

    /// Runs all calls. Returns how often the end of the nest is reached by those who are waited for.
    pub(crate) fn go(self: &Arc<Self>) -> usize {
        catch_unwind(AssertUnwindSafe(|| go(self, 0))).unwrap_or_else(|payload| {
            match defused(payload) {
                Ok(_) => self.end(Ending::Panic),
                Err(other) => self.fail(format!("panics: {}", message(&*other))),
            }
            0
        })
    }

    /// Waits for the tasks that nobody in the nest waits for. Returns how many panics are for the panic handler.
    pub(crate) fn finish(&self) -> usize {
        // Acquire: what they have written is seen.
        until(|| self.detached.load(Ordering::Acquire) == 0);
        self.unheard.load(Ordering::Relaxed)
    }

    /// Says how all has ended.
    pub(crate) fn close(&self, expected: usize) -> Result<Ending, String> {
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
    pub(crate) fn has_reached(&self, expected: usize) {
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
