//! A thread of a task pool, as the code that runs on it sees it; and what all files of this folder ask of a pool's
//! shared state.

use std::ops::Range;
use std::ptr;

use crate::pool::shared::Shared;
use crate::pool::task_pool_state::TaskPoolState;
use crate::protocol::tasks::task_context::TaskContext;
use crate::region::nesting;
use crate::tasks::join;

/// The calling thread as a thread of its pool. It stays on that thread.
#[derive(Clone, Copy)]
pub struct PoolBee<'m> {
    pub(super) context: &'m TaskContext<'m>,
}

impl<'m> PoolBee<'m> {
    /// Calls `use_it` with the calling thread as a bee of the pool that it belongs to, or with None if it belongs to
    /// none.
    #[inline(always)]
    pub fn with<R>(use_it: impl FnOnce(Option<PoolBee<'_>>) -> R) -> R {
        nesting::with_pool_context(|context| use_it(context.map(|context| PoolBee { context })))
    }

    /// The calling thread as a bee of the pool whose tasks are the innermost thing that it does. `None`: it may still
    /// be a bee of a pool, as [`with`](Self::with) says.
    ///
    /// It is there beside `with` because that takes a closure: in a build without optimisation each call that a closure
    /// is passed through has a copy of what it captures on its stack, and recursive joins would need a lot of that.
    ///
    /// # Safety
    /// The result is not used after the calling function has returned.
    #[inline(always)]
    #[expect(unsafe_code, reason = "the lifetime is the caller's choice")]
    pub unsafe fn innermost() -> Option<PoolBee<'m>> {
        // SAFETY: as the caller promises.
        unsafe { nesting::innermost_pool_context() }.map(|context| PoolBee { context })
    }

    /// Whether this is a thread of that pool.
    #[inline(always)]
    pub(super) fn is_of(&self, shared: &Shared) -> bool {
        ptr::eq(self.context.team, &raw const shared.team)
    }

    /// What the threads of the pool share.
    #[expect(unsafe_code, reason = "finds the pool by the address that its team keeps")]
    pub(super) fn shared(&self) -> &'m Shared {
        let owner = self.context.team.owner().cast::<Shared>();
        // SAFETY: `Shared::new` has given its own address to its team, and the `Shared`, which has the team, lives as
        // long as the context that refers to the team.
        unsafe { &*owner }
    }

    /// The number of the thread in its pool, from 0.
    #[inline]
    pub fn index(&self) -> usize {
        index_of(self.shared(), self.context.id)
    }

    /// The number of threads of the pool.
    #[inline]
    pub fn threads(&self) -> usize {
        self.context.pool_rules().threads as usize
    }

    /// Into how many parts the pool's work is to be divided, if that is
    /// [fixed](crate::adapters::task_pool::builder::PoolBuilder::fixed_parts).
    #[inline]
    pub fn fixed_parts(&self) -> Option<usize> {
        self.context.pool_rules().parts.map(|parts| parts.get() as usize)
    }

    /// A number that no other pool or hive of this process has.
    pub fn pool_number(&self) -> u64 {
        self.context.team.unique_number()
    }

    /// Runs two closures, possibly at the same time. `b` learns whether another thread than this one runs it.
    ///
    /// # Panics
    /// With the panic of `a`, or else of `b`, after both have ended.
    #[inline]
    pub fn join<RA, RB: Send>(&self, a: impl FnOnce() -> RA, b: impl FnOnce(bool) -> RB + Send) -> (RA, RB) {
        join::join::<true, _, _, _, _>(self.context, a, b)
    }

    /// Runs one task, of this thread or of another one. Returns whether there was one.
    pub fn run_one(&self) -> bool {
        self.context.run_one_own() || self.context.run_one()
    }

    /// Runs one task that this thread has queued itself, or that only it may run. Returns whether there was one.
    pub fn run_one_own(&self) -> bool {
        self.context.run_one_own()
    }

    /// Whether tasks that this thread has queued itself wait to be run.
    pub fn has_pending_tasks(&self) -> bool {
        self.context.has_pending_tasks()
    }
}

/// Calls `work` with the calling thread as a bee of the pool whose job it runs.
pub(super) fn on_calling_bee(work: impl FnOnce(PoolBee<'_>)) {
    PoolBee::with(|me| work(me.unwrap_or_else(|| unreachable!("the threads of a pool run its jobs"))));
}

/// What the shared state of a task pool has besides that of a hive.
pub(super) fn state_of(shared: &Shared) -> &TaskPoolState {
    shared.task_pool.as_ref().unwrap_or_else(|| unreachable!("a task pool has this"))
}

/// The numbers of the bees that are the pool's threads, in the order of their indices.
pub(super) fn bees_of(shared: &Shared) -> Range<u32> {
    state_of(shared).first_bee..shared.config.bees
}

pub(super) fn threads_of(shared: &Shared) -> usize {
    bees_of(shared).len()
}

/// The index of bee `bee` among the threads of its pool.
pub(super) fn index_of(pool: &Shared, bee: u32) -> usize {
    (bee - state_of(pool).first_bee) as usize
}
