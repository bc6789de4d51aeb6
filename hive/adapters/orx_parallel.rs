//! A hive as a thread pool of orx-parallel's iterators: `runner(Runner::fixed_with_pool(&hive))`, or any other of its runners with a pool.
//!
//! ```
//! use orx_parallel::{Par, ParCollection, Runner};
//!
//! let hive = hive::Hive::new(3)?;
//! let input: Vec<u64> = (0..10_000).collect();
//! let sum = input.par().runner(Runner::fixed_with_pool(&hive)).map(|x| x * x).sum();
//! assert_eq!(sum, 333_283_335_000);
//! # Ok::<(), hive::BuildError>(())
//! ```
//!
//! A computation is a [scope](Hive::scope) with a task for each thread that orx-parallel wants, at most as many as the hive has bees. The caller and whichever
//! bees have nothing else to do run them; a task that comes late finds its input used up. So it may be nested in regions and tasks, and called from several
//! threads at once, as a scope may.
//!
//! With its default features orx-parallel starts a pool of its own, which sleeps, before a program can name another. Without them it does not.

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
