//! A heavy fence for the case that the kernel refuses `membarrier` although it has accepted it before: the program has
//! set up a sandbox (a seccomp filter) in the meantime. See `docs/queen-lock.md`, "When `membarrier` is refused
//! later".
//!
//! The light side executes nothing that could help, so the calling thread has to make the other thread's processor
//! execute a full fence. It does so by running on each CPU that the other thread may be on. If the other thread is
//! running there, it has to make room, and the kernel executes a full fence when it switches threads. This takes
//! milliseconds and happens at most once for each hive: once a call has been refused, no queen lock is reserved any
//! more, and each reservation that exists ends once, in this way.

use std::io;
use std::iter;
use std::sync::atomic::{AtomicBool, Ordering, fence};

use crate::on_drop::on_drop;
use crate::sys::affinity::{self, CallError, OtherThread};
use crate::sys::cpu_mask::CpuMask;
#[cfg(not(target_arch = "x86_64"))]
use crate::sys::stderr::abort_with_message;

/// Whether a heavy fence has been refused in this process. It never becomes false again.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// Whether a heavy fence has been refused in this process.
pub(crate) fn has_been_refused() -> bool {
    // Relaxed: a thread that sees it late is refused `membarrier` itself and comes here too.
    REFUSED.load(Ordering::Relaxed)
}

/// A thread, by a name with which other threads can ask which CPUs it may run on. None: there is no thread, or the
/// system has no such names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelThread(Option<OtherThread>);

impl KernelThread {
    /// No thread.
    pub(crate) const NONE: Self = Self(None);

    /// The calling thread.
    pub(crate) fn current() -> Self {
        Self(OtherThread::current())
    }

    /// The CPUs that the thread may run on and that are switched on; none if it has ended.
    fn cpus(self) -> Result<CpuMask, CallError> {
        let unknown = || CallError { call: "gettid", error: io::ErrorKind::Unsupported.into() };
        match self.0.ok_or_else(unknown)?.mask() {
            // It needs no fence any more.
            Err(CallError { error, .. }) if error.raw_os_error() == Some(libc::ESRCH) => Ok(CpuMask::new()),
            cpus => cpus,
        }
    }
}

/// The heavy fence against the light fences of `other`, without `membarrier`.
#[cold]
pub(crate) fn fence_by_visiting(other: KernelThread) {
    /// How often the visit is tried. It fails if a CPU is switched off, or taken from the process, between the question
    /// and the visit.
    const ATTEMPTS: u32 = 3;
    // Relaxed: see `has_been_refused`.
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
pub(crate) fn visit_cpus_of(other: KernelThread) -> bool {
    let (Ok(own), Ok(cpus)) = (affinity::query(), other.cpus()) else { return false };
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
    abort_with_message(format_args!(
        "this process was forbidden membarrier and sched_setaffinity after a hive was built: allow one of them, \
         or forbid membarrier before"
    ))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_visit_leaves_the_caller_where_it_may_be_and_ends_for_one_that_has_ended() {
        let before = affinity::query().unwrap();
        assert!(visit_cpus_of(KernelThread::current()));
        let ended = std::thread::spawn(KernelThread::current).join().unwrap();
        assert!(visit_cpus_of(ended));
        assert_eq!(affinity::query().unwrap(), before);
        assert_eq!(KernelThread::current().cpus().unwrap(), before);
    }
}
