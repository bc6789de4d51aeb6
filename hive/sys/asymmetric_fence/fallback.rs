//! A heavy fence where the kernel refuses `membarrier` although it has accepted it before: the program has put up a
//! sandbox (a seccomp filter) meanwhile. See `docs/leader-lock.md`.
//!
//! The light side executes nothing that could help, so the caller sees to it that the other thread's processor gets
//! through a full fence: it runs on each CPU that the other thread may be on. Where the other thread is running, it
//! has to make room, and the kernel changes threads with a full fence. This takes milliseconds, and happens once for
//! each hive at most: when the first call has been refused, nothing is reserved any more, and each reservation that there is ends once in this way.

use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::{io, iter};

use crate::sys::abort::abort_with_message;
use crate::sys::affinity;
use crate::sys::cpu_mask::CpuMask;

/// Whether a heavy fence has been refused in this process.
static REFUSED: AtomicBool = AtomicBool::new(false);

pub(crate) fn has_been_refused() -> bool {
    // Relaxed: who sees it late finds out by itself that it is refused.
    REFUSED.load(Ordering::Relaxed)
}

/// A thread as the kernel names it, so that others can ask on which CPUs it may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelThread(libc::pid_t);

impl KernelThread {
    pub(crate) const NONE: Self = Self(0);

    /// The calling one.
    #[expect(unsafe_code, reason = "std does not say it")]
    pub(crate) fn current() -> Self {
        // SAFETY: it only returns a number.
        Self(unsafe { libc::gettid() })
    }

    /// The CPUs that it may run on and that are switched on; none if it has ended.
    fn cpus(self) -> io::Result<Vec<usize>> {
        const MOST_WORDS: usize = (1 << 20) / MASK_WORD_BITS;
        let mut words = vec![0; 1024 / MASK_WORD_BITS];
        loop {
            match self.read_mask(&mut words) {
                Ok(()) => return Ok(cpu_numbers(&words)),
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) && self.0 > 0 => return Ok(Vec::new()),
                // The kernel has more CPUs than fit.
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) && words.len() < MOST_WORDS => {
                    words.resize(2 * words.len(), 0);
                }
                Err(error) => return Err(error),
            }
        }
    }

    #[expect(unsafe_code, reason = "std does not say it")]
    fn read_mask(self, words: &mut [MaskWord]) -> io::Result<()> {
        // SAFETY: the mask is as long as said, writable, and aligned as the array of words that the kernel takes it
        // for.
        let status = unsafe { libc::sched_getaffinity(self.0, size_of_val(words), words.as_mut_ptr().cast()) };
        if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// The kernel's masks are arrays of this type.
type MaskWord = libc::c_ulong;

const MASK_WORD_BITS: usize = MaskWord::BITS as usize;

fn cpu_numbers(words: &[MaskWord]) -> Vec<usize> {
    let is_in = |cpu: &usize| words[cpu / MASK_WORD_BITS] >> (cpu % MASK_WORD_BITS) & 1 == 1;
    (0..words.len() * MASK_WORD_BITS).filter(is_in).collect()
}

/// The heavy fence against the light ones of `other`, without `membarrier`.
#[cold]
pub(crate) fn fence_by_visiting(other: KernelThread) {
    /// A CPU may be switched off, or taken from the process, between the question and the visit.
    const ATTEMPTS: u32 = 3;
    REFUSED.store(true, Ordering::Relaxed);
    // What the caller has written before is seen by whoever gets through a fence of its own from here on.
    fence(Ordering::SeqCst);
    if !(0..ATTEMPTS).any(|_| visit_cpus_of(other)) {
        wait_for_stores();
    }
    // What the other thread has written before its fence is seen by the caller from here on.
    fence(Ordering::SeqCst);
}

/// Runs on each CPU that `other` may be on. Afterwards it has been through a full fence: if it was running, it had to
/// make room, wherever it was, or has gone elsewhere by itself; if it was not running, it got through one as it
/// stopped. Says no if this is refused.
///
/// For a thread that has changed its CPUs meanwhile the same holds: it changes them by a change of threads.
pub(crate) fn visit_cpus_of(other: KernelThread) -> bool {
    /// Puts back what the calling thread may run on.
    struct RestoreAffinity(CpuMask);
    impl Drop for RestoreAffinity {
        fn drop(&mut self) {
            // This fails only if the system has taken those CPUs away meanwhile, and then it has chosen others itself.
            let _ = affinity::apply(&self.0);
        }
    }
    let (Ok(own), Ok(cpus)) = (affinity::query(), other.cpus()) else { return false };
    let _restore = RestoreAffinity(own);
    cpus.into_iter().all(move_to_cpu)
}

/// Moves the calling thread to a CPU. Says whether it is there.
fn move_to_cpu(cpu: usize) -> bool {
    affinity::apply(&iter::once(cpu).collect()).is_ok() && affinity::current_cpu() == Some(cpu)
}

/// Waits until the stores that any thread has executed so far are visible. By an x86 processor's own rules they are
/// when it takes an interrupt, and the kernel's clock interrupts each one that runs a thread every ten milliseconds
/// or more often (but for those that `nohz_full` names); in fact they are after microseconds.
#[cfg(target_arch = "x86_64")]
fn wait_for_stores() {
    use std::thread::yield_now;
    use std::time::{Duration, Instant};

    const WAIT: Duration = Duration::from_millis(100);
    let start = Instant::now();
    // Not by a sleep, which the standard library does not expect to be refused.
    while start.elapsed() < WAIT {
        yield_now();
    }
}

/// Elsewhere no such rule is known.
#[cfg(not(target_arch = "x86_64"))]
fn wait_for_stores() {
    abort_with_message(format_args!(
        "this process was forbidden membarrier and sched_setaffinity after a hive was built: allow one of them, or forbid \
         membarrier before"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visit_leaves_the_caller_where_it_may_be_and_ends_for_one_that_has_ended() {
        let before = affinity::query().unwrap();
        assert!(visit_cpus_of(KernelThread::current()));
        let ended = std::thread::spawn(KernelThread::current).join().unwrap();
        assert!(visit_cpus_of(ended));
        assert_eq!(affinity::query().unwrap(), before);
        assert!(!visit_cpus_of(KernelThread(-1)), "no thread's name");
        let cpus: CpuMask = KernelThread::current().cpus().unwrap().into_iter().collect();
        assert_eq!(cpus, before);
    }
}
