//! Panics that a case asks for: where in the nest, what they carry, and whose reaches the caller.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError};

use super::case::Case;
use super::run::Run;

/// Where a case panics, with the depth of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultPoint {
    /// Where this call would be made next; after the innermost one, where the work is done.
    Before(usize),
    /// Where it has returned.
    After(usize),
    /// In what it runs beside the rest of the nest: other bees, halves, tasks.
    Concurrent(usize),
    /// There, and in the rest of the nest as well.
    Both(usize),
}

/// A panic of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) at: FaultPoint,
    /// The call around which it is caught, to go on; None: the case ends with it.
    pub(crate) caught_at: Option<usize>,
    /// Whether payloads, and results that nobody gets, panic when they are dropped.
    pub(crate) panics_on_drop: bool,
}

/// What a case panics with.
pub(crate) struct PlannedPanic {
    /// The number of the part: 0 is what does the rest of the nest, or the body; tasks, bees and halves have theirs.
    pub(crate) part: usize,
    bomb: DropBomb,
}

/// What panics when it is dropped, unless it has reached whom it was for.
pub(crate) struct DropBomb(bool);

impl DropBomb {
    pub(crate) fn of(case: &Case) -> Self {
        Self(case.fault.is_some_and(|fault| fault.panics_on_drop))
    }

    pub(crate) fn defuse(&mut self) {
        self.0 = false;
    }
}

impl Drop for DropBomb {
    fn drop(&mut self) {
        if self.0 {
            resume_unwind(Box::new("as expected: a destructor"));
        }
    }
}

/// Panics as a case has asked for.
pub(crate) fn throw(case: &Case, part: usize) -> ! {
    resume_unwind(Box::new(PlannedPanic { part, bomb: DropBomb::of(case) }))
}

pub(crate) type Payload = Box<dyn Any + Send>;

/// Drops the payload of a panic that has reached whom it was for. Returns it if it is none that the case has asked for.
pub(crate) fn defuse_payload(payload: Payload) -> Result<usize, Payload> {
    payload.downcast::<PlannedPanic>().map(|mut planned| {
        planned.bomb.defuse();
        planned.part
    })
}

/// The parts of one call that have panicked as they should.
#[derive(Default)]
pub(crate) struct PartsRun(Mutex<Vec<usize>>);

/// Which of several panics reaches the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum First {
    /// That of the part with the lowest number.
    Lowest,
    /// That of part 0; else any.
    Body,
    /// Any.
    Any,
}

impl PartsRun {
    /// Runs part `number` of a call.
    pub(crate) fn run<R>(&self, number: usize, part: impl FnOnce() -> R) -> R {
        match catch_unwind(AssertUnwindSafe(part)) {
            Ok(result) => result,
            Err(payload) => {
                let payload = match payload.downcast::<PlannedPanic>() {
                    Ok(mut planned) => {
                        planned.part = number;
                        self.lock().push(number);
                        planned
                    }
                    // A bee that is let go from its barrier, say.
                    Err(other) => resume_unwind(other),
                };
                resume_unwind(payload)
            }
        }
    }

    /// Those whose panic may reach the caller; none if none has panicked.
    pub(crate) fn allowed(&self, first: First) -> Vec<usize> {
        let mut parts = self.lock().clone();
        parts.sort_unstable();
        let is_one = first == First::Lowest || first == First::Body && parts.first() == Some(&0);
        parts.truncate(if is_one { 1 } else { parts.len() });
        parts
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Run {
    /// Panics if the case is to do so at `at`.
    pub(crate) fn fault_at(&self, at: FaultPoint) {
        if self.case.fault.is_some_and(|fault| fault.at == at) {
            throw(&self.case, 0);
        }
    }
}
