//! The free functions for async code. They act on the global hive, which is never dropped.

use crate::global::global_or_build;
#[cfg(doc)]
use crate::pool::handle::Hive;
use crate::tasks::async_task::{AsyncTask, call_by, poll_by};

/// Runs `work`, which may use the hive by its free functions, on a thread of the [global](crate::global()) hive's own,
/// and returns its result as a future that never blocks its executor. Unlike other free functions it acts on the global
/// hive wherever it is called. See [`Hive::run_async`].
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
/// async fn norm(x: Vec<f64>) -> f64 {
///     hive::run_async(move || hive::par_dot(&x, &x).sqrt()).await
/// }
/// assert_eq!(block_on(norm(vec![3.0, 4.0])), 5.0);
/// ```
///
/// # Panics
/// As [`Hive::run_async`].
#[doc(alias("spawn_blocking", "block_in_place"))]
pub fn run_async<R: Send + 'static, F: FnOnce() -> R + Send + 'static>(work: F) -> AsyncTask<R> {
    call_by(global_or_build(true), |_| work())
}

/// Runs a future as a task of the [global](crate::global()) hive, wherever it is called. See [`Hive::spawn_async`].
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
/// let parts: Vec<_> = (0..100_u64).map(|i| hive::spawn_async(async move { i * i })).collect();
/// let sum = hive::spawn_async(async move {
///     let mut sum = 0;
///     for part in parts {
///         sum += part.await;
///     }
///     sum
/// });
/// assert_eq!(block_on(sum), 328_350);
/// ```
///
/// # Panics
/// As [`Hive::spawn_async`].
#[doc(alias("tokio::spawn", "suspend", "coroutine"))]
pub fn spawn_async<F: Future<Output: Send> + Send + 'static>(future: F) -> AsyncTask<F::Output> {
    poll_by(global_or_build(true), future)
}
