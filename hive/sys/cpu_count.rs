//! How many CPUs a hive may use. The number changes when somebody changes the affinity of the process's threads
//! (`taskset`), when its cpuset changes, and when CPUs are switched off or on.
//!
//! No single mask says which CPUs belong to the process. A bound worker's own mask is its place. The masks of the
//! program's threads, the main thread's too, are what the program has made of them, or the place of a queen. The files
//! of the cpuset do not show `taskset`. So each worker goes by its own mask, which it compares with the one that it was
//! given:
//!
//! - A worker that hive has not bound has the mask with which the hive was built, and Linux changes it in all these
//!   cases. It says what the process may use.
//! - A bound worker whose mask is still its place says nothing.
//! - A bound worker whose mask is no longer its place has been moved: by `taskset`, or by Linux, because its CPUs are
//!   gone. (Or it sleeps unbound, `docs/unbound-sleep.md`, and has the mask with which the hive was built.) Then the
//!   mask says what is left to the process. If the worker finds its place again later, as Linux gives it
//!   back since version 6.2, the number is that of the beginning again.
//!
//! So it is not seen if CPUs are taken away on which no worker of the hive is bound, or if CPUs are added for a hive
//! whose workers are bound; it would not use these. A quota that changes is not seen either.

use std::cell::{Cell, RefCell};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::sys::affinity;
use crate::sys::cpu_mask::CpuMask;

/// How often a worker reads its mask at most. That takes a microsecond.
const TIME_BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// How many calls of `look_seldom` there are to one call of `look`, which reads the clock.
const CALLS_PER_LOOK: u32 = 1 << 12;

/// The number of CPUs that one hive may use.
#[derive(Debug)]
pub(crate) struct CpuCount {
    current: AtomicUsize,
    /// The number when the hive was built.
    at_build: usize,
    /// The largest number, by the process's quota.
    limit: usize,
}

/// What a worker knows of its own mask.
struct OwnMask {
    /// The count of the worker's own hive, which is compared by its address.
    count: *const CpuCount,
    /// The mask to which hive has bound the worker. None: hive has not bound it.
    place: Option<CpuMask>,
    /// Whether the mask was another one than the place when it was read last.
    is_moved: bool,
    /// When the mask was read last.
    read: Instant,
}

thread_local! {
    /// The mask of the calling thread, if it is a worker.
    static OWN_MASK: RefCell<Option<OwnMask>> = const { RefCell::new(None) };
    /// How often this thread has called `look_seldom`.
    static CALLS: Cell<u32> = const { Cell::new(0) };
}

impl CpuCount {
    pub(crate) fn new(cpus: usize) -> Self {
        Self { current: AtomicUsize::new(cpus), at_build: cpus, limit: usize::MAX }
    }

    /// The same count, which never grows above `limit`.
    pub(crate) fn with_limit(self, limit: usize) -> Self {
        Self { limit, ..self }
    }

    /// The number of CPUs, as it was found last.
    #[inline(always)]
    pub(crate) fn get(&self) -> usize {
        // Relaxed, here and below: a hint. No other access depends on the value.
        self.current.load(Ordering::Relaxed)
    }

    /// Called by a worker of the hive when it has been bound to its place, or is certain not to be bound: from now on
    /// the worker looks at its mask. The count must not be moved any more.
    pub(crate) fn begin_to_look(&self, is_bound: bool) {
        let Ok(mask) = affinity::query() else { return };
        let is_moved = !is_bound;
        if !is_bound {
            self.set(mask.len());
        }
        let own_mask = OwnMask { count: self, place: is_bound.then_some(mask), is_moved, read: Instant::now() };
        OWN_MASK.set(Some(own_mask));
    }

    /// Reads the mask of the calling thread, unless it was read a short time ago or the thread is no worker of this
    /// hive. Called when a wait has polled for long and is about to sleep.
    #[cold]
    pub(crate) fn look(&self) {
        // At the end of the thread the value may be gone.
        let _ = OWN_MASK.try_with(|own_mask| {
            if let Some(own_mask) = own_mask.borrow_mut().as_mut().filter(|own_mask| ptr::eq(own_mask.count, self)) {
                self.look_at(own_mask);
            }
        });
    }

    /// Does the same, but only at some of the calls. Called again and again in a wait that polls without end.
    pub(crate) fn look_seldom(&self) {
        let calls = CALLS.get().wrapping_add(1);
        CALLS.set(calls);
        if calls % CALLS_PER_LOOK == 0 {
            self.look();
        }
    }

    fn look_at(&self, own_mask: &mut OwnMask) {
        if own_mask.read.elapsed() < TIME_BETWEEN_LOOKS {
            return;
        }
        own_mask.read = Instant::now();
        let Ok(mask) = affinity::query() else { return };
        let was_moved = own_mask.is_moved;
        own_mask.is_moved = own_mask.place.as_ref() != Some(&mask);
        if own_mask.is_moved {
            self.set(mask.len());
        } else if was_moved {
            // Other workers that are still moved say so again when they look next.
            self.set(self.at_build);
        }
    }

    fn set(&self, cpus: usize) {
        let cpus = cpus.clamp(1, self.limit.max(1));
        // The load spares the other CPUs a write to the line, which all waits read.
        if self.get() != cpus {
            self.current.store(cpus, Ordering::Relaxed);
        }
    }
}
