//! What `hive/sync.rs` is to the library: the primitives of the protocol files, here from loom.

#[allow(dead_code, reason = "whole, so that it fits the protocol files as they change")]
mod atomic;
#[allow(dead_code, reason = "whole, as in the library")]
#[path = "../../../../../hive/observe/activity.rs"]
mod doing;
#[allow(dead_code, reason = "as above")]
#[path = "../../../../../hive/observe/trace/event.rs"]
mod event;
#[allow(dead_code, reason = "as above")]
#[path = "../../../../../hive/observe/trace/log.rs"]
mod log;
#[path = "../../../common/mutex.rs"]
mod mutex;
mod once;
#[allow(dead_code, reason = "as above")]
#[path = "../../../../../hive/observe/in_flight.rs"]
mod posts;
#[path = "../../../common/queues.rs"]
mod queues;
mod semaphore;
#[allow(dead_code, reason = "as above")]
#[path = "../../../../../hive/observe/counters.rs"]
mod tally;
mod token;
mod unwinding;
mod wait;

pub(crate) use std::sync::atomic::Ordering;

pub(crate) use atomic::{AtomicBool, AtomicU32, AtomicU64, fence, heavy_fence, heavy_fences, light_fence, with_states};
pub(crate) use doing::{Activity, ActivityCell, RegionActivity};
pub(crate) use event::Event;
pub(crate) use log::{Log, MAX_ENTRIES as MAX_LOG_ENTRIES};
pub(crate) use loom::cell::UnsafeCell;
pub(crate) use mutex::{Condvar, Mutex, MutexGuard, wait_a_while};
pub(crate) use once::OnceLock;
pub(crate) use posts::InFlight;
pub(crate) use queues::{Injector, Steal, Stealer, Worker};
pub(crate) use semaphore::Semaphore;
use std::sync::atomic::AtomicU64 as AtomicU64Unseen;
pub(crate) use tally::{Counter, BeeCounters};
pub(crate) use token::{KernelThread, ThreadToken, can_still_reserve, takes_to_reserve, this_thread, with_takes_to_reserve};
pub(crate) use unwinding::{is_unwinding, while_unwinding};
pub(crate) use wait::{BackOff, WaitPolicy, one_poll_at_a_time};

use crate::{exploration, failure};

/// There is one team in a model.
pub(crate) fn number_of_crew() -> u64 {
    1
}

/// No script has one region inside another.
pub(crate) fn is_in_region(_key: u64) -> bool {
    false
}

/// No script asks what its threads are inside of.
pub(crate) fn within_region<M, R>(_member: &M, part: impl FnOnce() -> R) -> R {
    part()
}

/// The process would end, with this line.
pub(crate) fn abort_saying(why: std::fmt::Arguments<'_>) -> ! {
    failure::fail(&why.to_string())
}

/// As few as can be.
pub(crate) const CALLS_BY_ONE: usize = 1;
pub(crate) const WAKES_BY_ONE: u32 = 1;
pub(crate) const MARKS_PER_WORD: u32 = 2;

/// Not seen by loom.
static ROUNDS_OF_A_GENERATION: AtomicU64Unseen = AtomicU64Unseen::new(1 << 14);

/// As in the library, unless the script has set it.
pub(crate) fn rounds_of_a_generation() -> u64 {
    ROUNDS_OF_A_GENERATION.load(Ordering::Relaxed)
}

/// Call before any round is begun.
pub(crate) fn set_rounds_of_a_generation(rounds: u64) {
    ROUNDS_OF_A_GENERATION.store(rounds, Ordering::Relaxed);
}

/// What `mutex` is made of.
mod raw {
    pub(super) use loom::sync::{Condvar, Mutex, MutexGuard};
}

/// In a wait that ends by itself.
fn give_way() {
    /// See `exploration::yield_in_wait`.
    const EXPLORED_WAITS: u32 = 4;
    exploration::yield_in_wait(EXPLORED_WAITS);
}
