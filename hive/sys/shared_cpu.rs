//! Whether a thread that yields its CPU between polls shares it with another thread that wants it all the time.
//!
//! The kernel may put two threads of a pool on one CPU although another one is free, and as long as neither of them
//! sleeps it leaves them there: it moves threads that wait for a CPU, and these two give way to each other before it
//! looks. Then each task that one of them hands to the other is run on the same CPU, one after the other. If one of
//! them sleeps, the thread that wakes it puts it on a free CPU.
//!
//! So a thread looks at how long its yields take. One that another thread has waited for takes at least two switches
//! between threads, which is several times as long as one that has changed nothing. (The kernel also counts these
//! switches. But a program may have forbidden itself the call that asks for the count, in a sandbox.)

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::yield_now;

use crate::sys::ticks::ticks;

/// So many yields are looked at together.
const YIELDS_PER_LOOK: u32 = 16;

/// If so many of them have let another thread run, the CPU is shared. A thread that comes and goes, such as one that
/// hands over tasks and waits for them, causes fewer.
const SWITCHES_OF_SHARED_CPU: u32 = 12;

/// After so many of such looks in a row the thread leaves.
const TIMES_OF_SHARED_CPU: u32 = 2;

/// A yield that takes more than so many times as long as the shortest one has let another thread run. On a virtual
/// machine with two CPUs, 99 of 100 yields on a CPU of one's own took up to 2.5 times as long as the shortest, and 99
/// of 100 that let another thread run at least 6 times.
const TIMES_OF_SHORTEST_YIELD: u64 = 4;

/// How many ticks the shortest yield of the process has taken. It grows slowly where it makes a CPU seem shared, until
/// a yield is shorter again: a reading of the counter that is wrong for once spoils it for a while only.
static SHORTEST_YIELD: AtomicU64 = AtomicU64::new(u64::MAX);

thread_local! {
    /// The yields of the calling thread since it last looked.
    static YIELDS: Cell<u32> = const { Cell::new(0) };
    /// Those of them that have let another thread run.
    static SWITCHES: Cell<u32> = const { Cell::new(0) };
    /// Whether it has run a task since then.
    static HAS_RUN_TASK: Cell<bool> = const { Cell::new(false) };
    /// How often in a row the CPU has been found to be shared, with a task in between.
    static TIMES_SHARED: Cell<u32> = const { Cell::new(0) };
}

/// Says that the calling thread has run a task. A thread that has none for a while does not share its work with
/// another one on its CPU, and soon sleeps anyhow.
#[inline]
pub(crate) fn note_task() {
    HAS_RUN_TASK.set(true);
}

/// Yields the CPU. Returns whether it is shared for good, and not only because another thread ends what it has begun:
/// nearly all of the last yields have let another thread run, and that has gone on while the calling thread has run
/// tasks. Always false on processors without a counter of [`ticks`].
#[inline]
pub(crate) fn yield_and_look() -> bool {
    let switches = SWITCHES.get() + u32::from(yield_and_tell());
    let yields = YIELDS.get() + 1;
    if yields < YIELDS_PER_LOOK {
        YIELDS.set(yields);
        SWITCHES.set(switches);
        return false;
    }
    YIELDS.set(0);
    SWITCHES.set(0);
    let (is_shared, has_run_task) = (switches >= SWITCHES_OF_SHARED_CPU, HAS_RUN_TASK.replace(false));
    let mut times = 0;
    if is_shared && has_run_task {
        times = TIMES_SHARED.get() + 1;
        // Relaxed, both: see `yield_and_tell`.
        let shortest = SHORTEST_YIELD.load(Ordering::Relaxed);
        SHORTEST_YIELD.store(shortest.saturating_add(shortest / 16 + 1), Ordering::Relaxed);
    }
    TIMES_SHARED.set(times % TIMES_OF_SHARED_CPU);
    times == TIMES_OF_SHARED_CPU
}

/// Yields the CPU. Returns whether that has let another thread run, as far as the time says.
fn yield_and_tell() -> bool {
    let begin = ticks();
    yield_now();
    let taken = ticks().saturating_sub(begin);
    // Relaxed, both: only a measure, without a partner. It is written seldom, since nearly all yields are longer.
    let shortest = SHORTEST_YIELD.load(Ordering::Relaxed);
    // 0: there is no counter, or it has gone back.
    if taken > 0 && taken < shortest {
        SHORTEST_YIELD.store(taken, Ordering::Relaxed);
    }
    taken > shortest.saturating_mul(TIMES_OF_SHORTEST_YIELD)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two threads that are bound to one CPU, and yield to each other. Another one, which has it for itself for a
    /// moment, has found out how long a yield takes.
    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn threads_on_one_cpu_see_that_they_share_it() {
        use std::sync::atomic::{AtomicBool, Ordering};
        use std::time::{Duration, Instant};

        use core_affinity::CoreId;

        let id = crate::sys::affinity::current_cpu().expect("the kernel says it");
        let (is_seen, deadline) = (AtomicBool::new(false), Instant::now() + Duration::from_secs(60));
        let look_for_it = || {
            assert!(core_affinity::set_for_current(CoreId { id }), "the thread is bound");
            while !is_seen.load(Ordering::Relaxed) {
                note_task();
                is_seen.fetch_or(yield_and_look(), Ordering::Relaxed);
                assert!(Instant::now() < deadline, "it is never seen");
            }
        };
        (0..1_000).for_each(|_| _ = yield_and_tell());
        std::thread::scope(|scope| {
            scope.spawn(look_for_it);
            scope.spawn(look_for_it);
        });
    }

    /// No yield is as short as a reading says that was wrong for once. With that measure every CPU seems shared, but
    /// not for ever.
    #[test]
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    fn a_shortest_yield_that_was_none_is_forgotten() {
        use std::time::{Duration, Instant};
        let deadline = Instant::now() + Duration::from_secs(60);
        SHORTEST_YIELD.store(1, Ordering::Relaxed);
        while SHORTEST_YIELD.load(Ordering::Relaxed) < 20 {
            note_task();
            let _ = yield_and_look();
            assert!(Instant::now() < deadline, "it is still the measure");
        }
    }

    #[test]
    fn a_look_comes_with_every_so_many_yields() {
        let yields = |count| (0..count).filter(|_| yield_and_look()).count();
        std::thread::spawn(move || {
            yields(YIELDS_PER_LOOK - 1);
            assert_eq!(YIELDS.get(), YIELDS_PER_LOOK - 1);
            yields(1);
            assert_eq!(YIELDS.get(), 0);
        })
        .join()
        .unwrap();
    }
}
