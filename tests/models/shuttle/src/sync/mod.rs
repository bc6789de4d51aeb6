//! What `hive/sync.rs` is to the library: the primitives of the protocol files, here from shuttle.

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
#[allow(dead_code, reason = "whole, as in the library")]
#[path = "../../../../../hive/observe/in_flight.rs"]
mod posts;
#[path = "../../../common/queues.rs"]
mod queues;
mod semaphore;
#[allow(dead_code, reason = "as above")]
#[path = "../../../../../hive/observe/counters.rs"]
mod tally;
mod token;
mod wait;

pub(crate) use std::sync::OnceLock;
pub(crate) use std::sync::atomic::Ordering;

pub(crate) use atomic::{AtomicBool, AtomicU32, AtomicU64, UnsafeCell, fence, heavy_fence, light_fence};
pub(crate) use doing::{Activity, ActivityCell, RegionActivity};
pub(crate) use event::Event;
pub(crate) use log::{Log, MAX_ENTRIES as MAX_LOG_ENTRIES};
pub(crate) use mutex::{Condvar, Mutex, MutexGuard, wait_a_while};
pub(crate) use posts::InFlight;
pub(crate) use queues::{Injector, Steal, Stealer, Worker};
pub(crate) use semaphore::Semaphore;
pub(crate) use tally::{Counter, BeeCounters};
pub(crate) use token::{KernelThread, ThreadToken, can_still_reserve, takes_to_reserve, this_thread};
pub(crate) use wait::{BackOff, WaitPolicy, one_poll_at_a_time};

/// There is one team in a scene.
pub(crate) fn number_of_crew() -> u64 {
    1
}

/// No scene has one region inside another.
pub(crate) fn is_in_region(_key: u64) -> bool {
    false
}

/// No scene asks what its threads are inside of.
pub(crate) fn within_region<M, R>(_member: &M, part: impl FnOnce() -> R) -> R {
    part()
}

/// No scene has barriers in destructors. Shuttle's threads share one thread's count of panics.
pub(crate) fn is_unwinding() -> bool {
    false
}

/// The process would end, with this line.
pub(crate) fn abort_saying(why: std::fmt::Arguments<'_>) -> ! {
    eprintln!("{why}");
    std::process::abort()
}

/// As few as can be.
pub(crate) const CALLS_BY_ONE: usize = 1;
pub(crate) const WAKES_BY_ONE: u32 = 1;
pub(crate) const MARKS_PER_WORD: u32 = 2;

/// So few that a region has several generations.
pub(crate) const fn rounds_of_a_generation() -> u64 {
    2
}

/// What `mutex` is made of.
mod raw {
    pub(super) use shuttle::sync::{Condvar, Mutex, MutexGuard};
}

/// In a wait that ends by itself.
fn give_way() {
    shuttle::thread::yield_now();
}
