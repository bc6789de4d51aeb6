//! When a scope ends. A thread that runs jobs of a scope counts them for itself and tells the scope later. It must not
//! do so after it has begun to run something that waits for the scope's end.

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use common::{next, pool};
use rayon_core::{Scope, Yield};

/// What ends the waits of the jobs: in a lock, because `Receiver` cannot be shared.
struct Signal(Mutex<Receiver<()>>);

impl Signal {
    fn new() -> (Sender<()>, Self) {
        let (sender, receiver) = channel();
        (sender, Self(Mutex::new(receiver)))
    }

    fn wait(&self) {
        next(&self.0.lock().unwrap());
    }
}

#[test]
fn a_scope_ends_before_the_next_job_of_its_thread_that_does_not_belong_to_it() {
    let pool = pool(1);
    let (end, is_over) = channel();
    let (done, is_done) = channel();
    pool.in_place_scope(|scope| {
        scope.spawn(|scope| {
            // It lies below the next one, so it is run after that.
            rayon_core::spawn(move || {
                next(&is_over);
                done.send(()).unwrap();
            });
            scope.spawn(|_| ());
        });
    });
    end.send(()).unwrap();
    next(&is_done);
}

#[test]
fn a_scope_ends_before_the_next_job_of_its_thread_that_belongs_to_another_scope() {
    let pool = pool(1);
    let (end, is_over) = Signal::new();
    pool.in_place_scope(|outer| {
        pool.in_place_scope(|inner| {
            inner.spawn(|inner| {
                outer.spawn(|_| is_over.wait());
                inner.spawn(|_| ());
            });
        });
        end.send(()).unwrap();
    });
}

#[test]
fn a_scope_ends_before_a_yield_that_has_run_its_job_returns() {
    let pool = pool(1);
    let (end, is_over) = channel();
    let (begun, has_begun) = channel();
    let (done, is_done) = channel();
    pool.spawn(move || {
        begun.send(()).unwrap();
        while rayon_core::yield_now() != Some(Yield::Executed) {}
        next(&is_over);
        done.send(()).unwrap();
    });
    next(&has_begun);
    pool.in_place_scope(|scope| scope.spawn(|_| ()));
    end.send(()).unwrap();
    next(&is_done);
}

#[test]
fn a_scope_ends_before_a_join_returns_that_has_run_its_job_meanwhile() {
    let pool = pool(2);
    let (end, is_over) = channel();
    let (begun, has_begun) = channel();
    let (ran, has_run) = channel();
    let (done, is_done) = channel();
    pool.spawn(move || {
        let (stolen, is_stolen) = channel();
        let a = move || next(&is_stolen);
        // The other thread runs this, and ends it when the job has been run by the thread that waits for the join.
        let b = move || {
            stolen.send(()).unwrap();
            begun.send(()).unwrap();
            next(&has_run)
        };
        rayon_core::join(a, b);
        next(&is_over);
        done.send(()).unwrap();
    });
    next(&has_begun);
    pool.in_place_scope(|scope| scope.spawn(move |_| ran.send(()).unwrap()));
    end.send(()).unwrap();
    next(&is_done);
}

#[test]
fn a_scope_ends_with_its_body_if_all_jobs_have_ended_elsewhere() {
    // What the thread would begin next lies in its own deque, or comes from outside. Either waits for the scope's end.
    for is_injected in [false, true] {
        let pool = Arc::new(pool(2));
        let (done, is_done) = channel();
        let outside = Arc::clone(&pool);
        pool.spawn(move || {
            let (ran, has_run) = channel();
            let (blocked, is_blocked) = channel();
            let (free, is_free) = channel::<()>();
            let (end, is_over) = channel();
            let body = move |scope: &Scope<'_>| {
                // The other thread runs the job, and is kept busy then.
                scope.spawn(move |_| ran.send(()).unwrap());
                next(&has_run);
                let other = Arc::clone(&outside);
                let spawn_outside = |job: Box<dyn FnOnce() + Send>| {
                    let other = Arc::clone(&other);
                    thread::spawn(move || other.spawn(job)).join().unwrap();
                };
                spawn_outside(Box::new(move || {
                    blocked.send(()).unwrap();
                    let _ = is_free.recv();
                }));
                next(&is_blocked);
                let waits = move || next(&is_over);
                if is_injected { spawn_outside(Box::new(waits)) } else { rayon_core::spawn(waits) }
            };
            rayon_core::scope(body);
            end.send(()).unwrap();
            free.send(()).unwrap();
            done.send(()).unwrap();
        });
        next(&is_done);
    }
}

#[test]
fn a_scope_ends_although_a_thread_of_its_pool_that_it_was_lent_to_waits_for_it() {
    // The pool's thread waits in a hive, and runs there what the body of a scope of its pool, on the hive's worker, has
    // handed over. Then it goes on waiting in the hive for just that worker.
    let (pool, hive) = (Arc::new(pool(2)), hive::Hive::builder().bees(2).build().unwrap());
    let (done, is_done) = channel();
    let lent = Arc::clone(&pool);
    pool.spawn(move || {
        let (outer_begun, inner_begun) = (AtomicBool::new(false), AtomicBool::new(false));
        let wait_for = |begun: &AtomicBool| {
            // The partner is the `store` of the half that waits.
            while !begun.load(Ordering::Acquire) {
                thread::yield_now();
            }
        };
        let inner = || {
            outer_begun.store(true, Ordering::Release);
            // The other half has ended by then, and its thread looks for something to run.
            thread::sleep(Duration::from_millis(20));
            lent.in_place_scope(|scope| {
                let spawn = || {
                    scope.spawn(|_| ());
                    inner_begun.store(true, Ordering::Release);
                };
                // A bee that keeps the other half of a join looks whether somebody wants it when it joins again.
                let wait_inside = || {
                    while !inner_begun.load(Ordering::Acquire) {
                        hive.join(|| (), || ());
                        thread::yield_now();
                    }
                };
                hive.join(wait_inside, spawn);
            });
        };
        hive.join(|| wait_for(&outer_begun), inner);
        done.send(()).unwrap();
    });
    next(&is_done);
}

#[test]
fn scopes_in_scopes_and_beside_each_other_end_with_the_last_of_their_jobs() {
    /// Spawns two jobs a level, of which one begins a scope of its own, and counts the jobs.
    fn descend<'s>(scope: &Scope<'s>, levels: usize, jobs: &'s AtomicUsize) {
        // Only the sum matters, and the scope's end makes it visible.
        jobs.fetch_add(1, Ordering::Relaxed);
        if levels == 0 {
            return;
        }
        scope.spawn(move |scope| descend(scope, levels - 1, jobs));
        scope.spawn(move |scope| {
            let inner = AtomicUsize::new(0);
            rayon_core::scope(|scope| descend(scope, levels - 1, &inner));
            assert_eq!(inner.into_inner(), (1 << levels) - 1);
            descend(scope, levels - 1, jobs);
        });
    }
    for threads in [1, 2, 5] {
        let pool = pool(threads);
        thread::scope(|callers| {
            for is_in_place in [false, true, false] {
                let pool = &pool;
                callers.spawn(move || {
                    for _ in 0..20 {
                        let jobs = AtomicUsize::new(0);
                        match is_in_place {
                            true => pool.in_place_scope(|scope| descend(scope, 5, &jobs)),
                            false => pool.scope(|scope| descend(scope, 5, &jobs)),
                        }
                        assert_eq!(jobs.into_inner(), (1 << 6) - 1);
                    }
                });
            }
        });
    }
}
