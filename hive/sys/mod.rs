//! What the library needs of the operating system and the processor, each with a fallback where a system lacks it:
//! waiting, semaphores, fences, threads' identities, masks and limits, forks, standard error.

pub(crate) mod abort;
pub(crate) mod affinity;
pub(crate) mod asymmetric_fence;
pub(crate) mod cpu_mask;
pub(crate) mod fork;
pub(crate) mod parse_duration;
pub(crate) mod process;
pub(crate) mod semaphore;
pub(crate) mod signal_mask;
pub(crate) mod stderr;
pub(crate) mod thread_id;
pub(crate) mod thread_limits;
pub(crate) mod wait;
