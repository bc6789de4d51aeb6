//! Which CPUs bees are bound to. Each test runs in a process of its own, whose mask it may change.

#![cfg(target_os = "linux")]

mod common;

use std::collections::HashSet;
use std::ffi::CString;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use common::proc_threads::own_cpus;
use common::process::{build_bound, has_all_cpus, in_own_process, in_own_process_with};
use common::{Gate, assert_contains_all, assert_hive_works, proc_threads, seccomp, sorted, sys, wait_until};
use hive::{Builder, Hive, Pin};

/// Runs `part` in a process of its own, with the numbers of its CPUs, if there are several; with one there is nothing
/// to test.
fn with_cpus(test: &str, part: impl FnOnce(&[usize])) {
    in_own_process(test, || {
        // Fewer than the CPUs where there is a quota.
        if thread::available_parallelism().unwrap().get() < 2 {
            return println!("skipped: there is only one CPU");
        }
        part(&own_cpus());
    });
}

/// The masks of the threads of `n` bees, which must be a team of `n`.
fn masks(hive: &Hive, n: usize) -> Vec<Vec<usize>> {
    let gate = Gate::new();
    hive.spmd_map(n, |_| {
        gate.arrive_and_wait(n);
        own_cpus()
    })
}

fn build_checked(builder: Builder) -> Hive {
    builder.build().unwrap()
}

#[test]
fn bees_are_bound_as_places_says_and_the_queen_is_not() {
    with_cpus("bees_are_bound_as_places_says_and_the_queen_is_not", |cpus| {
        for pin in [Pin::Core, Pin::Cluster, Pin::Node, Pin::Package, Pin::Cpus(vec![cpus[1]])] {
            for n in [2, 5] {
                let hive = build_checked(Hive::builder().bees(n).pin(pin.clone()));
                let (masks, places) = (masks(&hive, n), hive.places());
                assert_eq!(places.len(), n);
                for id in 1..n {
                    let place = places[id].as_ref().unwrap_or_else(|| panic!("{pin}: bee {id} has no place"));
                    assert_eq!(masks[id], sorted(place.cpus()), "{pin}: bee {id} of {n}");
                    let on_it = hive.spmd_map(n, |bee| bee.place());
                    assert_eq!(on_it[id].as_ref(), Some(place));
                    assert_eq!(on_it[0], None);
                }
                assert_eq!(masks[0], cpus, "the queen's");
                assert_eq!(own_cpus(), cpus);
            }
        }
    });
}

#[test]
fn by_default_each_bee_has_a_core_where_there_are_enough_and_none_where_not() {
    with_cpus("by_default_each_bee_has_a_core_where_there_are_enough_and_none_where_not", |cpus| {
        let many = cpus.len() + 1;
        // The queen is bound, so that the kernel cannot put her on a worker's CPU, which the worker would leave then.
        let built = build_bound(|| [build_checked(Hive::builder().bees(cpus.len()).pin_queen(true))]);
        let Some([hive]) = built else { return };
        let bound = masks(&hive, cpus.len());
        assert!(bound[1..].iter().all(|mask| mask.len() == 1), "{bound:?}");
        let distinct: HashSet<_> = bound[1..].iter().collect();
        assert_eq!(distinct.len(), cpus.len() - 1, "{bound:?}");
        // The hive grows: the bees that it has stay where they are, and the new ones are not bound.
        let grown = masks(&hive, many);
        assert_eq!(grown[..cpus.len()], bound);
        assert_eq!(grown[many - 1], cpus);
        assert!(hive.places()[many - 1].is_none());
        drop(hive);
        let large = build_checked(Hive::builder().bees(many));
        assert!(masks(&large, many).iter().all(|mask| mask == cpus));
        assert!(large.places().iter().all(Option::is_none));
    });
}

#[test]
fn with_pin_none_nobody_is_bound() {
    with_cpus("with_pin_none_nobody_is_bound", |cpus| {
        let hive = build_checked(Hive::builder().bees(2).pin(Pin::None).pin_queen(true));
        assert_eq!(masks(&hive, 4), vec![cpus; 4]);
        assert!(hive.places().iter().all(Option::is_none));
        assert!(hive.spmd_map(2, |bee| bee.place()).iter().all(Option::is_none));
    });
}

#[test]
fn a_list_is_followed_in_its_order_and_begun_again() {
    with_cpus("a_list_is_followed_in_its_order_and_begun_again", |cpus| {
        let (a, b) = (cpus[0], cpus[1]);
        let hive = build_checked(Hive::builder().bees(3).pin(Pin::Cpus(vec![b, a, b])).pin_queen(true));
        assert_eq!(masks(&hive, 5), [[b], [a], [b], [b], [a]]);
    });
}

#[test]
fn a_list_with_a_cpu_that_is_not_allowed_is_an_error_that_names_it() {
    with_cpus("a_list_with_a_cpu_that_is_not_allowed_is_an_error_that_names_it", |cpus| {
        let refused =
            |list: &[usize]| Hive::builder().bees(2).pin(Pin::Cpus(list.to_vec())).build().unwrap_err().to_string();
        assert_contains_all(&refused(&[cpus[0], 4000]), &["4000"]);
        assert_contains_all(&refused(&[]), &["empty"]);
        sys::bind(&[cpus[1]]);
        assert_contains_all(
            &refused(&[cpus[1], cpus[0]]),
            &[&format!("CPUs {}", cpus[0]), &format!("may use CPUs {}", cpus[1])],
        );
        assert_eq!(own_cpus(), [cpus[1]], "nothing was bound");
        // The failed build has left nothing behind.
        assert_hive_works(&Hive::new(2).unwrap(), 2);
    });
}

#[test]
fn the_queen_is_bound_on_request_and_gets_her_mask_back() {
    with_cpus("the_queen_is_bound_on_request_and_gets_her_mask_back", |cpus| {
        for pin in [Pin::Core, Pin::Cpus(vec![cpus[1], cpus[0]])] {
            let hive = build_checked(Hive::builder().bees(2).pin(pin).pin_queen(true));
            let places = hive.places();
            let place = places[0].as_ref().expect("a place");
            assert_eq!(own_cpus(), place.cpus());
            assert_eq!(hive.spmd_map(2, |bee| bee.place()), places);
            assert_eq!(masks(&hive, 2)[1], places[1].as_ref().expect("a place").cpus());
            // A worker that is hired by a bound thread is not bound to that thread's CPU. A thread that the bee spawns
            // within `unpinned` is not bound either.
            let unpinned = hive.spmd_map(2, |bee| bee.unpinned(|| thread::spawn(own_cpus)).join().unwrap());
            assert_eq!(unpinned, [cpus, cpus]);
            assert_eq!(own_cpus(), place.cpus());
            drop(hive);
            assert_eq!(own_cpus(), cpus);
        }
        // A region that another thread starts leaves this thread's mask alone.
        let hive = build_checked(Hive::builder().bees(2).pin_queen(true));
        let all = cpus.to_vec();
        thread::scope(|scope| {
            scope.spawn(|| {
                sys::bind(&all);
                assert_eq!(masks(&hive, 2)[0], all);
                assert_eq!(own_cpus(), all);
            });
        });
    });
}

/// A queen that is not bound may be on the CPU of a worker that she wakes. The kernel kills the process if she changes
/// her mask there.
#[test]
fn a_queen_that_is_not_bound_keeps_her_mask_while_she_wakes_workers() {
    with_cpus("a_queen_that_is_not_bound_keeps_her_mask_while_she_wakes_workers", |cpus| {
        let hive = build_checked(Hive::builder().bees(2).pin(Pin::Core).spin(Duration::ZERO));
        let worker = hive.spmd_map(2, |_| sys::tid())[1];
        let (queen, worker_cpus) = (sys::tid(), proc_threads::cpus(worker));
        // Another thread puts the queen on the worker's CPU, where the kernel leaves her when she may use all again.
        let ((order, orders), (done, is_done)) = (channel(), channel());
        thread::spawn(move || {
            for () in orders {
                sys::bind_thread(queen, &worker_cpus);
                sys::bind_thread(queen, &own_cpus());
                done.send(()).expect("the queen waits for it");
            }
        });
        assert!(seccomp::die_of_syscalls(&[libc::SYS_sched_setaffinity]));
        for _ in 0..50 {
            proc_threads::wait_until_asleep(&[worker]);
            order.send(()).expect("the thread goes on until the channel is closed");
            is_done.recv().expect("it answers each order");
            hive.spmd(2, |bee| bee.barrier());
            assert_eq!(own_cpus(), cpus);
        }
    });
}

#[test]
fn an_inherited_mask_is_all_that_is_used() {
    with_cpus("an_inherited_mask_is_all_that_is_used", |cpus| {
        for &cpu in cpus {
            sys::bind(&[cpu]);
            let hive = build_checked(Hive::builder());
            assert_eq!(hive.bees(), 1);
            let report = hive.report().to_string();
            let allowed = report.lines().find_map(|line| line.strip_prefix("allowed CPUs:")).expect("the mask");
            assert_eq!(allowed.trim(), cpu.to_string());
            // There are more bees than CPUs, all on this one.
            assert_eq!(masks(&hive, 3), [[cpu]; 3]);
            for pin in [Pin::None, Pin::Core, Pin::Node] {
                let asked = Hive::builder().bees(3).pin(pin.clone()).build();
                // Cores that are another hive's cannot be pinned to.
                assert!(asked.is_ok() || pin == Pin::Core, "{pin}");
                asked.iter().for_each(|hive| assert_eq!(masks(hive, 3), [[cpu]; 3]));
            }
        }
    });
}

/// As in a container whose list of the CPUs that are online is its own, with other numbers than the mask.
#[test]
fn the_mask_is_believed_where_other_cpus_are_said_to_be_online() {
    with_cpus("the_mask_is_believed_where_other_cpus_are_said_to_be_online", |cpus| {
        sys::fork(|| {
            let directory = tempfile::tempdir().unwrap();
            let online = directory.path().join("online");
            std::fs::write(&online, format!("{}\n", cpus[0])).unwrap();
            let online = CString::new(online.into_os_string().into_encoded_bytes()).unwrap();
            if let Err(error) = sys::mount_over(c"/sys/devices/system/cpu/online", Some(&online)) {
                println!("skipped: no namespaces: {error}");
                return;
            }
            let hive = build_checked(Hive::builder().bees(cpus.len()).pin(Pin::Core));
            assert_eq!(hive.bees(), cpus.len());
            let places = hive.places();
            assert_eq!(
                sorted(&places.iter().flatten().flat_map(|place| place.cpus().to_vec()).collect::<Vec<_>>()),
                cpus
            );
            assert_contains_all(&hive.report().warnings().join("\n"), &["the mask is believed"]);
            assert_hive_works(&hive, cpus.len());
        })
        .join();
    });
}

#[test]
fn what_is_spawned_by_a_bee_inherits_its_core_unless_unpinned() {
    with_cpus("what_is_spawned_by_a_bee_inherits_its_core_unless_unpinned", |cpus| {
        let hive = build_checked(Hive::builder().bees(2).pin(Pin::Cpus(vec![cpus[0], cpus[1]])));
        hive.spmd(2, |bee| {
            let before = own_cpus();
            let spawned = thread::spawn(own_cpus).join().unwrap();
            assert_eq!(spawned, before, "as of any thread");
            let (inside, unpinned) = bee.unpinned(|| (own_cpus(), thread::spawn(own_cpus).join().unwrap()));
            assert_eq!((&inside[..], &unpinned[..]), (cpus, cpus));
            assert_eq!(own_cpus(), before);
            // Also when it unwinds.
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                bee.unpinned(|| std::panic::resume_unwind(Box::new(())))
            }));
            assert!(panicked.is_err());
            assert_eq!(own_cpus(), before);
            assert_eq!(bee.unpinned(|| bee.unpinned(own_cpus)), cpus);
            assert_eq!(own_cpus(), before);
        });
    });
}

/// The CPUs that the bees of a hive are bound to; empty if they are not bound. They must be as `places()` says, unless
/// a worker is on another CPU for a while, as it may be where hive has chosen its own.
fn check_bound_cpus(hive: &Hive, n: usize, all: &[usize]) -> HashSet<usize> {
    let found = hive.spmd_map(n, |bee| (own_cpus(), bee.place()));
    for (bee, place) in hive.places().iter().enumerate().skip(1) {
        let expected = place.as_ref().map_or(all, |place| place.cpus());
        let (mask, now) = &found[bee];
        assert!(mask == expected || now.is_none() && place.is_some(), "places() of bee {bee}: {place:?}; {mask:?}");
    }
    hive.places().iter().skip(1).flatten().flat_map(|place| place.cpus().to_vec()).collect()
}

#[test]
fn two_hives_are_not_bound_to_the_same_cores_by_default() {
    with_cpus("two_hives_are_not_bound_to_the_same_cores_by_default", |cpus| {
        let both = |first: usize, second: usize, grown: usize| {
            let (a, b) = (Hive::new(first).unwrap(), Hive::new(second).unwrap());
            assert_hive_works(&a, grown);
            assert_hive_works(&b, grown);
            let (in_a, in_b) = (check_bound_cpus(&a, grown, cpus), check_bound_cpus(&b, grown, cpus));
            assert!(in_a.is_disjoint(&in_b), "hives of {first} and {second}, grown to {grown}: {in_a:?}, {in_b:?}");
            in_a.len()
        };
        // Hives of another program may have CPUs at any time.
        let has_first_choice = || {
            (0..100).any(|_| {
                thread::sleep(Duration::from_millis(20));
                both(2, 2, 2) == 1
            })
        };
        if !has_first_choice() {
            return println!("skipped: hives of another program have CPUs of this machine");
        }
        both(2, 1, 2);
        both(1, 2, 2);
        both(1, 1, 2);
        both(1, 1, cpus.len() + 1);
        both(cpus.len(), 2, cpus.len());
        // When these hives are gone, the next one can choose again.
        assert!(has_first_choice() || !has_all_cpus());
    });
}

#[test]
fn a_hive_that_is_built_on_a_bee_sees_the_process_s_cpus() {
    with_cpus("a_hive_that_is_built_on_a_bee_sees_the_process_s_cpus", |cpus| {
        let outer = build_checked(Hive::builder().bees(2).pin(Pin::Cpus(vec![cpus[0], cpus[1]])).pin_queen(true));
        outer.spmd(2, |bee| {
            for id in 0..2 {
                if bee.id() == id {
                    let core = own_cpus();
                    assert_eq!(core.len(), 1);
                    let inner = build_checked(Hive::builder().pin(Pin::None));
                    assert!(inner.bees() > 1, "{}", inner.report());
                    assert_eq!(masks(&inner, 3)[1..], [cpus, cpus]);
                    let listed = build_checked(Hive::builder().bees(3).pin(Pin::Cpus(cpus.to_vec())));
                    assert_eq!(masks(&listed, 3)[1], [cpus[1]]);
                    // A hive that grows here was built elsewhere.
                    assert_eq!(own_cpus(), core);
                }
                bee.barrier();
            }
        });
    });
}

/// The thread that makes a hive grow may be bound to one CPU by its program.
#[test]
fn bees_that_are_not_bound_may_go_where_the_builder_could() {
    with_cpus("bees_that_are_not_bound_may_go_where_the_builder_could", |cpus| {
        let hive = build_checked(Hive::builder().bees(1).pin(Pin::None));
        let grown = thread::scope(|scope| {
            let grower = scope.spawn(|| {
                sys::bind(&cpus[..1]);
                masks(&hive, 3)
            });
            grower.join().unwrap()
        });
        assert_eq!(grown, [&cpus[..1], cpus, cpus]);
    });
}

#[test]
fn hive_pin_is_heard() {
    let cpus = own_cpus();
    let (first, last) = (cpus[0], cpus[cpus.len() - 1]);
    in_own_process_with(
        "hive_pin_is_heard",
        &[("HIVE_PIN", &format!("{last},{first}")), ("HIVE_NUM_BEES", "3")],
        || {
            assert_eq!(hive::global().bees(), 3);
            assert_eq!(masks(hive::global(), 3)[1..], [[first], [last]]);
            // The builder's setting has priority over the environment.
            assert_eq!(masks(&build_checked(Hive::builder().bees(2).pin(Pin::None)), 2)[1], cpus);
        },
    );
}

/// Gives all threads of this process the same mask, as `taskset -a` does.
fn bind_all_threads(cpus: &[usize]) {
    proc_threads::own_tids().into_iter().for_each(|tid| sys::bind_thread(tid, cpus));
}

/// Whether the worker of this hive of two, which polls without end, still does so some time after a region. Its state
/// is asked for, and not how often it has slept: on the queen's CPU it may fall asleep before she sees the region end.
fn polls_on(hive: &Hive, worker: i32) -> bool {
    hive.spmd(2, |_| ());
    thread::sleep(Duration::from_millis(50));
    !proc_threads::is_asleep(worker)
}

#[test]
fn workers_notice_that_the_process_loses_and_gets_cpus() {
    with_cpus("workers_notice_that_the_process_loses_and_gets_cpus", |cpus| {
        for pin in [Pin::None, Pin::Core] {
            let hive = build_checked(Hive::builder().bees(2).pin(pin.clone()).spin(Duration::MAX));
            let worker = hive.spmd_map(2, |_| sys::tid())[1];
            let worker_cpus = proc_threads::cpus(worker);
            assert!(polls_on(&hive, worker), "{pin}");
            // With one CPU a worker must not poll: it would keep the queen from her CPU. The hive has been told
            // nothing, and a worker that polls for ever looks at its mask now and then.
            let one_cpu = [*cpus.iter().find(|cpu| [**cpu] != worker_cpus[..]).expect("there are two")];
            bind_all_threads(&one_cpu);
            wait_until(|| proc_threads::is_asleep(worker));
            // More than one region, because a slow machine may not run the worker for some time after it.
            wait_until(|| !polls_on(&hive, worker));
            // The worker gets its mask back, and finds that out before it sleeps, but looks only from time to time.
            bind_all_threads(cpus);
            sys::bind_thread(worker, &worker_cpus);
            wait_until(|| polls_on(&hive, worker));
        }
    });
}
