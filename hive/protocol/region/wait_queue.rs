//! The queue of the threads that wait for the queen lock. `queen_lock.rs` decides when a thread joins it and when it
//! is served; here is the order, and how a waiter polls first and then sleeps. The proof is in `docs/queen-lock.md`.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::sync::{AtomicBool, AtomicU64, Condvar, Mutex, MutexGuard, Ordering, WaitPolicy, wait_briefly};

/// The threads that wait, in the order of their arrival.
#[derive(Default)]
pub(super) struct WaitQueue {
    /// Whether there are waiters. Written only under the lock of `waiting`, so a thread that reads it without that lock
    /// may get an earlier value.
    may_have_waiters: AtomicBool,
    /// How many waiters have left the queue with the lock so far. A waiter's number is the count of those before it, so
    /// a waiter has the lock as soon as this is greater than its number. Written only under the lock of `waiting`.
    served: AtomicU64,
    waiting: Mutex<Waiting>,
}

/// For each waiter that has not been served the condition variable that it sleeps on, or None while it polls. Each has
/// one of its own, so that handing the lock over wakes one thread.
type Waiting = VecDeque<Option<Arc<Condvar>>>;

/// A place in the queue.
#[derive(Clone, Copy)]
pub(super) struct Ticket {
    number: u64,
    /// Whether the queue was empty when the waiter joined it. The holder may have missed that somebody waits, and may
    /// release the lock without notice. So this waiter also tries for the lock by itself.
    pub(super) is_first: bool,
}

impl WaitQueue {
    /// Whether somebody waits. A thread that has joined the empty queue at this very moment may be missed.
    #[inline(always)]
    pub(super) fn may_have_waiters(&self) -> bool {
        // Relaxed: a first waiter that is missed tries again by itself. A waiter behind another is not missed by the
        // one that comes before it: see `docs/queen-lock.md`.
        self.may_have_waiters.load(Ordering::Relaxed)
    }

    /// Joins the queue at its end.
    pub(super) fn join(&self) -> Ticket {
        let mut waiting = self.waiting.lock();
        // Relaxed: written only under the lock, which is held.
        let ticket =
            Ticket { number: self.served.load(Ordering::Relaxed) + waiting.len() as u64, is_first: waiting.is_empty() };
        waiting.push_back(None);
        // Relaxed: see `may_have_waiters`.
        self.may_have_waiters.store(true, Ordering::Relaxed);
        ticket
    }

    /// Whether the lock has been handed over to this waiter.
    pub(super) fn has_served(&self, ticket: Ticket) -> bool {
        // Acquire: pairs with the Release in `dequeue_first`; makes visible what earlier holders changed.
        self.served.load(Ordering::Acquire) > ticket.number
    }

    /// Takes the first waiter out of the queue. That is the caller, which has got the lock by a swap of its own.
    pub(super) fn leave_as_first(&self) {
        self.dequeue_first(&mut self.waiting.lock());
    }

    /// Hands the lock, which the caller holds, over to the first waiter.
    #[cold]
    pub(super) fn hand_over(&self) {
        let mut waiting = self.waiting.lock();
        // The caller has seen `may_have_waiters` set. Only a holder of the lock clears this flag, when it serves the
        // last waiter. The caller is the holder, so the queue is not empty.
        let first = self.dequeue_first(&mut waiting);
        // Release the queue's lock before the wake-up, so that the waiter does not wake only to wait for it.
        drop(waiting);
        if let Some(condvar) = first {
            // One is enough: each waiter has a condition variable of its own.
            condvar.notify_one();
        }
    }

    /// Sleeps until the lock has been handed over to the caller, or, for a first waiter, until `try_lock` has acquired
    /// it. Returns what `try_lock` has returned, or None if the lock was handed over.
    pub(super) fn sleep<G>(
        &self,
        ticket: Ticket,
        policy: &WaitPolicy,
        try_lock: impl FnMut() -> Option<G>,
    ) -> Option<G> {
        let condvar = Arc::new(Condvar::new());
        let mut waiting = self.waiting.lock();
        // Relaxed: written only under the lock, which is held. If the caller has been served meanwhile, it is not in
        // the queue any more.
        if let Some(index) = ticket.number.checked_sub(self.served.load(Ordering::Relaxed)) {
            waiting[index as usize] = Some(Arc::clone(&condvar));
        }
        if ticket.is_first {
            self.sleep_as_first(waiting, ticket, &condvar, policy, try_lock)
        } else {
            self.sleep_behind(waiting, ticket, &condvar);
            None
        }
    }

    /// The holder may have missed that a thread queued up, and have released the lock without notice. So a first waiter
    /// also tries by itself, at intervals that grow: see `wait_briefly`.
    fn sleep_as_first<G>(
        &self,
        mut waiting: MutexGuard<'_, Waiting>,
        ticket: Ticket,
        condvar: &Condvar,
        policy: &WaitPolicy,
        mut try_lock: impl FnMut() -> Option<G>,
    ) -> Option<G> {
        let mut tries = 0;
        loop {
            if self.has_served(ticket) {
                return None;
            }
            if let Some(guard) = try_lock() {
                self.dequeue_first(&mut waiting);
                return Some(guard);
            }
            waiting = wait_briefly(condvar, waiting, tries);
            tries += 1;
            policy.abort_if_forked();
        }
    }

    /// A waiter that found others in the queue needs no tries of its own: the waiter before it hands the lock over.
    fn sleep_behind(&self, mut waiting: MutexGuard<'_, Waiting>, ticket: Ticket, condvar: &Condvar) {
        while !self.has_served(ticket) {
            waiting = condvar.wait(waiting).expect("no code that can panic runs under this lock");
        }
    }

    /// Removes the first waiter, which has the lock from now on. Returns what wakes it, if it sleeps. The caller holds
    /// the lock.
    fn dequeue_first(&self, waiting: &mut Waiting) -> Option<Arc<Condvar>> {
        // Relaxed: written only under the lock, which is held.
        let served = self.served.load(Ordering::Relaxed);
        let first = waiting.pop_front();
        assert!(first.is_some(), "the flag is up, and all {served} have been served");
        if waiting.is_empty() {
            // Relaxed: for the waiter that is served here, the next who reads it, the store below publishes it. So this
            // has to come first.
            self.may_have_waiters.store(false, Ordering::Relaxed);
        }
        // Release: pairs with the Acquire in `has_served`; publishes what this holder changed.
        self.served.store(served + 1, Ordering::Release);
        first.flatten()
    }

    /// How many threads wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.lock().len()
    }
}
