//! Scopes: tasks that borrow from outside the scope, which waits until all of them have ended. `Hive::scope` and
//! `Hive::broadcast` (`handle.rs`) call [`scope`].
//!
//! A scope counts its tasks (`protocol/tasks/scope_count.rs`, `protocol/tasks/held_credit.rs`). The thread that runs
//! the scope's body then runs tasks itself until none is left, or sleeps until the task that ends last sets the scope's
//! latch.

#![allow(unsafe_code)]

use std::fmt;
use std::marker::PhantomData;

use crossbeam_utils::CachePadded;

use crate::protocol::Team;
use crate::protocol::tasks::held_credit::CountedScope;
use crate::protocol::tasks::latch::Latch;
use crate::protocol::tasks::scope_count::ScopeCount;
use crate::protocol::tasks::task::Task;
use crate::protocol::tasks::task_context::TaskContext;
use crate::region::closure_size::boxed_if_large;
use crate::region::nesting;
use crate::tasks::caller_queue;
use crate::tasks::caller_queue::CallerQueue;
use crate::tasks::scope_job::{FirstPanic, ScopeWithJobs, run_scope, task_of_scope};

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
// It lies on the stack of the thread that runs the body.
pub struct Scope<'scope> {
    /// Where the tasks are queued.
    destination: Destination,
    /// The bee that runs the body and then waits. Only with `Destination::Team`.
    owner: u32,
    /// Set by the task that ends last. With `Destination::Caller` it is not used.
    latch: Latch,
    /// The first panic of a task.
    panic: FirstPanic,
    /// The number of tasks that have not ended, the body among them, and what bees have in hand of it. It has cache
    /// lines of its own, because it changes, and each task reads what lies beside it.
    pending: CachePadded<ScopeCount>,
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

// SAFETY: everything that changes is atomic or locked, and the pointers in `destination` are to types that threads
// share.
unsafe impl Sync for Scope<'_> {}

/// Runs `body`, and then tasks until all that `body` and its tasks have spawned have ended. With a `context`, the
/// calling thread is that bee. Without one it runs all tasks by itself.
///
/// # Panics
/// If `body` or a task panics: with the panic of `body` if there is one, or else with the first of a task.
pub(crate) fn scope<'scope, R>(context: Option<&TaskContext<'_>>, body: impl FnOnce(&Scope<'scope>) -> R) -> R {
    match context {
        Some(context) => {
            let scope = Scope::new(Destination::Team(context.team), context.id);
            let floor = context.deque_floor();
            run_scope(&scope, Some(&context.held_credit), body, |scope| context.wait_until(&scope.latch, floor))
        }
        None => caller_queue::with(|queue| {
            let scope = Scope::new(Destination::Caller(queue), 0);
            // What the tasks did is visible when the scope returns. With a team, the latch does the same.
            run_scope(&scope, None, body, |scope| queue.run_until(|| scope.pending.is_zero()))
        }),
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
        boxed_if_large!(task: dyn FnOnce(&Self) + Send + 'scope => self.queue_task(task))
    }

    /// A scope whose body is counted, and is about to run on bee `owner` of a team or on the thread of a queue.
    fn new(destination: Destination, owner: u32) -> Self {
        let (panic, pending) = (FirstPanic::default(), CachePadded::new(ScopeCount::of_body()));
        Self { destination, owner, latch: Latch::default(), panic, pending, borrows: PhantomData }
    }

    /// Counts a task, and then queues it where the scope's tasks go.
    fn queue_task(&self, task: impl FnOnce(&Self) + Send + 'scope) {
        let task = self.prepare(task);
        let team = match self.destination {
            // SAFETY: the team outlives the scope, whose body one of its bees runs.
            Destination::Team(team) => unsafe { &*team },
            Destination::Caller(queue) => {
                // No bee runs these tasks, so nobody has a credit, and each is counted in the word itself, whichever
                // thread spawns it: the scope's own, or one that the body has lent the scope to.
                self.pending.add_from_another_thread();
                // SAFETY: the queue lies further up the stack of the scope's thread, and outlives the scope.
                return unsafe { &*queue }.push(task);
            }
        };
        nesting::with_task_context(team, |context| match context {
            Some(context) => {
                context.held_credit.add(self);
                context.push(task);
            }
            None => {
                self.pending.add_from_another_thread();
                team.inject(task);
            }
        });
    }

    /// Spawns a task that only bee `bee` runs, in a scope of the hive that the calling bee, `context`, belongs to. The
    /// bee must have been hired.
    pub(crate) fn spawn_on(&self, context: &TaskContext<'_>, bee: u32, task: impl FnOnce(&Self) + Send + 'scope) {
        let task = self.prepare(task);
        context.held_credit.add(self);
        context.team.send_to_mailbox(bee, task);
    }

    /// Makes a task that runs `task` in this scope and then counts it as ended. The caller counts it before it queues
    /// it.
    fn prepare(&self, task: impl FnOnce(&Self) + Send + 'scope) -> Task {
        // SAFETY: what the task borrows outlives `'scope`, and so the scope, which waits for what is counted.
        unsafe { task_of_scope(self, task) }
    }
}

// SAFETY: `scope`, in whose frame the scope lies, waits until nothing is counted.
unsafe impl CountedScope for Scope<'_> {
    #[inline(always)]
    fn count(&self) -> &ScopeCount {
        &self.pending
    }

    unsafe fn set_ended(this: *const Self) {
        // SAFETY: the scope waits for its latch, or for the thread that calls this, and so lives until the call below.
        // Everything needed after that is copied here.
        let scope = unsafe { &*this };
        let (destination, owner, latch) = (scope.destination, scope.owner, &raw const scope.latch);
        // With `Destination::Caller`, the thread that waits is the calling one, and looks at the count itself.
        let Destination::Team(team) = destination else { return };
        // SAFETY: the calling thread is a bee of the team, or ends it, so the team lives.
        let team = unsafe { &*team };
        // SAFETY: this was the last that the scope waited for. It now waits for the latch, so it lives until that is
        // set, and is not touched after that.
        unsafe { team.set_latch(latch, owner) };
    }
}

impl ScopeWithJobs for Scope<'_> {
    fn panic(&self) -> &FirstPanic {
        &self.panic
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("owner", &self.owner).finish_non_exhaustive()
    }
}
