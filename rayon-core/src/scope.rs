//! Scopes: jobs that borrow from outside of the scope, which ends when all of them have.

use std::fmt;

use hive::adapters::task_pool::scope::PoolScope;

use crate::broadcast::BroadcastContext;
use crate::global::{in_current_pool, with_current_pool};

macro_rules! scopes {
    ($($(#[$about:meta])* $Scope:ident { $(#[$about_spawn:meta])* $spawn:ident })*) => {$(
        $(#[$about])*
        #[repr(transparent)]
        pub struct $Scope<'scope>(PoolScope<'scope>);

        impl<'scope> $Scope<'scope> {
            #[inline]
            pub(crate) fn of<'s>(scope: &'s PoolScope<'scope>) -> &'s Self {
                let scope = std::ptr::from_ref(scope).cast::<Self>();
                // SAFETY: the types have the same layout, as `repr(transparent)` promises, and the reference the same
                // lifetime.
                unsafe { &*scope }
            }

            $(#[$about_spawn])*
            pub fn $spawn<BODY: FnOnce(&$Scope<'scope>) + Send + 'scope>(&self, body: BODY) {
                self.0.$spawn(move |scope| body(Self::of(scope)));
            }

            /// Spawns a job that each thread of the pool runs once before the scope ends.
            pub fn spawn_broadcast<BODY>(&self, body: BODY)
            where
                BODY: Fn(&$Scope<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
            {
                self.0.spawn_broadcast(move |scope, me| body(Self::of(scope), BroadcastContext::new(me)));
            }
        }

        impl fmt::Debug for $Scope<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($Scope)).field("pool", &self.0.pool_number()).finish_non_exhaustive()
            }
        }
    )*};
}

scopes! {
    /// A scope whose jobs are begun in reverse order by the thread that has spawned them, but in a pool that is
    /// breadth-first.
    ///
    /// ```
    /// let mut halves = [1, 2];
    /// let [left, right] = &mut halves;
    /// rayon_core::scope(|scope| {
    ///     scope.spawn(|_| *left *= 10);
    ///     scope.spawn(|_| *right *= 10);
    /// });
    /// assert_eq!(halves, [10, 20]);
    /// ```
    Scope {
        /// Spawns a job that runs before the scope ends.
        spawn
    }

    /// A scope whose jobs are begun in order by the thread that has spawned them.
    ///
    /// ```
    /// use std::sync::Mutex;
    ///
    /// let order = Mutex::new(Vec::new());
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    /// pool.scope_fifo(|scope| (0..3).for_each(|job| scope.spawn_fifo({
    ///     let order = &order;
    ///     move |_| order.lock().unwrap().push(job)
    /// })));
    /// assert_eq!(order.into_inner().unwrap(), [0, 1, 2]);
    /// ```
    ScopeFifo {
        /// Spawns a job that runs before the scope ends, and that the calling thread begins after those that it has
        /// spawned before.
        spawn_fifo
    }
}

/// Runs `op` on a thread of a pool, the calling one if it belongs to a pool, and returns when all jobs that were
/// spawned in the scope have ended.
///
/// # Panics
/// With the panic of `op` or of a job, after all have ended.
pub fn scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    in_current_pool(|me, _| me.pool().scope(|scope| op(Scope::of(scope))))
}

/// As [`scope`], with jobs that are begun in order.
///
/// # Panics
/// As [`scope`].
pub fn scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    in_current_pool(|me, _| me.pool().scope_fifo(|scope| op(ScopeFifo::of(scope))))
}

/// Runs `op` on the calling thread, and the jobs that are spawned in the scope on the threads of its pool, or else of
/// the global one. Returns when all have ended.
///
/// ```
/// let mut text = String::new();
/// rayon_core::in_place_scope(|scope| scope.spawn(|_| text.push_str("done")));
/// assert_eq!(text, "done");
/// ```
///
/// # Panics
/// As [`scope`].
pub fn in_place_scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    with_current_pool(|pool| pool.scope(|scope| op(Scope::of(scope))))
}

/// As [`in_place_scope`], with jobs that are begun in order.
///
/// # Panics
/// As [`scope`].
pub fn in_place_scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    with_current_pool(|pool| pool.scope_fifo(|scope| op(ScopeFifo::of(scope))))
}
