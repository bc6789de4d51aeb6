//! The queen lock: a thread must hold it to be the queen of the hive. `Team::become_queen` acquires it before
//! each region, and the region's queen holds it until all bees have exited. The protocol and its proof are in
//! `docs/queen-lock.md`.
//!
//! It is a biased lock, as Java's were. The first thread that acquires it many times in a row becomes its *owner*, and
//! the lock is *reserved* for it: the owner then acquires it by a plain store, a light fence and a check that the
//! reservation still stands. Any other thread that wants the lock ends the reservation first, by a heavy fence, which
//! bears the cost that the light one saves. The owner may earn a new reservation. Without a reservation each
//! acquisition takes a swap.
//!
//! Threads that wait queue up (`wait_queue.rs`), and the lock is handed over in the order of their arrival. So a thread
//! that starts one region after another cannot starve the others.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use crate::protocol::region::wait_queue::WaitQueue;
use crate::sync::{
    AtomicBool, AtomicU32, AtomicU64, Ordering, OtherThread, ThreadId, UnsafeCell, WaitPolicy,
    acquisitions_until_reservation, can_still_reserve, current_thread_id, heavy_fence, light_fence, yield_core,
};

/// The `state` while no thread holds the lock by a swap. The owner may hold it without one.
const FREE: u32 = 0;
/// The `state` while a thread holds the lock by a swap, or has swapped only to find that the owner holds it.
const HELD: u32 = 1;

/// The id of no thread.
const NO_THREAD: ThreadId = ThreadId::MAX;

/// The lock, and the value that only its holder may access. It has cache lines of its own, because the queen writes
/// here in every region and the workers read nothing here.
#[repr(align(128))]
pub(crate) struct QueenLock<T> {
    /// `FREE` or `HELD`. A thread that swaps it from `FREE` to `HELD` holds the lock, unless it finds the owner active.
    /// It stores `FREE` to release the lock, or leaves `HELD` and hands the lock over to the first thread in the queue.
    state: AtomicU32,
    /// Whether the owner holds the lock without a swap, or is about to find that the reservation has ended. Only the
    /// owner writes it. This is why the lock has one owner for life: after a change of owners, the first could still be
    /// about to clear the flag that it set before, and would clear the second owner's.
    is_owner_active: AtomicBool,
    /// Whether the owner may acquire the lock without a swap. Written only by a thread that has swapped `state` to
    /// `HELD`.
    is_reserved: AtomicBool,
    /// The owner's id, or `NO_THREAD`. Written once, by the owner itself while it holds the lock by a swap.
    owner: AtomicU64,
    /// The value that the lock protects. Accessed only by the holder, through its guard.
    value: UnsafeCell<T>,
    /// Accessed only by a thread that has swapped `state` to `HELD`, even if it then finds the owner active.
    run_length: UnsafeCell<RunLength>,
    /// The threads that wait.
    queue: WaitQueue,
}

/// How many times one thread has acquired the lock by a swap, with no other's counted in between, and what that earns
/// it.
struct RunLength {
    /// The thread whose acquisition was counted last.
    thread: ThreadId,
    /// How many acquisitions of that thread have been counted since one of another thread was, or since a reservation
    /// ended. One that ends while somebody waits is not counted, and does not end the run either.
    takes: u32,
    /// The lock is reserved for the thread when `takes` exceeds this. Each end of a reservation multiplies it by four,
    /// whether or not the thread that ended the reservation then got the lock. So threads that alternate for good pay
    /// for few heavy fences.
    takes_needed: u32,
    /// The thread that the lock was reserved for, which the heavy fence needs to end a reservation. None: there was no
    /// reservation, or the system has no name for the thread.
    reserved_to: Option<OtherThread>,
    /// After how many more releases for nobody the holder is to yield its core: see `YIELDS_AFTER_WAIT`.
    yields_left: u32,
}

/// How many of the next releases are followed by a yield once a thread has had to wait for the lock. The thread that
/// had the lock before may want it again, and may have lost its core to the one that it has woken: without a yield that
/// one would have the lock for as long as the kernel lets it run, and not in turn.
const YIELDS_AFTER_WAIT: u32 = 16;

/// The upper limit of `takes_needed`. So many regions take a tenth of a second or longer, beside which the cost of
/// ending a reservation is negligible.
const MAX_TAKES_NEEDED: u32 = 1 << 20;

impl RunLength {
    /// Counts an acquisition by `thread`, as it ends and only if nobody waits then. Returns whether the run is long
    /// enough for a reservation. Whether `thread` may have one, `reserve` decides: another may be the owner.
    fn count_at_release(&mut self, thread: ThreadId) -> bool {
        if self.thread != thread {
            *self = Self { thread, takes: 0, ..*self };
        }
        self.takes = self.takes.saturating_add(1);
        self.takes > self.takes_needed
    }

    /// Whether the holder is to yield its core after this release, which is for nobody.
    fn take_yield(&mut self) -> bool {
        let is_due = self.yields_left > 0;
        self.yields_left = self.yields_left.saturating_sub(1);
        is_due
    }

    /// Counts the end of a reservation, and returns the thread that had it. That thread's run begins at zero, and the
    /// next reservation takes four times as many acquisitions.
    fn revoke(&mut self) -> Option<OtherThread> {
        self.takes = 0;
        self.takes_needed = self.takes_needed.saturating_mul(4).min(MAX_TAKES_NEEDED);
        self.reserved_to
    }
}

#[expect(unsafe_code, reason = "a lock shares what it protects")]
// SAFETY: `value` is accessed only through the guard, of which one exists at a time, as in a mutex. `T: Send` allows it
// to be accessed from one thread after another. `run_length` is accessed only by the thread that has swapped `state` to
// `HELD`, which is one at a time.
unsafe impl<T: Send> Sync for QueenLock<T> {}

impl<T> QueenLock<T> {
    pub(crate) fn new(value: T) -> Self {
        let run_length = RunLength {
            thread: NO_THREAD,
            takes: 0,
            takes_needed: acquisitions_until_reservation(),
            reserved_to: None,
            yields_left: 0,
        };
        Self {
            state: AtomicU32::new(FREE),
            is_owner_active: AtomicBool::new(false),
            is_reserved: AtomicBool::new(false),
            owner: AtomicU64::new(NO_THREAD),
            value: UnsafeCell::new(value),
            run_length: UnsafeCell::new(run_length),
            queue: WaitQueue::default(),
        }
    }

    /// Acquires the lock if it is free. Returns `None` if another thread or the calling one holds it, and possibly if
    /// another thread tries to acquire it at the same moment.
    #[inline]
    pub(crate) fn try_lock(&self) -> Option<QueenLockGuard<'_, T>> {
        match self.try_lock_as_owner() {
            Some(guard) => Some(guard),
            None => self.try_lock_by_swap(),
        }
    }

    /// Acquires the lock without a swap, if it is reserved for the calling thread.
    #[inline(always)]
    fn try_lock_as_owner(&self) -> Option<QueenLockGuard<'_, T>> {
        // Relaxed, all three: `owner` names the calling thread only if that thread has written it, and only the owner
        // writes `is_owner_active`, so each is the thread's own last write. `is_reserved` is read again below.
        let may_try = self.owner.load(Ordering::Relaxed) == current_thread_id()
            && self.is_reserved.load(Ordering::Relaxed)
            && !self.is_owner_active.load(Ordering::Relaxed);
        if !may_try {
            return None;
        }
        // Relaxed: the fence orders it before the load below.
        self.is_owner_active.store(true, Ordering::Relaxed);
        // Pairs with the heavy fence in `end_reservation`. Either the thread that ends the reservation sees the store
        // above, or this thread sees below that the reservation has ended.
        light_fence();
        // Relaxed: no other thread has held the lock since it was reserved, so there are no changes to acquire.
        if self.is_reserved.load(Ordering::Relaxed) {
            return Some(QueenLockGuard::new(self, Acquired::AsOwner));
        }
        // Release: pairs with the Acquire of `is_owner_active` in `try_lock_by_swap`. A thread that reads this store
        // may thereby miss an earlier one in `unlock_as_owner`, so this store has to publish the owner's changes as
        // well.
        self.is_owner_active.store(false, Ordering::Release);
        None
    }

    /// Acquires the lock by a swap of `state`, and ends a reservation if there is one.
    fn try_lock_by_swap(&self) -> Option<QueenLockGuard<'_, T>> {
        // Acquire: pairs with the Release in `unlock_by_swap`, and with the one below; makes visible what earlier
        // holders changed. Failure is Relaxed: nothing is read after it.
        if self.state.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return None;
        }
        // Relaxed: only a thread that has swapped `state` writes it, and the Acquire above makes the last write
        // visible.
        if self.is_reserved.load(Ordering::Relaxed) {
            self.end_reservation();
        }
        // Acquire: pairs with the Release in `unlock_as_owner` and in `try_lock_as_owner`; makes the owner's changes
        // visible.
        if self.is_owner_active.load(Ordering::Acquire) {
            // The owner holds the lock, or is about to find that the reservation has ended. The first waiter is
            // notified by the owner when that releases the lock, and need not be notified here.
            // Release: pairs with the Acquire of the swap above; publishes the changes of `is_reserved` and
            // `run_length`.
            self.state.store(FREE, Ordering::Release);
            return None;
        }
        Some(QueenLockGuard::new(self, Acquired::BySwap))
    }

    /// Ends the reservation: after this call the owner does not acquire the lock without a swap, until the next
    /// reservation. It may hold the lock already. The caller has swapped `state` to `HELD`.
    #[cold]
    fn end_reservation(&self) {
        // This counts as an end of a reservation even if the owner holds the lock and the caller does not get it: the
        // heavy fence has been paid for, so the owner has to earn the next reservation by more acquisitions.
        let owner = self.with_run_length(RunLength::revoke);
        // Relaxed: the fence orders it before the caller's load of `is_owner_active`.
        self.is_reserved.store(false, Ordering::Relaxed);
        // Pairs with the light fence in `try_lock_as_owner`.
        heavy_fence(owner);
    }

    /// Calls `use_it` with the run length. The caller has swapped `state` to `HELD`, or was handed the lock in that
    /// state.
    #[inline(always)]
    #[expect(unsafe_code, reason = "a lock shares what it protects")]
    fn with_run_length<R>(&self, use_it: impl FnOnce(&mut RunLength) -> R) -> R {
        // SAFETY: only the thread that has `state` at `HELD` calls this, and there is one at a time. The last one
        // either stored `FREE` with Release, which this one's swap acquired, or handed over under the queue's lock.
        // Both order their accesses. No `use_it` calls this function again, so the borrow is unique.
        self.run_length.with_mut(|run_length| use_it(unsafe { &mut *run_length }))
    }

    /// Reserves the lock for the calling thread, whose id is `thread`, unless another thread is the owner. The caller
    /// holds the lock by a swap.
    #[cold]
    fn reserve(&self, thread: ThreadId) {
        // The heavy fence was refused meanwhile, so no reservation could be ended cheaply: make none from now on.
        if !can_still_reserve() {
            return self.with_run_length(|run_length| run_length.takes_needed = u32::MAX);
        }
        // Relaxed, all four: only a thread that has swapped `state` writes these words. The Release in `unlock_by_swap`
        // publishes them to the thread that swaps next.
        if self.owner.load(Ordering::Relaxed) == NO_THREAD {
            self.owner.store(thread, Ordering::Relaxed);
        }
        if self.owner.load(Ordering::Relaxed) == thread {
            self.with_run_length(|run_length| run_length.reserved_to = OtherThread::current());
            self.is_reserved.store(true, Ordering::Relaxed);
        }
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
        self.with_run_length(|run_length| run_length.yields_left = YIELDS_AFTER_WAIT);
        guard
    }

    /// Waits in the queue until the calling thread has the lock by a swap.
    fn wait_in_queue(&self, policy: &WaitPolicy) -> QueenLockGuard<'_, T> {
        let ticket = self.queue.join();
        let mut spinner = policy.spinner_beside_team();
        while spinner.spin_once() {
            // A holder has handed the lock over, with `state` at `HELD`.
            if self.queue.has_served(ticket) {
                return QueenLockGuard::new(self, Acquired::BySwap);
            }
            if ticket.is_first && self.seems_free() {
                if let Some(guard) = self.try_lock_by_swap() {
                    self.queue.leave_as_first();
                    return guard;
                }
            }
        }
        let acquired = self.queue.sleep(ticket, policy, || self.try_lock_by_swap());
        acquired.unwrap_or_else(|| QueenLockGuard::new(self, Acquired::BySwap))
    }

    /// How many threads wait for the lock.
    pub(crate) fn count_waiting(&self) -> u32 {
        self.queue.len() as u32
    }

    /// Whether the lock may be free. A hint: it may be taken or released meanwhile.
    #[inline]
    pub(crate) fn seems_free(&self) -> bool {
        // Relaxed, both: only the swap that takes the lock decides.
        self.state.load(Ordering::Relaxed) == FREE && !self.is_owner_active.load(Ordering::Relaxed)
    }
}

/// How the lock was acquired, which decides how it is released.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Acquired {
    /// By the owner, without a swap: `is_owner_active` is set.
    AsOwner,
    /// By a swap of `state`, or handed over by a thread that held it so: `state` is `HELD`.
    BySwap,
}

/// Holds the lock until it is dropped. Not `Send`: it has to be dropped on the thread that acquired the lock, because
/// that may be the owner, and only the owner writes `is_owner_active`.
pub(crate) struct QueenLockGuard<'t, T> {
    lock: &'t QueenLock<T>,
    acquired: Acquired,
    _on_its_thread: PhantomData<*const ()>,
}

impl<'t, T> QueenLockGuard<'t, T> {
    /// To be called once for each acquisition: `Deref` and `DerefMut` rely on there being one guard at a time.
    #[inline(always)]
    fn new(lock: &'t QueenLock<T>, acquired: Acquired) -> Self {
        Self { lock, acquired, _on_its_thread: PhantomData }
    }

    #[inline(always)]
    fn unlock_as_owner(&self) {
        // Release: pairs with the Acquire of `is_owner_active` in `try_lock_by_swap`; publishes this holder's changes.
        self.lock.is_owner_active.store(false, Ordering::Release);
        // A thread that queues up at this very moment may be missed. It is the first waiter and tries again by itself.
        if self.lock.queue.may_have_waiters() {
            self.lock.queue.notify_first();
        }
    }

    fn unlock_by_swap(&self) {
        // A first waiter may be missed, as in `unlock_as_owner`. A waiter behind another is not: see the page. `state`
        // stays at `HELD`.
        if self.lock.queue.may_have_waiters() {
            return self.lock.queue.hand_over();
        }
        // No other thread seems to wait, so this acquisition counts towards a reservation.
        let thread = current_thread_id();
        let (is_earned, is_yield_due) =
            self.lock.with_run_length(|run_length| (run_length.count_at_release(thread), run_length.take_yield()));
        if is_earned {
            self.lock.reserve(thread);
        }
        // Release: pairs with the Acquire of the swap in `try_lock_by_swap`; publishes this holder's changes.
        self.lock.state.store(FREE, Ordering::Release);
        if is_yield_due {
            yield_core();
        }
    }
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
    use crate::sys::asymmetric_fence::{heavy_fences_of_this_thread, register};
    use crate::sys::cpu_mask::CpuMask;

    /// A lock around `value`, in a process that is registered for heavy fences if that is possible.
    fn lock_of<T>(value: T) -> QueenLock<T> {
        register();
        QueenLock::new(value)
    }

    #[test]
    fn the_lock_is_taken_once_and_given_back() {
        let lock = lock_of(0);
        let mut guard = lock.try_lock().expect("free");
        *guard += 1;
        assert!(lock.try_lock().is_none());
        drop(guard);
        assert_eq!(*lock.try_lock().expect("free again"), 1);
    }

    #[test]
    fn a_thread_that_takes_it_again_and_again_does_so_without_a_swap() {
        let policy = WaitPolicy::new(Duration::ZERO, None, 1, CpuMask::new());
        let lock = lock_of(0);
        let needed = acquisitions_until_reservation();
        if needed == u32::MAX {
            return; // Without a heavy fence the lock is never reserved.
        }
        (0..=needed).for_each(|_| *lock.lock(&policy) += 1);
        let as_owner = lock.lock(&policy);
        assert!(as_owner.acquired == Acquired::AsOwner && *as_owner == needed + 1);
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(lock.try_lock().is_none(), "the owner holds the lock")).join().unwrap()
        });
        drop(as_owner);
        std::thread::scope(|scope| scope.spawn(|| *lock.lock(&policy) += 1).join().unwrap());
        let after = lock.lock(&policy);
        assert!(after.acquired == Acquired::BySwap && *after == needed + 2, "the reservation has ended");
    }

    #[test]
    fn many_threads_at_once_lose_no_acquisition() {
        let policy = WaitPolicy::new(Duration::ZERO, None, 1, CpuMask::new());
        let lock = lock_of(0u64);
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
            let lock = lock_of(Vec::new());
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
        let lock = lock_of(Vec::new());
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
        let lock = lock_of(Vec::new());
        if acquisitions_until_reservation() == u32::MAX {
            return; // Without a heavy fence the lock is never reserved.
        }
        (0..=acquisitions_until_reservation()).for_each(|_| drop(lock.lock(&policy)));
        std::thread::scope(|scope| {
            let as_owner = lock.lock(&policy);
            assert!(as_owner.acquired == Acquired::AsOwner);
            queue_up(scope, &lock, &policy, 0..20);
            drop(as_owner);
            let mut last = lock.lock(&policy);
            assert!(last.acquired == Acquired::BySwap);
            last.push(20);
        });
        // The owner's second acquisition may come before or after the first waiter's, which had to wake up. So the
        // place of 20 is not determined.
        let served = lock.try_lock().expect("all done").clone();
        let others: Vec<_> = served.iter().copied().filter(|&number| number < 20).collect();
        assert_eq!((others, served.len()), ((0..20).collect(), 21));
        assert!(!lock.queue.may_have_waiters());
    }

    #[test]
    fn an_owner_who_is_tried_in_vain_again_and_again_costs_few_heavy_fences() {
        let policy = WaitPolicy::new(Duration::ZERO, None, 1, CpuMask::new());
        let (lock, needed) = (lock_of(()), acquisitions_until_reservation());
        if needed == u32::MAX {
            return; // Without a heavy fence the lock is never reserved.
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
        let mut run_length = RunLength { thread: 1, takes: 0, takes_needed: 1_000, reserved_to: None, yields_left: 0 };
        (0..100).for_each(|_| _ = run_length.revoke());
        assert!((0..=MAX_TAKES_NEEDED).any(|_| run_length.count_at_release(1)));
        run_length.revoke();
        assert!(!(0..MAX_TAKES_NEEDED).any(|_| run_length.count_at_release(1)));
    }
}
