//! Whose turn it is to be queen: a lock that costs one swap each way when nobody else wants it, and is handed over in order of arrival when
//! somebody does, so that a busy queen starves nobody.

use std::ops::{Deref, DerefMut};

use crate::sync::{AtomicU32, Condvar, Mutex, Ordering, UnsafeCell, WaitPolicy};

/// Nobody has the turn.
const FREE: u32 = 0;
/// Somebody has it, and nobody waits in the queue.
const HELD: u32 = 1;
/// Somebody has it, and hands it on to the queue. The state enters and leaves this value under the queue's lock only.
const QUEUED: u32 = 2;

/// The turn, and what only its holder may touch. Kept in cache lines of its own: the queen writes here in every region, and the bees
/// have nothing to look for here.
#[repr(align(128))]
pub(crate) struct Turn<T> {
    state: AtomicU32,
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
        let mut queue = self.queue.lock().expect("no code that can panic runs under this lock");
        loop {
            if let Some(guard) = self.try_take() {
                return guard;
            }
            // Relaxed: the lock orders the queue's state; the turn itself is handed over under it.
            if self.state.compare_exchange(HELD, QUEUED, Ordering::Relaxed, Ordering::Relaxed) != Err(FREE) {
                break;
            }
        }
        let ticket = queue.tickets;
        queue.tickets += 1;
        while queue.served <= ticket {
            queue = self.served.wait(queue).expect("no code that can panic runs under this lock");
        }
        Guard { turn: self }
    }

    #[cold]
    fn hand_over(&self) {
        let mut queue = self.queue.lock().expect("no code that can panic runs under this lock");
        queue.served += 1;
        assert!(queue.served <= queue.tickets, "{} served of {}", queue.served, queue.tickets);
        if queue.served == queue.tickets {
            // Relaxed: nobody takes the turn by this word before the next holder frees it.
            self.state.store(HELD, Ordering::Relaxed);
        }
        self.served.notify_all();
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
        // Release: pairs with the Acquire in `try_take`; publishes this holder's changes. Failure is Relaxed: the queue's lock
        // orders what follows.
        let freed = self.turn.state.compare_exchange(HELD, FREE, Ordering::Release, Ordering::Relaxed);
        if freed.is_err() {
            self.turn.hand_over();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

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
        let policy = WaitPolicy::new(Duration::ZERO, 1);
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
        let policy = WaitPolicy::new(Duration::ZERO, 1);
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
