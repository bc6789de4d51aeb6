//! The queen lock: a thread must hold it to be the queen of the hive. `Team::become_queen` acquires it before
//! each region, and the region's queen holds it until all bees have exited. The protocol and its proof are in
//! `docs/queen-lock.md`.
//!
//! Threads that wait queue up (`wait_queue.rs`), and the lock is handed over in the order of their arrival. So a thread
//! that starts one region after another cannot starve the others.

use std::ops::{Deref, DerefMut};

use crate::protocol::region::wait_queue::WaitQueue;
use crate::sync::{AtomicU32, Ordering, UnsafeCell, WaitPolicy, yield_core};

/// The `state` while no thread holds the lock.
const FREE: u32 = 0;
/// The `state` while a thread holds the lock.
const HELD: u32 = 1;

/// The lock, and the value that only its holder may access. It has cache lines of its own, because the queen writes
/// here in every region and the workers read nothing here.
#[repr(align(128))]
pub(crate) struct QueenLock<T> {
    /// `FREE` or `HELD`. A thread that swaps it from `FREE` to `HELD` holds the lock. It stores `FREE` to release the
    /// lock, or leaves `HELD` and hands the lock over to the first thread in the queue.
    state: AtomicU32,
    /// After how many more releases for nobody the holder is to yield its core: see `YIELDS_AFTER_WAIT`. Written by the
    /// holder only.
    yields_left: AtomicU32,
    /// The value that the lock protects. Accessed only by the holder, through its guard.
    value: UnsafeCell<T>,
    /// The threads that wait.
    queue: WaitQueue,
}

/// How many of the next releases are followed by a yield once a thread has had to wait for the lock. The thread that
/// had the lock before may want it again, and may have lost its core to the one that it has woken: without a yield that
/// one would have the lock for as long as the kernel lets it run, and not in turn.
const YIELDS_AFTER_WAIT: u32 = 16;

#[expect(unsafe_code, reason = "a lock shares what it protects")]
// SAFETY: `value` is accessed only through the guard, of which one exists at a time, as in a mutex. `T: Send` allows it
// to be accessed from one thread after another, and `T: Sync` from threads that share the guard.
unsafe impl<T: Send + Sync> Sync for QueenLock<T> {}

impl<T> QueenLock<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            state: AtomicU32::new(FREE),
            yields_left: AtomicU32::new(0),
            value: UnsafeCell::new(value),
            queue: WaitQueue::default(),
        }
    }

    /// Acquires the lock if it is free. Returns `None` if another thread or the calling one holds it.
    #[inline(always)]
    pub(crate) fn try_lock(&self) -> Option<QueenLockGuard<'_, T>> {
        // Acquire: pairs with the Release in `unlock`; makes visible what earlier holders changed. Failure is Relaxed:
        // nothing is read after it.
        let swapped = self.state.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed);
        swapped.is_ok().then(|| QueenLockGuard { lock: self })
    }

    /// Acquires the lock. Waits for it if another thread holds it: in the queue, first polling for `policy`'s spin
    /// time, then asleep.
    #[inline]
    pub(crate) fn lock(&self, policy: &WaitPolicy) -> QueenLockGuard<'_, T> {
        match self.try_lock() {
            Some(guard) => guard,
            None => self.lock_slow(policy),
        }
    }

    /// Joins the queue before it waits at all. A thread that polled outside of the queue could be overtaken any number
    /// of times by one that starts one region after another.
    #[cold]
    fn lock_slow(&self, policy: &WaitPolicy) -> QueenLockGuard<'_, T> {
        let guard = self.wait_in_queue(policy);
        // Relaxed: only the holder accesses it, and the lock orders one holder's accesses before the next one's.
        self.yields_left.store(YIELDS_AFTER_WAIT, Ordering::Relaxed);
        guard
    }

    /// Waits in the queue until the calling thread has the lock.
    fn wait_in_queue(&self, policy: &WaitPolicy) -> QueenLockGuard<'_, T> {
        let ticket = self.queue.join();
        let mut spinner = policy.spinner_beside_team();
        while spinner.spin_once() {
            // A holder has handed the lock over, with `state` at `HELD`.
            if self.queue.has_served(ticket) {
                return QueenLockGuard { lock: self };
            }
            // Relaxed: a hint. Only the swap that takes the lock decides.
            if ticket.is_first && self.state.load(Ordering::Relaxed) == FREE {
                if let Some(guard) = self.try_lock() {
                    self.queue.leave_as_first();
                    return guard;
                }
            }
        }
        let acquired = self.queue.sleep(ticket, policy, || self.try_lock());
        acquired.unwrap_or_else(|| QueenLockGuard { lock: self })
    }

    /// How many threads wait for the lock.
    pub(crate) fn count_waiting(&self) -> u32 {
        self.queue.len() as u32
    }

    /// Releases the lock, which the caller holds.
    #[inline(always)]
    fn unlock(&self) {
        // This may miss a thread that joins the empty queue at this very moment. That thread tries again by itself. No
        // other waiter is missed: see `docs/queen-lock.md`. A hand-over leaves `state` at `HELD`.
        if self.queue.may_have_waiters() {
            return self.queue.hand_over();
        }
        // Relaxed, both: see `lock_slow`.
        let yields_left = self.yields_left.load(Ordering::Relaxed);
        if yields_left > 0 {
            self.yields_left.store(yields_left - 1, Ordering::Relaxed);
        }
        // Release: pairs with the Acquire of the swap in `try_lock`; publishes this holder's changes.
        self.state.store(FREE, Ordering::Release);
        if yields_left > 0 {
            yield_core();
        }
    }
}

/// Holds the lock until it is dropped. One is made for each acquisition: `Deref` and `DerefMut` rely on there being one
/// at a time.
pub(crate) struct QueenLockGuard<'t, T> {
    lock: &'t QueenLock<T>,
}

#[expect(unsafe_code, reason = "a lock shares what it protects")]
impl<T> Deref for QueenLockGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this guard is the only one, so the value is accessed only through borrows of it. This one is shared,
        // and keeps the guard alive.
        self.lock.value.with(|value| unsafe { &*value })
    }
}

#[expect(unsafe_code, reason = "a lock shares what it protects")]
impl<T> DerefMut for QueenLockGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard is the only one, and is borrowed mutably, so there is no other access to the value.
        self.lock.value.with_mut(|value| unsafe { &mut *value })
    }
}

impl<T> Drop for QueenLockGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.lock.unlock();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::sys::cpu_mask::CpuMask;

    #[test]
    fn the_lock_is_taken_once_and_given_back() {
        let lock = QueenLock::new(0);
        let mut guard = lock.try_lock().expect("free");
        *guard += 1;
        assert!(lock.try_lock().is_none());
        drop(guard);
        assert_eq!(*lock.try_lock().expect("free again"), 1);
    }

    #[test]
    fn many_threads_at_once_lose_no_acquisition() {
        let policy = WaitPolicy::new(Duration::ZERO, None, 1, CpuMask::new());
        let lock = QueenLock::new(0u64);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..2_000).for_each(|_| *lock.lock(&policy) += 1));
            }
        });
        assert_eq!(*lock.try_lock().expect("all done"), 16_000);
    }

    #[test]
    fn a_queue_is_served_although_the_holder_comes_straight_back() {
        // The waiter sleeps in the first case, and polls in the second.
        for spin in [Duration::ZERO, Duration::MAX] {
            let policy = WaitPolicy::new(spin, None, usize::MAX, CpuMask::new());
            let lock = QueenLock::new(Vec::new());
            std::thread::scope(|scope| {
                let first = lock.lock(&policy);
                scope.spawn(|| lock.lock(&policy).push("who waited"));
                while lock.queue.len() == 0 {
                    std::thread::yield_now();
                }
                drop(first);
                lock.lock(&policy).push("who came back");
            });
            assert_eq!(*lock.lock(&policy), ["who waited", "who came back"]);
        }
    }

    /// Has a thread for each of `numbers` wait in the queue, one after the other, while another thread holds the lock.
    /// Each pushes its number when it gets the lock.
    fn queue_up<'s>(
        scope: &'s std::thread::Scope<'s, '_>,
        lock: &'s QueenLock<Vec<usize>>,
        policy: &'s WaitPolicy,
        numbers: std::ops::Range<usize>,
    ) {
        for number in numbers {
            let before = lock.queue.len();
            scope.spawn(move || lock.lock(policy).push(number));
            while lock.queue.len() == before {
                std::thread::yield_now();
            }
        }
    }

    #[test]
    fn a_queue_is_served_in_order_of_arrival() {
        let policy = WaitPolicy::new(Duration::ZERO, None, 1, CpuMask::new());
        let lock = QueenLock::new(Vec::new());
        std::thread::scope(|scope| {
            let holder = lock.lock(&policy);
            queue_up(scope, &lock, &policy, 0..20);
            drop(holder);
        });
        assert_eq!(*lock.lock(&policy), (0..20).collect::<Vec<_>>());
    }
}
