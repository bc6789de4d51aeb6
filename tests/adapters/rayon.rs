//! rayon's workers on a hive's own threads: what runs where.

#![cfg(target_os = "linux")]

#[path = "../common/mod.rs"]
mod common;
mod guest;

use std::collections::BTreeSet;
use std::thread;

use rayon::prelude::*;

use common::process::in_own_process;
use common::sys::tid;
use common::task_helpers::{Payload, assert_hive_and_tasks_work, join_on_two_bees, payload_of};
use common::{assert_hive_works, proc_threads, run_exclusively, silence_panics, wait_until};
use guest::{host, on_a_thread, sum, tids_of_all_workers, with_each_size};
use hive::{HiveSet, PlaceUnit};

#[test]
fn rayon_and_regions_run_on_the_same_threads() {
    let _alone = run_exclusively();
    with_each_size(|hive, bees| {
        let tids: BTreeSet<_> = hive.spmd_map(bees, |_| tid()).into_iter().collect();
        assert_eq!(hive.rayon(bees, || tids_of_all_workers(bees)), tids);
        assert_eq!(hive.rayon(bees, || (rayon::current_num_threads(), rayon::current_thread_index())), (bees, Some(0)));
        let numbers = hive.spmd_map(bees, |_| rayon::current_thread_index());
        assert!(numbers.into_iter().eq((0..bees).map(Some)), "bee 1 is worker 1, and so on");
    });
}

#[test]
fn each_of_several_hives_has_a_pool_with_its_leader_in_it() {
    in_own_process("each_of_several_hives_has_a_pool_with_its_leader_in_it", || {
        let hives = HiveSet::builder().each(PlaceUnit::Threads).template(host(2)).build().unwrap();
        let on_rayon =
            hives.on_each(|_, hive| hive.rayon(2, || (rayon::current_thread_index(), tids_of_all_workers(2))));
        for (hive, (leader, threads)) in on_rayon.into_iter().enumerate() {
            assert_eq!(leader, Some(0));
            let tids = hives.spmd_map(|bee| (bee.hive(), tid()));
            let own = tids.into_iter().filter(|(of, _)| *of == hive).map(|(_, thread)| thread);
            assert_eq!(own.collect::<BTreeSet<_>>(), threads, "hive {hive}");
        }
    });
}

#[test]
fn regions_and_parallel_iterators_in_turn() {
    in_own_process("regions_and_parallel_iterators_in_turn", || {
        let hive = host(3).build().unwrap();
        let threads = proc_threads::count();
        let mut data: Vec<u64> = (0..1_000).collect();
        for round in 1..=500 {
            hive.rayon(3, || data.par_iter_mut().for_each(|number| *number += 1));
            let sums = hive.spmd_map(3, |bee| data[bee.split(0..1_000)].iter().sum::<u64>());
            assert_eq!(sums.into_iter().sum::<u64>(), 499_500 + 1_000 * round);
        }
        // Fewer, if a thread that has measured the start has not ended entirely when the first count was taken.
        assert!(proc_threads::count() <= threads);
        assert_hive_and_tasks_work(&hive, 3);
    });
}

#[test]
fn a_panic_reaches_the_caller_and_the_bees_leave() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    with_each_size(|hive, bees| {
        for _ in 0..20 {
            assert_eq!(
                payload_of(|| hive.rayon(bees, || std::panic::panic_any(Payload("the closure's")))),
                "the closure's"
            );
            let part = |number| {
                if number == 70 {
                    std::panic::panic_any(Payload("a job's"))
                }
            };
            assert_eq!(
                payload_of(|| hive.rayon(bees, || (0..100).into_par_iter().with_max_len(1).for_each(part))),
                "a job's"
            );
            on_a_thread(|| {
                let away = || hive.rayon(bees, || std::panic::panic_any(Payload("another thread's")));
                assert_eq!(payload_of(away), "another thread's");
            });
            assert_eq!(hive.rayon(bees, || sum(100)), 4950);
        }
        assert_hive_works(hive, bees);
    });
}

#[test]
fn other_threads_have_a_bee_call() {
    let _alone = run_exclusively();
    with_each_size(|hive, bees| {
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let (sum, workers) = hive.rayon(1, || (sum(100), rayon::current_num_threads()));
                        assert_eq!(sum, 4950);
                        // A pool of one has only its builder's thread: rayon's global pool is another.
                        assert!(bees == 1 || workers == bees);
                    }
                });
            }
            for _ in 0..50 {
                assert_eq!(hive.rayon(bees, || sum(100)), 4950);
            }
        });
        if bees > 2 {
            assert_eq!(on_a_thread(|| hive.rayon(bees, || tids_of_all_workers(bees - 1))).len(), bees - 1);
        }
    });
}

#[test]
fn inside_regions_and_tasks_it_runs_with_whoever_helps() {
    let _alone = run_exclusively();
    with_each_size(|hive, bees| {
        for _ in 0..20 {
            // Bees that wait in rayon may run each other's jobs; nobody has to.
            assert!(hive.spmd_map(bees, |_| sum(300)).into_iter().all(|sum| sum == 44_850));
            hive.spmd(bees, |bee| {
                let to = 100 + bee.id();
                assert_eq!(sum(to), to * (to - 1) / 2);
                bee.barrier();
                assert_eq!(hive.rayon(bees, || sum(100)), 4950);
                bee.barrier();
            });
            assert_eq!(hive.join(|| sum(100), || sum(200)), (4950, 19_900));
            hive.scope(|scope| (0..10).for_each(|_| scope.spawn(|_| assert_eq!(sum(100), 4950))));
            assert_eq!(hive.broadcast(|_| sum(100)), vec![4950; bees - 1]);
        }
        assert_eq!(hive.rayon(bees, || hive.rayon(bees, || sum(100))), 4950);
        // A region inside is a team of one, whoever runs it.
        let tids = || {
            (0..20).into_par_iter().with_max_len(1).map(|_| hive.spmd_map(bees, |bee| bee.bees()).len()).sum::<usize>()
        };
        assert_eq!(hive.rayon(bees, tids), 20);
        // In the queen's place it is a real one.
        assert_eq!(hive.install(|| hive.rayon(bees, || tids_of_all_workers(bees))).len(), bees);
    });
}

#[test]
fn in_a_task_on_a_bee_it_runs_on_that_bee() {
    let _alone = run_exclusively();
    on_a_thread(|| {
        let hive = host(2).build().unwrap();
        let (here, there) = hive.install(|| {
            join_on_two_bees(&hive, || (tid(), sum(100)), || (tid(), sum(100), hive.rayon(2, || sum(100))))
        });
        assert_eq!((here.1, there.1, there.2), (4950, 4950, 4950));
        assert_ne!(here.0, there.0);
    });
}

#[test]
fn resized_hives_help_with_those_that_there_are() {
    let _alone = run_exclusively();
    on_a_thread(|| {
        let hive = host(3).build().unwrap();
        let tids: BTreeSet<_> = hive.spmd_map(3, |_| tid()).into_iter().collect();
        for _ in 0..20 {
            hive.resize(1).unwrap();
            hive.wait_until_parked();
            assert_eq!(hive.rayon(1, || (sum(100), tids_of_all_workers(1).len())), (4950, 1));
            assert_eq!((hive.bees(), hive.bees_not_yet_tucked_in()), (1, 0));
            // Grows it, as a region does.
            assert_eq!(hive.rayon(3, || tids_of_all_workers(3)), tids);
            assert_eq!(hive.bees(), 3);
            // Those beyond the pool are no workers, and are not called.
            hive.resize(5).unwrap();
            assert_eq!(hive.rayon(5, || (tids_of_all_workers(3), rayon::current_num_threads())), (tids.clone(), 3));
            assert_hive_works(&hive, 5);
            let sums = hive.spmd_map(3, |_| sum(100));
            assert_eq!(sums, [4950; 3]);
        }
    });
}

#[test]
fn a_bee_that_finds_nothing_for_long_sleeps_and_comes_back() {
    let _alone = run_exclusively();
    on_a_thread(|| {
        let hive = host(3).build().unwrap();
        let tids = hive.spmd_map(3, |_| tid());
        for _ in 0..5 {
            hive.rayon(3, || {
                // In naps, which end and begin again.
                wait_until(|| proc_threads::is_asleep(tids[1]) && proc_threads::is_asleep(tids[2]));
                assert_eq!(tids_of_all_workers(3).len(), 3);
                wait_until(|| proc_threads::is_asleep(tids[1]));
            });
            assert_hive_works(&hive, 3);
        }
    });
}

#[test]
fn a_broadcast_comes_to_every_worker_of_a_call() {
    let _alone = run_exclusively();
    with_each_size(|hive, bees| {
        let numbers = hive.rayon(bees, || rayon::broadcast(|context| context.index()));
        assert!(numbers.into_iter().eq(0..bees));
    });
}

#[test]
fn stress_calls_regions_tasks_and_resizes_by_several_threads() {
    let _alone = run_exclusively();
    on_a_thread(|| {
        let hive = host(3).build().unwrap();
        thread::scope(|scope| {
            scope.spawn(|| (0..300).for_each(|_| assert_eq!(hive.rayon(3, || sum(50)), 1225)));
            scope.spawn(|| (0..300).for_each(|_| hive.spmd(3, |bee| bee.barrier())));
            scope.spawn(|| (0..300).for_each(|_| assert_eq!(hive.join(|| sum(50), || sum(50)), (1225, 1225))));
            scope.spawn(|| (0..300).for_each(|round| hive.resize(1 + round % 5).unwrap()));
            (0..300).for_each(|_| assert_eq!(hive.rayon(3, || sum(50)), 1225));
        });
        assert_eq!(hive.rayon(3, || tids_of_all_workers(3)).len(), 3);
    });
}
