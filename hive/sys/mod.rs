//! What the library needs from the operating system and the processor: waiting, semaphores, fences, thread ids, CPU
//! masks, limits on threads, forks, standard error. Each part has a fallback for systems that lack it.
//!
//! The other folders use these parts; they do not call the operating system for these purposes themselves. The
//! protocols reach them through `sync.rs` only, which the models replace.

pub(crate) mod affinity;
pub(crate) mod asymmetric_fence;
pub(crate) mod back_off;
pub(crate) mod caller_polling;
pub(crate) mod cgroups;
pub(crate) mod changed_words;
pub(crate) mod clock;
pub(crate) mod costly_yields;
pub(crate) mod cpu_count;
pub(crate) mod cpu_locks;
pub(crate) mod cpu_mask;
pub(crate) mod float_mode;
pub(crate) mod fork;
#[cfg_attr(not(any(target_os = "linux", target_os = "android")), allow(dead_code, reason = "other systems have few"))]
pub(crate) mod kernel_file;
pub(crate) mod mutex;
pub(crate) mod napping_spinner;
pub(crate) mod parse_duration;
pub(crate) mod parse_error;
pub(crate) mod part_time;
pub(crate) mod poll_time;
pub(crate) mod presence;
pub(crate) mod privileges;
pub(crate) mod process;
pub(crate) mod run_queue;
pub(crate) mod sandbox;
pub(crate) mod semaphore;
pub(crate) mod shared_cpu;
pub(crate) mod signal_mask;
pub(crate) mod sleep_binding;
pub(crate) mod spinner;
pub(crate) mod stack_room;
pub(crate) mod stderr;
pub(crate) mod steal_pacing;
pub(crate) mod thread_limits;
pub(crate) mod ticks;
pub(crate) mod wait;
pub(crate) mod warn_once;
