//! The end of a scope (`scope.rs`), for which a thread waits. A bee of a pool waits for a latch and runs tasks
//! meanwhile; any other thread polls, and then sleeps on a semaphore.

#![allow(unsafe_code)]

use std::ptr;
use std::sync::Arc;

use crate::adapters::task_pool::pool_bee::PoolBee;
use crate::pool::shared::Shared;
use crate::protocol::Team;
use crate::protocol::tasks::caller_latch::CallerLatch;
use crate::protocol::tasks::latch::Latch;
use crate::sys::caller_polling::CallerPolling;
use crate::sys::semaphore::Semaphore;

thread_local! {
    /// What the calling thread sleeps on. Shared with the thread that wakes it, because this one may have ended before
    /// that has come back from the post.
    static SEMAPHORE: Arc<Semaphore> = Arc::new(Semaphore::new());
}

/// The end of something that one thread waits for.
pub(super) struct Completion {
    latch: Latch,
    waiter: Waiter,
}

/// Who waits.
enum Waiter {
    /// A bee of the pool whose threads do what it waits for.
    Bee(*const Team, u32),
    /// A bee of another pool, which may end as soon as the bee has gone on.
    BeeOfAnotherPool(*const Shared, u32),
    /// A thread that belongs to no pool. It waits for this latch, not for that of the `Completion`, and sleeps on this
    /// semaphore.
    Outsider(CallerLatch, Arc<Semaphore>),
}

impl Completion {
    /// The end of something that the threads of `pool` do. `waiter`: the calling thread, which is going to wait for
    /// that; None if it belongs to no pool.
    pub(super) fn new(pool: &Shared, waiter: Option<PoolBee<'_>>) -> Self {
        let waiter = match waiter {
            Some(me) if me.is_of(pool) => Waiter::Bee(me.context.team, me.context.id),
            // `set` adds to the count of the `Arc` that holds that pool. For this it needs the pointer that the `Arc`
            // itself has given, which the team keeps. A pointer made from a reference would not do.
            Some(me) => Waiter::BeeOfAnotherPool(me.context.team.owner().cast(), me.context.id),
            // In the destructors of its thread-locals a thread may have lost its semaphore already.
            None => {
                let semaphore = SEMAPHORE.try_with(Arc::clone).unwrap_or_else(|_| Arc::new(Semaphore::new()));
                Waiter::Outsider(CallerLatch::default(), semaphore)
            }
        };
        Self { latch: Latch::default(), waiter }
    }

    /// Lets the waiting thread go on.
    ///
    /// # Safety
    /// `*this` lives until this is called, and may be gone when this returns. It is called once, on a thread of the
    /// pool that does the work, or on the one that is going to wait.
    pub(super) unsafe fn set(this: *const Self) {
        // SAFETY: the caller promises that it lives. What is needed after the waiting thread can see the end is copied.
        let waiter = unsafe { &(*this).waiter };
        // SAFETY: as above; this makes a pointer to a part of it.
        let latch = unsafe { &raw const (*this).latch };
        match *waiter {
            // SAFETY: the latch is not set yet.
            Waiter::Bee(team, bee) if is_calling_bee(team, bee) => unsafe { &*latch }.set_as_owner(),
            // SAFETY: the team is that of the calling thread's pool. The latch is not set yet.
            Waiter::Bee(team, bee) => unsafe { set_latch(team, latch, bee) },
            Waiter::BeeOfAnotherPool(shared, bee) => {
                // SAFETY: the pointer is from the `Arc` of that pool, which its bee keeps alive while it waits.
                unsafe { Arc::increment_strong_count(shared) };
                // SAFETY: the count of this one was added above. It keeps that pool's team to the end of this arm.
                let shared = unsafe { Arc::from_raw(shared) };
                // SAFETY: `shared` keeps the team. The latch is not set yet.
                unsafe { set_latch(&raw const shared.team, latch, bee) };
            }
            Waiter::Outsider(ref latch, ref semaphore) => {
                if latch.set() {
                    // The caller sleeps, and goes on only because of the post.
                    Arc::clone(semaphore).post();
                }
            }
        }
    }

    /// Waits for the end. `pool` and `waiter` are what `new` got; `floor`: see `TaskContext::deque_floor`. Once only.
    pub(super) fn wait(&self, pool: &Shared, waiter: Option<PoolBee<'_>>, floor: usize) {
        match (&self.waiter, waiter) {
            (Waiter::Outsider(latch, semaphore), _) => wait_outside(pool, latch, semaphore),
            (_, Some(me)) => me.context.wait_until(&self.latch, floor),
            (_, None) => unreachable!("a bee does not wait as an outsider"),
        }
    }
}

/// Waits for `latch`, which the threads of `pool` set, on a thread that belongs to no pool.
// Out of line, because bees of pools wait by the same function, and have many such waits on their stacks.
#[inline(never)]
fn wait_outside(pool: &Shared, latch: &CallerLatch, semaphore: &Semaphore) {
    if latch.is_set() {
        // It was no wait that something could be learned from.
        return;
    }
    let (policy, polling) = (pool.team.policy(), CallerPolling::begin());
    let mut spinner = policy.spinner_of_outsider(polling.limit());
    while !latch.is_set() {
        if !spinner.spin_once() {
            if latch.begin_sleep() {
                // In a forked child nobody would end this wait.
                policy.abort_if_forked();
                // The caller may be a worker of a hive.
                polling.learn_of_sleep(|| policy.while_off_core(|| semaphore.wait()));
            }
            return;
        }
    }
    polling.learn_of_poll();
}

/// Whether the calling thread is bee `bee` of `team`.
#[inline]
fn is_calling_bee(team: *const Team, bee: u32) -> bool {
    PoolBee::with(|me| me.is_some_and(|it| it.context.id == bee && ptr::eq(it.context.team, team)))
}

/// Sets a latch of bee `bee` of `team`.
///
/// # Safety
/// The team lives, and so does the latch, until it is set.
unsafe fn set_latch(team: *const Team, latch: *const Latch, bee: u32) {
    // SAFETY: as the caller promises.
    let team = unsafe { &*team };
    // SAFETY: as the caller promises.
    unsafe { team.set_latch(latch, bee) };
}
