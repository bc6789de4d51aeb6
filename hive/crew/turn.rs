//! Whose turn it is to be queen: a lock that costs one swap and one store when nobody else wants it, and is handed over in order of
//! arrival when somebody does, so that a busy queen starves nobody.

use std::ops::{Deref, DerefMut};

use crate::sync::{AtomicBool, AtomicU32, Condvar, Mutex, MutexGuard, Ordering, UnsafeCell, WaitPolicy, wait_a_while};

/// Nobody has the turn.
const FREE: u32 = 0;
/// Somebody has it.
const HELD: u32 = 1;

/// The turn, and what only its holder may touch. Kept in cache lines of its own: the queen writes here in every region, and the bees
/// have nothing to look for here.
#[repr(align(128))]
pub(crate) struct Turn<T> {
    state: AtomicU32,
    /// Whether the queue may not be empty. Changes under the queue's lock.
    queued: AtomicBool,
    held: UnsafeCell<T>,
    queue: Mutex<Queue>,
    served: Condvar,
}

/// Those who wait asleep: tickets given out, and those that have been served.
#[derive(Default)]
struct Queue {
    tickets: u64,
    served: u64,
}

#[expect(unsafe_code, reason = "a lock shares what it protects")]
// SAFETY: `held` is reached through the one guard that exists at a time, as in a mutex; `Send` lets it change threads.
unsafe impl<T: Send> Sync for Turn<T> {}

impl<T> Turn<T> {
    pub(crate) fn new(held: T) -> Self {
        Self {
            state: AtomicU32::new(FREE),
            queued: AtomicBool::new(false),
            held: UnsafeCell::new(held),
            queue: Mutex::new(Queue::default()),
            served: Condvar::new(),
        }
    }

    /// Takes the turn if nobody has it.
    #[inline]
    pub(crate) fn try_take(&self) -> Option<Guard<'_, T>> {
        // Acquire: pairs with the Release in `Guard::drop`; makes the last holder's changes visible.
        let taken = self.state.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed);
        // Lazily: a guard that exists gives the turn back.
        taken.is_ok().then(|| Guard { turn: self })
    }

    /// Takes the turn, waiting for it.
    #[inline]
    pub(crate) fn take(&self, policy: &WaitPolicy) -> Guard<'_, T> {
        match self.try_take() {
            Some(guard) => guard,
            None => self.take_later(policy),
        }
    }

    #[cold]
    fn take_later(&self, policy: &WaitPolicy) -> Guard<'_, T> {
        let mut patience = policy.patience();
        while patience.poll_again() {
            // Relaxed: only to spare the other queens a swap that would fail.
            if self.state.load(Ordering::Relaxed) == FREE
                && let Some(guard) = self.try_take()
            {
                return guard;
            }
        }
        self.take_from_queue()
    }

    fn take_from_queue(&self) -> Guard<'_, T> {
        let mut queue = self.lock_queue();
        let ticket = queue.tickets;
        queue.tickets += 1;
        // Relaxed, as the look at it in `Guard::drop`: a holder who misses it is the reason for the second look below.
        self.queued.store(true, Ordering::Relaxed);
        loop {
            if queue.served > ticket {
                return Guard { turn: self };
            }
            // The head of the queue looks whether the turn was given back by somebody who had not seen the queue yet.
            if queue.served == ticket
                && let Some(guard) = self.try_take()
            {
                self.serve_next(&mut queue);
                return guard;
            }
            queue = wait_a_while(&self.served, queue);
        }
    }

    /// Gives the turn to the head of the queue, or back if the queue is empty after all.
    #[cold]
    fn hand_over(&self) {
        let mut queue = self.lock_queue();
        if queue.served == queue.tickets {
            // Release: as in `Guard::drop`.
            self.state.store(FREE, Ordering::Release);
            return;
        }
        self.serve_next(&mut queue);
        self.served.notify_all();
    }

    fn serve_next(&self, queue: &mut Queue) {
        queue.served += 1;
        debug_assert!(queue.served <= queue.tickets, "{} served of {}", queue.served, queue.tickets);
        if queue.served == queue.tickets {
            // Relaxed: who still sees true finds the queue empty, under its lock.
            self.queued.store(false, Ordering::Relaxed);
        }
    }

    fn lock_queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().expect("no code that can panic runs under this lock")
    }
}

/// The turn, held.
pub(crate) struct Guard<'t, T> {
    turn: &'t Turn<T>,
}

#[expect(unsafe_code, reason = "a lock shares what it protects")]
impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this guard is the only one, so there are only shared borrows of it, which keep it alive.
        self.turn.held.with(|held| unsafe { &*held })
    }
}

#[expect(unsafe_code, reason = "a lock shares what it protects")]
impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard is the only one, and is borrowed mutably.
        self.turn.held.with_mut(|held| unsafe { &mut *held })
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // Relaxed: no swap and no fence, which would be a tenth of a region's time. Who queues up at this very moment may be
        // missed; it finds the turn free when it looks again.
        if self.turn.queued.load(Ordering::Relaxed) {
            self.turn.hand_over();
        } else {
            // Release: pairs with the Acquire in `try_take`; publishes this holder's changes.
            self.turn.state.store(FREE, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    use crate::topology::CpuMask;

    #[test]
    fn the_turn_is_taken_once_and_given_back() {
        let turn = Turn::new(0);
        let mut guard = turn.try_take().expect("free");
        *guard += 1;
        assert!(turn.try_take().is_none());
        drop(guard);
        assert_eq!(*turn.try_take().expect("free again"), 1);
    }

    #[test]
    fn stampede_of_queens_loses_no_turn() {
        let policy = WaitPolicy::new(Duration::ZERO, 1, CpuMask::new());
        let turn = Turn::new(0u64);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..2_000).for_each(|_| *turn.take(&policy) += 1));
            }
        });
        assert_eq!(*turn.try_take().expect("all done"), 16_000);
    }

    #[test]
    fn a_queue_is_served_although_the_holder_comes_straight_back() {
        let policy = WaitPolicy::new(Duration::ZERO, 1, CpuMask::new());
        let turn = Turn::new(Vec::new());
        std::thread::scope(|scope| {
            let first = turn.take(&policy);
            scope.spawn(|| turn.take(&policy).push("who waited"));
            while turn.queue.lock().unwrap().tickets == 0 {
                std::thread::yield_now();
            }
            drop(first);
            turn.take(&policy).push("who came back");
        });
        assert_eq!(*turn.take(&policy), ["who waited", "who came back"]);
    }
}
