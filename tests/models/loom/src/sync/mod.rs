//! The primitives of the protocol files, from loom: what `hive/sync.rs` is to the library. The protocol files include
//! this module as `crate::sync`.

#[allow(dead_code, reason = "whole, so that it fits the protocol files as they change")]
mod atomic;
#[path = "../../../common/deadline.rs"]
mod deadline;
#[path = "../../../common/float_mode.rs"]
mod float_mode;
#[path = "../../../common/mutex.rs"]
mod mutex;
mod once;
#[path = "../../../common/queues.rs"]
mod queues;
mod semaphore;
mod unwinding;
mod wait;
#[path = "../../../common/wait.rs"]
mod wait_common;

pub(crate) use std::sync::atomic::{AtomicPtr, Ordering};

pub(crate) use crate::observe::activity::{ActivityCell, BeeState, Snapshot};
pub(crate) use crate::observe::cold_parts::{ColdParts, PartTime};
pub(crate) use crate::observe::counters::{BeeCounters, Counter};
pub(crate) use crate::observe::help::{Help, HelpOfLoop, nanos};
pub(crate) use crate::observe::in_flight::InFlight;
pub(crate) use crate::observe::trace::event::{Event, EventKind};
pub(crate) use crate::observe::trace::log::{Log, MAX_ENTRIES as MAX_LOG_ENTRIES};
pub(crate) use crate::observe::wake_delay::WakeDelay;
pub(crate) use crate::on_drop::on_drop;
pub(crate) use atomic::{AtomicBool, AtomicU32, AtomicU64, fence, light_fence, try_heavy_fence, with_states};
pub(crate) use deadline::{Deadline, set_looks_before_deadline};
pub(crate) use float_mode::FloatMode;
pub(crate) use loom::cell::UnsafeCell;
pub(crate) use mutex::{Condvar, Mutex, MutexGuard, wait_briefly};
pub(crate) use once::{OnceLock, SlotOnce};
pub(crate) use queues::{Injector, Steal, Stealer, Worker};
pub(crate) use semaphore::Semaphore;
use std::sync::atomic::AtomicU64 as AtomicU64Unseen;
pub(crate) use unwinding::{is_unwinding, while_unwinding};
pub(crate) use wait::WaitPolicy;
pub(crate) use wait_common::{
    BackOff, NappingSpinner, PollTime, SleepBinding, StealPacing, TimedWait, copy_changed_words, has_stack_room, nap,
    run_late, run_late_in_yield, serialize_poll, set_steals_are_paused, set_workers_are_unbound, yield_core,
};

use crate::{exploration, failure};

/// A model has one team.
pub(crate) fn next_team_number() -> u64 {
    1
}

/// In the library this ends the process with this message. Here it fails the model.
pub(crate) fn abort_with_message(why: std::fmt::Arguments<'_>) -> ! {
    failure::fail(&why.to_string())
}

/// As small as possible, so that few bees suffice for a range of wakes to be delegated.
pub(crate) const MAX_REGION_WAKES: usize = 1;
pub(crate) const MAX_TASK_WAKES: u32 = 1;
pub(crate) const MARKS_PER_WORD: u32 = 2;

/// loom does not see this.
static ROUNDS_PER_GENERATION: AtomicU64Unseen = AtomicU64Unseen::new(1 << 14);

/// As in the library, unless the script has set another number.
pub(crate) fn rounds_per_generation() -> u64 {
    ROUNDS_PER_GENERATION.load(Ordering::Relaxed)
}

/// Must be called before any round begins.
pub(crate) fn set_rounds_per_generation(rounds: u64) {
    ROUNDS_PER_GENERATION.store(rounds, Ordering::Relaxed);
}

/// The types that `mutex` is built on.
mod raw {
    pub(super) use loom::sync::{Condvar, Mutex, MutexGuard};
}

/// Lets other threads run, in a wait that ends by itself.
fn give_way() {
    /// See `exploration::yield_in_wait`.
    const EXPLORED_WAITS: u32 = 4;
    exploration::yield_in_wait(EXPLORED_WAITS);
}
