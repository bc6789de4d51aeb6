//! How a bee's thread is a worker: rayon's main loop calls the pool's start handler when the thread is a worker in every respect, and that handler is
//! the bee's whole life. When it returns the worker goes on to rayon's own loop, where it runs what is left until the pool ends.

use std::cell::Cell;
use std::panic::resume_unwind;
use std::sync::Arc;

use rayon_core::{ThreadBuilder, ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use crate::pool::config::Config;
use crate::pool::thread_host::{ThreadHost, WorkerMain};

thread_local! {
    /// What the worker that begins on this thread is to live.
    static WORKER_MAIN: Cell<Option<WorkerMain>> = const { Cell::new(None) };
    /// The share in the pool of the bee that lives on this thread.
    static HELD_POOL: Cell<Option<Arc<ThreadPool>>> = const { Cell::new(None) };
}

/// A pool of as many workers as the hive starts with bees, and its threads yet to be run; the calling thread is worker 0.
pub(crate) fn build_pool(config: &Config) -> Result<(ThreadPool, Vec<ThreadBuilder>), ThreadPoolBuildError> {
    let mut threads = Vec::new();
    let hooks = config.hooks.clone();
    let builder = ThreadPoolBuilder::new()
        .num_threads(config.bees as usize)
        .use_current_thread()
        .start_handler(run_bee)
        // A panic that nobody waits for is the hive's panic handler's; without one the process ends, as by rayon.
        .panic_handler(move |panic| hooks.catch_panic(|| resume_unwind(panic)))
        .spawn_handler(|thread| {
            threads.push(thread);
            Ok(())
        });
    let pool = builder.build()?;
    Ok((pool, threads))
}

/// Runs `thread` as a worker whose bee has a share in `build_pool`.
pub(crate) fn thread_host(thread: ThreadBuilder, pool: Arc<ThreadPool>) -> ThreadHost {
    Box::new(move |worker_main| {
        WORKER_MAIN.set(Some(worker_main));
        HELD_POOL.set(Some(pool));
        thread.run();
    })
}

/// What a worker does first.
fn run_bee(index: usize) {
    /// With the last share the pool ends, and only then does any worker: also if a life ends as it should not.
    struct ReleasePool;
    impl Drop for ReleasePool {
        fn drop(&mut self) {
            drop(HELD_POOL.take());
        }
    }
    let _release_pool = ReleasePool;
    assert_eq!(
        rayon_core::current_thread_index(),
        Some(index),
        "rayon calls its start handler on a thread that is a worker"
    );
    let worker_main = WORKER_MAIN.take().unwrap_or_else(|| unreachable!("worker {index} has a bee"));
    worker_main();
}

/// Gives up the calling thread's share in `build_pool`, if it has one.
pub(crate) fn release_pool(pool: &Arc<ThreadPool>) {
    // A thread that is ending has none any more.
    let _ = HELD_POOL.try_with(|cell| {
        let held = cell.take();
        if !held.as_ref().is_some_and(|held| Arc::ptr_eq(held, pool)) {
            cell.set(held);
        }
    });
}
