//! Jobs, wherever they are called from: which are run, how many at once, and what panics leave behind.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rayon::prelude::*;

/// The places that a program may call from.
fn everywhere(test: impl Fn() + Sync) {
    test();
    spindle::with_lock(3, &test);
    spindle::with_lock(1, &test);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    pool.install(&test);
    pool.install(|| spindle::with_lock(2, &test));
    hive::spmd(2, |_| test());
    hive::join(&test, &test);
    spindle::for_each_raw(3, |_| test());
    thread::scope(|scope| (0..3).for_each(|_| _ = scope.spawn(&test)));
}

#[test]
fn each_job_is_run_once() {
    everywhere(|| {
        for jobs in [0, 1, 2, 3, 7, 100] {
            let runs: Vec<_> = (0..jobs).map(|_| AtomicUsize::new(0)).collect();
            spindle::for_each_raw(jobs, |job| _ = runs[job].fetch_add(1, Ordering::Relaxed));
            assert!(runs.into_iter().all(|count| count.into_inner() == 1), "{jobs} jobs");
        }
    });
}

#[test]
fn each_item_comes_to_one_job_in_parts_of_about_the_same_length() {
    everywhere(|| {
        for (jobs, items) in [(4, 0), (0, 5), (1, 5), (4, 10), (10, 4), (3, 3)] {
            let mut data = vec![0; items];
            spindle::for_each(jobs, data.par_iter_mut(), |item| *item += 1);
            assert!(data.iter().all(|item| *item == 1), "{jobs} jobs, {items} items");
        }
    });
}

/// A part is a run of consecutive items, and the parts differ by one item at most.
#[test]
fn parts_are_of_about_the_same_length() {
    // With as many threads as jobs, each job has an index of its own.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(5).build().unwrap();
    for (jobs, items) in [(4, 10), (3, 9), (5, 6), (5, 5), (2, 101)] {
        let parts: Vec<_> = (0..jobs).map(|_| Mutex::new(Vec::new())).collect();
        pool.install(|| {
            spindle::for_each(jobs, (0..items).into_par_iter(), |item: usize| {
                parts[spindle::current_thread_index().unwrap()].lock().unwrap().push(item);
            });
        });
        let mut parts: Vec<_> = parts.into_iter().map(|part| part.into_inner().unwrap()).collect();
        assert!(parts.iter().all(|part| (items / jobs..=items.div_ceil(jobs)).contains(&part.len())), "{parts:?}");
        parts.sort();
        assert!(parts.into_iter().flatten().eq(0..items), "{jobs} jobs, {items} items");
    }
}

#[test]
fn no_more_jobs_run_at_once_than_are_allowed_and_each_has_an_index_of_its_own() {
    everywhere(|| {
        let allowed = spindle::max_num_threads();
        let busy: Vec<_> = (0..allowed).map(|_| AtomicUsize::new(0)).collect();
        spindle::for_each_raw(20, |_| {
            let index = spindle::current_thread_index().expect("it is in a job");
            assert_eq!(busy[index].fetch_add(1, Ordering::AcqRel), 0, "another job has the index {index}");
            assert_eq!(spindle::max_num_threads(), allowed);
            thread::yield_now();
            busy[index].fetch_sub(1, Ordering::AcqRel);
        });
    });
}

#[test]
fn a_lock_allows_what_it_says_and_no_more_than_there_are() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let allowed = |threads| pool.install(|| spindle::with_lock(threads, spindle::max_num_threads));
    assert_eq!([1, 2, 3, 4, usize::MAX].map(allowed), [1, 2, 3, 3, 3]);
    spindle::with_lock(1, || assert_eq!(spindle::current_thread_index(), None));
    let nested = |outer, inner| {
        pool.install(|| spindle::with_lock(outer, || spindle::with_lock(inner, spindle::max_num_threads)))
    };
    assert_eq!((nested(1, 2), nested(2, 1)), (1, 2), "the inner one changes nothing");
    let in_job = Mutex::new(Vec::new());
    pool.install(|| {
        spindle::for_each_raw(3, |_| {
            spindle::with_lock(2, || in_job.lock().unwrap().push(spindle::max_num_threads()));
            let index = spindle::current_thread_index();
            spindle::for_each_raw(1, |_| assert_eq!(spindle::current_thread_index(), index));
        });
    });
    assert_eq!(in_job.into_inner().unwrap(), [2, 2, 2]);
    assert!(catch_unwind(|| spindle::with_lock(0, || ())).is_err());
}

/// A thread that waits for the jobs of a call runs tasks of its pool, which know nothing of the call.
#[test]
fn a_task_that_a_waiting_caller_runs_is_in_none_of_its_locks() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    let (inside, others) = (AtomicUsize::new(0), AtomicUsize::new(0));
    pool.scope(|scope| {
        for _ in 0..500 {
            scope.spawn(|_| {
                spindle::with_lock(2, || {
                    spindle::for_each_raw(4, |_| {
                        thread::yield_now();
                        inside.fetch_add(1, Ordering::Relaxed);
                    });
                });
            });
            scope.spawn(|_| {
                assert!(spindle::current_thread_index().is_some(), "this is a pool's thread, and in no lock");
                assert_eq!(spindle::with_lock(3, spindle::max_num_threads), 3);
                others.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    assert_eq!((inside.into_inner(), others.into_inner()), (2000, 500));
}

#[test]
fn a_panic_of_a_job_comes_to_the_caller_and_the_next_call_works() {
    everywhere(|| {
        for panicking in [0, 1, 5] {
            let (begun, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let call = || {
                spindle::for_each_raw(6, |job| {
                    begun.fetch_add(1, Ordering::Relaxed);
                    if job == panicking {
                        std::panic::resume_unwind(Box::new(job));
                    }
                    ended.fetch_add(1, Ordering::Relaxed);
                });
            };
            let place = (spindle::max_num_threads(), spindle::current_thread_index());
            let payload = catch_unwind(AssertUnwindSafe(call)).expect_err("a job has panicked");
            assert_eq!(payload.downcast_ref(), Some(&panicking));
            assert_eq!(begun.into_inner(), ended.into_inner() + 1, "all that was begun has ended");
            assert_eq!((spindle::max_num_threads(), spindle::current_thread_index()), place);
            let sum = AtomicUsize::new(0);
            spindle::for_each(4, 0..10_usize, |item| _ = sum.fetch_add(item, Ordering::Relaxed));
            assert_eq!(sum.into_inner(), 45);
        }
    });
}

/// What a panic has left is dropped.
#[test]
fn items_are_neither_lost_nor_dropped_twice() {
    struct Item<'c>(&'c AtomicUsize);

    impl Drop for Item<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    everywhere(|| {
        let drops = AtomicUsize::new(0);
        let items: Vec<_> = (0..50).map(|_| Item(&drops)).collect();
        let call = || {
            spindle::for_each(5, items.into_par_iter().enumerate(), |(number, _item)| {
                if number == 20 {
                    std::panic::resume_unwind(Box::new(()));
                }
            });
        };
        assert!(catch_unwind(AssertUnwindSafe(call)).is_err());
        assert_eq!(drops.into_inner(), 50);
    });
}

#[test]
fn jobs_nest_in_locks_and_locks_in_jobs() {
    everywhere(|| {
        let sum = AtomicUsize::new(0);
        spindle::with_lock(4, || {
            spindle::for_each_raw(3, |_| {
                spindle::with_lock(2, || {
                    spindle::for_each_raw(5, |_| {
                        hive::par_for(0..10, |range, _| _ = sum.fetch_add(range.len(), Ordering::Relaxed));
                    });
                });
                spindle::relieve_workers();
            });
        });
        assert_eq!(sum.into_inner(), 150);
    });
}

/// Each lock then ends while the workers are about to sleep, and the next one begins.
#[test]
fn without_a_spin_limit_all_jobs_are_run() {
    spindle::SPIN_LIMIT.store(0, Ordering::Relaxed);
    let runs = AtomicUsize::new(0);
    for _ in 0..200 {
        spindle::with_lock(2, || spindle::for_each_raw(2, |_| _ = runs.fetch_add(1, Ordering::Relaxed)));
    }
    spindle::SPIN_LIMIT.store(spindle::DEFAULT_SPIN_LIMIT, Ordering::Relaxed);
    assert_eq!(runs.into_inner(), 400);
}
