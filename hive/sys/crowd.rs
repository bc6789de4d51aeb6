//! Whether it is *crowded*: hives may share CPUs, and the machine's threads want more CPUs than it has.
//!
//! A bee that polls then keeps the other hives' bees off their CPUs, and those do the same to it. A bee that has lost
//! its CPU gets it back after a time slice of some milliseconds, and its region waits for that. If all of them sleep
//! where they would have polled, each thread that is woken runs in some microseconds. So while it is crowded, no wait
//! polls: see `WaitPolicy::is_oversubscribed`.
//!
//! Where a hive's share is about one CPU, its loops run on their callers: `observe/help.rs`.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::sys::cpu_locks::CpuLocks;
use crate::sys::run_queue::RunQueue;
use crate::sys::{clock, presence};

/// The least time between two looks, in nanoseconds, since one takes some 20 us; the second while it is crowded.
const BETWEEN_LOOKS: u64 = 8_000_000;
const BETWEEN_LOOKS_IN_CROWD: u64 = 20_000_000;

/// It is crowded until so many looks have found a CPU free: one may come while bees sleep for a moment only.
const LOOKS_UNTIL_OVER: u32 = 4;

/// Before that time, as `clock` has it, nobody looks.
static NEXT_LOOK: AtomicU64 = AtomicU64::new(0);

/// How many looks have found a CPU free since CPUs were short.
static CALM_LOOKS: AtomicU32 = AtomicU32::new(LOOKS_UNTIL_OVER);

/// Looks whether it is crowded, unless somebody has done so lately. Called in waits that take long, and in those that
/// would poll if it were not crowded. A worker does not look: if it is bound, it may not use the whole machine, and
/// `RunQueue::read` would say nothing.
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
        let before = CALM_LOOKS.load(Ordering::Relaxed);
        let calm_looks = if CpuLocks::may_share() {
            // Where nothing can be read, it stays as it was.
            RunQueue::read().map_or(before, |queue| calm_looks(before, queue))
        } else {
            LOOKS_UNTIL_OVER
        };
        CALM_LOOKS.store(calm_looks, Ordering::Relaxed);
        presence::set_crowded(calm_looks < LOOKS_UNTIL_OVER);
    }
}

/// What `CALM_LOOKS` is after a look that has found `queue`, if it was `before`.
fn calm_looks(before: u32, queue: RunQueue) -> u32 {
    // The first of these may hold although the second does: own workers that are awake need not poll.
    if queue.is_short_of_cpus() {
        0
    } else if queue.has_free_cpu() {
        LOOKS_UNTIL_OVER.min(before + 1)
    } else {
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_crowded_from_the_first_look_that_says_so_until_several_do_not() {
        let after = |before, queues: &[(usize, usize)]| {
            let queues = queues.iter().map(|&(runnable, own)| RunQueue::of(runnable, own, 2));
            queues.fold(before, calm_looks)
        };
        assert_eq!(after(LOOKS_UNTIL_OVER, &[(2, 2)]), LOOKS_UNTIL_OVER);
        assert_eq!(after(LOOKS_UNTIL_OVER, &[(2, 2), (3, 2)]), 0);
        assert_eq!(after(0, &[(2, 1), (1, 1), (2, 2), (2, 1)]), 2, "two say nothing: each CPU has a thread");
        assert_eq!(after(0, &[(1, 1), (1, 1), (3, 1), (1, 1)]), 1);
        assert_eq!(after(0, &[(1, 1); 5]), LOOKS_UNTIL_OVER);
    }
}
