//! Whose turn it is to be queen: a lock that costs a thread which takes it again and again no more than stores, one swap when
//! threads take turns, and that is handed over in order of arrival when they queue, so that a busy queen starves nobody.
//!
//! The first thread that takes the turn many times in a row becomes its *owner*, and the turn is *reserved* to it (a biased lock,
//! as Java's were): it takes the turn by a plain store, a light fence and a look whether it is reserved still. Anybody else who
//! wants the turn ends the reservation first, and pays for the fence on both sides with a heavy one; the owner may earn it again.

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::sync::{
    AtomicBool, AtomicU32, AtomicU64, Condvar, KernelThread, Mutex, MutexGuard, Ordering, ThreadId, UnsafeCell,
    WaitPolicy, acquisitions_until_bias, can_still_bias, current_thread_id, heavy_fence, light_fence, wait_briefly,
};

/// Nobody has taken the turn by a swap.
const FREE: u32 = 0;
/// Somebody has.
const HELD: u32 = 1;

/// No thread's token.
const NO_THREAD: ThreadId = ThreadId::MAX;

/// The turn, and what only its holder may touch. Kept in cache lines of its own: the queen writes here in every region, and the bees
/// have nothing to look for here.
#[repr(align(128))]
pub(crate) struct LeaderLock<T> {
    state: AtomicU32,
    /// Whether the owner has the turn, or is about to see that it is not reserved any more. Only the owner writes it: were there a second
    /// owner one day, the first might still be about to take back what it wrote before.
    is_owner_active: AtomicBool,
    /// Whether the owner may take the turn without a swap. Changed by who has swapped `state` to HELD.
    is_reserved: AtomicBool,
    /// Whether the queue may not be empty. Changes under the queue's lock.
    may_have_waiters: AtomicBool,
    /// Set once, by itself when it has swapped `state` to HELD.
    owner: AtomicU64,
    /// Of who holds the turn.
    value: UnsafeCell<T>,
    /// Of who has swapped `state` to HELD, be it only to find that the owner reigns.
    run_length: UnsafeCell<RunLength>,
    queue: Mutex<WaitQueue>,
}

/// The takes by swap of one thread in a row.
struct RunLength {
    thread: ThreadId,
    takes: u32,
    /// Takes for which the turn is reserved to it. More each time that a reservation has ended, whether or not who
    /// ended it got the turn, so that those who alternate for good pay for few.
    takes_needed: u32,
    /// Whom the turn was reserved to, for the heavy fence that ends it.
    reserved_to: KernelThread,
}

/// No more takes are ever needed: they take a tenth of a second or longer, of which the end of a reservation is next to
/// nothing.
const MAX_TAKES_NEEDED: u32 = 1 << 20;

impl RunLength {
    /// Counts a take by `thread`. Whether it has earned a reservation.
    fn count_take(&mut self, thread: ThreadId) -> bool {
        if self.thread != thread {
            *self = Self { thread, takes: 0, ..*self };
        }
        self.takes = self.takes.saturating_add(1);
        self.takes > self.takes_needed
    }

    /// Ends a reservation, and says to whom it was.
    fn revoke(&mut self) -> KernelThread {
        self.takes = 0;
        self.takes_needed = self.takes_needed.saturating_mul(4).min(MAX_TAKES_NEEDED);
        self.reserved_to
    }
}

/// Those who wait asleep.
#[derive(Default)]
struct WaitQueue {
    /// How many have been served so far.
    served: u64,
    /// What wakes each of those who have not, in order of arrival.
    waiters: VecDeque<Arc<Condvar>>,
    /// Whether the owner has given the turn back and told the first, who has not looked since.
    is_notified: bool,
}

impl WaitQueue {
    /// Lines up another. Returns its number: when more than that have been served, it has been.
    fn enqueue(&mut self, condvar: &Arc<Condvar>) -> u64 {
        let number = self.served + self.waiters.len() as u64;
        self.waiters.push_back(Arc::clone(condvar));
        number
    }

    fn has_served(&self, number: u64) -> bool {
        self.served > number
    }
}

#[expect(unsafe_code, reason = "a lock shares what it protects")]
// SAFETY: `value` is reached through the one guard that exists at a time, as in a mutex; `Send` lets it change threads.
// `run_length` is reached by the one thread at a time that has swapped `state`.
unsafe impl<T: Send> Sync for LeaderLock<T> {}

impl<T> LeaderLock<T> {
    pub(crate) fn new(value: T) -> Self {
        let run_length = RunLength {
            thread: NO_THREAD,
            takes: 0,
            takes_needed: acquisitions_until_bias(),
            reserved_to: KernelThread::NONE,
        };
        Self {
            state: AtomicU32::new(FREE),
            is_owner_active: AtomicBool::new(false),
            is_reserved: AtomicBool::new(false),
            may_have_waiters: AtomicBool::new(false),
            owner: AtomicU64::new(NO_THREAD),
            value: UnsafeCell::new(value),
            run_length: UnsafeCell::new(run_length),
            queue: Mutex::new(WaitQueue::default()),
        }
    }

    /// Takes the turn if nobody has it.
    #[inline]
    pub(crate) fn try_lock(&self) -> Option<LeaderGuard<'_, T>> {
        match self.try_lock_as_owner() {
            Some(guard) => Some(guard),
            None => self.try_lock_by_swap(),
        }
    }

    #[inline(always)]
    fn try_lock_as_owner(&self) -> Option<LeaderGuard<'_, T>> {
        // Relaxed, all three: a thread knows whether it is the owner and reigns; whether the turn is reserved is looked at again below.
        let may_try = self.owner.load(Ordering::Relaxed) == current_thread_id()
            && self.is_reserved.load(Ordering::Relaxed)
            && !self.is_owner_active.load(Ordering::Relaxed);
        if !may_try {
            return None;
        }
        // Relaxed: the fence orders it.
        self.is_owner_active.store(true, Ordering::Relaxed);
        // Who ends the reservation either sees the store above or is seen below. Pairs with the heavy fence in `end_reservation`.
        light_fence();
        // Relaxed: nobody else has held the turn since it was reserved, so there is nothing to acquire.
        if self.is_reserved.load(Ordering::Relaxed) {
            return Some(LeaderGuard::new(self, Acquired::AsOwner));
        }
        // Release: as in `unlock_as_owner`, whose store this one hides.
        self.is_owner_active.store(false, Ordering::Release);
        None
    }

    fn try_lock_by_swap(&self) -> Option<LeaderGuard<'_, T>> {
        // Acquire: pairs with the Release in `unlock_by_swap`; makes the last holder's changes visible.
        if self.state.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return None;
        }
        // Relaxed: changed by those who had swapped the state before.
        if self.is_reserved.load(Ordering::Relaxed) {
            self.end_reservation();
        }
        // Acquire: pairs with the Release in `unlock_as_owner`; makes the owner's changes visible.
        if self.is_owner_active.load(Ordering::Acquire) {
            // Release: as in `unlock_by_swap`. Those who queue are told by the owner, not here.
            self.state.store(FREE, Ordering::Release);
            return None;
        }
        Some(LeaderGuard::new(self, Acquired::BySwap))
    }

    /// Afterwards, an owner who does not reign will not. For who has swapped the state.
    #[cold]
    fn end_reservation(&self) {
        // Also if the owner reigns: it has to earn the next one anew.
        let owner = self.with_run_length(RunLength::revoke);
        // Relaxed: the fence orders it.
        self.is_reserved.store(false, Ordering::Relaxed);
        // Pairs with the light fence in `try_lock_as_owner`.
        heavy_fence(owner);
    }

    /// For who has swapped the state.
    #[inline(always)]
    #[expect(unsafe_code, reason = "a lock shares what it protects")]
    fn with_run_length<R>(&self, use_it: impl FnOnce(&mut RunLength) -> R) -> R {
        // SAFETY: one thread at a time has swapped `state` to HELD; that it was stored FREE by the last one, or
        // handed over under the queue's lock, orders their accesses. None of the uses calls this again.
        self.run_length.with_mut(|run_length| use_it(unsafe { &mut *run_length }))
    }

    /// Reserves the turn to the calling thread, which has swapped the state, unless another owns it.
    #[cold]
    fn reserve(&self, thread: ThreadId) {
        if !can_still_bias() {
            return self.with_run_length(|run_length| run_length.takes_needed = u32::MAX);
        }
        // Relaxed, all three: written by who has swapped the state; the Release that gives it back publishes them to whoever swaps it next.
        if self.owner.load(Ordering::Relaxed) == NO_THREAD {
            self.owner.store(thread, Ordering::Relaxed);
        }
        if self.owner.load(Ordering::Relaxed) == thread {
            self.with_run_length(|run_length| run_length.reserved_to = KernelThread::current());
            self.is_reserved.store(true, Ordering::Relaxed);
        }
    }

    /// Takes the turn, waiting for it.
    #[inline]
    pub(crate) fn lock(&self, policy: &WaitPolicy) -> LeaderGuard<'_, T> {
        match self.try_lock() {
            Some(guard) => guard,
            None => self.lock_slow(policy),
        }
    }

    #[cold]
    fn lock_slow(&self, policy: &WaitPolicy) -> LeaderGuard<'_, T> {
        let mut spinner = policy.spinner();
        while spinner.spin_once() {
            // Relaxed, both: only to spare the others a swap that would fail.
            if self.state.load(Ordering::Relaxed) == FREE
                && !self.is_owner_active.load(Ordering::Relaxed)
                && let Some(guard) = self.try_lock_by_swap()
            {
                return guard;
            }
        }
        self.wait_in_queue(policy)
    }

    fn wait_in_queue(&self, policy: &WaitPolicy) -> LeaderGuard<'_, T> {
        let condvar = Arc::new(Condvar::new());
        let mut queue = self.lock_queue();
        let number = queue.enqueue(&condvar);
        // Relaxed, as the look at it in `LeaderGuard::drop`: a holder who misses it is why the first looks again.
        self.may_have_waiters.store(true, Ordering::Relaxed);
        if queue.waiters.len() == 1 {
            self.wait_as_first(policy, queue, number, &condvar)
        } else {
            self.wait_behind(queue, number, &condvar)
        }
    }

    /// Waits for the turn as one who has found nobody in the queue. Whoever holds the turn may not have seen the queue,
    /// and has then given the turn back without a word: so this waiter looks again by itself.
    fn wait_as_first(
        &self,
        policy: &WaitPolicy,
        mut queue: MutexGuard<'_, WaitQueue>,
        number: u64,
        condvar: &Condvar,
    ) -> LeaderGuard<'_, T> {
        let mut tries = 0;
        loop {
            if queue.has_served(number) {
                return LeaderGuard::new(self, Acquired::BySwap);
            }
            if let Some(guard) = self.try_lock_by_swap() {
                self.dequeue_first(&mut queue);
                return guard;
            }
            if mem::take(&mut queue.is_notified) {
                // The turn was free just now. Somebody was quicker, or has swapped the word only to look: so the next look comes soon.
                tries = 0;
            }
            queue = wait_briefly(condvar, queue, tries);
            tries += 1;
            policy.abort_if_forked();
        }
    }

    /// Waits for the turn as one who has found others in the queue. The one before it comes to hold the turn by a
    /// swap, and has had the lock after `may_have_waiters` was raised for this one: so it sees the flag and hands over, and
    /// this waiter sleeps until then. The proof is in `docs/leader-lock.md`.
    fn wait_behind(&self, mut queue: MutexGuard<'_, WaitQueue>, number: u64, condvar: &Condvar) -> LeaderGuard<'_, T> {
        while !queue.has_served(number) {
            queue = condvar.wait(queue).expect("no code that can panic runs under this lock");
        }
        LeaderGuard::new(self, Acquired::BySwap)
    }

    /// Gives the turn, taken by a swap, to the first in the queue.
    #[cold]
    fn hand_over(&self) {
        let mut queue = self.lock_queue();
        // Only a holder takes the flag down, when it serves the last in the queue. This is the holder, so somebody waits.
        assert!(!queue.waiters.is_empty(), "the flag is up, and all {} have been served", queue.served);
        let first = self.dequeue_first(&mut queue);
        // It finds the lock free when it wakes.
        drop(queue);
        wake(first);
    }

    /// Lets the first in the queue see that the owner has given the turn back.
    #[cold]
    fn notify_first(&self) {
        let mut queue = self.lock_queue();
        queue.is_notified = true;
        let first = queue.waiters.front().map(Arc::clone);
        drop(queue);
        wake(first);
    }

    /// Takes the first out of the queue. Returns what wakes it.
    fn dequeue_first(&self, queue: &mut WaitQueue) -> Option<Arc<Condvar>> {
        let first = queue.waiters.pop_front();
        debug_assert!(first.is_some(), "{} served, and another one is, who is not there", queue.served);
        queue.served += 1;
        if queue.waiters.is_empty() {
            // Relaxed: who still sees true finds the queue empty, under its lock.
            self.may_have_waiters.store(false, Ordering::Relaxed);
        }
        first
    }

    fn lock_queue(&self) -> MutexGuard<'_, WaitQueue> {
        self.queue.lock().expect("no code that can panic runs under this lock")
    }
}

fn wake(sleeper: Option<Arc<Condvar>>) {
    if let Some(condvar) = sleeper {
        // Only one thread sleeps there.
        condvar.notify_one();
    }
}

/// How the turn was taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Acquired {
    AsOwner,
    BySwap,
}

/// The turn, held. Stays on its thread, which may own the turn.
pub(crate) struct LeaderGuard<'t, T> {
    lock: &'t LeaderLock<T>,
    acquired: Acquired,
    _on_its_thread: PhantomData<*const ()>,
}

impl<'t, T> LeaderGuard<'t, T> {
    /// Call once for each time that the turn is taken.
    #[inline(always)]
    fn new(lock: &'t LeaderLock<T>, acquired: Acquired) -> Self {
        Self { lock, acquired, _on_its_thread: PhantomData }
    }

    #[inline(always)]
    fn unlock_as_owner(&self) {
        // Release: pairs with the Acquire in `try_lock_by_swap`; publishes this holder's changes.
        self.lock.is_owner_active.store(false, Ordering::Release);
        // Relaxed: who queues up at this very moment may be missed; it finds the turn free when it looks again.
        if self.lock.may_have_waiters.load(Ordering::Relaxed) {
            self.lock.notify_first();
        }
    }

    fn unlock_by_swap(&self) {
        // Relaxed: as above.
        if self.lock.may_have_waiters.load(Ordering::Relaxed) {
            return self.lock.hand_over();
        }
        let thread = current_thread_id();
        if self.lock.with_run_length(|run_length| run_length.count_take(thread)) {
            self.lock.reserve(thread);
        }
        // Release: pairs with the Acquire in `try_lock_by_swap`; publishes this holder's changes.
        self.lock.state.store(FREE, Ordering::Release);
    }
}

#[expect(unsafe_code, reason = "a lock shares what it protects")]
impl<T> Deref for LeaderGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this guard is the only one, so there are only shared borrows of it, which keep it alive.
        self.lock.value.with(|value| unsafe { &*value })
    }
}

#[expect(unsafe_code, reason = "a lock shares what it protects")]
impl<T> DerefMut for LeaderGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard is the only one, and is borrowed mutably.
        self.lock.value.with_mut(|value| unsafe { &mut *value })
    }
}

impl<T> Drop for LeaderGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        match self.acquired {
            Acquired::AsOwner => self.unlock_as_owner(),
            Acquired::BySwap => self.unlock_by_swap(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::sys::asymmetric_fence::heavy_fences_of_this_thread;
    use crate::sys::cpu_mask::CpuMask;

    #[test]
    fn the_lock_is_taken_once_and_given_back() {
        let lock = LeaderLock::new(0);
        let mut guard = lock.try_lock().expect("free");
        *guard += 1;
        assert!(lock.try_lock().is_none());
        drop(guard);
        assert_eq!(*lock.try_lock().expect("free again"), 1);
    }

    #[test]
    fn a_thread_that_takes_it_again_and_again_does_so_without_a_swap() {
        let policy = WaitPolicy::new(Duration::ZERO, None, 1, CpuMask::new());
        let lock = LeaderLock::new(0);
        let needed = acquisitions_until_bias();
        if needed == u32::MAX {
            return; // No heavy fence here.
        }
        (0..=needed).for_each(|_| *lock.lock(&policy) += 1);
        let as_owner = lock.lock(&policy);
        assert!(as_owner.acquired == Acquired::AsOwner && *as_owner == needed + 1);
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(lock.try_lock().is_none(), "the owner reigns")).join().unwrap()
        });
        drop(as_owner);
        std::thread::scope(|scope| scope.spawn(|| *lock.lock(&policy) += 1).join().unwrap());
        let after = lock.lock(&policy);
        assert!(after.acquired == Acquired::BySwap && *after == needed + 2, "the reservation has ended");
    }

    #[test]
    fn many_threads_at_once_lose_no_acquisition() {
        let policy = WaitPolicy::new(Duration::ZERO, None, 1, CpuMask::new());
        let lock = LeaderLock::new(0u64);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..2_000).for_each(|_| *lock.lock(&policy) += 1));
            }
        });
        assert_eq!(*lock.try_lock().expect("all done"), 16_000);
    }

    #[test]
    fn a_queue_is_served_although_the_holder_comes_straight_back() {
        let policy = WaitPolicy::new(Duration::ZERO, None, 1, CpuMask::new());
        let lock = LeaderLock::new(Vec::new());
        std::thread::scope(|scope| {
            let first = lock.lock(&policy);
            scope.spawn(|| lock.lock(&policy).push("who waited"));
            while lock.queue.lock().unwrap().waiters.is_empty() {
                std::thread::yield_now();
            }
            drop(first);
            lock.lock(&policy).push("who came back");
        });
        assert_eq!(*lock.lock(&policy), ["who waited", "who came back"]);
    }

    /// Has these queue for the turn, which somebody has, one after the other.
    fn queue_up<'s>(
        scope: &'s std::thread::Scope<'s, '_>,
        lock: &'s LeaderLock<Vec<usize>>,
        policy: &'s WaitPolicy,
        numbers: std::ops::Range<usize>,
    ) {
        for number in numbers {
            let before = lock.queue.lock().unwrap().waiters.len();
            scope.spawn(move || lock.lock(policy).push(number));
            while lock.queue.lock().unwrap().waiters.len() == before {
                std::thread::yield_now();
            }
        }
    }

    #[test]
    fn a_queue_is_served_in_order_of_arrival() {
        let policy = WaitPolicy::new(Duration::ZERO, None, 1, CpuMask::new());
        let lock = LeaderLock::new(Vec::new());
        std::thread::scope(|scope| {
            let holder = lock.lock(&policy);
            queue_up(scope, &lock, &policy, 0..20);
            drop(holder);
        });
        assert_eq!(*lock.lock(&policy), (0..20).collect::<Vec<_>>());
    }

    #[test]
    fn a_queue_behind_an_active_owner_is_served_in_order_of_arrival() {
        let policy = WaitPolicy::new(Duration::ZERO, None, 1, CpuMask::new());
        let lock = LeaderLock::new(Vec::new());
        if acquisitions_until_bias() == u32::MAX {
            return; // No heavy fence here.
        }
        (0..=acquisitions_until_bias()).for_each(|_| drop(lock.lock(&policy)));
        std::thread::scope(|scope| {
            let as_owner = lock.lock(&policy);
            assert!(as_owner.acquired == Acquired::AsOwner);
            queue_up(scope, &lock, &policy, 0..20);
            drop(as_owner);
            let mut last = lock.lock(&policy);
            assert!(last.acquired == Acquired::BySwap);
            last.push(20);
        });
        // Whether the owner was quicker than the first of them, who had to wake, is open.
        let served = lock.try_lock().expect("all done").clone();
        let others: Vec<_> = served.iter().copied().filter(|&number| number < 20).collect();
        assert_eq!((others, served.len()), ((0..20).collect(), 21));
        assert!(!lock.may_have_waiters.load(Ordering::Relaxed));
    }

    #[test]
    fn an_owner_who_is_tried_in_vain_again_and_again_costs_few_heavy_fences() {
        let policy = WaitPolicy::new(Duration::ZERO, None, 1, CpuMask::new());
        let (lock, needed) = (LeaderLock::new(()), acquisitions_until_bias());
        if needed == u32::MAX {
            return; // No heavy fence here.
        }
        (0..=needed).for_each(|_| drop(lock.lock(&policy)));
        let (rounds, step) = (3 * needed, std::sync::Barrier::new(2));
        let fences = std::thread::scope(|scope| {
            let outsider = scope.spawn(|| {
                let before = heavy_fences_of_this_thread();
                for _ in 0..rounds {
                    step.wait();
                    assert!(lock.try_lock().is_none(), "the owner has it");
                    step.wait();
                }
                heavy_fences_of_this_thread() - before
            });
            for _ in 0..rounds {
                let guard = lock.lock(&policy);
                step.wait();
                step.wait();
                drop(guard);
            }
            outsider.join().unwrap()
        });
        assert_eq!(fences, 1, "heavy fences in {rounds} rounds, of which the next reservation takes more");
    }

    #[test]
    fn a_reservation_that_is_ended_often_is_earned_again_all_the_same() {
        let mut run_length = RunLength { thread: 1, takes: 0, takes_needed: 1_000, reserved_to: KernelThread::NONE };
        (0..100).for_each(|_| _ = run_length.revoke());
        assert!((0..=MAX_TAKES_NEEDED).any(|_| run_length.count_take(1)));
        run_length.revoke();
        assert!(!(0..MAX_TAKES_NEEDED).any(|_| run_length.count_take(1)));
    }
}
