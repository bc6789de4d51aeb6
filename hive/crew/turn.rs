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
    AtomicBool, AtomicU32, AtomicU64, Condvar, KernelThread, Mutex, MutexGuard, Ordering, ThreadToken, UnsafeCell, WaitPolicy,
    can_still_reserve, heavy_fence, light_fence, takes_to_reserve, this_thread, wait_a_while,
};

/// Nobody has taken the turn by a swap.
const FREE: u32 = 0;
/// Somebody has.
const HELD: u32 = 1;

/// No thread's token.
const NOBODY: ThreadToken = ThreadToken::MAX;

/// The turn, and what only its holder may touch. Kept in cache lines of its own: the queen writes here in every region, and the bees
/// have nothing to look for here.
#[repr(align(128))]
pub(crate) struct Turn<T> {
    state: AtomicU32,
    /// Whether the owner has the turn, or is about to see that it is not reserved any more. Only the owner writes it: were there a second
    /// owner one day, the first might still be about to take back what it wrote before.
    reigns: AtomicBool,
    /// Whether the owner may take the turn without a swap. Changed by who has swapped `state` to HELD.
    reserved: AtomicBool,
    /// Whether the queue may not be empty. Changes under the queue's lock.
    queued: AtomicBool,
    /// Set once, by itself when it has swapped `state` to HELD.
    owner: AtomicU64,
    /// Of who holds the turn.
    value: UnsafeCell<T>,
    /// Of who has swapped `state` to HELD, be it only to find that the owner reigns.
    streak: UnsafeCell<Streak>,
    queue: Mutex<Queue>,
}

/// The takes by swap of one thread in a row.
struct Streak {
    thread: ThreadToken,
    takes: u32,
    /// Takes for which the turn is reserved to it. More each time that a reservation has ended, whether or not who
    /// ended it got the turn, so that those who alternate for good pay for few.
    needed: u32,
    /// Whom the turn was reserved to, for the heavy fence that ends it.
    reserved_to: KernelThread,
}

/// No more takes are ever needed: they take a tenth of a second or longer, of which the end of a reservation is next to
/// nothing.
const MOST_NEEDED: u32 = 1 << 20;

impl Streak {
    /// Counts a take by `thread`. Whether it has earned a reservation.
    fn count(&mut self, thread: ThreadToken) -> bool {
        if self.thread != thread {
            *self = Self { thread, takes: 0, ..*self };
        }
        self.takes = self.takes.saturating_add(1);
        self.takes > self.needed
    }

    /// Ends a reservation, and says to whom it was.
    fn broken(&mut self) -> KernelThread {
        self.takes = 0;
        self.needed = self.needed.saturating_mul(4).min(MOST_NEEDED);
        self.reserved_to
    }
}

/// Those who wait asleep.
#[derive(Default)]
struct Queue {
    /// How many have been served so far.
    served: u64,
    /// What wakes each of those who have not, in order of arrival.
    waiting: VecDeque<Arc<Condvar>>,
    /// Whether the owner has given the turn back and told the first, who has not looked since.
    is_called: bool,
}

impl Queue {
    /// Lines up another. Returns its number: when more than that have been served, it has been.
    fn line_up(&mut self, bed: &Arc<Condvar>) -> u64 {
        let number = self.served + self.waiting.len() as u64;
        self.waiting.push_back(Arc::clone(bed));
        number
    }

    fn has_served(&self, number: u64) -> bool {
        self.served > number
    }
}

#[expect(unsafe_code, reason = "a lock shares what it protects")]
// SAFETY: `value` is reached through the one guard that exists at a time, as in a mutex; `Send` lets it change threads.
// `streak` is reached by the one thread at a time that has swapped `state`.
unsafe impl<T: Send> Sync for Turn<T> {}

impl<T> Turn<T> {
    pub(crate) fn new(value: T) -> Self {
        let streak = Streak { thread: NOBODY, takes: 0, needed: takes_to_reserve(), reserved_to: KernelThread::NONE };
        Self {
            state: AtomicU32::new(FREE),
            reigns: AtomicBool::new(false),
            reserved: AtomicBool::new(false),
            queued: AtomicBool::new(false),
            owner: AtomicU64::new(NOBODY),
            value: UnsafeCell::new(value),
            streak: UnsafeCell::new(streak),
            queue: Mutex::new(Queue::default()),
        }
    }

    /// Takes the turn if nobody has it.
    #[inline]
    pub(crate) fn try_take(&self) -> Option<Guard<'_, T>> {
        match self.try_take_as_owner() {
            Some(guard) => Some(guard),
            None => self.try_take_by_swap(),
        }
    }

    #[inline(always)]
    fn try_take_as_owner(&self) -> Option<Guard<'_, T>> {
        // Relaxed, all three: a thread knows whether it is the owner and reigns; whether the turn is reserved is looked at again below.
        let may = self.owner.load(Ordering::Relaxed) == this_thread()
            && self.reserved.load(Ordering::Relaxed)
            && !self.reigns.load(Ordering::Relaxed);
        if !may {
            return None;
        }
        // Relaxed: the fence orders it.
        self.reigns.store(true, Ordering::Relaxed);
        // Who ends the reservation either sees the store above or is seen below. Pairs with the heavy fence in `end_reservation`.
        light_fence();
        // Relaxed: nobody else has held the turn since it was reserved, so there is nothing to acquire.
        if self.reserved.load(Ordering::Relaxed) {
            return Some(Guard::new(self, By::Owning));
        }
        // Release: as in `give_back_by_owner`, whose store this one hides.
        self.reigns.store(false, Ordering::Release);
        None
    }

    fn try_take_by_swap(&self) -> Option<Guard<'_, T>> {
        // Acquire: pairs with the Release in `give_back_by_swap`; makes the last holder's changes visible.
        if self.state.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return None;
        }
        // Relaxed: changed by those who had swapped the state before.
        if self.reserved.load(Ordering::Relaxed) {
            self.end_reservation();
        }
        // Acquire: pairs with the Release in `give_back_by_owner`; makes the owner's changes visible.
        if self.reigns.load(Ordering::Acquire) {
            // Release: as in `give_back_by_swap`. Those who queue are told by the owner, not here.
            self.state.store(FREE, Ordering::Release);
            return None;
        }
        Some(Guard::new(self, By::Swap))
    }

    /// Afterwards, an owner who does not reign will not. For who has swapped the state.
    #[cold]
    fn end_reservation(&self) {
        // Also if the owner reigns: it has to earn the next one anew.
        let owner = self.with_streak(Streak::broken);
        // Relaxed: the fence orders it.
        self.reserved.store(false, Ordering::Relaxed);
        // Pairs with the light fence in `try_take_as_owner`.
        heavy_fence(owner);
    }

    /// For who has swapped the state.
    #[inline(always)]
    #[expect(unsafe_code, reason = "a lock shares what it protects")]
    fn with_streak<R>(&self, use_it: impl FnOnce(&mut Streak) -> R) -> R {
        // SAFETY: one thread at a time has swapped `state` to HELD; that it was stored FREE by the last one, or
        // handed over under the queue's lock, orders their accesses. None of the uses calls this again.
        self.streak.with_mut(|streak| use_it(unsafe { &mut *streak }))
    }

    /// Reserves the turn to the calling thread, which has swapped the state, unless another owns it.
    #[cold]
    fn reserve(&self, thread: ThreadToken) {
        if !can_still_reserve() {
            return self.with_streak(|streak| streak.needed = u32::MAX);
        }
        // Relaxed, all three: written by who has swapped the state; the Release that gives it back publishes them to whoever swaps it next.
        if self.owner.load(Ordering::Relaxed) == NOBODY {
            self.owner.store(thread, Ordering::Relaxed);
        }
        if self.owner.load(Ordering::Relaxed) == thread {
            self.with_streak(|streak| streak.reserved_to = KernelThread::current());
            self.reserved.store(true, Ordering::Relaxed);
        }
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
            // Relaxed, both: only to spare the others a swap that would fail.
            if self.state.load(Ordering::Relaxed) == FREE
                && !self.reigns.load(Ordering::Relaxed)
                && let Some(guard) = self.try_take_by_swap()
            {
                return guard;
            }
        }
        self.take_from_queue(policy)
    }

    fn take_from_queue(&self, policy: &WaitPolicy) -> Guard<'_, T> {
        let bed = Arc::new(Condvar::new());
        let mut queue = self.lock_queue();
        let number = queue.line_up(&bed);
        // Relaxed, as the look at it in `Guard::drop`: a holder who misses it is why the first looks again.
        self.queued.store(true, Ordering::Relaxed);
        if queue.waiting.len() == 1 {
            self.wait_as_first(policy, queue, number, &bed)
        } else {
            self.wait_behind(queue, number, &bed)
        }
    }

    /// Waits for the turn as one who has found nobody in the queue. Whoever holds the turn may not have seen the queue,
    /// and has then given the turn back without a word: so this waiter looks again by itself.
    fn wait_as_first(&self, policy: &WaitPolicy, mut queue: MutexGuard<'_, Queue>, number: u64, bed: &Condvar) -> Guard<'_, T> {
        let mut looks = 0;
        loop {
            if queue.has_served(number) {
                return Guard::new(self, By::Swap);
            }
            if let Some(guard) = self.try_take_by_swap() {
                self.serve_first(&mut queue);
                return guard;
            }
            if mem::take(&mut queue.is_called) {
                // The turn was free just now. Somebody was quicker, or has swapped the word only to look: so the next look comes soon.
                looks = 0;
            }
            queue = wait_a_while(bed, queue, looks);
            looks += 1;
            policy.assert_at_home();
        }
    }

    /// Waits for the turn as one who has found others in the queue. The one before it comes to hold the turn by a
    /// swap, and has had the lock after `queued` was raised for this one: so it sees the flag and hands over, and
    /// this waiter sleeps until then. The proof is in `docs/turn.md`.
    fn wait_behind(&self, mut queue: MutexGuard<'_, Queue>, number: u64, bed: &Condvar) -> Guard<'_, T> {
        while !queue.has_served(number) {
            queue = bed.wait(queue).expect("no code that can panic runs under this lock");
        }
        Guard::new(self, By::Swap)
    }

    /// Gives the turn, taken by a swap, to the first in the queue.
    #[cold]
    fn hand_over(&self) {
        let mut queue = self.lock_queue();
        // Only a holder takes the flag down, when it serves the last in the queue. This is the holder, so somebody waits.
        assert!(!queue.waiting.is_empty(), "the flag is up, and all {} have been served", queue.served);
        let first = self.serve_first(&mut queue);
        // It finds the lock free when it wakes.
        drop(queue);
        wake(first);
    }

    /// Lets the first in the queue see that the owner has given the turn back.
    #[cold]
    fn call_queue(&self) {
        let mut queue = self.lock_queue();
        queue.is_called = true;
        let first = queue.waiting.front().map(Arc::clone);
        drop(queue);
        wake(first);
    }

    /// Takes the first out of the queue. Returns what wakes it.
    fn serve_first(&self, queue: &mut Queue) -> Option<Arc<Condvar>> {
        let first = queue.waiting.pop_front();
        debug_assert!(first.is_some(), "{} served, and another one is, who is not there", queue.served);
        queue.served += 1;
        if queue.waiting.is_empty() {
            // Relaxed: who still sees true finds the queue empty, under its lock.
            self.queued.store(false, Ordering::Relaxed);
        }
        first
    }

    fn lock_queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().expect("no code that can panic runs under this lock")
    }
}

fn wake(sleeper: Option<Arc<Condvar>>) {
    if let Some(bed) = sleeper {
        // Only one thread sleeps there.
        bed.notify_one();
    }
}

/// How the turn was taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Owning,
    Swap,
}

/// The turn, held. Stays on its thread, which may own the turn.
pub(crate) struct Guard<'t, T> {
    turn: &'t Turn<T>,
    by: By,
    _on_its_thread: PhantomData<*const ()>,
}

impl<'t, T> Guard<'t, T> {
    /// Call once for each time that the turn is taken.
    #[inline(always)]
    fn new(turn: &'t Turn<T>, by: By) -> Self {
        Self { turn, by, _on_its_thread: PhantomData }
    }

    #[inline(always)]
    fn give_back_by_owner(&self) {
        // Release: pairs with the Acquire in `try_take_by_swap`; publishes this holder's changes.
        self.turn.reigns.store(false, Ordering::Release);
        // Relaxed: who queues up at this very moment may be missed; it finds the turn free when it looks again.
        if self.turn.queued.load(Ordering::Relaxed) {
            self.turn.call_queue();
        }
    }

    fn give_back_by_swap(&self) {
        // Relaxed: as above.
        if self.turn.queued.load(Ordering::Relaxed) {
            return self.turn.hand_over();
        }
        let thread = this_thread();
        if self.turn.with_streak(|streak| streak.count(thread)) {
            self.turn.reserve(thread);
        }
        // Release: pairs with the Acquire in `try_take_by_swap`; publishes this holder's changes.
        self.turn.state.store(FREE, Ordering::Release);
    }
}

#[expect(unsafe_code, reason = "a lock shares what it protects")]
impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this guard is the only one, so there are only shared borrows of it, which keep it alive.
        self.turn.value.with(|value| unsafe { &*value })
    }
}

#[expect(unsafe_code, reason = "a lock shares what it protects")]
impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard is the only one, and is borrowed mutably.
        self.turn.value.with_mut(|value| unsafe { &mut *value })
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        match self.by {
            By::Owning => self.give_back_by_owner(),
            By::Swap => self.give_back_by_swap(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    use crate::asymmetric_fence::heavy_fences_of_this_thread;
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
    fn a_thread_that_takes_it_again_and_again_does_so_without_a_swap() {
        let policy = WaitPolicy::new(Duration::ZERO, None, 1, CpuMask::new());
        let turn = Turn::new(0);
        let needed = takes_to_reserve();
        if needed == u32::MAX {
            return; // No heavy fence here.
        }
        (0..=needed).for_each(|_| *turn.take(&policy) += 1);
        let reigning = turn.take(&policy);
        assert!(reigning.by == By::Owning && *reigning == needed + 1);
        std::thread::scope(|scope| scope.spawn(|| assert!(turn.try_take().is_none(), "the owner reigns")).join().unwrap());
        drop(reigning);
        std::thread::scope(|scope| scope.spawn(|| *turn.take(&policy) += 1).join().unwrap());
        let after = turn.take(&policy);
        assert!(after.by == By::Swap && *after == needed + 2, "the reservation has ended");
    }

    #[test]
    fn stampede_of_queens_loses_no_turn() {
        let policy = WaitPolicy::new(Duration::ZERO, None, 1, CpuMask::new());
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
        let policy = WaitPolicy::new(Duration::ZERO, None, 1, CpuMask::new());
        let turn = Turn::new(Vec::new());
        std::thread::scope(|scope| {
            let first = turn.take(&policy);
            scope.spawn(|| turn.take(&policy).push("who waited"));
            while turn.queue.lock().unwrap().waiting.is_empty() {
                std::thread::yield_now();
            }
            drop(first);
            turn.take(&policy).push("who came back");
        });
        assert_eq!(*turn.take(&policy), ["who waited", "who came back"]);
    }

    /// Has these queue for the turn, which somebody has, one after the other.
    fn line_up<'s>(
        scope: &'s std::thread::Scope<'s, '_>,
        turn: &'s Turn<Vec<usize>>,
        policy: &'s WaitPolicy,
        places: std::ops::Range<usize>,
    ) {
        for place in places {
            let before = turn.queue.lock().unwrap().waiting.len();
            scope.spawn(move || turn.take(policy).push(place));
            while turn.queue.lock().unwrap().waiting.len() == before {
                std::thread::yield_now();
            }
        }
    }

    #[test]
    fn a_queue_is_served_in_order_of_arrival() {
        let policy = WaitPolicy::new(Duration::ZERO, None, 1, CpuMask::new());
        let turn = Turn::new(Vec::new());
        std::thread::scope(|scope| {
            let holder = turn.take(&policy);
            line_up(scope, &turn, &policy, 0..20);
            drop(holder);
        });
        assert_eq!(*turn.take(&policy), (0..20).collect::<Vec<_>>());
    }

    #[test]
    fn a_queue_behind_an_owner_who_reigns_is_served_in_order_of_arrival() {
        let policy = WaitPolicy::new(Duration::ZERO, None, 1, CpuMask::new());
        let turn = Turn::new(Vec::new());
        if takes_to_reserve() == u32::MAX {
            return; // No heavy fence here.
        }
        (0..=takes_to_reserve()).for_each(|_| drop(turn.take(&policy)));
        std::thread::scope(|scope| {
            let reigning = turn.take(&policy);
            assert!(reigning.by == By::Owning);
            line_up(scope, &turn, &policy, 0..20);
            drop(reigning);
            let mut last = turn.take(&policy);
            assert!(last.by == By::Swap);
            last.push(20);
        });
        // Whether the owner was quicker than the first of them, who had to wake, is open.
        let served = turn.try_take().expect("all done").clone();
        let others: Vec<_> = served.iter().copied().filter(|&place| place < 20).collect();
        assert_eq!((others, served.len()), ((0..20).collect(), 21));
        assert!(!turn.queued.load(Ordering::Relaxed));
    }

    #[test]
    fn an_owner_who_is_tried_in_vain_again_and_again_costs_few_heavy_fences() {
        let policy = WaitPolicy::new(Duration::ZERO, None, 1, CpuMask::new());
        let (turn, needed) = (Turn::new(()), takes_to_reserve());
        if needed == u32::MAX {
            return; // No heavy fence here.
        }
        (0..=needed).for_each(|_| drop(turn.take(&policy)));
        let (rounds, step) = (3 * needed, std::sync::Barrier::new(2));
        let fences = std::thread::scope(|scope| {
            let outsider = scope.spawn(|| {
                let before = heavy_fences_of_this_thread();
                for _ in 0..rounds {
                    step.wait();
                    assert!(turn.try_take().is_none(), "the owner has it");
                    step.wait();
                }
                heavy_fences_of_this_thread() - before
            });
            for _ in 0..rounds {
                let turn = turn.take(&policy);
                step.wait();
                step.wait();
                drop(turn);
            }
            outsider.join().unwrap()
        });
        assert_eq!(fences, 1, "heavy fences in {rounds} rounds, of which the next reservation takes more");
    }

    #[test]
    fn a_reservation_that_is_ended_often_is_earned_again_all_the_same() {
        let mut streak = Streak { thread: 1, takes: 0, needed: 1_000, reserved_to: KernelThread::NONE };
        (0..100).for_each(|_| _ = streak.broken());
        assert!((0..=MOST_NEEDED).any(|_| streak.count(1)));
        streak.broken();
        assert!(!(0..MOST_NEEDED).any(|_| streak.count(1)));
    }
}
