//! A pair of sequentially consistent fences, one of which is free. The light fence only keeps the compiler from
//! reordering. The heavy fence makes all cores that run threads of this process execute a full fence, by Linux's
//! `membarrier`.
//!
//! The pair is for two threads of which one does something all the time and the other seldom has to know about it. If
//! each of the two writes, executes its fence, and then reads what the other writes, at least one of them sees the
//! other's write, provided that one fence is light and the other heavy. Two protocols use it. The owner of a queen lock
//! executes the light fence, and a thread that ends the owner's reservation the heavy one: `docs/queen-lock.md`. A
//! worker that begins a part executes the light one, and a leader who is to stand in for workers the heavy one:
//! `docs/latecomers.md`.

use std::ffi::c_int;
use std::iter;
use std::sync::atomic::{AtomicBool, Ordering, compiler_fence, fence};

use crate::on_drop::on_drop;
use crate::sys::affinity::{self, CallError, OtherThread};
use crate::sys::cpu_mask::CpuMask;

/// The command of `membarrier` that makes all cores that run threads of this process execute a fence.
const EXPEDITED: c_int = 1 << 3;

/// The command that registers the process for that.
const REGISTER_EXPEDITED: c_int = 1 << 4;

/// Whether a heavy fence has been refused in this process. It never becomes false again.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// The light fence, for the thread that executes it often.
#[inline(always)]
pub(crate) fn light() {
    // SeqCst: pairs with `heavy`, which executes a fence on this thread's core.
    compiler_fence(Ordering::SeqCst);
}

/// The heavy fence, against the light fences of the thread `other`. It takes some 20 us and interrupts each core that
/// runs a thread of this process. Call it only if `register` has returned true. If the kernel refuses it nevertheless,
/// the fallback takes far longer, and `register` returns false from then on.
pub(crate) fn heavy(other: Option<OtherThread>) {
    #[cfg(test)]
    HEAVY_FENCES.set(HEAVY_FENCES.get() + 1);
    if !membarrier(EXPEDITED) {
        fence_by_visiting(other);
    }
}

/// The heavy fence, against the light fences of all threads. Returns false if the kernel refuses it: then there was
/// none.
pub(crate) fn try_heavy() -> bool {
    are_still_available() && membarrier(EXPEDITED)
}

/// Registers the process for heavy fences, and returns whether the pair of fences can be used. The first call in a
/// process takes milliseconds if threads are running already.
pub(crate) fn register() -> bool {
    // The result is not remembered: registering once more costs one system call.
    are_still_available() && membarrier(REGISTER_EXPEDITED)
}

/// As `register`, if the process has been registered before or the calling thread is its only one. If not, this does
/// not register it, and returns false.
pub(crate) fn register_if_quick() -> bool {
    // A process that is not registered may execute no heavy fence.
    are_still_available() && (is_only_thread() && register() || membarrier(EXPEDITED))
}

/// Whether the fences can still be used, as far as is known, in a process where `register` has returned true.
pub(crate) fn are_still_available() -> bool {
    // Relaxed: a thread that sees it late is refused `membarrier` itself and comes to `fence_by_visiting` too.
    !REFUSED.load(Ordering::Relaxed)
}

/// The `membarrier` system call. Returns whether the kernel has done it. On x86-64, where hive can do without, it is
/// not made in a sandbox that has been set up since the first hive was built: that may end a process for it.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "libc has no wrapper")]
fn membarrier(command: c_int) -> bool {
    const NO_FLAGS: libc::c_uint = 0;
    const UNUSED_CPU: c_int = 0;
    let would_end_process = cfg!(target_arch = "x86_64") && crate::sys::sandbox::has_come();
    // SAFETY: the call accesses no memory of the caller.
    !would_end_process && unsafe { libc::syscall(libc::SYS_membarrier, command, NO_FLAGS, UNUSED_CPU) } == 0
}

/// Only Linux has it. So `register` returns false elsewhere, and there is no heavy fence.
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

/// The CPUs that `other` may run on and that are switched on; an empty set if it has ended. None: there is no such
/// thread, or the system does not say.
fn cpus_of(other: Option<OtherThread>) -> Option<CpuMask> {
    match other?.mask() {
        // It needs no fence any more.
        Err(CallError { error, .. }) if error.raw_os_error() == Some(libc::ESRCH) => Some(CpuMask::new()),
        cpus => cpus.ok(),
    }
}

/// The heavy fence against the light fences of `other`, without `membarrier`: for the case that the kernel refuses that
/// although it has accepted it before, because the program has set up a sandbox (a seccomp filter) in the meantime. See
/// `docs/queen-lock.md`, "When `membarrier` is refused later".
///
/// The light side executes nothing that could help, so the calling thread has to make the other thread's processor
/// execute a full fence. It does so by running on each CPU that the other thread may be on. If the other thread is
/// running there, it has to make room, and the kernel executes a full fence when it switches threads. This takes
/// milliseconds and happens at most once for each hive: once a call has been refused, no queen lock is reserved any
/// more, and each reservation that exists ends once, in this way.
#[cold]
fn fence_by_visiting(other: Option<OtherThread>) {
    /// How often the visit is tried. It fails if a CPU is switched off, or taken from the process, between the question
    /// and the visit.
    const ATTEMPTS: u32 = 3;
    // Relaxed: see `are_still_available`.
    REFUSED.store(true, Ordering::Relaxed);
    // SeqCst: pairs with the full fence that the kernel executes when it switches threads on the other thread's CPU.
    // What the calling thread has written before is seen by the other thread after that.
    fence(Ordering::SeqCst);
    if !(0..ATTEMPTS).any(|_| visit_cpus_of(other)) {
        wait_for_stores();
    }
    // SeqCst: pairs with the same fence. What the other thread has written before it is seen by the calling thread from
    // here on.
    fence(Ordering::SeqCst);
}

/// Runs on each CPU that `other` may be on. After that, `other` has executed a full fence: if it was running, it had to
/// make room wherever it was, or has moved to another CPU by itself; if it was not running, a fence was executed when
/// it stopped. Returns false if the system refuses this.
///
/// This also holds if `other` has changed its CPUs meanwhile, because that is done by a switch of threads.
fn visit_cpus_of(other: Option<OtherThread>) -> bool {
    let (Ok(own), Some(cpus)) = (affinity::query(), cpus_of(other)) else { return false };
    // This fails only if those CPUs have been taken from the process meanwhile. In that case the system has chosen
    // others for the thread.
    let _restore = on_drop(|| _ = bind(&own));
    cpus.iter().all(move_to_cpu)
}

/// Moves the calling thread to a CPU, and returns whether it is there.
fn move_to_cpu(cpu: usize) -> bool {
    bind(&iter::once(cpu).collect()).is_ok() && affinity::current_cpu() == Some(cpu)
}

/// Binds the calling thread: in a sandbox only where nothing but to abort the process is left otherwise.
fn bind(cpus: &CpuMask) -> Result<(), CallError> {
    if cfg!(target_arch = "x86_64") { affinity::apply(cpus) } else { affinity::apply_in_sandbox(cpus) }
}

/// Waits until the stores that any thread has executed so far are visible to all threads. On x86, a processor's store
/// buffer is emptied when it takes an interrupt, and the kernel's clock interrupts each processor that runs a thread
/// every ten milliseconds or more often (except those that `nohz_full` names). In practice the stores are visible after
/// microseconds.
#[cfg(target_arch = "x86_64")]
fn wait_for_stores() {
    use std::thread::yield_now;
    use std::time::{Duration, Instant};

    const WAIT: Duration = Duration::from_millis(100);
    let start = Instant::now();
    // Not a sleep: the standard library panics if the system call for that is refused.
    while start.elapsed() < WAIT {
        yield_now();
    }
}

/// No such rule is known for other processors, so the process cannot go on.
#[cfg(not(target_arch = "x86_64"))]
fn wait_for_stores() {
    crate::sys::stderr::abort_with_message(format_args!(
        "this process was forbidden membarrier and sched_setaffinity after a hive was built: allow one of them, \
         or forbid membarrier before"
    ))
}

#[cfg(test)]
thread_local! {
    /// Counts the heavy fences of each thread, for tests.
    static HEAVY_FENCES: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// How many heavy fences the calling thread has executed.
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
        let visit = |other| refused.set(refused.get() || !visit_cpus_of(other));
        assert_eq!((rounds_missed_by_both(300, visit), refused.get()), (0, false));
    }

    #[test]
    fn a_visit_leaves_the_caller_where_it_may_be_and_ends_for_one_that_has_ended() {
        let before = affinity::query().unwrap();
        assert!(visit_cpus_of(OtherThread::current()));
        let ended = std::thread::spawn(OtherThread::current).join().unwrap();
        assert!(visit_cpus_of(ended));
        assert_eq!(affinity::query().unwrap(), before);
        assert_eq!(cpus_of(OtherThread::current()).unwrap(), before);
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
    fn rounds_missed_by_both(rounds: u64, heavy: impl Fn(Option<OtherThread>)) -> usize {
        let (light_side, heavy_side) = (Side::default(), Side::default());
        scope(|scope| {
            let (sender, receiver) = channel();
            let (light_side, heavy_side) = (&light_side, &heavy_side);
            let other = scope.spawn(move || {
                sender.send(OtherThread::current()).unwrap();
                let round = |round| {
                    heavy_side.wait_for_round(round);
                    let missed = light_side.missed(heavy_side, round, light);
                    // Release: pairs with the Acquire in `wait_for_round`.
                    light_side.round.store(round, Ordering::Release);
                    missed
                };
                (1..=rounds).map(round).collect::<Vec<_>>()
            });
            let thread = receiver.recv().unwrap();
            let round = |round| {
                // Release: pairs with the Acquire in `wait_for_round`.
                heavy_side.round.store(round, Ordering::Release);
                // The other side sees that store a little later.
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
