//! What async code and a hive do for each other: `Hive::run_async`, a call of the hive as a future, and
//! `Hive::spawn_async`, a future as a task of the hive. The crate async-task keeps the state of both; the hive's part
//! is to queue what is to be polled. `docs/async.md` says which call is for what.

#![expect(unsafe_code, reason = "polls a future where it is pinned")]

use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::{fmt, mem, thread};

use async_task::{Runnable, Task};

use crate::pool::handle::Hive;
use crate::region::nesting::rethrow;
use crate::region::no_double_panic::{NoDoublePanic, Quiet};
use crate::sys::fork::with_abort_in_child;
use crate::tasks::handle::queue_task;

/// The result of [`run_async`](Hive::run_async) or [`spawn_async`](Hive::spawn_async): a future that any executor can
/// poll, and that never blocks the thread that does.
///
/// If the call or the task panics, so does the poll, with that panic. **Dropping it cancels**: a call that has not
/// begun is not made, and a task is not polled again; its future is dropped, on the hive. A call that has begun goes on
/// to its end, and its result is dropped. [`detach`](Self::detach) lets either go on without anybody who waits.
///
/// ```
/// # use std::future::Future;
/// # fn block_on<T>(future: impl Future<Output = T>) -> T {
/// #     struct Unpark(std::thread::Thread);
/// #     impl std::task::Wake for Unpark {
/// #         fn wake(self: std::sync::Arc<Self>) { self.0.unpark() }
/// #     }
/// #     let waker = std::sync::Arc::new(Unpark(std::thread::current())).into();
/// #     let mut future = std::pin::pin!(future);
/// #     loop {
/// #         let polled = future.as_mut().poll(&mut std::task::Context::from_waker(&waker));
/// #         if let std::task::Poll::Ready(value) = polled { return value }
/// #         std::thread::park();
/// #     }
/// # }
/// let x = vec![0.5; 1000];
/// let sum = hive::run_async(move || hive::par_sum(0..x.len(), |i| x[i]));
/// assert_eq!(block_on(async { sum.await + 1.0 }), 501.0);
/// ```
#[must_use = "dropping it cancels the call or the task: await it, or detach it"]
pub struct AsyncTask<T>(Task<Quiet<thread::Result<T>>>);

impl<T> AsyncTask<T> {
    /// Lets the call or the task go on to its end without anybody who waits for it. A panic in it is lost then.
    pub fn detach(self) {
        self.0.detach();
    }

    /// Whether it has ended, or has been cancelled, so that the next poll has the result.
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }

    /// Cancels it, and waits until nothing of it runs any more. Returns the result if it had ended before.
    ///
    /// # Panics
    /// If it had ended by a panic.
    pub async fn cancel(self) -> Option<T> {
        self.0.cancel().await.map(|ended| ended.into_inner().unwrap_or_else(|panic| rethrow(panic)))
    }
}

impl<T> Future for AsyncTask<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        Pin::new(&mut self.0).poll(context).map(|ended| ended.into_inner().unwrap_or_else(|panic| rethrow(panic)))
    }
}

impl<T> fmt::Debug for AsyncTask<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AsyncTask {{ is_finished: {} }}", self.is_finished())
    }
}

impl Hive {
    /// Runs `work` on a thread of the hive's own and returns its result as a future: for async code that is to use the
    /// hive without blocking its executor. `work` gets the hive, as a caller from outside, so its regions and loops
    /// have full teams. The hive makes the thread for the first such call; calls run on it one after another, in the
    /// order in which they were made.
    ///
    /// The hive lives at least until the call has ended, also if it was the last to refer to it. The free functions in
    /// `work` act on the [global](crate::global()) hive, as on any thread of the program. It may be called from
    /// everywhere, in a region or a task as well; but there nothing must block until it has ended, because `work` may
    /// have to wait for that region or task. Nor must `work` block for another such call, which comes after it.
    ///
    /// ```
    /// # use std::future::Future;
    /// # fn block_on<T>(future: impl Future<Output = T>) -> T {
    /// #     let mut future = std::pin::pin!(future);
    /// #     loop {
    /// #         let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    /// #         if let std::task::Poll::Ready(value) = future.as_mut().poll(&mut context) { return value }
    /// #         std::thread::yield_now();
    /// #     }
    /// # }
    /// use std::sync::Arc;
    ///
    /// let hive = Arc::new(hive::Hive::new(3)?);
    /// let ids = hive.run_async(|hive| hive.spmd_all_map(|bee| bee.id()));
    /// assert_eq!(block_on(ids), [0, 1, 2]);
    /// # Ok::<(), hive::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the system makes no thread, or in a forked child. A panic of `work` goes to whoever awaits the result.
    #[doc(alias("spawn_blocking", "block_in_place", "rayon-tokio"))]
    pub fn run_async<R, F>(self: &Arc<Self>, work: F) -> AsyncTask<R>
    where
        R: Send + 'static,
        F: FnOnce(&Self) -> R + Send + 'static,
    {
        call_by(Arc::clone(self), work)
    }

    /// Runs a future as a task of the hive: a worker polls it, as any other task, and when it has to wait, nothing of
    /// it is left in any queue or on any stack. Whoever wakes it queues it again: a bee in its own deque, any other
    /// thread where all bees look. So thousands of tasks may wait at the same time.
    ///
    /// Between two awaits it is a task like any other: it may join, open scopes and spawn, and must not block for what
    /// only its own bee can run. The hive lives at least until the task has ended or is cancelled. What is awaited may
    /// need a reactor of its executor's, such as tokio's timers and sockets; those do not work here.
    ///
    /// ```
    /// # use std::future::Future;
    /// # fn block_on<T>(future: impl Future<Output = T>) -> T {
    /// #     let mut future = std::pin::pin!(future);
    /// #     loop {
    /// #         let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    /// #         if let std::task::Poll::Ready(value) = future.as_mut().poll(&mut context) { return value }
    /// #         std::thread::yield_now();
    /// #     }
    /// # }
    /// use std::sync::Arc;
    ///
    /// // Stages that wait for each other without a thread each.
    /// let hive = Arc::new(hive::Hive::new(2)?);
    /// let first = hive.spawn_async(async { 6 });
    /// let second = hive.spawn_async(async move { first.await * 7 });
    /// assert_eq!(block_on(second), 42);
    /// # Ok::<(), hive::Error>(())
    /// ```
    ///
    /// # Panics
    /// As [`spawn`](Self::spawn). A panic of the future goes to whoever awaits the result.
    #[doc(alias("tokio::spawn", "suspend", "coroutine"))]
    pub fn spawn_async<F>(self: &Arc<Self>, future: F) -> AsyncTask<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        poll_by(Arc::clone(self), future)
    }
}

/// `run_async` for a reference to the hive that keeps it alive.
pub(crate) fn call_by<R: Send + 'static>(
    hive: impl Deref<Target = Hive> + Send + 'static,
    work: impl FnOnce(&Hive) -> R + Send + 'static,
) -> AsyncTask<R> {
    let (shared, work) = (Arc::clone(&hive.shared), NoDoublePanic::new(work));
    shared.assert_not_forked();
    let config = &shared.config;
    shared.async_caller.ensure(&config.thread_name, shared.machine_info.mask.as_ref(), config.spin);
    let work = work.into_inner();
    // The call alone keeps the hive alive, until it has ended. The result is held by others, who are not to drop a
    // hive. It is queued once, here, since it never waits: so no forked child comes to that.
    spawn(async move { with_abort_in_child(|| work(&hive)) }, move |call| shared.async_caller.queue(call))
}

/// The same for `spawn_async`.
pub(crate) fn poll_by<F>(hive: impl Deref<Target = Hive> + Send + 'static, future: F) -> AsyncTask<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    let (shared, future) = (Arc::clone(&hive.shared), NoDoublePanic::new(future));
    shared.assert_not_forked();
    let future = future.into_inner();
    let future = async move {
        // The future alone keeps the hive alive, until it has ended or is dropped.
        let _hive = hive;
        future.await
    };
    spawn(future, move |polling: Runnable| {
        if shared.is_forked() {
            // A copy of what is the parent's: in this process nobody polls it.
            return mem::forget(polling);
        }
        queue_task(&shared, move || _ = polling.run());
    })
}

fn spawn<F>(future: F, queue: impl Fn(Runnable) + Send + Sync + 'static) -> AsyncTask<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    let (polling, task) = async_task::spawn(CaughtFuture(Quiet::new_quiet(future)), queue);
    polling.schedule();
    AsyncTask(task)
}

/// A future whose panic is a result. The drops of both are quiet: async-task, which drops futures and results that
/// nobody wants, would end the process if one panicked. Such a panic has been reported by the panic hook.
struct CaughtFuture<F>(Quiet<F>);

impl<F: Future> Future for CaughtFuture<F> {
    type Output = Quiet<thread::Result<F::Output>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: the future is pinned where `self` is: nothing moves it out, and it is dropped in its place.
        let future = unsafe { self.map_unchecked_mut(|this| &mut *this.0) };
        // After a panic it is not polled again.
        let polled = match catch_unwind(AssertUnwindSafe(|| future.poll(context))) {
            Ok(polled) => polled.map(Ok),
            Err(panic) => Poll::Ready(Err(panic)),
        };
        polled.map(Quiet::new_quiet)
    }
}
