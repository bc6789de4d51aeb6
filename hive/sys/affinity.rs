//! The affinity masks of threads: [`query`] reads that of the calling thread, [`apply`] sets it, [`migrate_off`]
//! changes it for a moment, and [`OtherThread`] reads or sets that of another thread. [`current_cpu`] says which CPU
//! the calling thread is on.
//!
//! There are three versions: Linux's own calls, hwloc on other systems, and `core_affinity` on other systems without
//! hwloc. `topology/pinning.rs` is what the rest of the library uses to bind threads.

use std::{fmt, io};

use crate::sys::cpu_mask::CpuMask;

/// A failed call that reads or sets the affinity mask.
#[derive(Debug)]
pub(crate) struct CallError {
    /// The name of the function that was called.
    pub(crate) call: &'static str,
    /// Why it failed.
    pub(crate) error: io::Error,
}

impl CallError {
    fn last_os_error(call: &'static str) -> Self {
        Self { call, error: io::Error::last_os_error() }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} failed: {}", self.call, self.error)
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) use linux::{OtherThread, apply, current_cpu, query};

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) use elsewhere::{apply, query};
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) use not_portable::{OtherThread, current_cpu};

/// Moves the calling thread off a CPU that is among `cpus`, if it may run elsewhere. It is not bound: its mask is as
/// before.
pub(crate) fn migrate_off(cpus: &CpuMask) {
    let is_in_the_way = current_cpu().is_some_and(|cpu| cpus.contains(&cpu));
    let Some(mask) = is_in_the_way.then(query).and_then(Result::ok) else { return };
    let other_cpus = mask.difference(cpus);
    // The kernel moves the thread at once when its CPU is taken from its mask, and leaves it where it is when that
    // comes back.
    if !other_cpus.is_empty() && apply(&other_cpus).is_ok() {
        // This fails only if the system has taken those CPUs away meanwhile, and then it has chosen others itself.
        let _ = apply(&mask);
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod linux {
    use std::io;
    use std::time::Duration;

    use crate::sys::affinity::CallError;
    use crate::sys::cpu_mask::CpuMask;
    use crate::sys::{kernel_file, sandbox};

    /// The kernel's masks are arrays of words of this type.
    type MaskWord = libc::c_ulong;

    const MASK_WORD_BITS: usize = MaskWord::BITS as usize;

    /// The number of words that the C library's fixed-size set has. The search for a mask that is large enough begins
    /// with it.
    const INITIAL_WORDS: usize = 1024 / MASK_WORD_BITS;

    /// The number of words at which that search ends, far above the number of CPUs of any kernel.
    const MAX_WORDS: usize = (1 << 20) / MASK_WORD_BITS;

    /// The calling thread, as the system calls name it.
    const CALLER: libc::pid_t = 0;

    /// A thread whose mask another one may read or change.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct OtherThread(
        libc::pid_t,
        /// Counts the time that it is on a CPU.
        libc::clockid_t,
    );

    impl OtherThread {
        /// The calling thread.
        #[allow(unsafe_code)]
        pub(crate) fn current() -> Option<Self> {
            let mut clock = libc::CLOCK_THREAD_CPUTIME_ID;
            // SAFETY: the call has no arguments and accesses no memory of the caller, as the other one below.
            let caller = unsafe { libc::pthread_self() };
            // SAFETY: this thread has not ended, and `clock` is a valid place for the result.
            let failed = unsafe { libc::pthread_getcpuclockid(caller, &raw mut clock) } != 0;
            // SAFETY: see above.
            (!failed).then(|| Self(unsafe { libc::gettid() }, clock))
        }

        /// The CPUs that the thread may run on. An error if it has ended, unless another thread has its number by then.
        pub(crate) fn mask(&self) -> Result<CpuMask, CallError> {
            query_growing(self.0, INITIAL_WORDS)
        }

        /// Restricts the thread to the CPUs `to`, if those that it may run on are `from`. Returns whether that was so.
        /// The thread must not have ended.
        pub(crate) fn change_mask(&self, from: &CpuMask, to: &CpuMask) -> Result<bool, CallError> {
            let is_expected = self.mask()? == *from;
            if is_expected {
                apply_to(self.0, to)?;
            }
            Ok(is_expected)
        }

        /// How long the thread has been on a CPU so far. The thread must not have ended.
        #[allow(unsafe_code)]
        pub(crate) fn cpu_time(&self) -> Option<Duration> {
            if sandbox::has_come() {
                return None;
            }
            let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // SAFETY: `time` is a valid place for the result.
            let failed = unsafe { libc::clock_gettime(self.1, &raw mut time) } != 0;
            (!failed).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
        }
    }

    /// The CPUs that the calling thread may run on. If a sandbox refuses the system call, the mask is read from /proc,
    /// if that is available.
    pub(crate) fn query() -> Result<CpuMask, CallError> {
        query_growing(CALLER, INITIAL_WORDS).or_else(|refused| mask_from_proc().ok_or(refused))
    }

    /// The mask that /proc lists, without the CPUs that are switched off.
    fn mask_from_proc() -> Option<CpuMask> {
        let status = kernel_file::text("/proc/thread-self/status")?;
        let allowed: CpuMask = kernel_file::status_field(&status, "Cpus_allowed_list")?.parse().ok()?;
        let online = kernel_file::value("/sys/devices/system/cpu/online");
        Some(online.map_or_else(|| allowed.clone(), |online| without_switched_off(&allowed, &online)))
    }

    /// The CPUs of the mask `allowed` that are among those `online`. If that leaves none, the list of those that are
    /// online is not the kernel's (`topology/sysfs.rs`), and the mask is taken as it is.
    fn without_switched_off(allowed: &CpuMask, online: &CpuMask) -> CpuMask {
        let usable = allowed.intersection(online);
        if usable.is_empty() { allowed.clone() } else { usable }
    }

    /// The CPU that the calling thread is on. The thread may have moved to another by the time this returns.
    #[allow(unsafe_code)]
    pub(crate) fn current_cpu() -> Option<usize> {
        // SAFETY: the call has no arguments and accesses no memory of the caller.
        let cpu = unsafe { libc::sched_getcpu() };
        usize::try_from(cpu).ok()
    }

    /// Reads the mask of a thread, first into `word_count` words and then into twice as many until it fits.
    fn query_growing(thread: libc::pid_t, mut word_count: usize) -> Result<CpuMask, CallError> {
        loop {
            match query_words(thread, word_count) {
                Ok(words) => return Ok(from_words(&words)),
                // The kernel has more CPUs than the words have bits.
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) && word_count < MAX_WORDS => {
                    word_count = (word_count * 2).max(1);
                }
                Err(error) => return Err(CallError { call: "sched_getaffinity", error }),
            }
        }
    }

    /// Reads the mask of a thread into exactly this many words.
    #[allow(unsafe_code)]
    fn query_words(thread: libc::pid_t, word_count: usize) -> io::Result<Vec<MaskWord>> {
        let mut words: Vec<MaskWord> = vec![0; word_count];
        let bytes = size_of_val(words.as_slice());
        // SAFETY: the mask is `bytes` long, writable, and aligned as the array of words that the kernel takes it for.
        let failed = unsafe { libc::sched_getaffinity(thread, bytes, words.as_mut_ptr().cast()) } != 0;
        if failed { Err(io::Error::last_os_error()) } else { Ok(words) }
    }

    /// Restricts the calling thread to these CPUs.
    pub(crate) fn apply(mask: &CpuMask) -> Result<(), CallError> {
        apply_to(CALLER, mask)
    }

    /// Restricts a thread to these CPUs. That is an error in a sandbox that the program has set up since it has built
    /// its first hive: such a call may end a process, and hive can do without.
    #[allow(unsafe_code)]
    fn apply_to(thread: libc::pid_t, mask: &CpuMask) -> Result<(), CallError> {
        const SET: &str = "sched_setaffinity";
        if sandbox::has_come() {
            let error = io::Error::other("a sandbox was set up after the first hive was built");
            return Err(CallError { call: SET, error });
        }
        let words = to_words(mask);
        // SAFETY: the mask has the length that is passed, and is aligned as the array of words that the kernel takes it
        // for.
        let failed = unsafe { libc::sched_setaffinity(thread, size_of_val(&*words), words.as_ptr().cast()) } != 0;
        if failed { Err(CallError::last_os_error(SET)) } else { Ok(()) }
    }

    fn from_words(words: &[MaskWord]) -> CpuMask {
        let bits = (0..words.len() * MASK_WORD_BITS)
            .filter(|bit| words[bit / MASK_WORD_BITS] >> (bit % MASK_WORD_BITS) & 1 == 1);
        bits.collect()
    }

    fn to_words(mask: &CpuMask) -> Vec<MaskWord> {
        let len = mask.last().map_or(1, |last| last / MASK_WORD_BITS + 1);
        let mut words = vec![0; len];
        for cpu in mask.iter() {
            words[cpu / MASK_WORD_BITS] |= 1 << (cpu % MASK_WORD_BITS);
        }
        words
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn masks_of_any_size_become_words_and_back() {
            for text in ["", "0", "63-64", "0-3,1500,65535"] {
                let mask: CpuMask = text.parse().unwrap();
                assert_eq!(from_words(&to_words(&mask)), mask);
            }
        }

        #[test]
        fn a_mask_that_is_too_small_grows() {
            // An empty mask is too small for any number of CPUs.
            assert_eq!(query_words(CALLER, 0).unwrap_err().raw_os_error(), Some(libc::EINVAL));
            assert_eq!(query_growing(CALLER, 0).unwrap(), query().unwrap());
        }

        #[test]
        fn what_proc_lists_is_what_the_call_says() {
            assert_eq!(mask_from_proc().unwrap(), query_growing(CALLER, INITIAL_WORDS).unwrap());
        }

        #[test]
        fn the_mask_is_believed_where_none_of_it_is_said_to_be_online() {
            let mask = |text: &str| text.parse::<CpuMask>().unwrap();
            assert_eq!(without_switched_off(&mask("0-127"), &mask("0-3,5")), mask("0-3,5"));
            assert_eq!(without_switched_off(&mask("8-11"), &mask("0-3")), mask("8-11"));
        }

        #[test]
        fn an_empty_mask_is_refused_by_the_kernel() {
            let error = apply(&CpuMask::new()).unwrap_err();
            assert_eq!(error.error.raw_os_error(), Some(libc::EINVAL));
            assert!(error.to_string().starts_with("sched_setaffinity failed: "), "{error}");
        }
    }
}

#[cfg(all(not(any(target_os = "linux", target_os = "android")), feature = "hwloc"))]
mod elsewhere {
    use std::io;

    use hwlocality::Topology;
    use hwlocality::cpu::binding::CpuBindingFlags;
    use hwlocality::cpu::cpuset::CpuSet;

    use crate::sys::affinity::CallError;
    use crate::sys::cpu_mask::CpuMask;
    use crate::sys::fork;
    use crate::sys::process::PerProcess;

    /// The CPUs that the calling thread may run on.
    pub(crate) fn query() -> Result<CpuMask, CallError> {
        let call = "hwloc_get_cpubind";
        let bound = topology(call)?.cpu_binding(CpuBindingFlags::THREAD);
        let bound = bound.map_err(|error| CallError { call, error: io::Error::other(error) })?;
        Ok(bound.iter_set().map(usize::from).collect())
    }

    /// Restricts the calling thread to these CPUs.
    pub(crate) fn apply(mask: &CpuMask) -> Result<(), CallError> {
        let call = "hwloc_set_cpubind";
        let mut cpus = CpuSet::new();
        mask.iter().for_each(|cpu| cpus.set(cpu));
        let bound = topology(call)?.bind_cpu(&cpus, CpuBindingFlags::THREAD);
        bound.map_err(|error| CallError { call, error: io::Error::other(error) })
    }

    /// The topology that hwloc needs for binding. It is read once and lives as long as the process.
    fn topology(call: &'static str) -> Result<&'static Topology, CallError> {
        // Never dropped: where hwloc's description begins and where it ends, hwloc holds a lock of its own.
        static TOPOLOGY: PerProcess<Option<Topology>> = PerProcess::new();
        let topology = TOPOLOGY.get_or_init(|| fork::without_forks(Topology::builder).build().ok());
        topology.as_ref().ok_or_else(|| CallError { call, error: io::Error::other("hwloc could not read the machine") })
    }
}

#[cfg(all(not(any(target_os = "linux", target_os = "android")), not(feature = "hwloc")))]
mod elsewhere {
    use std::io;

    use crate::sys::affinity::CallError;
    use crate::sys::cpu_mask::CpuMask;

    /// The CPUs that the calling thread may run on.
    pub(crate) fn query() -> Result<CpuMask, CallError> {
        let cores = core_affinity::get_core_ids();
        let cores = cores.ok_or_else(|| CallError::last_os_error("core_affinity::get_core_ids"))?;
        Ok(cores.into_iter().map(|core| core.id).collect())
    }

    /// Restricts the calling thread to one CPU; `core_affinity` can do nothing else.
    pub(crate) fn apply(mask: &CpuMask) -> Result<(), CallError> {
        let call = "core_affinity::set_for_current";
        match mask.last() {
            Some(&id) if mask.len() == 1 && core_affinity::set_for_current(core_affinity::CoreId { id }) => Ok(()),
            Some(_) if mask.len() == 1 => Err(CallError::last_os_error(call)),
            _ => Err(CallError { call, error: io::ErrorKind::Unsupported.into() }),
        }
    }
}

/// What there is no portable way to do: a thread does not know its CPU, and cannot bind another thread.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod not_portable {
    use std::convert::Infallible;
    use std::time::Duration;

    use crate::sys::affinity::CallError;
    use crate::sys::cpu_mask::CpuMask;

    pub(crate) fn current_cpu() -> Option<usize> {
        None
    }

    #[derive(Clone, Copy, Debug)]
    pub(crate) struct OtherThread(Infallible);

    impl OtherThread {
        pub(crate) fn current() -> Option<Self> {
            None
        }

        pub(crate) fn mask(&self) -> Result<CpuMask, CallError> {
            match self.0 {}
        }

        pub(crate) fn change_mask(&self, _: &CpuMask, _: &CpuMask) -> Result<bool, CallError> {
            match self.0 {}
        }

        pub(crate) fn cpu_time(&self) -> Option<Duration> {
            match self.0 {}
        }
    }
}
