//! How a bee's thread is a worker: rayon's main loop calls the pool's start handler when the thread is a worker in every respect, and that handler is
//! the bee's whole life. When it returns the worker goes on to rayon's own loop, where it runs what is left until the pool ends.

use std::cell::Cell;
use std::panic::resume_unwind;
use std::sync::Arc;

use rayon_core::{ThreadBuilder, ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use crate::config::Config;
use crate::seats::{LifeOfABee, Seat};

thread_local! {
    /// What the worker that begins on this thread is to live.
    static LIFE: Cell<Option<LifeOfABee>> = const { Cell::new(None) };
    /// The share in the pool of the bee that lives on this thread.
    static SHARE: Cell<Option<Arc<ThreadPool>>> = const { Cell::new(None) };
}

/// A pool of as many workers as the hive starts with members, and its threads yet to be run; the calling thread is worker 0.
pub(super) fn pool(config: &Config) -> Result<(ThreadPool, Vec<ThreadBuilder>), ThreadPoolBuildError> {
    let mut threads = Vec::new();
    let handlers = config.handlers.clone();
    let builder = ThreadPoolBuilder::new()
        .num_threads(config.bees as usize)
        .use_current_thread()
        .start_handler(live)
        // A panic that nobody waits for is the hive's panic handler's; without one the process ends, as by rayon.
        .panic_handler(move |panic| handlers.watch(|| resume_unwind(panic)))
        .spawn_handler(|thread| {
            threads.push(thread);
            Ok(())
        });
    let pool = builder.build()?;
    Ok((pool, threads))
}

/// Runs `thread` as a worker whose bee has a share in `pool`.
pub(super) fn seat(thread: ThreadBuilder, pool: Arc<ThreadPool>) -> Seat {
    Box::new(move |life| {
        LIFE.set(Some(life));
        SHARE.set(Some(pool));
        thread.run();
    })
}

/// What a worker does first.
fn live(index: usize) {
    /// With the last share the pool ends, and only then does any worker: also if a life ends as it should not.
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            drop(SHARE.take());
        }
    }
    let _end = End;
    assert_eq!(rayon_core::current_thread_index(), Some(index), "rayon calls its start handler on a thread that is a worker");
    let life = LIFE.take().unwrap_or_else(|| unreachable!("worker {index} has a bee"));
    life();
}

/// Gives up the calling thread's share in `pool`, if it has one.
pub(super) fn give_up_share(pool: &Arc<ThreadPool>) {
    // A thread that is ending has none any more.
    let _ = SHARE.try_with(|kept| {
        let share = kept.take();
        if !share.as_ref().is_some_and(|share| Arc::ptr_eq(share, pool)) {
            kept.set(share);
        }
    });
}
