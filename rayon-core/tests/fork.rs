//! A process that forks: the child has a global pool of its own, and no other.

#![cfg(unix)]

#[path = "../../tests/common/child.rs"]
mod child;

use std::panic::{AssertUnwindSafe, catch_unwind};

use child::in_a_child;
use rayon_core::ThreadPoolBuilder;

#[test]
fn a_child_has_a_global_pool_of_its_own_and_is_told_that_others_are_its_parent_s() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let before = (rayon_core::join(|| 1, || 2), pool.install(|| 3));
    assert_eq!(before, ((1, 2), 3));
    // Idle threads hold no locks.
    std::thread::sleep(std::time::Duration::from_millis(50));
    let status = in_a_child(|| {
        let (a, b) = rayon_core::join(|| 20, || 20);
        let refused = catch_unwind(AssertUnwindSafe(|| pool.install(|| 1))).is_err();
        let own = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        a + b + i32::from(refused) + own.install(|| 1)
    });
    assert_eq!(status, 42);
    // From a thread of the pool, inside of a job: the child is no thread of that pool any more.
    let status = pool.install(|| {
        in_a_child(|| {
            let (a, b) = rayon_core::join(|| 20, || 20);
            a + b + i32::from(rayon_core::current_thread_index().is_none())
        })
    });
    assert_eq!(status, 41);
    // The parent goes on.
    assert_eq!((rayon_core::join(|| 1, || 2), pool.install(|| 3)), before);
}
