//! Which thread runs what, and in which order.

mod common;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::thread::{self, panicking};

use common::{next, pool};
use rayon_core::{ThreadPoolBuilder, Yield};

#[test]
fn a_lone_join_is_there_for_a_thread_that_is_idle_or_becomes_so() {
    let pool = pool(2);
    for _ in 0..200 {
        // Each half waits for the other, so two threads have to run them.
        let barrier = Barrier::new(2);
        let half = || {
            barrier.wait();
            rayon_core::current_thread_index()
        };
        let (a, b) = pool.install(|| rayon_core::join(half, half));
        assert_ne!(a, b);
    }
    // The other thread is busy when the join begins, and takes its half later.
    let (begun, has_begun) = channel();
    let (end, is_to_end) = channel::<()>();
    pool.spawn(move || {
        begun.send(()).unwrap();
        is_to_end.recv().unwrap();
    });
    next(&has_begun);
    let (b_ran, b_has_run) = channel();
    let a = move || {
        end.send(()).unwrap();
        next(&b_has_run);
    };
    pool.install(|| rayon_core::join(a, || b_ran.send(()).unwrap()));
}

#[test]
fn the_outer_joins_of_a_recursion_are_there_for_other_threads() {
    // At each level the first half waits until the second one has been run by the other thread.
    fn descend(levels: usize) {
        if levels > 0 {
            let (ran, has_run) = channel();
            let a = move || {
                descend(levels - 1);
                next(&has_run);
            };
            rayon_core::join(a, || ran.send(()).unwrap());
        }
    }
    pool(2).install(|| descend(4));
}

#[test]
fn migrated_is_true_exactly_where_another_thread_runs_the_half() {
    fn check(levels: u32, migrations: &AtomicUsize) {
        let own = thread::current().id();
        if levels == 0 {
            return (0..1000).for_each(|_| std::hint::spin_loop());
        }
        let half = |context: rayon_core::FnContext| {
            assert_eq!(context.migrated(), thread::current().id() != own);
            migrations.fetch_add(usize::from(context.migrated()), Ordering::Relaxed);
            check(levels - 1, migrations);
        };
        rayon_core::join_context(half, half);
    }
    let (pool, migrations) = (pool(4), AtomicUsize::new(0));
    for _ in 0..20 {
        pool.install(|| check(8, &migrations));
    }
    let barrier = Barrier::new(2);
    let half = |context: rayon_core::FnContext| {
        barrier.wait();
        context.migrated()
    };
    assert_eq!(pool.install(|| rayon_core::join_context(half, half)), (false, true));
    let single = common::pool(1);
    assert_eq!(single.install(|| rayon_core::join_context(|a| a.migrated(), |b| b.migrated())), (false, false));
}

#[test]
fn who_waits_for_a_scope_runs_its_jobs_before_the_halves_of_joins_further_out() {
    for threads in [1, 2] {
        let pool = pool(threads);
        // All other threads are busy, so that the order is that of the one that waits.
        let (busy, free) = (Arc::new(Barrier::new(threads)), Arc::new(Barrier::new(threads)));
        for _ in 1..threads {
            let (busy, free) = (Arc::clone(&busy), Arc::clone(&free));
            pool.spawn(move || {
                busy.wait();
                free.wait();
            });
        }
        busy.wait();
        let order = Mutex::new(Vec::new());
        let put = |what: usize| order.lock().unwrap().push(what);
        // Joins inside of joins, deeper than those that are visible to others; then a scope with jobs that join again.
        fn descend(level: usize, put: &(impl Fn(usize) + Sync)) {
            if level < 12 {
                rayon_core::join(|| descend(level + 1, put), || put(level));
                return;
            }
            rayon_core::scope(|scope| {
                for job in 0..5 {
                    scope.spawn(move |_| {
                        rayon_core::join(|| put(100 + job), || put(200 + job));
                    });
                }
            });
        }
        pool.install(|| descend(0, &put));
        free.wait();
        let jobs = [4, 3, 2, 1, 0].into_iter().flat_map(|job| [100 + job, 200 + job]);
        assert_eq!(order.into_inner().unwrap(), jobs.chain((0..12).rev()).collect::<Vec<_>>());
    }
}

#[test]
fn a_wait_runs_the_halves_of_joins_further_out_before_it_sleeps() {
    // The scope's job waits for what the join's second half does, which the only other thread has to run.
    let pool = pool(2);
    let (ran, has_run) = channel();
    let (job, is_job_taken) = channel();
    pool.install(|| {
        rayon_core::join(
            move || {
                rayon_core::scope(move |scope| {
                    scope.spawn(move |_| {
                        job.send(()).unwrap();
                        next(&has_run);
                    });
                    // Only when the other thread has the job does this one wait.
                    next(&is_job_taken);
                });
            },
            move || ran.send(()).unwrap(),
        )
    });
}

#[test]
fn yields_run_the_second_half_of_a_join_that_the_thread_is_in() {
    for yield_once in [rayon_core::yield_now, rayon_core::yield_local] {
        let has_run = AtomicBool::new(false);
        let wait = || {
            while !has_run.load(Ordering::Relaxed) {
                assert_eq!(yield_once(), Some(Yield::Executed));
            }
            assert_eq!(yield_once(), Some(Yield::Idle));
        };
        pool(1).install(|| {
            assert_eq!(rayon_core::current_thread_has_pending_tasks(), Some(false));
            let a = || {
                assert_eq!(rayon_core::current_thread_has_pending_tasks(), Some(true));
                wait();
                assert_eq!(rayon_core::current_thread_has_pending_tasks(), Some(false));
            };
            rayon_core::join(a, || has_run.store(true, Ordering::Relaxed));
        });
    }
}

#[test]
fn a_pool_s_threads_run_everything_and_callers_from_outside_nothing() {
    let pool = pool(2);
    let caller = thread::current().id();
    let check = || {
        assert_ne!(thread::current().id(), caller);
        assert!(rayon_core::current_thread_index().unwrap() < 2);
    };
    for _ in 0..100 {
        pool.install(check);
        pool.join(check, check);
        pool.scope(|scope| {
            check();
            scope.spawn(|_| check());
        });
        pool.in_place_scope(|scope| {
            assert_eq!((thread::current().id(), rayon_core::current_thread_index()), (caller, None));
            scope.spawn(|_| check());
            scope.spawn_broadcast(|_, _| check());
        });
        pool.broadcast(|_| check());
    }
}

#[test]
fn many_callers_are_in_a_pool_at_once() {
    fn sum(range: std::ops::Range<u64>) -> u64 {
        let middle = range.start + (range.end - range.start) / 2;
        if range.end - range.start < 4 {
            return range.sum();
        }
        let (low, high) = rayon_core::join(|| sum(range.start..middle), || sum(middle..range.end));
        low + high
    }
    let pool = pool(2);
    thread::scope(|scope| {
        for caller in 0..8 {
            let pool = &pool;
            scope.spawn(move || {
                for round in 0..200_u64 {
                    let n = 50 * caller + round;
                    assert_eq!(pool.install(|| sum(0..n)), n * n.saturating_sub(1) / 2);
                    assert_eq!(sum(0..20), 190, "in the global pool");
                }
            });
        }
    });
}

#[test]
fn pools_call_each_other_in_circles() {
    fn round(pools: &[rayon_core::ThreadPool], left: usize) -> usize {
        if left == 0 { 0 } else { 1 + pools[left % pools.len()].install(|| round(pools, left - 1)) }
    }
    let pools = [pool(1), pool(1), pool(1)];
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..100).for_each(|_| assert_eq!(round(&pools, 10), 10)));
        }
    });
    // A scope of another pool, begun in place: the thread runs its own pool's tasks while it waits.
    let [a, b, _] = &pools;
    for _ in 0..100 {
        let count = AtomicUsize::new(0);
        a.install(|| {
            b.in_place_scope(|scope| {
                assert_eq!(rayon_core::current_thread_index(), a.current_thread_index());
                scope.spawn(|_| {
                    a.install(|| count.fetch_add(1, Ordering::Relaxed));
                });
            })
        });
        assert_eq!(count.into_inner(), 1);
    }
}

#[test]
fn a_thread_goes_back_to_a_pool_that_ends_as_soon_as_it_does() {
    // The thread of the inner pool that ends the wait touches the outer pool, which may be gone by then.
    let inner = pool(1);
    for _ in 0..300 {
        let outer = pool(1);
        let (sender, receiver) = channel();
        let inner = &inner;
        outer.in_place_scope(|scope| scope.spawn(move |_| inner.install(|| sender.send(1).unwrap())));
        drop(outer);
        assert_eq!(next(&receiver), 1);
    }
}

#[test]
fn pools_are_built_inside_of_pools() {
    let depth = pool(2).install(|| {
        let (a, b) = rayon_core::join(
            || pool(2).install(|| pool(1).install(|| rayon_core::broadcast(|_| 1).len())),
            || {
                let inner = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
                inner.broadcast(|_| rayon_core::current_num_threads()).into_iter().sum::<usize>()
            },
        );
        a + b
    });
    assert_eq!(depth, 1 + 9);
}

#[test]
fn destructors_of_thread_locals_may_use_pools() {
    struct UsesPools(Arc<rayon_core::ThreadPool>, std::sync::mpsc::Sender<usize>);
    impl Drop for UsesPools {
        fn drop(&mut self) {
            let own = self.0.install(|| rayon_core::join(|| 1, || 2));
            let global = rayon_core::join(|| 3, || 4);
            let scoped = rayon_core::in_place_scope(|scope| {
                scope.spawn(|_| ());
                5
            });
            rayon_core::spawn(|| ());
            self.1.send(own.0 + own.1 + global.0 + global.1 + scoped).unwrap();
        }
    }
    thread_local! {
        static LOCAL: Cell<Option<UsesPools>> = const { Cell::new(None) };
    }
    let other = Arc::new(pool(2));
    let (sender, receiver) = channel();
    let set = {
        let other = Arc::clone(&other);
        move || LOCAL.set(Some(UsesPools(Arc::clone(&other), sender.clone())))
    };
    // On a thread of the program.
    thread::spawn(set.clone()).join().unwrap();
    assert_eq!(next(&receiver), 15);
    // On the threads of a pool.
    let ending = pool(2);
    ending.broadcast(|_| set());
    drop(ending);
    assert_eq!([next(&receiver), next(&receiver)], [15, 15]);
}

#[test]
fn a_large_closure_or_result_gets_through() {
    let large = [7_u8; 30_000];
    let pool = pool(2);
    assert_eq!(pool.install(move || large)[29_999], 7);
    pool.scope(|scope| scope.spawn(move |_| assert_eq!(large[5], 7)));
    let (sender, receiver) = channel();
    pool.spawn(move || sender.send(large[6]).unwrap());
    assert_eq!(next(&receiver), 7);
}

#[test]
fn in_a_job_the_functions_of_hive_act_on_the_global_hive() {
    let pool = pool(3);
    let bees = hive::bees();
    assert_eq!(pool.install(hive::bees), bees);
    pool.install(|| hive::resize(bees).unwrap());
    assert_eq!(pool.current_num_threads(), 3);
    assert_eq!(pool.install(|| hive::join(|| 1, || 2)), (1, 2));
    // And in a hive, those of this package act on the global pool.
    let joined = hive::spmd_map(2, |bee| {
        let id = bee.id();
        rayon_core::join(|| id, || rayon_core::current_thread_index().is_some())
    });
    assert!(joined.iter().enumerate().all(|(bee, &join)| join == (bee, true)));
}

/// A join whose first half waits for what the second does, in a task that a thread finds where it waits deep inside of
/// a recursion: the other thread, which has nothing to do only later, must find that half.
#[test]
fn joins_in_tasks_that_a_wait_runs_are_visible_to_threads_that_become_idle_later() {
    fn deep(levels: usize, leaf: &(dyn Fn() + Sync)) {
        if levels == 0 {
            return leaf();
        }
        rayon_core::join(|| deep(levels - 1, leaf), || ());
    }
    for (is_spawned, levels) in [(false, 2), (false, 7), (false, 12), (true, 7)] {
        let pool = pool(2);
        let gate = Barrier::new(2);
        let (begin, begun) = channel();
        let (is_begun, at_leaf) = (Mutex::new(begun), AtomicBool::new(false));
        let begin = Mutex::new(begin);
        let has_begun = AtomicBool::new(false);
        let wait_for_half = || {
            has_begun.store(true, Ordering::Release);
            let done = AtomicBool::new(false);
            let wait = || {
                while !done.load(Ordering::Acquire) {
                    thread::yield_now()
                }
            };
            rayon_core::join(wait, || done.store(true, Ordering::Release));
        };
        thread::scope(|threads| {
            threads.spawn(|| {
                let leaf = || {
                    rayon_core::scope(|scope| {
                        scope.spawn(|_| {
                            begin.lock().unwrap().send(()).unwrap();
                            gate.wait();
                        });
                        next(&is_begun.lock().unwrap());
                        if is_spawned {
                            scope.spawn(|_| wait_for_half());
                        }
                        at_leaf.store(true, Ordering::Release);
                    });
                };
                pool.install(|| deep(levels, &leaf));
            });
            while !at_leaf.load(Ordering::Acquire) {
                thread::yield_now();
            }
            if !is_spawned {
                threads.spawn(|| pool.install(wait_for_half));
            }
            while !has_begun.load(Ordering::Acquire) {
                thread::yield_now();
            }
            gate.wait();
        });
    }
}

#[test]
fn the_second_half_of_a_join_does_not_run_while_the_thread_panics() {
    fn deep(levels: usize) {
        if levels > 0 {
            rayon_core::join(|| deep(levels - 1), || ());
            return;
        }
        let is_panicking = AtomicBool::new(true);
        let join =
            || rayon_core::join(|| resume_unwind(Box::new(())), || is_panicking.store(panicking(), Ordering::Relaxed));
        assert!(catch_unwind(AssertUnwindSafe(join)).is_err());
        assert!(!is_panicking.load(Ordering::Relaxed));
    }
    for (threads, levels) in [(1, 0), (1, 12), (2, 12)] {
        pool(threads).install(|| deep(levels));
    }
}

#[test]
fn a_thread_of_a_pool_does_not_become_one_of_another() {
    let (sender, receiver) = channel();
    let (outer, builder) = (pool(1), ThreadPoolBuilder::new().num_threads(1));
    let send = |new| {
        sender.send(new).unwrap();
        Ok(())
    };
    let inner = builder.spawn_handler(send).build().unwrap();
    let new = next(&receiver);
    let refused = catch_unwind(AssertUnwindSafe(|| outer.install(|| new.run()))).unwrap_err();
    assert!(refused.downcast_ref::<&str>().unwrap().contains("cannot run the tasks of a pool"));
    outer.install(|| drop(inner));
}
