//! Whether a thread that yields its CPU between polls shares it with another thread that wants it all the time.
//!
//! The kernel may put two threads of a pool on one CPU although another one is free, and as long as neither of them
//! sleeps it leaves them there: it moves threads that wait for a CPU, and these two give way to each other before it
//! looks. Then each task that one of them hands to the other is run on the same CPU, one after the other. If one of
//! them sleeps, the thread that wakes it puts it on a free CPU.
//!
//! So a thread compares its yields with the number of times that the kernel has put another thread in its place. A
//! yield that no other thread has waited for changes nothing there.

use std::cell::Cell;
use std::thread::yield_now;

/// So many yields are counted before the kernel is asked, which takes about as long as one of them.
const YIELDS_PER_LOOK: u32 = 16;

/// If so many of them have let another thread run, the CPU is shared. A thread that comes and goes, such as one that
/// hands over tasks and waits for them, causes fewer.
const SWITCHES_OF_SHARED_CPU: i64 = 12;

/// After so many of such looks in a row the thread leaves.
const TIMES_OF_SHARED_CPU: u32 = 2;

thread_local! {
    /// The yields of the calling thread since it has last asked the kernel.
    static YIELDS: Cell<u32> = const { Cell::new(0) };
    /// The switches to other threads until then.
    static SWITCHES: Cell<i64> = const { Cell::new(0) };
    /// Whether it has run a task since then.
    static HAS_RUN_TASK: Cell<bool> = const { Cell::new(false) };
    /// How often in a row the kernel has said that the CPU is shared, with a task in between.
    static TIMES_SHARED: Cell<u32> = const { Cell::new(0) };
}

/// Says that the calling thread has run a task. A thread that has none for a while does not share its work with
/// another one on its CPU, and soon sleeps anyhow.
#[inline]
pub(crate) fn note_task() {
    HAS_RUN_TASK.set(true);
}

/// Yields the CPU. Returns whether it is shared for good, and not only because another thread ends what it has begun:
/// nearly all of the last yields have let another thread run, or other threads have taken the CPU as often, and that
/// has gone on while the calling thread has run tasks.
#[inline]
pub(crate) fn yield_and_look() -> bool {
    yield_now();
    let yields = YIELDS.get() + 1;
    if yields < YIELDS_PER_LOOK {
        YIELDS.set(yields);
        return false;
    }
    YIELDS.set(0);
    let (switches, has_run_task) = (switches(), HAS_RUN_TASK.replace(false));
    let is_shared = switches - SWITCHES.replace(switches) >= SWITCHES_OF_SHARED_CPU;
    let times = if is_shared && has_run_task { TIMES_SHARED.get() + 1 } else { 0 };
    TIMES_SHARED.set(times % TIMES_OF_SHARED_CPU);
    times == TIMES_OF_SHARED_CPU
}

/// How often the kernel has put another thread in the calling thread's place while that could have gone on. 0 on
/// systems that do not say so for a single thread.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "std has no name for this call")]
fn switches() -> i64 {
    // SAFETY: a `rusage` is plain numbers, for which zeros are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a `rusage`, which the call fills in.
    let status = unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    if status == 0 { usage.ru_nivcsw as i64 } else { 0 }
}

#[cfg(not(target_os = "linux"))]
fn switches() -> i64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two threads that are bound to one CPU, and yield to each other.
    #[test]
    #[cfg(target_os = "linux")]
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
        std::thread::scope(|scope| {
            scope.spawn(look_for_it);
            scope.spawn(look_for_it);
        });
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
