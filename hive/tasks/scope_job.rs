//! The jobs of scopes: of a hive's (`scope.rs`) and of a task pool's (`adapters/task_pool/scope.rs`). A job hands its
//! panic to its scope, and is counted there until it has ended.

#![allow(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::protocol::abort_on_unwind::AbortOnUnwind;
use crate::protocol::region::panics::{Payload, drop_ignoring_panics};
use crate::protocol::tasks::held_credit::{CountedScope, HeldCredit};
use crate::protocol::tasks::scope_count::ScopeCount;
use crate::protocol::tasks::task::{Run, Task};
use crate::region::nesting::drop_and_rethrow;
use crate::sync::Mutex;
use crate::sys::fork::with_abort_in_child;
use crate::tasks::job_memory::take_out;
use crate::tasks::owned_job::task_of;

/// A scope that has jobs.
pub(crate) trait ScopeWithJobs: CountedScope + Sync {
    /// Where the first panic of a job goes.
    fn panic(&self) -> &FirstPanic;
}

/// A job of a scope of type `S`.
struct ScopeJob<S, F> {
    scope: *const S,
    job: F,
}

/// Makes a task that runs `job` in `scope`.
///
/// # Safety
/// What `job` borrows, and the scope, live until the job is counted as ended. The job is counted before the task is
/// queued.
#[inline(always)]
pub(crate) unsafe fn task_of_scope<S: ScopeWithJobs>(scope: &S, job: impl FnOnce(&S) + Send) -> Task {
    // SAFETY: as the caller promises.
    unsafe { task_of(ScopeJob { scope, job }) }
}

/// Has the calling thread work for `scope` from here on: it is about to run the body or a job. `held`: the credit that
/// the thread has in hand, if it is a bee of the scope's team.
///
/// # Safety
/// The caller calls `end` after that.
#[inline(always)]
unsafe fn begin<S: CountedScope>(scope: &S, held: Option<&HeldCredit>) {
    if let Some(held) = held {
        // SAFETY: as the caller promises.
        unsafe { held.turn_to(scope) };
    }
}

/// Counts the body of a scope as ended, or a job. `held`: as in `begin`; a thread that is no bee has no credit in hand.
///
/// # Safety
/// It is counted, has ended, and is counted as ended once. The scope may be gone when this returns, unless the caller
/// keeps it.
#[inline(always)]
unsafe fn end<S: CountedScope>(scope: *const S, held: Option<&HeldCredit>) {
    if let Some(held) = held {
        // SAFETY: as the caller promises.
        return unsafe { held.end(scope) };
    }
    // SAFETY: what is counted keeps the scope.
    let count: *const ScopeCount = unsafe { &*scope }.count();
    // SAFETY: as the caller promises.
    if unsafe { ScopeCount::subtract(count, 1) } {
        // SAFETY: this was the last.
        unsafe { S::set_ended(scope) };
    }
}

/// Runs `body`, which `scope` counts already, counts it as ended, and calls `wait`, which returns when nothing is
/// counted in `scope` any more. `held`: the credit that the calling thread has in hand, if it is a bee of the scope's
/// team.
///
/// # Panics
/// If `body` or a job panics: with the panic of `body` if there is one, or else with the first of a job.
#[inline(always)]
pub(crate) fn run_scope<S: ScopeWithJobs, R>(
    scope: &S,
    held: Option<&HeldCredit>,
    body: impl FnOnce(&S) -> R,
    wait: impl FnOnce(&S),
) -> R {
    let abort_guard = AbortOnUnwind::new("in a scope");
    // SAFETY: the body is run next, and ended below.
    unsafe { begin(scope, held) };
    let result = catch_unwind(AssertUnwindSafe(|| body(scope)));
    // SAFETY: the body is counted, and has ended.
    unsafe { end(scope, held) };
    wait(scope);
    abort_guard.disarm();
    match (result, scope.panic().take()) {
        (Ok(result), None) => result,
        // The panic of the body goes first: the body is what the caller wrote first.
        (Err(panic), other) => drop_and_rethrow(panic, other),
        (result, Some(panic)) => drop_and_rethrow(panic, result),
    }
}

impl<S: ScopeWithJobs, F: FnOnce(&S) + Send> Run for ScopeJob<S, F> {
    // What the bee has in hand may be of this very scope.
    const SEES_TO_CREDIT: bool = true;

    #[inline(always)]
    unsafe fn run(this: *const Self, held: Option<&HeldCredit>) {
        // SAFETY: it is there until it is taken out below.
        let scope = unsafe { (*this).scope };
        // SAFETY: the scope waits for the job.
        let lent = unsafe { &*scope };
        // SAFETY: the job is run next, and ended below.
        unsafe { begin(lent, held) };
        // SAFETY: `task_of` has put it there, and a task is run once.
        let Self { job, .. } = unsafe { take_out(this) };
        let run = || with_abort_in_child(|| job(lent));
        if let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
            lent.panic().record(panic);
        }
        // SAFETY: the job is counted, has ended, and nothing of it is left.
        unsafe { end(scope, held) };
    }
}

/// The payload of the first panic, if a task has panicked, of all tasks of one scope. It continues when all of them
/// have ended.
#[derive(Default)]
pub(crate) struct FirstPanic(Mutex<Option<Payload>>);

impl FirstPanic {
    /// Keeps the panic if it is the first, and drops it otherwise.
    pub(crate) fn record(&self, panic: Payload) {
        let mut first = self.0.lock();
        if first.is_none() {
            *first = Some(panic);
        } else {
            // The drop of a payload is the program's code, so the lock is released before it.
            drop(first);
            drop_ignoring_panics(panic);
        }
    }

    /// Takes out the panic that was kept, if there is one.
    pub(crate) fn take(&self) -> Option<Payload> {
        self.0.lock().take()
    }
}
