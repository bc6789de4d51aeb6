//! A hive as a thread pool for orx-parallel's iterators: `runner(Runner::fixed_with_pool(&hive))`, or any other of its
//! runners that takes a pool.
//!
//! ```
//! use orx_parallel::{Par, ParCollection, Runner};
//!
//! let hive = hive::Hive::new(3)?;
//! let input: Vec<u64> = (0..10_000).collect();
//! let sum = input.par().runner(Runner::fixed_with_pool(&hive)).map(|x| x * x).sum();
//! assert_eq!(sum, 333_283_335_000);
//! # Ok::<(), hive::Error>(())
//! ```
//!
//! A computation is a [scope](Hive::scope) with one task for each thread that orx-parallel asks for, at most as many as
//! the hive has bees. The caller and all bees that have nothing else to do run these tasks; a task that starts late
//! finds the input used up and ends at once. As with any scope, a computation may be nested in regions and tasks, and
//! several threads may call it at the same time.
//!
//! With its default features, orx-parallel starts a thread pool of its own before a program can name another one. Its
//! threads sleep. Without the default features it starts none.

use std::num::NonZeroUsize;

use orx_parallel::ThreadPool;

use crate::pool::handle::Hive;
use crate::tasks::scope::Scope;

impl<'s, 'env, 'scope> orx_parallel::Scope<'s, 'env, 'scope> for &'s Scope<'scope> {
    fn run<W>(self, work: W)
    where
        'scope: 's,
        'env: 'scope + 's,
        W: FnOnce() + Send + 'scope + 'env,
    {
        self.spawn(move |_| work());
    }
}

impl ThreadPool for &Hive {
    type ScopeRef<'s, 'env, 'scope>
        = &'s Scope<'scope>
    where
        'scope: 's,
        'env: 'scope + 's;

    fn scope<'env, 'scope, F>(&'env self, f: F)
    where
        'env: 'scope,
        for<'s> F: FnOnce(&'s Scope<'scope>) + Send,
    {
        Hive::scope(self, f);
    }

    fn max_num_threads(&self) -> NonZeroUsize {
        NonZeroUsize::new(self.bees()).unwrap_or(NonZeroUsize::MIN)
    }
}
