//! A pair of sequentially consistent fences of which one is free: the light one only keeps the compiler from reordering, and the
//! heavy one makes all cores that run threads of this process execute a fence, by Linux's `membarrier`.
//!
//! For a thread that does a thing all the time and another that seldom needs to know: of two threads that each write, fence and
//! read what the other writes, at least one sees the other's write, if one fence is light and the other heavy.

#[cfg(target_os = "linux")]
mod refused;

use std::sync::atomic::{Ordering, compiler_fence};

#[cfg(target_os = "linux")]
pub(crate) use refused::KernelThread;

/// The cheap side.
#[inline(always)]
pub(crate) fn light() {
    compiler_fence(Ordering::SeqCst);
}

/// The dear side, against the light fences of `other`: some 20 us, and an interrupt on each core that runs a thread of this
/// process. Only where `are_available` has said yes. If the kernel refuses it all the same, it takes far longer, and
/// `are_available` says no from then on.
#[cfg(target_os = "linux")]
pub(crate) fn heavy(other: KernelThread) {
    #[cfg(test)]
    HEAVY.set(HEAVY.get() + 1);
    if membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED).is_err() {
        refused::fence_against(other);
    }
}

/// Whether the pair can be had. The first call of a process registers it, which takes milliseconds where threads are running already.
#[cfg(target_os = "linux")]
pub(crate) fn are_available() -> bool {
    // Not remembered: a second registration costs a system call and no more.
    are_still_available() && membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED).is_ok()
}

/// Whether the pair, once had, can still be had as far as is known.
#[cfg(target_os = "linux")]
pub(crate) fn are_still_available() -> bool {
    !refused::is_refused()
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "libc has no wrapper")]
fn membarrier(command: libc::c_int) -> std::io::Result<()> {
    const NO_FLAGS: libc::c_uint = 0;
    const ANY_CPU: libc::c_int = 0;
    // SAFETY: the call touches no memory of the caller's.
    let status = unsafe { libc::syscall(libc::SYS_membarrier, command, NO_FLAGS, ANY_CPU) };
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
pub(crate) fn are_available() -> bool {
    false
}

#[cfg(test)]
thread_local! {
    static HEAVY: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// How many heavy fences the calling thread has made.
#[cfg(test)]
pub(crate) fn heavy_fences_of_this_thread() -> u64 {
    HEAVY.get()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::AtomicU64;
    use std::sync::mpsc::channel;

    #[test]
    fn of_two_writers_one_sees_the_other() {
        if are_available() {
            assert_one_sees_the_other(5_000, heavy);
        }
    }

    #[test]
    fn of_two_writers_one_sees_the_other_by_visits_too() {
        assert_one_sees_the_other(300, |other| assert!(refused::visit_cpus_of(other)));
    }

    fn assert_one_sees_the_other(rounds: u64, heavy: impl Fn(KernelThread)) {
        let (light_side, heavy_side, round) = (AtomicU64::new(0), AtomicU64::new(0), Barrier::new(2));
        let missed = |own: &AtomicU64, other: &AtomicU64, fence: &dyn Fn(), turn: u64| {
            round.wait();
            own.store(turn, Ordering::Relaxed);
            fence();
            let missed = other.load(Ordering::Relaxed) < turn;
            round.wait();
            missed
        };
        std::thread::scope(|scope| {
            let (sender, receiver) = channel();
            let other = scope.spawn(|| {
                // Moved here, so that it is gone if this panics.
                let sender = sender;
                sender.send(KernelThread::current()).unwrap();
                (1..=rounds).map(|turn| missed(&light_side, &heavy_side, &light, turn)).collect::<Vec<_>>()
            });
            let thread = receiver.recv().unwrap();
            let this: Vec<_> = (1..=rounds).map(|turn| missed(&heavy_side, &light_side, &|| heavy(thread), turn)).collect();
            let both = this.iter().zip(other.join().unwrap()).filter(|(this, other)| **this && *other);
            assert_eq!(both.count(), 0, "rounds in which neither saw the other");
        });
    }
}
