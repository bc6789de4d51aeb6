//! A pair of sequentially consistent fences of which one is free: the light one only keeps the compiler from reordering, and the
//! heavy one makes all cores that run threads of this process execute a fence, by Linux's `membarrier`.
//!
//! For a thread that does a thing all the time and another that seldom needs to know: of two threads that each write, fence and
//! read what the other writes, at least one sees the other's write, if one fence is light and the other heavy.

#[cfg(target_os = "linux")]
pub(crate) mod fallback;

use std::sync::atomic::{Ordering, compiler_fence};

#[cfg(target_os = "linux")]
pub(crate) use fallback::KernelThread;

/// The cheap side.
#[inline(always)]
pub(crate) fn light() {
    compiler_fence(Ordering::SeqCst);
}

/// The dear side, against the light fences of `other`: some 20 us, and an interrupt on each core that runs a thread
/// of this process. Only where `register` has said yes. If the kernel refuses it all the same, it takes far
/// longer, and `register` says no from then on.
#[cfg(target_os = "linux")]
pub(crate) fn heavy(other: KernelThread) {
    #[cfg(test)]
    HEAVY_FENCES.set(HEAVY_FENCES.get() + 1);
    if membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED).is_err() {
        fallback::fence_by_visiting(other);
    }
}

/// Whether the pair can be had. The first call of a process registers it, which takes milliseconds where threads are running already.
#[cfg(target_os = "linux")]
pub(crate) fn register() -> bool {
    // Not remembered: a second registration costs a system call and no more.
    are_still_available() && membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED).is_ok()
}

/// Whether the pair, once had, can still be had as far as is known.
#[cfg(target_os = "linux")]
pub(crate) fn are_still_available() -> bool {
    !fallback::has_been_refused()
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "libc has no wrapper")]
fn membarrier(command: libc::c_int) -> std::io::Result<()> {
    const NO_FLAGS: libc::c_uint = 0;
    const UNUSED_CPU: libc::c_int = 0;
    // SAFETY: the call touches no memory of the caller's.
    let status = unsafe { libc::syscall(libc::SYS_membarrier, command, NO_FLAGS, UNUSED_CPU) };
    if status == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn heavy(_: KernelThread) {
    unreachable!("there is no heavy fence on this system");
}

/// Nobody asks for it.
#[cfg(not(target_os = "linux"))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelThread;

#[cfg(not(target_os = "linux"))]
impl KernelThread {
    pub(crate) const NONE: Self = Self;

    pub(crate) fn current() -> Self {
        Self
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn are_still_available() -> bool {
    false
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn register() -> bool {
    false
}

#[cfg(test)]
thread_local! {
    static HEAVY_FENCES: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// How many heavy fences the calling thread has made.
#[cfg(test)]
pub(crate) fn heavy_fences_of_this_thread() -> u64 {
    HEAVY_FENCES.get()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::cell::Cell;
    use std::hint::spin_loop;
    use std::sync::atomic::AtomicU64;
    use std::sync::mpsc::channel;
    use std::thread::{scope, yield_now};

    use crossbeam_utils::CachePadded;

    use super::*;

    #[test]
    fn of_two_writers_one_sees_the_other() {
        if register() {
            assert_eq!(rounds_missed_by_both(20_000, heavy), 0);
        }
    }

    #[test]
    fn of_two_writers_one_sees_the_other_by_the_fallback_too() {
        let refused = Cell::new(false);
        let visit = |other| refused.set(refused.get() || !fallback::visit_cpus_of(other));
        assert_eq!((rounds_missed_by_both(300, visit), refused.get()), (0, false));
    }

    /// What each side writes, and up to which round it has come.
    #[derive(Default)]
    struct Side {
        value: CachePadded<AtomicU64>,
        round: CachePadded<AtomicU64>,
    }

    impl Side {
        /// Writes, makes its fence, and says whether it has missed what the other has written.
        fn missed(&self, other: &Self, round: u64, fence: impl FnOnce()) -> bool {
            self.value.store(round, Ordering::Relaxed);
            fence();
            other.value.load(Ordering::Relaxed) < round
        }

        fn wait_for_round(&self, round: u64) {
            for polls in 1_u64.. {
                // Acquire: pairs with the Release by which the other side comes to a round.
                if self.round.load(Ordering::Acquire) >= round {
                    break;
                }
                // Not always: the two are to write as nearly at once as can be.
                if polls.is_multiple_of(10_000) { yield_now() } else { spin_loop() }
            }
        }
    }

    /// The rounds in which neither side has seen what the other has written. (With a plain fence for the heavy one
    /// there are some, where two CPUs are free.)
    fn rounds_missed_by_both(rounds: u64, heavy: impl Fn(KernelThread)) -> usize {
        let (light_side, heavy_side) = (Side::default(), Side::default());
        scope(|scope| {
            let (sender, receiver) = channel();
            let (light_side, heavy_side) = (&light_side, &heavy_side);
            let other = scope.spawn(move || {
                sender.send(KernelThread::current()).unwrap();
                let round = |round| {
                    heavy_side.wait_for_round(round);
                    let missed = light_side.missed(heavy_side, round, light);
                    // Release: pairs with the Acquire in `wait_for_arrivals`.
                    light_side.round.store(round, Ordering::Release);
                    missed
                };
                (1..=rounds).map(round).collect::<Vec<_>>()
            });
            let thread = receiver.recv().unwrap();
            let round = |round| {
                // Release: pairs with the Acquire in `wait_for_arrivals`.
                heavy_side.round.store(round, Ordering::Release);
                // The other sees it a while later.
                (0..round % 64).for_each(|_| spin_loop());
                let missed = heavy_side.missed(light_side, round, || heavy(thread));
                light_side.wait_for_round(round);
                missed
            };
            let this: Vec<_> = (1..=rounds).map(round).collect();
            this.into_iter().zip(other.join().unwrap()).filter(|&(this, other)| this && other).count()
        })
    }
}
