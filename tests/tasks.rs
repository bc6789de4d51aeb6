//! Tasks outside of regions: join, scope, spawn, broadcast, install.

#![cfg(target_os = "linux")]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::Duration;

use hive::Hive;

use common::process::in_own_process;
use common::task_helpers::{PROTOCOLS, builders, fib_by_joins};
use common::{proc_threads, run_exclusively, sys};

fn add(count: &AtomicUsize, number: usize) {
    count.fetch_add(number, Ordering::Relaxed);
}

#[test]
fn join_returns_what_both_return() {
    let _alone = run_exclusively();
    {
        for bees in [1, 2, 4] {
            let hive = Hive::new(bees).unwrap();
            assert_eq!(fib_by_joins(&hive, 20), 6765, "{bees} bees");
            assert_eq!(hive.install(|| fib_by_joins(&hive, 20)), 6765);
        }
    }
}

#[test]
fn each_sleep_protocol_runs_everything() {
    let _alone = run_exclusively();
    for sleep in PROTOCOLS {
        // Bees that sleep at once when they have nothing to do.
        let hive = Hive::builder().bees(4).spin(Duration::ZERO).sleep(sleep).build().unwrap();
        let (sender, receiver) = mpsc::channel();
        for turn in 0..2_000 {
            let sender = sender.clone();
            hive.spawn(move || sender.send(turn).unwrap());
            if turn % 3 == 0 {
                assert_eq!(receiver.iter().take(if turn == 0 { 1 } else { 3 }).count(), if turn == 0 { 1 } else { 3 });
            }
            if turn % 100 == 0 {
                assert_eq!(fib_by_joins(&hive, 10), 55);
                hive.spmd(4, |bee| bee.barrier());
            }
        }
        drop(sender);
        assert_eq!(receiver.iter().count(), 1, "{sleep:?}");
    }
}

#[test]
fn join_from_several_threads_at_once() {
    let _alone = run_exclusively();
    {
        let hive = Hive::new(3).unwrap();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert_eq!(fib_by_joins(&hive, 16), 987));
            }
        });
    }
}

#[test]
fn tasks_of_a_scope_borrow_and_spawn_more() {
    let _alone = run_exclusively();
    {
        let hive = Hive::new(3).unwrap();
        for _ in 0..200 {
            let count = AtomicUsize::new(0);
            hive.scope(|scope| {
                for _ in 0..10 {
                    scope.spawn(|scope| {
                        count.fetch_add(1, Ordering::Relaxed);
                        scope.spawn(|_| {
                            count.fetch_add(1, Ordering::Relaxed);
                        });
                    });
                }
            });
            assert_eq!(count.into_inner(), 20);
        }
    }
}

#[test]
fn closures_of_all_sizes_run_once_and_are_dropped() {
    #[repr(align(64))]
    struct Aligned(Arc<AtomicUsize>);
    static OF_NONE: AtomicUsize = AtomicUsize::new(0);
    let _alone = run_exclusively();
    let [one, two, three, aligned, panicking] = [(); 5].map(|()| Arc::new(AtomicUsize::new(0)));
    let hive = Hive::new(2).unwrap();
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        hive.scope(|scope| {
            for number in 1..=100 {
                scope.spawn(|_| add(&OF_NONE, 1));
                let own = one.clone();
                scope.spawn(move |_| add(&own, 1));
                let own = two.clone();
                scope.spawn(move |_| add(&own, number));
                let (own, numbers) = (three.clone(), [number, number]);
                scope.spawn(move |_| add(&own, numbers.iter().sum()));
                let own = Aligned(aligned.clone());
                scope.spawn(move |_| {
                    let own = own;
                    assert_eq!((&raw const own).addr() % 64, 0);
                    add(&own.0, 1);
                });
                let own = panicking.clone();
                scope.spawn(move |_| {
                    add(&own, 1);
                    std::panic::resume_unwind(Box::new(number));
                });
            }
        });
    }));
    assert!(unwound.is_err());
    assert_eq!(OF_NONE.load(Ordering::Relaxed), 100);
    for (count, expected) in [(one, 100), (two, 5050), (three, 10100), (aligned, 100), (panicking, 100)] {
        assert_eq!(Arc::into_inner(count).expect("all clones are dropped").into_inner(), expected);
    }
}

#[test]
fn a_scope_waits_for_tasks_that_other_threads_spawn_in_it() {
    let _alone = run_exclusively();
    let (hive, count) = (Hive::new(2).unwrap(), AtomicUsize::new(0));
    for _ in 0..100 {
        count.store(0, Ordering::Relaxed);
        let counted = &count;
        hive.scope(|scope| {
            scope.spawn(move |scope| {
                thread::scope(|threads| {
                    for _ in 0..2 {
                        threads.spawn(|| (0..10).for_each(|_| scope.spawn(move |_| add(counted, 1))));
                    }
                    (0..10).for_each(|_| scope.spawn(move |_| add(counted, 1)));
                });
            });
            thread::scope(|threads| {
                threads.spawn(|| (0..10).for_each(|_| scope.spawn(move |_| add(counted, 1))));
                (0..10).for_each(|_| scope.spawn(move |_| add(counted, 1)));
            });
        });
        assert_eq!(count.load(Ordering::Relaxed), 50);
    }
}

#[test]
fn what_is_spawned_runs_once_also_in_a_hive_of_one() {
    let _alone = run_exclusively();
    {
        for bees in [1, 2, 4] {
            let hive = Hive::new(bees).unwrap();
            let (sender, receiver) = mpsc::channel();
            for number in 0..1000 {
                let sender = sender.clone();
                hive.spawn(move || sender.send(number).unwrap());
            }
            drop(sender);
            let mut numbers: Vec<_> = receiver.iter().collect();
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..1000), "{bees} bees");
            hive.wait_until_parked();
            assert_eq!((hive.bees(), hive.bees_not_yet_tucked_in()), (bees, 0));
        }
    }
}

#[test]
fn a_hive_resized_to_one_runs_what_is_spawned_and_parks_again() {
    let _alone = run_exclusively();
    {
        let hive = Hive::new(3).unwrap();
        hive.resize(1).unwrap();
        hive.wait_until_parked();
        for _ in 0..100 {
            let (sender, receiver) = mpsc::channel();
            hive.spawn(move || sender.send(hive::current().map(|bee| bee.id)).unwrap());
            assert!(receiver.recv().unwrap().is_some_and(|bee| bee > 0));
        }
        hive.wait_until_parked();
        assert_eq!(hive.bees_not_yet_tucked_in(), 0);
    }
}

#[test]
fn spawn_on_runs_on_that_bee_awake_asleep_or_parked() {
    let _alone = run_exclusively();
    {
        let hive = Hive::new(3).unwrap();
        for bees in [3, 1] {
            hive.resize(bees).unwrap();
            hive.wait_until_parked();
            for turn in 0..100 {
                let (sender, receiver) = mpsc::channel();
                let bee = 1 + turn % 2;
                hive.spawn_on(bee, move || sender.send(hive::current().map(|bee| bee.id)).unwrap());
                assert_eq!(receiver.recv().unwrap(), Some(bee));
                if turn % 10 == 0 {
                    thread::sleep(Duration::from_millis(2));
                }
            }
            hive.wait_until_parked();
        }
    }
}

#[test]
fn broadcast_runs_once_on_every_bee() {
    let _alone = run_exclusively();
    {
        let hive = Hive::new(4).unwrap();
        for _ in 0..100 {
            assert_eq!(hive.broadcast(|bee| (bee, hive::current().unwrap().id)), [(1, 1), (2, 2), (3, 3)]);
        }
        hive.resize(2).unwrap();
        assert_eq!(hive.broadcast(|bee| bee), [1]);
        hive.resize(1).unwrap();
        assert!(hive.broadcast(|bee| bee).is_empty());
    }
}

#[test]
fn all_bees_come_to_broadcasts_of_several_callers_in_one_order() {
    let _alone = run_exclusively();
    const WORKERS: usize = 4;
    let hive = Hive::new(1 + WORKERS).unwrap();
    thread::scope(|scope| {
        for number in 0..4 {
            let hive = &hive;
            let broadcasts = move || {
                for _ in 0..1000 {
                    // Two workers that are in two broadcasts would wait for ever.
                    let barrier = Barrier::new(WORKERS);
                    hive.broadcast(|_| _ = barrier.wait());
                }
            };
            // Once, as well, from inside the queen's tasks.
            scope.spawn(move || if number == 0 { hive.install(broadcasts) } else { broadcasts() });
        }
    });
}

#[test]
fn regions_and_tasks_take_turns() {
    let _alone = run_exclusively();
    {
        let hive = Hive::new(3).unwrap();
        for _ in 0..300 {
            let ran = AtomicUsize::new(0);
            hive.spmd(3, |_| {
                ran.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(ran.into_inner(), 3);
            assert_eq!(fib_by_joins(&hive, 8), 21);
        }
    }
}

#[test]
fn join_and_scope_work_inside_a_region_on_every_bee() {
    let _alone = run_exclusively();
    {
        let hive = Hive::new(3).unwrap();
        let sums = hive.spmd_map(3, |bee| {
            let sum = AtomicUsize::new(0);
            hive.scope(|scope| (0..10).for_each(|_| scope.spawn(|_| add(&sum, 1))));
            bee.barrier();
            fib_by_joins(&hive, 12) as usize + sum.into_inner()
        });
        assert_eq!(sums, [154, 154, 154]);
    }
}

#[test]
fn a_region_in_a_task_is_a_team_of_one() {
    let _alone = run_exclusively();
    {
        let hive = Hive::new(2).unwrap();
        let counts = hive.join(|| hive.spmd_map(2, |bee| bee.bees()), || hive.spmd_map(2, |bee| bee.bees()));
        assert_eq!(counts, (vec![1], vec![1]));
    }
}

#[test]
fn a_region_in_the_queen_s_place_is_a_real_one_where_nobody_waits_for_its_caller() {
    let _alone = run_exclusively();
    let hive = Hive::new(3).unwrap();
    let counts = |n: usize| hive.spmd_map(n, |bee| (bee.id(), bee.bees()));
    let all = vec![(0, 3), (1, 3), (2, 3)];
    let (ran, outer) = (AtomicUsize::new(0), thread::current().id());
    hive.install(|| {
        assert_eq!(thread::current().id(), outer);
        assert_eq!(counts(3), all);
        // Repeatedly, with tasks around it and in it.
        hive.scope(|scope| {
            (0..100).for_each(|_| scope.spawn(|_| add(&ran, 1)));
            assert_eq!(counts(3), all);
            hive.spmd(3, |bee| {
                bee.barrier();
                hive.scope(|scope| scope.spawn(|_| add(&ran, 1)));
                assert_eq!(counts(2), [(0, 1), (1, 1)][..1], "inside a region");
                bee.barrier();
            });
            scope.spawn(|_| assert_eq!(counts(3), [(0, 1)], "in a task"));
        });
        hive.join(|| assert_eq!(counts(3), [(0, 1)], "in a join"), || assert_eq!(counts(3), [(0, 1)]));
        let panicked = catch_unwind(AssertUnwindSafe(|| hive.spmd(3, |bee| assert!(bee.id() != 1, "as expected"))));
        assert!(panicked.is_err());
        assert_eq!(counts(3), all, "the turn has come back");
        // A team larger than the hive.
        assert_eq!(counts(5).len(), 5);
    });
    assert_eq!((ran.into_inner(), counts(3)), (103, all));
}

#[test]
fn scopes_and_regions_nest() {
    let _alone = run_exclusively();
    {
        let hive = Hive::new(2).unwrap();
        let count = AtomicUsize::new(0);
        hive.scope(|scope| {
            scope.spawn(|_| {
                hive.spmd(2, |_| {
                    hive.scope(|scope| scope.spawn(|_| add(&count, 1)));
                });
            });
        });
        hive.spmd(2, |_| hive.scope(|scope| scope.spawn(|_| add(&count, 10))));
        assert_eq!(count.into_inner(), 21);
    }
}

#[test]
fn two_hives_that_use_each_other_do_not_wait_for_each_other() {
    let _alone = run_exclusively();
    {
        let (a, b) = (Hive::new(2).unwrap(), Hive::new(2).unwrap());
        let meet = Barrier::new(2);
        let use_other = |own: &Hive, other: &Hive| {
            own.install(|| {
                meet.wait();
                assert_eq!(fib_by_joins(other, 10), 55);
                other.scope(|scope| scope.spawn(|_| ()));
                assert_eq!(fib_by_joins(own, 10), 55);
            });
        };
        thread::scope(|scope| {
            scope.spawn(|| use_other(&a, &b));
            scope.spawn(|| use_other(&b, &a));
        });
    }
}

#[test]
fn dropping_a_hive_runs_what_is_queued() {
    let _alone = run_exclusively();
    {
        for bees in [1, 2, 3] {
            for _ in 0..50 {
                let done = Arc::new(AtomicUsize::new(0));
                let hive = Hive::new(bees).unwrap();
                for _ in 0..20 {
                    let done = done.clone();
                    hive.spawn(move || add(&done, 1));
                }
                drop(hive);
                assert_eq!(done.load(Ordering::Relaxed), 20, "{bees} bees");
            }
        }
    }
}

#[test]
fn resizes_lose_no_task() {
    let _alone = run_exclusively();
    {
        let hive = Hive::new(4).unwrap();
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                for turn in 0.. {
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                    hive.resize(1 + turn % 4).unwrap();
                }
            });
            for turn in 0..300 {
                assert_eq!(fib_by_joins(&hive, 10), 55);
                let (sender, receiver) = mpsc::channel();
                for _ in 0..5 {
                    let sender = sender.clone();
                    hive.spawn(move || sender.send(()).unwrap());
                }
                let sender_on = sender.clone();
                hive.spawn_on(1 + turn % 3, move || sender_on.send(()).unwrap());
                drop(sender);
                assert_eq!(receiver.iter().count(), 6);
            }
            over.store(true, Ordering::Relaxed);
        });
    }
}

/// Runs in a process of its own, because a task that no bee comes for waits for ever.
#[test]
fn no_bee_sleeps_while_a_task_is_queued() {
    in_own_process("no_bee_sleeps_while_a_task_is_queued", || {
        for builder in builders() {
            let hive = builder.bees(4).build().unwrap();
            let bees = hive.broadcast(|_| sys::tid());
            for _ in 0..200 {
                proc_threads::wait_until_asleep(&bees);
                // From outside, one after the other: three tasks that need three bees.
                let all = Arc::new(Barrier::new(4));
                for _ in 0..3 {
                    let all = Arc::clone(&all);
                    hive.spawn(move || _ = all.wait());
                }
                all.wait();
                // From a bee, which is the fourth.
                proc_threads::wait_until_asleep(&bees);
                hive.scope(|scope| {
                    (0..3).for_each(|_| scope.spawn(|_| _ = all.wait()));
                    all.wait();
                });
            }
        }
    });
}

/// A bee that waits in a join inside a region may run tasks, but none that waits for the region.
#[test]
fn stress_broadcasts_and_regions_with_barriers_do_not_wait_for_each_other() {
    in_own_process("stress_broadcasts_and_regions_with_barriers_do_not_wait_for_each_other", || {
        for builder in builders() {
            let hive = builder.bees(4).build().unwrap();
            let over = AtomicBool::new(false);
            thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| {
                        while !over.load(Ordering::Relaxed) {
                            assert_eq!(hive.broadcast(|bee| bee), [1, 2, 3]);
                        }
                    });
                }
                for turn in 0..500 {
                    hive.spmd(3, |bee| {
                        if bee.id() == turn % 3 {
                            assert_eq!(fib_by_joins(&hive, 10), 55);
                        }
                        bee.barrier();
                    });
                }
                over.store(true, Ordering::Relaxed);
            });
        }
    });
}
