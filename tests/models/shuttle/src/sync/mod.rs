//! The primitives of the protocol files, from shuttle: what `hive/sync.rs` is to the library. The protocol files
//! include this module as `crate::sync`.

mod atomic;
#[path = "../../../common/deadline.rs"]
mod deadline;
#[path = "../../../common/float_mode.rs"]
mod float_mode;
#[path = "../../../common/mutex.rs"]
mod mutex;
#[path = "../../../common/queues.rs"]
mod queues;
mod semaphore;
mod wait;
#[path = "../../../common/wait.rs"]
mod wait_common;

pub(crate) use std::sync::atomic::{AtomicPtr, Ordering};
pub(crate) use std::sync::{OnceLock, OnceLock as SlotOnce};

pub(crate) use crate::observe::activity::{ActivityCell, BeeState, Snapshot};
pub(crate) use crate::observe::cold_parts::{ColdParts, PartTime};
pub(crate) use crate::observe::counters::{BeeCounters, Counter};
pub(crate) use crate::observe::help::{Help, HelpOfLoop, nanos};
pub(crate) use crate::observe::in_flight::InFlight;
pub(crate) use crate::observe::trace::event::{Event, EventKind};
pub(crate) use crate::observe::trace::log::{Log, MAX_ENTRIES as MAX_LOG_ENTRIES};
pub(crate) use crate::observe::wake_delay::WakeDelay;
pub(crate) use crate::on_drop::on_drop;
pub(crate) use atomic::{AtomicBool, AtomicU32, AtomicU64, UnsafeCell, fence, light_fence, try_heavy_fence};
pub(crate) use deadline::Deadline;
pub(crate) use float_mode::FloatMode;
pub(crate) use mutex::{Condvar, Mutex, MutexGuard, wait_briefly};
pub(crate) use queues::{Injector, Steal, Stealer, Worker};
pub(crate) use semaphore::Semaphore;
pub(crate) use wait::WaitPolicy;
pub(crate) use wait_common::{
    BackOff, NappingSpinner, PollTime, SleepBinding, StealPacing, TimedWait, copy_changed_words, has_stack_room, nap,
    run_late, run_late_in_yield, serialize_poll, yield_core,
};

/// A scenario has one team.
pub(crate) fn next_team_number() -> u64 {
    1
}

/// No scenario has barriers in destructors. Shuttle's threads share one thread's panic count, so that count cannot be
/// asked.
pub(crate) fn is_unwinding() -> bool {
    false
}

/// Prints the message and aborts, as in the library.
pub(crate) fn abort_with_message(why: std::fmt::Arguments<'_>) -> ! {
    eprintln!("{why}");
    std::process::abort()
}

/// As small as possible, so that few bees suffice for a range of wakes to be delegated.
pub(crate) const MAX_REGION_WAKES: usize = 1;
pub(crate) const MAX_TASK_WAKES: u32 = 1;
pub(crate) const MARKS_PER_WORD: u32 = 2;

/// So few that a region has several generations.
pub(crate) const fn rounds_per_generation() -> u64 {
    2
}

/// The types that `mutex` is built on.
mod raw {
    pub(super) use shuttle::sync::{Condvar, Mutex, MutexGuard};
}

/// Lets other threads run, in a wait that ends by itself.
fn give_way() {
    shuttle::thread::yield_now();
}
