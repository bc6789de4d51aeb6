//! A region that is begun only if its hive is free: for code that may be called by any thread, and must wait for no
//! other one. The package `thread-tree` of this repository is made of it.
//!
//! Nothing here is covered by what [docs/stability.md](https://docs.rs/crate/hive-spmd) promises.

use crate::global;
use crate::pool::error::Error;
use crate::pool::handle::Hive;
use crate::region::bee::{Bee, ExactBody};

/// As [`Hive::try_spmd`], but does not wait for others to be done before the region: if the hive is not free, `body`
/// does not run on any bee, and the result is false. The hive is not free for a thread inside of a region of it, while
/// another thread is its queen, or while a worker that the region needs is in the middle of a task.
///
/// ```
/// use hive::adapters::free_region::spmd_if_free;
///
/// let hive = hive::Hive::new(2)?;
/// assert!(spmd_if_free(&hive, 2, |bee| assert_eq!(bee.bees(), 2))?);
/// hive.spmd(2, |_| assert!(!spmd_if_free(&hive, 2, |_| ()).unwrap()));
/// # Ok::<(), hive::Error>(())
/// ```
///
/// # Errors
/// As [`Hive::try_spmd`].
///
/// # Panics
/// As that.
#[inline]
pub fn spmd_if_free<F: Fn(&Bee<'_>) + Sync>(hive: &Hive, bees: usize, body: F) -> Result<bool, Error> {
    hive.shared.spmd_if_free(bees, &mut ExactBody::new(body))
}

/// The [global hive](crate::global()), if this process has built it already.
///
/// ```
/// let global = hive::global();
/// assert!(hive::adapters::free_region::global_if_built().is_some_and(|it| std::ptr::eq(it, global)));
/// ```
#[inline]
pub fn global_if_built() -> Option<&'static Hive> {
    global::GLOBAL.get()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_hive_with_a_worker_in_a_task_or_with_a_queen_is_not_free() {
        let hive = Hive::new(2).unwrap();
        let is_free = || spmd_if_free(&hive, 2, |bee| assert_eq!(bee.bees(), 2)).unwrap();
        assert!(is_free());
        let (begun, has_begun) = channel();
        let (end, is_to_end) = channel::<()>();
        hive.spawn_on(1, move || {
            begun.send(()).unwrap();
            is_to_end.recv().unwrap();
        });
        has_begun.recv().unwrap();
        assert!(!is_free(), "the worker is in a task");
        end.send(()).unwrap();
        while !is_free() {
            std::thread::yield_now();
        }
        hive.spmd(2, |_| assert!(!is_free(), "each bee is in a region"));
        hive.install(|| {
            assert!(is_free(), "this thread is the queen");
            std::thread::scope(|scope| scope.spawn(|| assert!(!is_free(), "another thread is the queen")).join())
                .unwrap();
        });
    }

    #[test]
    fn a_region_of_one_needs_no_hive_that_is_free_and_errors_are_those_of_try_spmd() {
        let hive = Hive::builder().bees(2).max_bees(2).build().unwrap();
        hive.spmd(2, |_| assert!(spmd_if_free(&hive, 1, |bee| assert_eq!(bee.bees(), 1)).unwrap()));
        assert!(spmd_if_free(&hive, 3, |_| ()).is_err() && spmd_if_free(&hive, 0, |_| ()).is_err());
    }
}
