//! How a bee's thread becomes a rayon worker.
//!
//! rayon's main function for a worker thread calls the pool's start handler once the thread is a worker in every
//! respect. Here that handler is the bee's whole main function (`Shared::run_worker`). When that returns, because the
//! hive ends, the thread goes on to rayon's own loop, where it runs the jobs that are left until the pool ends.
//! `docs/adapters.md` ("rayon as a guest") has the steps.

use std::cell::Cell;
use std::panic::resume_unwind;
use std::sync::Arc;

use rayon_core::{ThreadBuilder, ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use crate::on_drop::on_drop;
use crate::pool::handlers::Handlers;
use crate::pool::thread_host::{ThreadHost, WorkerMain};

thread_local! {
    /// The main function of the bee whose thread this is. `thread_host` sets it; the start handler takes it.
    static WORKER_MAIN: Cell<Option<WorkerMain>> = const { Cell::new(None) };
    /// The share in the pool that belongs to the bee on this thread.
    static HELD_POOL: Cell<Option<Arc<ThreadPool>>> = const { Cell::new(None) };
}

/// Builds a pool with `bees` workers, as many as the hive starts with bees. Returns it with its threads, which have not
/// been run yet. The calling thread is worker 0.
pub(crate) fn build_pool(
    bees: u32,
    handlers: &Handlers,
) -> Result<(ThreadPool, Vec<ThreadBuilder>), ThreadPoolBuildError> {
    let mut threads = Vec::new();
    let handlers = handlers.clone();
    let builder = ThreadPoolBuilder::new()
        .num_threads(bees as usize)
        .use_current_thread()
        .start_handler(run_bee)
        // A panic in a job that no caller waits for goes to the hive's panic handler. If there is none, the process
        // ends, as it does with rayon alone.
        .panic_handler(move |panic| handlers.catch_panic(|| resume_unwind(panic)))
        .spawn_handler(|thread| {
            threads.push(thread);
            Ok(())
        });
    let pool = builder.build()?;
    Ok((pool, threads))
}

/// A function that runs a bee's main function on the calling thread, as the rayon worker `thread`, with a share in
/// `pool`.
pub(crate) fn thread_host(thread: ThreadBuilder, pool: Arc<ThreadPool>) -> ThreadHost {
    Box::new(move |worker_main| {
        WORKER_MAIN.set(Some(worker_main));
        HELD_POOL.set(Some(pool));
        thread.run();
    })
}

/// The pool's start handler: runs the bee's main function on the worker's thread.
fn run_bee(index: usize) {
    // Gives up this bee's share in the pool at the end, also if the main function unwinds. rayon ends the worker
    // threads only when the last share is gone.
    let _release_pool = on_drop(|| drop(HELD_POOL.take()));
    assert_eq!(rayon_core::current_thread_index(), Some(index), "rayon calls its start handler on its worker");
    let worker_main = WORKER_MAIN.take().unwrap_or_else(|| unreachable!("worker {index} has a bee"));
    worker_main();
}

/// Gives up the calling thread's share in `pool`, if it has one.
pub(crate) fn release_pool(pool: &Arc<ThreadPool>) {
    // The thread may be ending, and its thread-local values gone. Then it has no share any more.
    let _ = HELD_POOL.try_with(|cell| {
        let held = cell.take();
        if !held.as_ref().is_some_and(|held| Arc::ptr_eq(held, pool)) {
            cell.set(held);
        }
    });
}
