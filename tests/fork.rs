//! A forked child has none of the workers. Calls on its parent's hives give a clear error and never hang, and hives of
//! its own work.
//!
//! See `docs/fork.md`.

#![cfg(target_os = "linux")]

mod common;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use common::process::{in_own_process, in_own_process_with};
use common::sys::fork;
use common::{Gate, assert_contains_all, assert_hive_works, panic_message, proc_threads, sys};
use hive::{Hive, Reduction};

/// A hive from before the fork is unusable in the child, and its calls say so.
fn assert_refuses_calls(hive: &Hive) {
    for n in [1, 2, 6] {
        assert_contains_all(&hive.try_spmd(n, |_| unreachable!()).unwrap_err().to_string(), &["forked", "Hive::new"]);
        assert_contains_all(&hive.resize(n).unwrap_err().to_string(), &["forked", "Hive::new"]);
    }
    assert_contains_all(&hive.try_spmd(0, |_| ()).unwrap_err().to_string(), &["0 bees were asked for"]);
    assert_contains_all(&panic_message(|| hive.spmd(2, |_| ())), &["forked", "try_spmd"]);
    assert_contains_all(&panic_message(|| drop(hive.spmd_map(2, |_| ()))), &["forked", "try_spmd"]);
    hive.wait_until_parked();
    assert!(hive.bees() <= hive.max_bees() && hive.places().len() == hive.bees());
    assert_contains_all(&hive.report().to_string(), &["forked"]);
}

/// A hive that is built now works.
fn assert_new_hives_work() {
    let hive = Hive::new(3).unwrap();
    assert_hive_works(&hive, 3);
    assert_hive_works(&hive, 5);
    hive.resize(1).unwrap();
    hive.wait_until_parked();
    assert_hive_works(&hive, 2);
    drop(hive);
    assert_hive_works(&Hive::builder().build().unwrap(), 2);
}

#[test]
fn a_hive_from_before_the_fork_is_an_error_in_the_child_and_works_in_the_parent() {
    in_own_process("a_hive_from_before_the_fork_is_an_error_in_the_child_and_works_in_the_parent", || {
        let hive = Hive::new(3).unwrap();
        assert_hive_works(&hive, 3);
        let global = hive::global();
        assert_hive_works(global, 2);
        let child = fork(|| {
            assert_refuses_calls(&hive);
            assert_refuses_calls(global);
            assert_new_hives_work();
            assert_refuses_calls(&hive);
        });
        assert_hive_works(&hive, 6);
        child.join();
        assert_hive_works(&hive, 3);
        assert_hive_works(hive::global(), 2);
    });
}

#[test]
fn whatever_the_bees_are_doing_at_the_fork() {
    in_own_process("whatever_the_bees_are_doing_at_the_fork", || {
        let in_child = |hive: &Hive| {
            assert_refuses_calls(hive);
            assert_new_hives_work();
        };
        let check = |hive: &Hive| {
            fork(|| in_child(hive)).join();
            assert_hive_works(hive, 3);
        };
        for spin in [Duration::ZERO, Duration::MAX] {
            let hive = Hive::builder().bees(3).spin(spin).build().unwrap();
            check(&hive);
            // While the workers poll, or are about to sleep.
            check(&hive);
            if spin.is_zero() {
                proc_threads::wait_until_asleep(&proc_threads::named("hive-bee"));
                check(&hive);
            }
            hive.resize(1).unwrap();
            hive.wait_until_parked();
            check(&hive);
            // While they are surplus.
            hive.resize(1).unwrap();
            check(&hive);
            // While they work for another thread, and some of them are surplus.
            let (busy, free) = (Gate::new(), Gate::new());
            thread::scope(|scope| {
                let queen = scope.spawn(|| {
                    hive.spmd(3, |_| {
                        busy.arrive();
                        free.wait_for(1);
                    });
                });
                busy.wait_for(3);
                hive.resize(2).unwrap();
                fork(|| in_child(&hive)).join();
                free.arrive();
                // Joined here because the scope would not wait for the very end of its thread, where that thread holds
                // a lock of std.
                queen.join().unwrap();
            });
            check(&hive);
        }
    });
}

#[test]
fn from_inside_a_region() {
    in_own_process("from_inside_a_region", || {
        let hive = Hive::new(3).unwrap();
        for id in [0, 2] {
            hive.spmd(3, |bee| {
                if bee.id() == id {
                    let child = fork(|| {
                        assert_refuses_calls(&hive);
                        assert_new_hives_work();
                    });
                    child.join();
                }
                bee.barrier();
            });
        }
        assert_hive_works(&hive, 3);
    });
}

#[test]
fn a_hive_is_dropped_in_the_child() {
    in_own_process("a_hive_is_dropped_in_the_child", || {
        for n in [1, 2, 4] {
            for spin in [Duration::ZERO, Duration::MAX] {
                let hive = Hive::builder().bees(n).spin(spin).pin_queen(true).build().unwrap();
                assert_hive_works(&hive, n);
                // Dropped in the child, and then in the parent.
                fork(move || {
                    drop(hive);
                    assert_new_hives_work();
                })
                .join();
                proc_threads::wait_until_ended("hive-bee");
            }
        }
    });
}

/// The file in which the parent has its locks on CPUs ("Several programs" in `docs/places.md`).
#[test]
fn a_child_does_not_hold_the_locks_of_its_parent() {
    in_own_process("a_child_does_not_hold_the_locks_of_its_parent", || {
        let files = || proc_threads::open_files("kernel_max");
        let hive = Hive::builder().bees(2).pin(hive::Pin::Core).build();
        let Ok(hive) = hive else { return println!("skipped: {}", hive.unwrap_err()) };
        if files() == 0 {
            return println!("skipped: this system has no such file");
        }
        assert_eq!(files(), 1);
        fork(move || {
            assert_eq!(files(), 0);
            let own = Hive::builder().bees(2).pin(hive::Pin::Core).build().unwrap();
            assert_eq!(files(), 1);
            fork(move || assert_eq!(files(), 0)).join();
            drop((hive, own));
            assert_eq!(files(), 0);
        })
        .join();
        assert_eq!(files(), 0, "the hive that was to be dropped in the child has been dropped here, too");
    });
}

/// The C library reuses the stacks of the parent's threads for the child's threads, and a thread's id is the address of
/// its stack.
#[test]
fn the_end_of_a_hive_from_before_lets_no_thread_of_the_child_s_go() {
    in_own_process("the_end_of_a_hive_from_before_lets_no_thread_of_the_child_s_go", || {
        for bees in 1..4 {
            let watched = Hive::builder().bees(bees).deadlock_watchdog(Some(Duration::from_secs(100))).build().unwrap();
            assert_hive_works(&watched, bees);
            fork(move || {
                let own = Hive::new(4).unwrap();
                assert_hive_works(&own, 4);
                drop(watched);
                assert_hive_works(&own, 4);
                // The drop waits for the hive's threads, which it must find.
                drop(own);
            })
            .join();
        }
    });
}

/// As many bees as the environment says, for the global hives of the tests below.
const GLOBAL_BEES: (&str, &str) = ("HIVE_NUM_BEES", "3");

/// The free functions work, on a global hive that is as the environment says.
fn assert_free_functions_work() {
    assert_eq!(hive::bees(), 3, "as the environment says");
    assert_hive_works(hive::global(), 3);
    assert_eq!(hive::spmd_all_map(|bee| bee.id()), [0, 1, 2]);
    assert_eq!(hive::join(|| 1, || 2), (1, 2));
    assert_eq!(hive::install(|| hive::current().map(|bee| bee.id)), Some(0));
    assert_eq!(hive::broadcast(|bee| bee), [1, 2]);
    let (sender, receiver) = mpsc::channel();
    hive::spawn(move || sender.send(4).unwrap());
    assert_eq!(receiver.recv(), Ok(4));
    let sum = hive::par_reduce(0..1000, &Reduction::unordered(0, |a, b| a + b), Iterator::sum);
    assert_eq!(sum, 499_500);
    assert!(!hive::report().to_string().contains("forked") && hive::stats()[1].regions > 0);
    hive::resize(2).unwrap();
    hive::wait_until_parked();
    assert_eq!(hive::bees(), 2);
}

#[test]
fn a_child_has_a_global_hive_of_its_own() {
    in_own_process_with("a_child_has_a_global_hive_of_its_own", &[GLOBAL_BEES], || {
        // It may be the first one, and that of a grandchild.
        fork(assert_free_functions_work).join();
        fork(|| fork(assert_free_functions_work).join()).join();
        assert_free_functions_work();
        let (parents, grandparents) = (Hive::new(2).unwrap(), hive::global());
        // One child after another, as a pool of processes starts them, and each with a child of its own.
        for _ in 0..3 {
            fork(|| {
                assert_free_functions_work();
                let own = hive::global();
                fork(|| {
                    assert_free_functions_work();
                    [&parents, grandparents, own].into_iter().for_each(assert_refuses_calls);
                })
                .join();
                assert_hive_works(own, 2);
                assert_refuses_calls(grandparents);
            })
            .join();
            assert_hive_works(grandparents, 2);
            assert!(std::ptr::eq(grandparents, hive::global()));
        }
    });
}

/// In regions and tasks of the parent's global hive, on whichever thread. The child uses its own and ends there.
#[test]
fn a_child_has_a_global_hive_of_its_own_inside_of_its_parent_s() {
    in_own_process_with("a_child_has_a_global_hive_of_its_own_inside_of_its_parent_s", &[GLOBAL_BEES], || {
        let in_child = || fork(|| assert_eq!(hive::spmd_all_map(|bee| bee.bees()), [3; 3])).join();
        for id in 0..3 {
            hive::spmd(3, |bee| {
                if bee.id() == id {
                    in_child();
                }
                bee.barrier();
            });
        }
        hive::install(in_child);
        hive::scope(|scope| scope.spawn(|_| in_child()));
        hive::join(in_child, || ());
        let (sender, receiver) = mpsc::channel();
        hive::spawn_on(1, move || {
            in_child();
            sender.send(()).unwrap();
        });
        receiver.recv().unwrap();
    });
}

#[test]
fn children_of_children() {
    in_own_process("children_of_children", || {
        let parents = Hive::new(2).unwrap();
        fork(|| {
            let childs = Hive::new(2).unwrap();
            fork(|| {
                assert_refuses_calls(&parents);
                assert_refuses_calls(&childs);
                assert_new_hives_work();
            })
            .join();
            assert_hive_works(&childs, 2);
            assert_refuses_calls(&parents);
        })
        .join();
        assert_hive_works(&parents, 2);
    });
}

/// The workers' threads are just starting.
#[test]
fn stress_right_after_a_hive_was_built() {
    in_own_process("stress_right_after_a_hive_was_built", || {
        for round in 0..200 {
            let hive = Hive::new(2 + round % 3).unwrap();
            fork(|| {
                assert!(hive.try_spmd(2, |_| ()).is_err());
                let own = Hive::new(2).unwrap();
                own.spmd(2, |bee| bee.barrier());
            })
            .join();
            assert_hive_works(&hive, 2);
        }
    });
}

/// Locks that other threads hold at the moment of the fork are never released in the child. These threads start and end
/// no threads, because std itself has a lock there on which a child may hang.
#[test]
fn stress_while_other_threads_build_and_use_and_drop_hives() {
    in_own_process("stress_while_other_threads_build_and_use_and_drop_hives", || {
        let cpus = proc_threads::cpus(sys::tid());
        let (shared, started, over) = (Hive::new(3).unwrap(), Gate::new(), AtomicBool::new(false));
        assert_hive_works(&shared, 4);
        thread::scope(|scope| {
            // The machine is read again for each mask.
            for masks in [[&cpus[..], &cpus[..1]], [&cpus[..1], &cpus[..]]] {
                let (shared, started, over) = (&shared, &started, &over);
                scope.spawn(move || {
                    started.arrive();
                    while !over.load(Ordering::Relaxed) {
                        for mask in masks {
                            sys::bind(mask);
                            assert_hive_works(&Hive::new(1).unwrap(), 1);
                            shared.resize(2).unwrap();
                            assert_hive_works(shared, 4);
                            assert!(!shared.report().to_string().is_empty());
                        }
                    }
                });
            }
            started.wait_for(2);
            for _ in 0..300 {
                fork(|| {
                    assert_refuses_calls(&shared);
                    let own = Hive::new(2).unwrap();
                    own.spmd(2, |bee| bee.barrier());
                })
                .join();
            }
            over.store(true, Ordering::Relaxed);
        });
    });
}

#[test]
fn the_builder_s_bond_goes_with_the_parent_s_thread_only() {
    in_own_process("the_builder_s_bond_goes_with_the_parent_s_thread_only", || {
        let before = proc_threads::cpus(sys::tid());
        // Fewer than the CPUs where there is a quota.
        let by_default = Hive::builder().build().unwrap().bees();
        let hive = Hive::builder().bees(2).pin_queen(true).build().unwrap();
        let bound = proc_threads::cpus(sys::tid());
        fork(|| {
            // The child's only thread is bound as its parent was, and a hive of its own sees the CPUs of the process.
            assert_eq!(proc_threads::cpus(sys::tid()), bound);
            let own = Hive::builder().build().unwrap();
            assert_eq!(own.bees(), by_default);
        })
        .join();
        drop(hive);
        assert_eq!(proc_threads::cpus(sys::tid()), before);
    });
}
