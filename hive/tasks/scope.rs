//! Tasks that borrow from outside of the scope that waits for them.

#![allow(unsafe_code)]

use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::current;
use super::heap_job::HeapJob;
use super::pointer::Pointer;
use crate::crew::{Crew, Hand, Latch, Payload, Task, discard, drop_quietly};

/// Spawns tasks that may borrow what lives longer than the scope: see [`Hive::scope`](crate::Hive::scope).
pub struct Scope<'scope> {
    /// None: tasks are run where they are spawned, because nobody else may.
    crew: Option<*const Crew>,
    /// The member that waits.
    owner: u32,
    /// The tasks that have not ended, and the scope's own body.
    open: AtomicUsize,
    latch: Latch,
    panic: Mutex<Option<Payload>>,
    /// Invariant: the scope must not be taken for one with another lifetime.
    borrows: PhantomData<fn(&'scope ()) -> &'scope ()>,
}

// SAFETY: all that tasks use of it, on whichever thread, is made for that.
unsafe impl Sync for Scope<'_> {}

/// Runs `body`, then tasks, until all that `body` and they have spawned have ended.
pub(super) fn scope<'scope, R>(hand: Option<&Hand<'_>>, body: impl FnOnce(&Scope<'scope>) -> R) -> R {
    let scope = Scope {
        crew: hand.map(|hand| std::ptr::from_ref(hand.crew())),
        owner: hand.map_or(0, Hand::id),
        open: AtomicUsize::new(1),
        latch: Latch::new(),
        panic: Mutex::new(None),
        borrows: PhantomData,
    };
    let result = catch_unwind(AssertUnwindSafe(|| body(&scope)));
    scope.end_one();
    if let Some(hand) = hand {
        hand.work_until(&scope.latch);
    }
    let panic = scope.panic.into_inner().unwrap_or_else(PoisonError::into_inner);
    match (result, panic) {
        (Ok(result), None) => result,
        // The body's own goes before: it was what the caller wrote first.
        (Err(panic), other) => {
            discard(other);
            resume_unwind(panic)
        }
        (result, Some(panic)) => {
            discard(result);
            resume_unwind(panic)
        }
    }
}

impl<'scope> Scope<'scope> {
    /// Spawns a task, which some member of the hive runs at some time before the scope ends. It may spawn more.
    ///
    /// If it panics, the scope ends with that panic when all tasks have ended; of several the first counts.
    pub fn spawn(&self, task: impl FnOnce(&Self) + Send + 'scope) {
        let Some(crew) = self.crew() else { return self.run(task) };
        let task = self.prepare(task);
        current::with(crew, |hand| match hand {
            Some(hand) => hand.push(task),
            None => crew.inject(task),
        });
    }

    /// Spawns a task that only bee `bee`, which has been hired, runs.
    pub(super) fn spawn_on(&self, bee: u32, task: impl FnOnce(&Self) + Send + 'scope) {
        let Some(crew) = self.crew() else { return self.run(task) };
        crew.send(bee, self.prepare(task));
    }

    fn crew(&self) -> Option<&Crew> {
        // SAFETY: the crew outlives the scope.
        self.crew.map(|crew| unsafe { &*crew })
    }

    fn prepare(&self, task: impl FnOnce(&Self) + Send + 'scope) -> Task {
        // Relaxed: the one who spawns is counted itself, so the count is not zero.
        self.open.fetch_add(1, Ordering::Relaxed);
        let scope = Pointer(std::ptr::from_ref(self));
        let work = move || {
            // SAFETY: the scope waits for this task, which is counted until `end_one`.
            let scope = unsafe { scope.get() };
            scope.run(task);
            scope.end_one();
        };
        // SAFETY: what the task borrows outlives the scope, which waits for it.
        unsafe { HeapJob::task(work) }
    }

    fn run(&self, task: impl FnOnce(&Self)) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| task(self))) {
            self.keep(panic);
        }
    }

    fn keep(&self, panic: Payload) {
        let mut first = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
        let spare = if first.is_none() { first.replace(panic) } else { Some(panic) };
        drop(first);
        spare.into_iter().for_each(drop_quietly);
    }

    fn end_one(&self) {
        let (crew, owner, latch) = (self.crew, self.owner, &raw const self.latch);
        // AcqRel: who ends last has seen what all others did, and hands it on by the latch.
        let is_last = self.open.fetch_sub(1, Ordering::AcqRel) == 1;
        if let Some(crew) = crew.filter(|_| is_last) {
            // SAFETY: the crew outlives its members, of which the calling thread is one.
            let crew = unsafe { &*crew };
            // SAFETY: this is the last; the scope is not touched from here on.
            unsafe { crew.set_latch(latch, owner) };
        }
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Relaxed: for a reader's eyes.
        f.debug_struct("Scope").field("open", &self.open.load(Ordering::Relaxed)).finish_non_exhaustive()
    }
}
