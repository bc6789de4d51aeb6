//! How many workers of the process want a core. Waits go by it: while there are more than cores, a bee that polls may
//! keep the very bee that it waits for off its core.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::on_drop::on_drop;

/// The number of workers of all hives that are on a core or want to be: the threads whose presence is `OnCore`. It
/// changes only when a worker starts, ends, goes to sleep, or wakes up.
///
/// Queens are not counted, because each region would then change this word, which all CPUs read, twice. Each wait takes
/// it that there is one queen, its own: see `WaitPolicy::is_oversubscribed`. Of several hives that run regions at the
/// same time, a wait sees all workers, but the queens of the other hives are missing. Then CPUs may seem to be free for
/// as many threads as there are such queens, and a bee polls for its spin time before it sleeps, where it should sleep
/// at once. If one queen were taken for each hive with an awake worker instead, a thread that runs regions of several
/// hives, one after the other, would be counted several times, and its bees would not poll where CPUs are free.
static AWAKE_WORKERS: AtomicUsize = AtomicUsize::new(0);

/// Whether a thread is counted in `AWAKE_WORKERS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    /// The thread is not a worker. A queen is never counted, wherever she waits.
    NotWorker,
    /// The thread is a worker and is counted.
    OnCore,
    /// The thread is a worker that sleeps and has removed itself from the count.
    OffCore,
}

thread_local! {
    /// The presence of the calling thread.
    static PRESENCE: Cell<Presence> = const { Cell::new(Presence::NotWorker) };
}

/// In a forked child: forgets the workers of the parent. The calling thread, which is the child's only one, may have
/// been one of them.
#[cfg(unix)]
pub(crate) fn forget_workers() {
    PRESENCE.set(Presence::NotWorker);
    // Relaxed: a forked child has only one thread.
    AWAKE_WORKERS.store(0, Ordering::Relaxed);
}

/// The number of workers of all hives that want a core. Out of date at once.
#[inline(always)]
pub(crate) fn awake_workers() -> usize {
    // Relaxed: a hint. No other access depends on the value.
    AWAKE_WORKERS.load(Ordering::Relaxed)
}

/// Whether the calling thread is a worker of some hive.
pub(crate) fn is_worker() -> bool {
    PRESENCE.get() != Presence::NotWorker
}

/// Counts the calling thread, which is about to be a worker, as awake until the guard is dropped.
pub(crate) fn count_on_core() -> impl Drop + use<> {
    change_presence(Presence::NotWorker, Presence::OnCore)
}

/// Runs `sleep`. If the calling thread is a worker, of whatever hive, it is not counted as awake meanwhile. Every sleep
/// of a worker that may be long has to go through this.
pub(crate) fn while_off_core<R>(sleep: impl FnOnce() -> R) -> R {
    let _off_core = change_presence(Presence::OnCore, Presence::OffCore);
    sleep()
}

/// Changes the calling thread's presence to `to`, if it is `from`, until the guard is dropped.
fn change_presence(from: Presence, to: Presence) -> impl Drop + use<> {
    let is_applied = PRESENCE.get() == from;
    if is_applied {
        set_presence(to);
    }
    on_drop(move || {
        // In a forked child, `forget_workers` may have changed the presence meanwhile. Then there is nothing to undo.
        if is_applied && PRESENCE.get() == to {
            set_presence(from);
        }
    })
}

/// Sets the calling thread's presence, and adjusts the count.
fn set_presence(presence: Presence) {
    let before = PRESENCE.replace(presence);
    // Relaxed, both: the count is a hint, see `awake_workers`.
    if presence == Presence::OnCore {
        AWAKE_WORKERS.fetch_add(1, Ordering::Relaxed);
    } else if before == Presence::OnCore {
        let awake = AWAKE_WORKERS.fetch_sub(1, Ordering::Relaxed);
        debug_assert!(awake > 0, "a bee leaves its core, and none was counted on one");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a thread of its own, so that the presence of the test's thread does not matter.
    #[test]
    fn only_a_worker_is_counted_off_and_on() {
        let presence = || while_off_core(|| PRESENCE.get());
        std::thread::spawn(move || {
            assert_eq!((presence(), PRESENCE.get(), is_worker()), (Presence::NotWorker, Presence::NotWorker, false));
            let on_core = count_on_core();
            assert_eq!((presence(), PRESENCE.get(), is_worker()), (Presence::OffCore, Presence::OnCore, true));
            assert_eq!(while_off_core(presence), Presence::OffCore, "once is enough");
            assert!(awake_workers() > 0);
            drop(on_core);
            assert_eq!(PRESENCE.get(), Presence::NotWorker);
        })
        .join()
        .unwrap();
    }
}
