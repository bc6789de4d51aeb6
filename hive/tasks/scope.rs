//! Tasks that borrow from outside of the scope that waits for them.

#![allow(unsafe_code)]

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::protocol::Team;
use crate::protocol::abort_on_unwind::AbortOnUnwind;
use crate::protocol::region::panics::drop_and_rethrow;
use crate::protocol::tasks::latch::Latch;
use crate::protocol::tasks::task::Task;
use crate::protocol::tasks::task_context::TaskContext;
use crate::region::nesting;
use crate::tasks::caller_queue;
use crate::tasks::caller_queue::CallerQueue;
use crate::tasks::first_panic::FirstPanic;
use crate::tasks::heap_job::{HeapJob, is_large};
use crate::tasks::send_ptr::SendPtr;

/// Spawns tasks that may borrow what lives longer than the scope: see [`Hive::scope`](crate::pool::handle::Hive::scope).
pub struct Scope<'scope> {
    destination: Destination,
    /// The bee that waits.
    owner: u32,
    /// The tasks that have not ended; and `BODY_PENDING`, until the scope's own body has.
    pending: AtomicUsize,
    /// Those that the body's thread has spawned so far, which are not in `open` before the body has ended. Only that thread touches it.
    spawned: Cell<usize>,
    latch: Latch,
    panic: FirstPanic,
    /// Invariant: the scope must not be taken for one with another lifetime.
    borrows: PhantomData<fn(&'scope ()) -> &'scope ()>,
}

/// Where a scope's tasks go. Either outlives the scope.
#[derive(Clone, Copy)]
enum Destination {
    /// To the bees of this hive.
    Team(*const Team),
    /// To the calling thread alone.
    Caller(*const CallerQueue),
}

// SAFETY: all that tasks use of it, on whichever thread, is made for that, but for `spawned`, which is the owner's.
unsafe impl Sync for Scope<'_> {}

/// More than there can be tasks.
const BODY_PENDING: usize = 1 << (usize::BITS - 2);

/// Runs `body`, then tasks, until all that `body` and they have spawned have ended.
pub(crate) fn scope<'scope, R>(context: Option<&TaskContext<'_>>, body: impl FnOnce(&Scope<'scope>) -> R) -> R {
    match context {
        Some(context) => {
            run_scope(Destination::Team(context.team()), context.id(), body, |scope| context.wait_until(&scope.latch))
        }
        None => caller_queue::with(|queue| {
            // Acquire: pairs with the AcqRel in `end`, as the latch does elsewhere.
            let has_ended = |scope: &Scope<'_>| scope.pending.load(Ordering::Acquire) == 0;
            run_scope(Destination::Caller(queue), 0, body, |scope| queue.run_until(|| has_ended(scope)))
        }),
    }
}

/// Runs `body` as that of a scope of bee `owner`, whose tasks go to `place`, and what `wait` runs until all have ended.
#[inline(always)]
fn run_scope<'scope, R>(
    destination: Destination,
    owner: u32,
    body: impl FnOnce(&Scope<'scope>) -> R,
    wait: impl FnOnce(&Scope<'scope>),
) -> R {
    let scope = Scope {
        destination,
        owner,
        pending: AtomicUsize::new(BODY_PENDING),
        spawned: Cell::new(0),
        latch: Latch::new(),
        panic: FirstPanic::default(),
        borrows: PhantomData,
    };
    let abort_guard = AbortOnUnwind::new("in a scope");
    let result = catch_unwind(AssertUnwindSafe(|| body(&scope)));
    // SAFETY: the body has ended, and what it has spawned is counted from here on.
    unsafe { Scope::end(&raw const scope, BODY_PENDING - scope.spawned.take()) };
    wait(&scope);
    abort_guard.disarm();
    match (result, scope.panic.into_inner()) {
        (Ok(result), None) => result,
        // The body's own goes before: it was what the caller wrote first.
        (Err(panic), other) => drop_and_rethrow(panic, other),
        (result, Some(panic)) => drop_and_rethrow(panic, result),
    }
}

impl<'scope> Scope<'scope> {
    /// Spawns a task, which some bee of the hive runs at some time before the scope ends. It may spawn more.
    ///
    /// If it panics, the scope ends with that panic when all tasks have ended; of several the first counts.
    pub fn spawn(&self, task: impl FnOnce(&Self) + Send + 'scope) {
        if is_large(&task) {
            self.queue_task(Box::new(task) as Box<dyn FnOnce(&Self) + Send + 'scope>)
        } else {
            self.queue_task(task)
        }
    }

    fn queue_task(&self, task: impl FnOnce(&Self) + Send + 'scope) {
        let team = match self.destination() {
            Ok(team) => team,
            Err(queue) => {
                self.count_task(None);
                return queue.push(self.prepare(task));
            }
        };
        nesting::with_task_context(team, |context| {
            self.count_task(context);
            let task = self.prepare(task);
            match context {
                Some(context) => context.push(task),
                None => team.inject(task),
            }
        });
    }

    /// Spawns a task that only bee `bee`, which has been hired, runs.
    pub(crate) fn spawn_on(&self, bee: u32, task: impl FnOnce(&Self) + Send + 'scope) {
        self.count_task(None);
        let task = self.prepare(task);
        match self.destination() {
            Ok(team) => team.inject_to(bee, task),
            Err(queue) => queue.push(task),
        }
    }

    /// Counts a task that is about to be spawned by the bee whose hand it is. The body's thread does so without an atomic operation.
    #[inline(always)]
    fn count_task(&self, context: Option<&TaskContext<'_>>) {
        // Relaxed: only the body's thread reads that it has ended, and that thread has made it so.
        if context.is_some_and(|hand| hand.id() == self.owner)
            && self.pending.load(Ordering::Relaxed) >= BODY_PENDING / 2
        {
            self.spawned.set(self.spawned.get() + 1);
        } else {
            // Relaxed: the one who spawns is counted itself, so the count is not zero.
            self.pending.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn destination(&self) -> Result<&Team, &CallerQueue> {
        match self.destination {
            // SAFETY: the team outlives the scope.
            Destination::Team(team) => Ok(unsafe { &*team }),
            // SAFETY: as does the spot.
            Destination::Caller(queue) => Err(unsafe { &*queue }),
        }
    }

    fn prepare(&self, task: impl FnOnce(&Self) + Send + 'scope) -> Task {
        let [scope, ended] = [SendPtr(std::ptr::from_ref(self)); 2];
        // SAFETY: the scope waits for this task, which is counted until it has ended.
        let work = move || unsafe { scope.get() }.run(task);
        // SAFETY: as above.
        let end = move || unsafe { Self::end(ended.raw(), 1) };
        // SAFETY: what the task borrows outlives the scope, which waits for it.
        unsafe { HeapJob::task(work, end) }
    }

    fn run(&self, task: impl FnOnce(&Self)) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| task(self))) {
            self.panic.record(panic);
        }
    }

    /// So many of what is counted in a scope have ended.
    ///
    /// Takes its address: as soon as they are counted off, others may end the scope, while this still runs.
    ///
    /// # Safety
    /// They are counted, each once.
    unsafe fn end(scope: *const Self, count: usize) {
        // SAFETY: the scope waits for what is counted.
        let scope = unsafe { &*scope };
        let (destination, owner, latch) = (scope.destination, scope.owner, &raw const scope.latch);
        // AcqRel: who ends last has seen what all others did, and hands it on by the latch.
        let is_last = scope.pending.fetch_sub(count, Ordering::AcqRel) == count;
        // On the spot the thread that waits is the calling one, and looks at the count.
        if let Destination::Team(team) = destination
            && is_last
        {
            // SAFETY: the team outlives its bees, of which the calling thread is one.
            let team = unsafe { &*team };
            // SAFETY: this is the last, so the scope waits for the latch; it is not touched from here on.
            unsafe { team.set_latch(latch, owner) };
        }
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("owner", &self.owner).finish_non_exhaustive()
    }
}
