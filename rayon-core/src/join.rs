//! `join`: two closures, possibly at the same time.

use std::marker::PhantomData;

use hive::adapters::task_pool::pool_bee::PoolBee;

use crate::global::in_current_pool;

/// What a closure of [`join_context`] learns of the thread that runs it.
#[derive(Debug)]
pub struct FnContext {
    migrated: bool,
    /// It is about the thread that it is on.
    _stays: PhantomData<*mut ()>,
}

impl FnContext {
    fn new(migrated: bool) -> Self {
        Self { migrated, _stays: PhantomData }
    }

    /// Whether the closure runs on another thread than the one that has called [`join_context`]. Never, where the
    /// [number of parts](crate::ThreadPoolBuilder::fixed_parts) is fixed: who has migrated would divide its work
    /// further.
    pub fn migrated(&self) -> bool {
        self.migrated && PoolBee::with(|me| me.is_none_or(|me| me.fixed_parts().is_none()))
    }
}

/// Runs two closures, possibly at the same time, and returns both results.
///
/// ```
/// fn sum(data: &[u64]) -> u64 {
///     if data.len() <= 2 {
///         return data.iter().sum();
///     }
///     let (left, right) = data.split_at(data.len() / 2);
///     let (left, right) = rayon_core::join(|| sum(left), || sum(right));
///     left + right
/// }
/// assert_eq!(sum(&[1, 2, 3, 4, 5]), 15);
/// ```
///
/// # Panics
/// With the panic of `a`, or else of `b`, after both have ended.
#[inline]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    // SAFETY: the bee is not used after this function has returned.
    match unsafe { PoolBee::innermost() } {
        Some(me) => me.join(a, |_| b()),
        None => from_elsewhere(|_| a(), |_| b()),
    }
}

/// As [`join`], but each closure learns whether it runs on another thread than the caller's. If the caller belongs to
/// no pool, both do.
///
/// ```
/// let migrated = rayon_core::join_context(|a| a.migrated(), |b| b.migrated());
/// assert_eq!(migrated, (true, true), "this thread is not in a pool");
/// ```
///
/// # Panics
/// As [`join`].
#[inline]
pub fn join_context<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    // SAFETY: the bee is not used after this function has returned.
    match unsafe { PoolBee::innermost() } {
        Some(me) => me.join(|| a(FnContext::new(false)), |is_elsewhere| b(FnContext::new(is_elsewhere))),
        None => from_elsewhere(a, b),
    }
}

/// As [`join_context`], for a thread that belongs to no pool or is in the middle of something else.
#[cold]
#[inline(never)]
fn from_elsewhere<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    in_current_pool(|me, is_handed_over| {
        me.join(|| a(FnContext::new(is_handed_over)), |is_elsewhere| b(FnContext::new(is_handed_over || is_elsewhere)))
    })
}
