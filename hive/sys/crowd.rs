//! Whether hives that may run on the same CPUs have more threads than there are CPUs.
//!
//! A bee that polls then keeps the other hives' bees off their CPUs, and those do the same to it. A bee that has lost
//! its CPU gets it back after a time slice of some milliseconds, and its region waits for that. If all of them sleep
//! where they would have polled, each thread that is woken runs in some microseconds. So while it is crowded, no wait
//! polls: see `WaitPolicy::is_oversubscribed`.
//!
//! Loops know a better answer if the share of the hive is about one CPU: `observe/help.rs`.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::sys::run_queue::RunQueue;
use crate::sys::{clock, presence};

/// It is looked up at most once in so many nanoseconds, since that takes some 20 us: while it is not crowded, and while
/// it is.
const BETWEEN_LOOKS: u64 = 8_000_000;
const BETWEEN_LOOKS_IN_CROWD: u64 = 20_000_000;

/// After so many looks that have found a CPU free it is crowded no longer. Threads that sleep for a moment, since they
/// do not poll, want a CPU again soon.
const LOOKS_UNTIL_OVER: u32 = 4;

/// Before that time, as `clock` has it, nobody looks.
static NEXT_LOOK: AtomicU64 = AtomicU64::new(0);

/// How many looks in a row have found a CPU free.
static CALM_LOOKS: AtomicU32 = AtomicU32::new(LOOKS_UNTIL_OVER);

/// Looks it up, unless that was done a short time ago. Called in waits that take long, and where one would have polled
/// if it were not crowded. A worker does not look: if it is bound, it does not know which CPUs the others may use.
pub(crate) fn look() {
    if presence::is_worker() {
        return;
    }
    let now = clock::nanos();
    // Relaxed, all in this file: hints.
    let next = NEXT_LOOK.load(Ordering::Relaxed);
    // A clock may go back, where a process is restored.
    if now >= next || next - now > BETWEEN_LOOKS_IN_CROWD {
        let between = if presence::is_crowded() { BETWEEN_LOOKS_IN_CROWD } else { BETWEEN_LOOKS };
        NEXT_LOOK.store(now + between, Ordering::Relaxed);
        let calm_looks = calm_looks(CALM_LOOKS.load(Ordering::Relaxed), RunQueue::read_if_shared());
        CALM_LOOKS.store(calm_looks, Ordering::Relaxed);
        presence::set_crowded(calm_looks < LOOKS_UNTIL_OVER);
    }
}

/// How many looks in a row have found a CPU free, up to those after which it is not crowded; `before` this one that
/// many. None: no other hive may run on the same CPUs.
fn calm_looks(before: u32, queue: Option<RunQueue>) -> u32 {
    match queue {
        None => LOOKS_UNTIL_OVER,
        Some(queue) if queue.is_short_of_cpus() => 0,
        Some(queue) if queue.has_free_cpu() => LOOKS_UNTIL_OVER.min(before + 1),
        Some(_) => before,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_crowded_from_the_first_look_that_says_so_until_several_do_not() {
        let after = |before, queues: &[(usize, usize)]| {
            let queues = queues.iter().map(|&(runnable, own)| RunQueue::of(runnable, own, 2));
            queues.fold(before, |before, queue| calm_looks(before, Some(queue)))
        };
        assert_eq!(after(LOOKS_UNTIL_OVER, &[(2, 2)]), LOOKS_UNTIL_OVER);
        assert_eq!(after(LOOKS_UNTIL_OVER, &[(2, 2), (3, 2)]), 0);
        assert_eq!(after(0, &[(2, 1), (1, 1), (2, 2), (2, 1)]), 2, "two say nothing: each CPU has a thread");
        assert_eq!(after(0, &[(1, 1), (1, 1), (3, 1), (1, 1)]), 1);
        assert_eq!(after(0, &[(1, 1); 5]), LOOKS_UNTIL_OVER);
        assert_eq!(calm_looks(0, None), LOOKS_UNTIL_OVER, "the other hives have gone");
    }
}
