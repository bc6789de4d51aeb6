//! Broadcasts: in which order the threads come to them.

mod common;

use std::mem::take;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use common::{next, pool, wait_for_all};
use rayon_core::ThreadPool;

/// Has several threads call `broadcast`, again and again. In each broadcast the pool's threads wait for each other, so
/// this hangs if two of them come to two broadcasts in different orders.
fn broadcasts_by_several_callers(broadcast: fn(&ThreadPool, Arc<Barrier>)) {
    const THREADS: usize = 4;
    const CALLERS: usize = 4;
    const ROUNDS: usize = 50;
    let pool = Arc::new(pool(THREADS));
    let (ended, has_ended) = channel();
    for _ in 0..CALLERS {
        let (pool, ended) = (Arc::clone(&pool), ended.clone());
        thread::spawn(move || {
            for _ in 0..ROUNDS {
                (0..100).for_each(|_| broadcast(&pool, Arc::new(Barrier::new(THREADS))));
                // After all that the caller has sent.
                pool.broadcast(|_| ());
                ended.send(()).unwrap();
            }
        });
    }
    (0..CALLERS * ROUNDS).for_each(|_| next(&has_ended));
}

#[test]
fn all_threads_come_to_broadcasts_of_several_callers_in_one_order() {
    broadcasts_by_several_callers(|pool, barrier| {
        pool.broadcast(|_| barrier.wait());
    });
}

#[test]
fn all_threads_come_to_spawned_broadcasts_of_several_callers_in_one_order() {
    broadcasts_by_several_callers(|pool, barrier| {
        pool.spawn_broadcast(move |_| {
            barrier.wait();
        });
    });
}

#[test]
fn all_threads_come_to_broadcasts_of_several_scopes_in_one_order() {
    broadcasts_by_several_callers(|pool, barrier| {
        pool.in_place_scope(|scope| {
            scope.spawn_broadcast(move |_, _| {
                barrier.wait();
            });
        });
    });
}

#[test]
fn a_thread_comes_to_a_broadcast_when_it_has_run_all_that_it_has_spawned() {
    const JOBS: usize = 1000;
    let (pool, ran) = (pool(1), Arc::new(AtomicUsize::new(0)));
    for _ in 0..20 {
        let (sender, receiver) = channel();
        pool.install(|| {
            for _ in 0..JOBS {
                let (ran, sender) = (Arc::clone(&ran), sender.clone());
                rayon_core::spawn(move || {
                    ran.fetch_add(1, Ordering::Relaxed);
                    drop(sender);
                });
            }
            // From outside, while the thread is here.
            let ran = Arc::clone(&ran);
            let send = || pool.spawn_broadcast(move |_| sender.send(ran.load(Ordering::Relaxed)).unwrap());
            thread::scope(|scope| scope.spawn(send).join().unwrap());
        });
        assert_eq!(wait_for_all(&receiver), [JOBS]);
        ran.store(0, Ordering::Relaxed);
    }
}

#[test]
fn the_only_thread_of_a_pool_runs_what_it_has_queued_before_a_broadcast_that_it_calls() {
    let order = Mutex::new(Vec::new());
    let note = |what: &'static str| order.lock().unwrap().push(what);
    let note = &note;
    pool(1).scope(|scope| {
        scope.spawn_broadcast(move |_, _| note("first broadcast"));
        scope.spawn(move |scope| {
            note("job");
            scope.spawn(move |_| note("job of a job"));
        });
        rayon_core::broadcast(|_| note("second broadcast"));
        rayon_core::broadcast(|_| note("third broadcast"));
    });
    let expected = ["job", "job of a job", "first broadcast", "second broadcast", "third broadcast"];
    assert_eq!(take(&mut *order.lock().unwrap()), expected);
    pool(1).install(|| {
        rayon_core::join(|| rayon_core::broadcast(|_| note("broadcast")), || note("second half"));
    });
    assert_eq!(order.into_inner().unwrap(), ["second half", "broadcast"]);
}
