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
//! - A bound worker whose mask still has its place says nothing: its mask is the place, or a larger one while it sleeps
//!   unbound (`docs/unbound-sleep.md`).
//! - A worker that has left its place for a thread that waits for it says nothing either, while it has the mask that it
//!   got then.
//! - Any other bound worker that has lost its place has been moved: by `taskset`, or by Linux, because its CPUs are
//!   gone. Then the mask says what is left to the process. If the worker finds its place again later, as Linux gives it
//!   back since version 6.2, the number is that of the beginning again.
//!
//! So it is not seen if CPUs are taken away on which no worker of the hive is bound, or if CPUs are added for a hive
//! whose workers are bound; it would not use these. A quota that changes is not seen either.

use std::cell::{Cell, RefCell};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::on_drop::on_drop;
use crate::sys::affinity;
use crate::sys::cpu_mask::CpuMask;

/// How often a worker reads its mask at most. That takes a microsecond.
const TIME_BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// How many calls of `look_seldom` there are to one call of `look`, which reads the clock.
const CALLS_PER_LOOK: u32 = 1 << 12;

/// The number of CPUs that one hive may use.
#[derive(Debug, Default)]
pub(crate) struct CpuCount {
    current: AtomicUsize,
    /// The number when the hive was built.
    at_build: usize,
    /// The largest number, by the process's quota, whatever the mask is.
    pub(crate) limit: usize,
}

/// What a worker knows of its own mask.
struct OwnMask {
    /// The count of the worker's own hive, which is compared by its address.
    count: *const CpuCount,
    /// The mask to which hive has bound the worker. None: hive has not bound it.
    place: Option<CpuMask>,
    /// The mask with which the worker has left its place last. None: it never has.
    left_with: Option<CpuMask>,
    /// Whether the place was not in the mask when that was read last.
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

    /// The number of CPUs, as it was found last.
    #[inline(always)]
    pub(crate) fn get(&self) -> usize {
        // Relaxed, here and below: a hint. No other access depends on the value.
        self.current.load(Ordering::Relaxed)
    }

    /// Called by a worker of the hive when it has been bound to its place, or is certain not to be bound: the worker
    /// looks at its mask until the result is dropped, which has to be while the count is still there and in its place.
    #[must_use = "the thread looks at its mask until this is dropped"]
    pub(crate) fn begin_to_look(&self, is_bound: bool) -> impl Drop + use<> {
        // The thread may go on as no worker, and another hive's count may then have the same address.
        let looks = on_drop(|| OWN_MASK.set(None));
        let Ok(mask) = affinity::query() else { return looks };
        let is_moved = !is_bound;
        if !is_bound {
            self.set(mask.len());
        }
        let own_mask =
            OwnMask { count: self, place: is_bound.then_some(mask), left_with: None, is_moved, read: Instant::now() };
        OWN_MASK.set(Some(own_mask));
        looks
    }

    /// Reads the mask of the calling thread, unless it was read a short time ago or the thread is no worker of this
    /// hive. Called when a wait has polled for long and is about to sleep.
    #[cold]
    pub(crate) fn look(&self) {
        self.with_own_mask(|own_mask| self.look_at(own_mask));
    }

    /// Calls `use_it` with what the calling thread knows of its mask, if it is a worker of this hive.
    fn with_own_mask(&self, use_it: impl FnOnce(&mut OwnMask)) {
        // At the end of the thread the value may be gone.
        let _ = OWN_MASK.try_with(|own_mask| {
            own_mask.borrow_mut().as_mut().filter(|own_mask| ptr::eq(own_mask.count, self)).map(use_it)
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

    /// Says that the calling worker has left its place, and has this mask now.
    pub(crate) fn note_left_place(&self, mask: &CpuMask) {
        self.with_own_mask(|own_mask| own_mask.left_with = Some(mask.clone()));
    }

    fn look_at(&self, own_mask: &mut OwnMask) {
        if own_mask.read.elapsed() < TIME_BETWEEN_LOOKS {
            return;
        }
        own_mask.read = Instant::now();
        let Ok(mask) = affinity::query() else { return };
        let was_moved = own_mask.is_moved;
        let has_place = own_mask.place.as_ref().is_some_and(|place| place.is_subset(&mask));
        own_mask.is_moved = !has_place && own_mask.left_with.as_ref() != Some(&mask);
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::thread;

    use super::*;

    /// The number after the calling thread has looked at its mask.
    fn look(count: &CpuCount) -> usize {
        thread::sleep(TIME_BETWEEN_LOOKS);
        count.look();
        count.get()
    }

    #[test]
    fn a_bound_worker_tells_what_is_left_once_it_has_lost_its_place() {
        let all = affinity::query().unwrap();
        let (Some(place), Some(other)) = (all.iter().next(), all.iter().nth(1)) else { return };
        let look_with = |count: &CpuCount, mask: &CpuMask| {
            affinity::apply(mask).unwrap();
            look(count)
        };
        let run = || {
            let (place, other) = (CpuMask::from_iter([place]), CpuMask::from_iter([other]));
            affinity::apply(&place).unwrap();
            let count = CpuCount::new(9_999);
            let _looks = count.begin_to_look(true);
            assert_eq!(look_with(&count, &place), 9_999);
            assert_eq!(look_with(&count, &all), 9_999, "while it sleeps unbound");
            count.note_left_place(&other);
            assert_eq!(look_with(&count, &other), 9_999, "while it has left its place by itself");
            count.note_left_place(&all);
            assert_eq!(look_with(&count, &other), 1);
            assert_eq!(look_with(&count, &place), 9_999);
        };
        thread::scope(|scope| scope.spawn(run).join().unwrap());
    }

    #[test]
    fn a_thread_that_is_no_worker_any_more_says_nothing() {
        let count = CpuCount::new(9_999);
        let look = || look(&count);
        let looks = count.begin_to_look(false);
        let cpus = affinity::query().unwrap().len();
        assert_eq!(count.get(), cpus);
        count.set(9_999);
        assert_eq!(look(), cpus);
        // Another hive's count may be at the same address.
        drop(looks);
        count.set(9_999);
        assert_eq!(look(), 9_999);
    }
}
