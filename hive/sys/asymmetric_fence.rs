//! A pair of sequentially consistent fences, one of which is free. The light fence only keeps the compiler from
//! reordering. The heavy fence makes all cores that run threads of this process execute a full fence, by Linux's
//! `membarrier`.
//!
//! The pair is for two threads of which one does something all the time and the other seldom has to know about it. If
//! each of the two writes, executes its fence, and then reads what the other writes, at least one of them sees the
//! other's write, provided that one fence is light and the other heavy. A worker that begins a part of a loop executes
//! the light one, and a leader who is to stand in for workers the heavy one: `docs/latecomers.md`.

use std::ffi::c_int;
use std::sync::atomic::{Ordering, compiler_fence};

/// The command of `membarrier` that makes all cores that run threads of this process execute a fence.
const EXPEDITED: c_int = 1 << 3;

/// The command that registers the process for that.
const REGISTER_EXPEDITED: c_int = 1 << 4;

/// The light fence, for the thread that executes it often.
#[inline(always)]
pub(crate) fn light() {
    // SeqCst: pairs with `try_heavy`, which executes a fence on this thread's core.
    compiler_fence(Ordering::SeqCst);
}

/// The heavy fence, against the light fences of all threads. It takes some 20 us and interrupts each core that runs a
/// thread of this process. Returns false, and is no fence, if the process is not registered or the kernel refuses it.
pub(crate) fn try_heavy() -> bool {
    membarrier(EXPEDITED)
}

/// Registers the process for heavy fences, if the kernel has them. Where threads are running already, the first call in
/// a process takes milliseconds: unless `may_take_long`, nothing is done then.
pub(crate) fn register(may_take_long: bool) {
    if may_take_long || is_only_thread() {
        // Nobody needs the result: `try_heavy` fails if this has. Registering once more costs one system call.
        membarrier(REGISTER_EXPEDITED);
    }
}

/// The `membarrier` system call. Returns whether the kernel has done it. It is not made in a sandbox that has been set
/// up since the first hive was built: that may end a process for it, and hive can do without.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "libc has no wrapper")]
fn membarrier(command: c_int) -> bool {
    const NO_FLAGS: libc::c_uint = 0;
    const UNUSED_CPU: c_int = 0;
    // SAFETY: the call accesses no memory of the caller.
    !crate::sys::sandbox::has_come()
        && unsafe { libc::syscall(libc::SYS_membarrier, command, NO_FLAGS, UNUSED_CPU) } == 0
}

/// Only Linux has it. There is no heavy fence elsewhere.
#[cfg(not(target_os = "linux"))]
fn membarrier(_: c_int) -> bool {
    false
}

/// Whether the calling thread is the only one of its process.
#[cfg(target_os = "linux")]
fn is_only_thread() -> bool {
    use std::os::linux::fs::MetadataExt;

    // The directory has a link for each thread, and two of its own.
    std::fs::metadata("/proc/self/task").is_ok_and(|threads| threads.st_nlink() == 3)
}

/// Nobody needs to know where there is no heavy fence.
#[cfg(not(target_os = "linux"))]
fn is_only_thread() -> bool {
    false
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::hint::spin_loop;
    use std::sync::atomic::AtomicU64;
    use std::thread::{scope, yield_now};

    use crossbeam_utils::CachePadded;

    use super::*;

    #[test]
    fn of_two_writers_one_sees_the_other() {
        register(true);
        if try_heavy() {
            assert_eq!(rounds_missed_by_both(20_000), 0);
        }
    }

    /// What one side of the test writes: a value that the other side reads, and the round that it has come to.
    #[derive(Default)]
    struct Side {
        value: CachePadded<AtomicU64>,
        round: CachePadded<AtomicU64>,
    }

    impl Side {
        /// Writes the value, executes `fence`, and returns whether the other side's value of this round is not visible.
        fn missed(&self, other: &Self, round: u64, fence: impl FnOnce()) -> bool {
            // Relaxed, both accesses: the fences that are under test order them.
            self.value.store(round, Ordering::Relaxed);
            fence();
            other.value.load(Ordering::Relaxed) < round
        }

        /// Waits until this side has come to `round`.
        fn wait_for_round(&self, round: u64) {
            for polls in 1_u64.. {
                // Acquire: pairs with the Release stores to `round`, by which a side says that it has come to a round.
                if self.round.load(Ordering::Acquire) >= round {
                    break;
                }
                // A yield only now and then, because both sides should write as nearly at the same time as possible.
                if polls % 10_000 == 0 { yield_now() } else { spin_loop() }
            }
        }
    }

    /// The number of rounds in which neither side has seen what the other has written. (With an ordinary fence in place
    /// of the heavy one there are some such rounds, if two CPUs are free.)
    fn rounds_missed_by_both(rounds: u64) -> usize {
        let (light_side, heavy_side) = (Side::default(), Side::default());
        scope(|scope| {
            let (light_side, heavy_side) = (&light_side, &heavy_side);
            let other = scope.spawn(move || {
                let round = |round| {
                    heavy_side.wait_for_round(round);
                    let missed = light_side.missed(heavy_side, round, light);
                    // Release: pairs with the Acquire in `wait_for_round`.
                    light_side.round.store(round, Ordering::Release);
                    missed
                };
                (1..=rounds).map(round).collect::<Vec<_>>()
            });
            let round = |round| {
                // Release: pairs with the Acquire in `wait_for_round`.
                heavy_side.round.store(round, Ordering::Release);
                // The other side sees that store a little later.
                (0..round % 64).for_each(|_| spin_loop());
                let missed = heavy_side.missed(light_side, round, || assert!(try_heavy()));
                light_side.wait_for_round(round);
                missed
            };
            let this: Vec<_> = (1..=rounds).map(round).collect();
            this.into_iter().zip(other.join().unwrap()).filter(|&(this, other)| this && other).count()
        })
    }
}
