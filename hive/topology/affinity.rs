//! The affinity mask of the calling thread, from and to the operating system.

use std::fmt;
use std::io;

/// A call for the affinity mask that failed.
#[derive(Debug)]
pub(crate) struct CallError {
    /// The function that was called.
    pub(crate) call: &'static str,
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

impl std::error::Error for CallError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

#[cfg(all(any(target_os = "linux", target_os = "android"), feature = "hwloc"))]
pub(crate) use linux::refusal;
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) use linux::{current_cpu, get, set};

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) use elsewhere::{current_cpu, get, set};

#[cfg(any(target_os = "linux", target_os = "android"))]
mod linux {
    use std::fs;
    use std::io;

    use super::super::mask::CpuMask;
    use super::CallError;

    /// The kernel's masks are arrays of this type.
    type Word = libc::c_ulong;

    const WORD_BITS: usize = Word::BITS as usize;

    /// What the C library's fixed-size set holds: where the search for a large enough mask begins.
    const FIRST_WORDS: usize = 1024 / WORD_BITS;

    /// Far above any kernel's number of CPUs: where the search ends.
    const MOST_WORDS: usize = (1 << 20) / WORD_BITS;

    /// The CPUs that the calling thread may run on. A sandbox may refuse the call for it; /proc tells then, if it is
    /// there.
    pub(crate) fn get() -> Result<CpuMask, CallError> {
        get_growing(FIRST_WORDS).or_else(|refused| listed().ok_or(refused))
    }

    /// Why the call for the mask is refused, if it is. Libraries that ask for themselves may not expect it.
    #[cfg(feature = "hwloc")]
    pub(crate) fn refusal() -> Option<CallError> {
        get_growing(FIRST_WORDS).err()
    }

    /// The mask as /proc lists it, less the CPUs that are switched off.
    fn listed() -> Option<CpuMask> {
        let status = fs::read_to_string("/proc/thread-self/status").ok()?;
        let allowed: CpuMask = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.parse().ok()?;
        let online = fs::read_to_string("/sys/devices/system/cpu/online").ok().and_then(|online| online.trim().parse().ok());
        let left = online.map_or_else(|| allowed.clone(), |online| allowed.intersection(&online));
        (!left.is_empty()).then_some(left)
    }

    /// The CPU that the calling thread is on; it may be on another by the time this returns.
    #[allow(unsafe_code)]
    pub(crate) fn current_cpu() -> Option<usize> {
        // SAFETY: takes nothing and writes nothing.
        let cpu = unsafe { libc::sched_getcpu() };
        usize::try_from(cpu).ok()
    }

    /// Begins with a mask of so many words.
    fn get_growing(mut words: usize) -> Result<CpuMask, CallError> {
        loop {
            match get_words(words) {
                Ok(words) => return Ok(from_words(&words)),
                // The kernel has more CPUs than fit.
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) && words < MOST_WORDS => {
                    words = (words * 2).max(1);
                }
                Err(error) => {
                    let call = "sched_getaffinity";
                    return Err(CallError { call, error });
                }
            }
        }
    }

    #[allow(unsafe_code)]
    fn get_words(len: usize) -> io::Result<Vec<Word>> {
        let mut words: Vec<Word> = vec![0; len];
        let bytes = size_of_val(words.as_slice());
        // SAFETY: the mask is `bytes` long, writable, and aligned as the array of words that the kernel takes it for.
        let failed = unsafe { libc::sched_getaffinity(0, bytes, words.as_mut_ptr().cast()) } != 0;
        if failed { Err(io::Error::last_os_error()) } else { Ok(words) }
    }

    /// Lets the calling thread run on these CPUs only.
    pub(crate) fn set(mask: &CpuMask) -> Result<(), CallError> {
        match lone_core(mask) {
            Some(core) if core_affinity::set_for_current(core) => Ok(()),
            Some(_) => Err(CallError::last_os_error("core_affinity::set_for_current")),
            None => set_words(&to_words(mask)),
        }
    }

    #[allow(unsafe_code)]
    fn set_words(words: &[Word]) -> Result<(), CallError> {
        // SAFETY: the mask is as long as said, and aligned as the array of words that the kernel takes it for.
        let failed = unsafe { libc::sched_setaffinity(0, size_of_val(words), words.as_ptr().cast()) } != 0;
        if failed { Err(CallError::last_os_error("sched_setaffinity")) } else { Ok(()) }
    }

    /// The single CPU that `core_affinity` is to bind: in a build without hwloc, if its fixed-size set can hold the number.
    fn lone_core(mask: &CpuMask) -> Option<core_affinity::CoreId> {
        let id = mask.last()?;
        let flat_build = !cfg!(feature = "hwloc");
        (flat_build && mask.len() == 1 && id < 1024).then_some(core_affinity::CoreId { id })
    }

    fn from_words(words: &[Word]) -> CpuMask {
        let bits = (0..words.len() * WORD_BITS).filter(|bit| words[bit / WORD_BITS] >> (bit % WORD_BITS) & 1 == 1);
        bits.collect()
    }

    fn to_words(mask: &CpuMask) -> Vec<Word> {
        let len = mask.last().map_or(1, |last| last / WORD_BITS + 1);
        let mut words = vec![0; len];
        for cpu in mask.iter() {
            words[cpu / WORD_BITS] |= 1 << (cpu % WORD_BITS);
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
            // Whatever the number of CPUs, an empty one is.
            assert_eq!(get_words(0).unwrap_err().raw_os_error(), Some(libc::EINVAL));
            assert_eq!(get_growing(0).unwrap(), get().unwrap());
        }

        #[test]
        fn what_proc_lists_is_what_the_call_says() {
            assert_eq!(listed().unwrap(), get_growing(FIRST_WORDS).unwrap());
        }

        #[test]
        fn an_empty_mask_is_refused_by_the_kernel() {
            let error = set(&CpuMask::new()).unwrap_err();
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

    use super::super::hwloc::ReadTopology;
    use super::super::mask::CpuMask;
    use super::CallError;
    use crate::process::ProcessCell;

    /// Not to be had portably.
    pub(crate) fn current_cpu() -> Option<usize> {
        None
    }

    /// The CPUs that the calling thread may run on.
    pub(crate) fn get() -> Result<CpuMask, CallError> {
        let call = "hwloc_get_cpubind";
        let bound = topology(call)?.cpu_binding(CpuBindingFlags::THREAD);
        let bound = bound.map_err(|error| CallError { call, error: io::Error::other(error) })?;
        Ok(bound.iter_set().map(usize::from).collect())
    }

    /// Lets the calling thread run on these CPUs only.
    pub(crate) fn set(mask: &CpuMask) -> Result<(), CallError> {
        let call = "hwloc_set_cpubind";
        let mut cpus = CpuSet::new();
        mask.iter().for_each(|cpu| cpus.set(cpu));
        let bound = topology(call)?.bind_cpu(&cpus, CpuBindingFlags::THREAD);
        bound.map_err(|error| CallError { call, error: io::Error::other(error) })
    }

    /// Binding needs a topology; this one lives as long as the process.
    fn topology(call: &'static str) -> Result<&'static Topology, CallError> {
        static TOPOLOGY: ProcessCell<Option<ReadTopology>> = ProcessCell::new();
        let topology = TOPOLOGY.get_or_make(|| ReadTopology::new().ok()).as_deref();
        topology.ok_or_else(|| CallError { call, error: io::Error::other("hwloc could not read the machine") })
    }
}

#[cfg(all(not(any(target_os = "linux", target_os = "android")), not(feature = "hwloc")))]
mod elsewhere {
    use std::io;

    use super::super::mask::CpuMask;
    use super::CallError;

    /// Not to be had portably.
    pub(crate) fn current_cpu() -> Option<usize> {
        None
    }

    /// The CPUs that the calling thread may run on.
    pub(crate) fn get() -> Result<CpuMask, CallError> {
        let cores = core_affinity::get_core_ids();
        let cores = cores.ok_or_else(|| CallError::last_os_error("core_affinity::get_core_ids"))?;
        Ok(cores.into_iter().map(|core| core.id).collect())
    }

    /// Lets the calling thread run on one CPU only; `core_affinity` knows nothing else.
    pub(crate) fn set(mask: &CpuMask) -> Result<(), CallError> {
        let call = "core_affinity::set_for_current";
        match mask.last() {
            Some(id) if mask.len() == 1 && core_affinity::set_for_current(core_affinity::CoreId { id }) => Ok(()),
            Some(_) if mask.len() == 1 => Err(CallError::last_os_error(call)),
            _ => Err(CallError { call, error: io::ErrorKind::Unsupported.into() }),
        }
    }
}
