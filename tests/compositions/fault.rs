//! Panics that a case asks for: at which point of the nest they happen, what they carry, and which of several reaches
//! the caller.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError};

use super::case::Case;
use super::run::Run;

/// Where a case panics. The number is the depth of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultPoint {
    /// Where this call would be made next; with the number after the innermost call, where the work is done.
    Before(usize),
    /// Where this call has returned.
    After(usize),
    /// In what this call runs beside the rest of the nest: other bees, halves, tasks.
    Concurrent(usize),
    /// There, and in the rest of the nest as well.
    Both(usize),
}

/// A panic of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) at: FaultPoint,
    /// The depth of the call around which the panic is caught, so that the case continues. None: the case ends with the
    /// panic.
    pub(crate) caught_at: Option<usize>,
    /// Whether payloads, and results that no caller gets, panic when they are dropped.
    pub(crate) panics_on_drop: bool,
}

/// The payload of a panic of a case.
pub(crate) struct PlannedPanic {
    /// The number of the part that panicked. Part 0 is the one that runs the rest of the nest, or the body; tasks, bees
    /// and halves have numbers of their own.
    pub(crate) part: usize,
    bomb: DropBomb,
}

/// Panics when it is dropped, unless it has been defused because it has reached its receiver.
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

/// Panics as the case asks for.
pub(crate) fn throw(case: &Case, part: usize) -> ! {
    resume_unwind(Box::new(PlannedPanic { part, bomb: DropBomb::of(case) }))
}

pub(crate) type Payload = Box<dyn Any + Send>;

/// Defuses and drops the payload of a panic that has reached its receiver. Err: the payload is not one that the case
/// has asked for.
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
    /// That of part 0; if it has not panicked, any.
    Body,
    /// Any of them.
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
                    // For example the panic of a bee that is released from its barrier.
                    Err(other) => resume_unwind(other),
                };
                resume_unwind(payload)
            }
        }
    }

    /// The parts whose panics may reach the caller; empty if none has panicked.
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
    /// Panics if the case is to panic at `at`.
    pub(crate) fn fault_at(&self, at: FaultPoint) {
        if self.case.fault.is_some_and(|fault| fault.at == at) {
            throw(&self.case, 0);
        }
    }
}
