//! Hive's own calls in jobs of a pool.

mod common;

use std::thread;

use common::pool;

#[test]
fn a_job_is_no_bee_of_a_hive_and_regions_in_it_have_the_threads_of_the_global_one() {
    let pool = pool(2);
    assert_eq!(pool.broadcast(|_| hive::current()), [None, None]);
    let own = pool.install(|| thread::current().id());
    let threads = pool.install(|| hive::spmd_map(2, |bee| (bee.bees(), thread::current().id())));
    assert!(threads.iter().all(|&(bees, _)| bees == 2));
    assert!(pool.broadcast(|_| thread::current().id()).iter().all(|&thread| thread != threads[1].1));
    assert_ne!(own, threads[1].1);
}

#[test]
fn a_join_of_hive_in_a_job_is_one_of_the_pool() {
    let pool = pool(2);
    let half = || rayon_core::current_thread_index().is_some();
    for _ in 0..1_000 {
        assert_eq!(pool.install(|| hive::join(half, half)), (true, true));
    }
}
