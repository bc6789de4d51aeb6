//! Scopes: tasks that borrow from outside the scope, which waits until all of them have ended. `Hive::scope` and
//! `Hive::broadcast` (`handle.rs`) call [`scope`].
//!
//! A scope counts its tasks. The thread that runs the scope's body then runs tasks itself until none is left, or sleeps
//! until the task that ends last sets the scope's latch.

#![allow(unsafe_code)]

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::protocol::Team;
use crate::protocol::abort_on_unwind::AbortOnUnwind;
use crate::protocol::tasks::latch::Latch;
use crate::protocol::tasks::task::Task;
use crate::protocol::tasks::task_context::TaskContext;
use crate::region::closure_size::is_large;
use crate::region::nesting::{self, drop_and_rethrow};
use crate::tasks::caller_queue;
use crate::tasks::caller_queue::CallerQueue;
use crate::tasks::first_panic::FirstPanic;
use crate::tasks::heap_job::HeapJob;
use crate::tasks::send_ptr::SendPtr;

/// Spawns tasks that may borrow what lives longer than the scope: see
/// [`Hive::scope`](crate::pool::handle::Hive::scope).
///
/// ```
/// let mut x = vec![1.0; 1000];
/// hive::scope(|scope| {
///     let (left, right) = x.split_at_mut(300);
///     scope.spawn(|_| left.fill(2.0));
///     scope.spawn(|_| right.fill(3.0));
/// });
/// assert_eq!(x.iter().sum::<f64>(), 2700.0);
/// ```
#[doc(alias = "taskgroup")]
pub struct Scope<'scope> {
    /// Where the tasks are queued.
    destination: Destination,
    /// The bee that runs the body and then waits. Only with `Destination::Team`.
    owner: u32,
    /// The number of tasks that have not ended, plus `BODY_PENDING` until the scope's own body has ended. The tasks in
    /// `spawned` are not included before that. Any thread that spawns or ends a task changes it.
    pending: AtomicUsize,
    /// How many tasks the thread of the body has spawned before the body has ended. That thread counts them here,
    /// without an atomic operation, and adds them to `pending` when the body ends. No other thread touches this.
    spawned: Cell<usize>,
    /// Set by the task that ends last. With `Destination::Caller` it is not used.
    latch: Latch,
    /// The first panic of a task.
    panic: FirstPanic,
    /// Makes `'scope` invariant: a scope must not be taken for one with another lifetime, longer or shorter.
    borrows: PhantomData<fn(&'scope ()) -> &'scope ()>,
}

/// Where the tasks of a scope are queued. What the pointers refer to outlives the scope.
#[derive(Clone, Copy)]
enum Destination {
    /// In the queues of this hive. Any of its bees may run them.
    Team(*const Team),
    /// In the queue of the thread that called the scope. No other thread runs them.
    Caller(*const CallerQueue),
}

// SAFETY: everything that tasks use of a scope, on any thread, is atomic or locked, except `spawned`, which only the
// owner's thread uses. The pointers in `destination` are to types that threads share.
unsafe impl Sync for Scope<'_> {}

/// What the body counts for in `pending`: more than there can ever be tasks.
const BODY_PENDING: usize = 1 << (usize::BITS - 2);

/// Runs `body`, and then tasks until all that `body` and its tasks have spawned have ended. With a `context`, the
/// calling thread is that bee. Without one it runs all tasks by itself.
///
/// # Panics
/// If `body` or a task panics: with the panic of `body` if there is one, or else with the first of a task.
pub(crate) fn scope<'scope, R>(context: Option<&TaskContext<'_>>, body: impl FnOnce(&Scope<'scope>) -> R) -> R {
    match context {
        Some(context) => {
            run_scope(Destination::Team(context.team()), context.id(), body, |scope| context.wait_until(&scope.latch))
        }
        None => caller_queue::with(|queue| {
            // Acquire: pairs with the AcqRel in `Scope::end`; what the tasks did is visible when the scope returns.
            // With a team, the latch does the same.
            let has_ended = |scope: &Scope<'_>| scope.pending.load(Ordering::Acquire) == 0;
            run_scope(Destination::Caller(queue), 0, body, |scope| queue.run_until(|| has_ended(scope)))
        }),
    }
}

/// Runs `body` as the body of a scope whose tasks go to `destination`, and then `wait`, which must return only when all
/// tasks have ended. `owner` is the calling bee.
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
    // SAFETY: `BODY_PENDING` was counted for the body, which has ended. The tasks in `spawned` are subtracted from it,
    // which adds them to `pending`: from here on each is counted there until it ends.
    unsafe { Scope::end(&raw const scope, BODY_PENDING - scope.spawned.take()) };
    wait(&scope);
    abort_guard.disarm();
    match (result, scope.panic.into_inner()) {
        (Ok(result), None) => result,
        // The panic of the body goes first: the body is what the caller wrote first.
        (Err(panic), other) => drop_and_rethrow(panic, other),
        (result, Some(panic)) => drop_and_rethrow(panic, result),
    }
}

impl<'scope> Scope<'scope> {
    /// Spawns a task, which some bee of the hive runs before the scope ends. The task may spawn more tasks in the
    /// scope.
    ///
    /// If a task panics, the scope ends with that panic after all tasks have ended. If several do, with the first one.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// /// A quadtree: each cell that is not small enough is divided into four.
    /// fn refine<'s>(scope: &hive::Scope<'s>, cells: &'s AtomicUsize, size: f64) {
    ///     cells.fetch_add(1, Ordering::Relaxed);
    ///     if size > 0.25 {
    ///         (0..4).for_each(|_| scope.spawn(move |scope| refine(scope, cells, size / 2.0)));
    ///     }
    /// }
    /// let cells = AtomicUsize::new(0);
    /// hive::scope(|scope| refine(scope, &cells, 1.0));
    /// assert_eq!(cells.into_inner(), 1 + 4 + 16);
    /// ```
    pub fn spawn(&self, task: impl FnOnce(&Self) + Send + 'scope) {
        if is_large(&task) {
            self.queue_task(Box::new(task) as Box<dyn FnOnce(&Self) + Send + 'scope>)
        } else {
            self.queue_task(task)
        }
    }

    /// Counts a task, and then queues it where the scope's tasks go.
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

    /// Spawns a task that only bee `bee` runs. The bee must have been hired.
    pub(crate) fn spawn_on(&self, bee: u32, task: impl FnOnce(&Self) + Send + 'scope) {
        self.count_task(None);
        let task = self.prepare(task);
        match self.destination() {
            Ok(team) => team.inject_to(bee, task),
            Err(queue) => queue.push(task),
        }
    }

    /// Counts a task that the calling thread is about to spawn. `context` is the thread's own, if it is a bee of the
    /// scope's hive. While the body runs, its thread counts without an atomic operation.
    #[inline(always)]
    fn count_task(&self, context: Option<&TaskContext<'_>>) {
        // Relaxed: the load only has to tell the owner's thread whether the body has ended, and that thread itself has
        // subtracted `BODY_PENDING` at that point.
        if context.is_some_and(|hand| hand.id() == self.owner)
            && self.pending.load(Ordering::Relaxed) >= BODY_PENDING / 2
        {
            self.spawned.set(self.spawned.get() + 1);
        } else {
            // Relaxed: the task or body that spawns is itself counted in `pending`, so the count cannot become zero
            // before this addition. What the new task may read is handed over by the queue.
            self.pending.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The hive, or else the calling thread's queue, that the tasks go to.
    fn destination(&self) -> Result<&Team, &CallerQueue> {
        match self.destination {
            // SAFETY: the team outlives the scope, whose body one of its bees runs.
            Destination::Team(team) => Ok(unsafe { &*team }),
            // SAFETY: the queue lies further up the stack of the scope's thread, and outlives the scope.
            Destination::Caller(queue) => Err(unsafe { &*queue }),
        }
    }

    /// Makes a task that runs `task` in this scope and then counts it as ended. The caller has counted it.
    fn prepare(&self, task: impl FnOnce(&Self) + Send + 'scope) -> Task {
        let [scope, ended] = [SendPtr(std::ptr::from_ref(self)); 2];
        // SAFETY: the scope lives until this task has ended, because the task is counted and the scope waits for it.
        let work = move || unsafe { scope.get() }.run(task);
        // SAFETY: as above; the task is counted once, and ends once.
        let end = move || unsafe { Self::end(ended.raw(), 1) };
        // SAFETY: what the task borrows outlives `'scope`, and so the scope, which waits for the task. `run` catches
        // the task's panic.
        unsafe { HeapJob::task(work, end) }
    }

    /// Runs a task, and records its panic if it has one.
    fn run(&self, task: impl FnOnce(&Self)) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| task(self))) {
            self.panic.record(panic);
        }
    }

    /// Subtracts `count` from `pending`, for tasks or the body that have ended, and sets the latch if that was the last
    /// of them.
    ///
    /// This takes a pointer and not a reference: as soon as the count has been subtracted, the waiting thread may end
    /// the scope, while this function still runs.
    ///
    /// # Safety
    /// They are counted in `pending`, and each is ended once.
    unsafe fn end(scope: *const Self, count: usize) {
        // SAFETY: the scope waits for everything that is counted, so it lives until the subtraction below. Everything
        // needed after that is copied first.
        let scope = unsafe { &*scope };
        let (destination, owner, latch) = (scope.destination, scope.owner, &raw const scope.latch);
        // AcqRel: pairs with itself in all other tasks, and with the Acquire in `scope`. The task that ends last has
        // seen what all others did, and hands that on by setting the latch.
        let is_last = scope.pending.fetch_sub(count, Ordering::AcqRel) == count;
        // With `Destination::Caller`, the thread that waits is the calling one, and looks at the count itself.
        if let Destination::Team(team) = destination
            && is_last
        {
            // SAFETY: the team outlives its bees, and the calling thread is one of them.
            let team = unsafe { &*team };
            // SAFETY: this was the last that the scope waited for. The scope now waits for the latch, so it lives until
            // the latch is set, and it is not touched after that.
            unsafe { team.set_latch(latch, owner) };
        }
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("owner", &self.owner).finish_non_exhaustive()
    }
}
