//! Scopes: tasks that borrow from outside the scope, which waits until all of them have ended. `Hive::scope` and
//! `Hive::broadcast` (`handle.rs`) call [`scope`].
//!
//! A scope counts its tasks (`protocol/tasks/scope_count.rs`). The thread that runs the scope's body then runs tasks
//! itself until none is left, or sleeps until the task that ends last sets the scope's latch.

#![allow(unsafe_code)]

use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use crossbeam_utils::CachePadded;

use crate::protocol::Team;
use crate::protocol::abort_on_unwind::AbortOnUnwind;
use crate::protocol::tasks::latch::Latch;
use crate::protocol::tasks::scope_count::{Credit, ScopeCount};
use crate::protocol::tasks::task::Task;
use crate::protocol::tasks::task_context::TaskContext;
use crate::region::closure_size::is_large;
use crate::region::nesting::{self, drop_and_rethrow};
use crate::sys::thread_id::{ThreadId, current_thread_id};
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
    /// What all tasks of the scope share. It outlives this.
    state: *const ScopeState,
    /// The thread that runs the body or the task to which this was passed.
    thread: ThreadId,
    /// What that thread may still spawn without changing the count. Only `thread` touches it.
    credit: Credit,
    /// Makes `'scope` invariant: a scope must not be taken for one with another lifetime, longer or shorter.
    borrows: PhantomData<fn(&'scope ()) -> &'scope ()>,
}

/// What the body and the tasks of one scope share. It lies on the stack of the thread that runs the body.
struct ScopeState {
    /// Where the tasks are queued.
    destination: Destination,
    /// The bee that runs the body and then waits. Only with `Destination::Team`.
    owner: u32,
    /// Set by the task that ends last. With `Destination::Caller` it is not used.
    latch: Latch,
    /// The first panic of a task.
    panic: FirstPanic,
    /// The number of tasks that have not ended, the body among them. It has a cache line of its own, because every task
    /// changes it, and reads what lies beside it.
    pending: CachePadded<ScopeCount>,
}

/// Where the tasks of a scope are queued. What the pointers refer to outlives the scope.
#[derive(Clone, Copy)]
enum Destination {
    /// In the queues of this hive. Any of its bees may run them.
    Team(*const Team),
    /// In the queue of the thread that called the scope. No other thread runs them.
    Caller(*const CallerQueue),
}

// SAFETY: `credit` is used by one thread only, which `thread` names. What `state` points to may be shared, see below.
unsafe impl Sync for Scope<'_> {}

// SAFETY: everything that changes is atomic or locked, and the pointers in `destination` are to types that threads
// share.
unsafe impl Sync for ScopeState {}

/// Runs `body`, and then tasks until all that `body` and its tasks have spawned have ended. With a `context`, the
/// calling thread is that bee. Without one it runs all tasks by itself.
///
/// # Panics
/// If `body` or a task panics: with the panic of `body` if there is one, or else with the first of a task.
pub(crate) fn scope<'scope, R>(context: Option<&TaskContext<'_>>, body: impl FnOnce(&Scope<'scope>) -> R) -> R {
    match context {
        Some(context) => {
            run_scope(Destination::Team(context.team()), context.id(), body, |state| context.wait_until(&state.latch))
        }
        None => caller_queue::with(|queue| {
            // What the tasks did is visible when the scope returns. With a team, the latch does the same.
            run_scope(Destination::Caller(queue), 0, body, |state| queue.run_until(|| state.pending.is_zero()))
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
    wait: impl FnOnce(&ScopeState),
) -> R {
    let (pending, credit) = ScopeCount::new();
    let (panic, pending) = (FirstPanic::default(), CachePadded::new(pending));
    let state = ScopeState { destination, owner, latch: Latch::new(), panic, pending };
    let scope = Scope::new(&state, credit);
    let abort_guard = AbortOnUnwind::new("in a scope");
    let result = catch_unwind(AssertUnwindSafe(|| body(&scope)));
    // SAFETY: the body is counted and has ended.
    unsafe { ScopeState::end(&raw const state, scope.credit) };
    wait(&state);
    abort_guard.disarm();
    match (result, state.panic.into_inner()) {
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

    /// What the calling thread needs to spawn tasks in the scope of `state`, from the body or a task that it is about
    /// to run, and that `credit` belongs to.
    #[inline(always)]
    fn new(state: &ScopeState, credit: Credit) -> Self {
        Self { state: ptr::from_ref(state), thread: current_thread_id(), credit, borrows: PhantomData }
    }

    #[inline(always)]
    fn state(&self) -> &ScopeState {
        // SAFETY: the state lives until the scope has ended, and so longer than its body and its tasks, to which `self`
        // was passed.
        unsafe { &*self.state }
    }

    /// Counts a task, and then queues it where the scope's tasks go.
    fn queue_task(&self, task: impl FnOnce(&Self) + Send + 'scope) {
        self.count_task();
        let task = self.prepare(task);
        match self.state().destination() {
            Ok(team) => nesting::with_task_context(team, |context| match context {
                Some(context) => context.push(task),
                None => team.inject(task),
            }),
            Err(queue) => queue.push(task),
        }
    }

    /// Spawns a task that only bee `bee` runs. The bee must have been hired.
    pub(crate) fn spawn_on(&self, bee: u32, task: impl FnOnce(&Self) + Send + 'scope) {
        self.count_task();
        let task = self.prepare(task);
        match self.state().destination() {
            Ok(team) => team.inject_to(bee, task),
            Err(queue) => queue.push(task),
        }
    }

    /// Counts a task that the calling thread is about to spawn.
    #[inline(always)]
    fn count_task(&self) {
        let pending = &self.state().pending;
        if current_thread_id() == self.thread {
            pending.add(&self.credit);
        } else {
            // The body or the task has passed a reference to `self` to another thread.
            pending.add_from_another_thread();
        }
    }

    /// Makes a task that runs `task` in this scope and then counts it as ended. The caller has counted it.
    fn prepare(&self, task: impl FnOnce(&Self) + Send + 'scope) -> Task {
        let state = SendPtr(self.state);
        // SAFETY: the state lives until this task has ended, because the task is counted and the scope waits for it.
        let work = move || (state, Self::run(unsafe { state.get() }, task));
        // SAFETY: the task is counted, has ended when this runs, and nothing of it is left.
        let end = |(state, credit): (SendPtr<ScopeState>, Credit)| unsafe { ScopeState::end(state.raw(), credit) };
        // SAFETY: what the task borrows outlives `'scope`, and so the scope, which waits for the task. `run` catches
        // the task's panic.
        unsafe { HeapJob::<_, _>::task(work, end) }
    }

    /// Runs a task of the scope of `state`, and records its panic if it has one. Returns what is left of its credit.
    #[inline(always)]
    fn run(state: &ScopeState, task: impl FnOnce(&Self)) -> Credit {
        let scope = Self::new(state, Credit::none());
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| task(&scope))) {
            state.panic.record(panic);
        }
        scope.credit
    }
}

impl ScopeState {
    /// Counts the body or a task as ended, gives back its `credit`, and sets the latch if nothing else is counted any
    /// more.
    ///
    /// # Safety
    /// The body or the task is counted, has ended, and is counted as ended once. The state may be gone when this
    /// returns.
    #[inline(always)]
    unsafe fn end(this: *const Self, credit: Credit) {
        // SAFETY: the scope waits for everything that is counted, so its state lives until the call below. Everything
        // needed after that is copied here.
        let state = unsafe { &*this };
        let (destination, owner, latch) = (state.destination, state.owner, &raw const state.latch);
        let pending = ptr::from_ref::<ScopeCount>(&state.pending);
        // SAFETY: as the caller promises.
        let is_last = unsafe { ScopeCount::end(pending, credit) };
        // With `Destination::Caller`, the thread that waits is the calling one, and looks at the count itself.
        let Destination::Team(team) = destination else { return };
        if is_last {
            // SAFETY: the calling thread runs a task of the team, as one of its bees or in the team's drop, so the team
            // lives until that task has ended.
            let team = unsafe { &*team };
            // SAFETY: this was the last that the scope waited for. The scope now waits for the latch, so it lives until
            // the latch is set, and it is not touched after that.
            unsafe { team.set_latch(latch, owner) };
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
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("owner", &self.state().owner).finish_non_exhaustive()
    }
}
