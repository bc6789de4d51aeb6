//! Panics in tasks: which thread gets them, that everything else still runs, and that the hive works as before
//! afterwards.

#![cfg(target_os = "linux")]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use common::task_helpers::{
    DropCounter, Payload, assert_hive_and_tasks_work, builders, fib_by_joins, join_on_two_bees, payload_of,
};
use common::{Gate, panic_payload, run_exclusively, silence_panics};
use hive::Hive;

fn add(count: &AtomicUsize, number: usize) {
    count.fetch_add(number, Ordering::Relaxed);
}

/// Arrives at a gate when it is dropped, during unwinding or not.
struct ArrivesOnDrop<'g>(&'g Gate);

impl Drop for ArrivesOnDrop<'_> {
    fn drop(&mut self) {
        self.0.arrive();
    }
}

/// Runs `work` while another thread has the queen's position of `hive`.
fn while_queen_lock_is_held(hive: &Hive, work: impl FnOnce()) {
    let (taken, free) = (Gate::new(), Gate::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            hive.install(|| {
                taken.arrive();
                free.wait_for(1);
            });
        });
        taken.wait_for(1);
        let _free = ArrivesOnDrop(&free);
        work();
    });
}

#[test]
fn the_other_half_of_a_join_completes_when_one_panics() {
    let _alone = run_exclusively();
    {
        let hive = Hive::new(2).unwrap();
        hive.install(|| {
            // Deep enough for joins that buffer their second half and for those that do not.
            nest(&hive, 20);
        });
    }

    fn nest(hive: &Hive, depth: u32) {
        let done = AtomicUsize::new(0);
        let count = || add(&done, 1);
        let left = catch_unwind(AssertUnwindSafe(|| hive.join(|| panic!("left"), count)));
        let right = catch_unwind(AssertUnwindSafe(|| hive.join(count, || panic!("right"))));
        let both = catch_unwind(AssertUnwindSafe(|| hive.join(|| panic!("left"), || panic!("right"))));
        let message = |panic: std::thread::Result<((), ())>| *panic.unwrap_err().downcast::<&str>().unwrap();
        assert_eq!([left, right, both].map(message), ["left", "right", "left"]);
        assert_eq!(done.into_inner(), 2);
        if depth > 0 {
            hive.join(|| nest(hive, depth - 1), || ());
        }
    }
}

/// One half of a join ends first. The other then returns a value or panics, on the same bee or on another.
#[test]
fn a_join_goes_on_with_the_panic_of_the_first_half_before_the_second_s() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    for builder in builders() {
        let hive = builder.bees(2).build().unwrap();
        for (a_panics, b_panics) in [(true, false), (false, true), (true, true)] {
            for apart in [false, true] {
                for a_ends_first in [false, true] {
                    let (dropped, ended) = (AtomicUsize::new(0), [Gate::new(), Gate::new()]);
                    let half = |number: usize, panics: bool, waits: bool, name| {
                        let (dropped, ended) = (&dropped, &ended);
                        move || {
                            let _captured = DropCounter(dropped);
                            // On one bee they end in order.
                            if apart && waits {
                                ended[1 - number].wait_for(1);
                            }
                            let _ended = ArrivesOnDrop(&ended[number]);
                            if panics {
                                panic_any(Payload(name));
                            }
                            DropCounter(dropped)
                        }
                    };
                    let a = half(0, a_panics, !a_ends_first, "a");
                    let b = half(1, b_panics, a_ends_first, "b");
                    let panicked = payload_of(|| {
                        drop(hive.install(|| if apart { join_on_two_bees(&hive, a, b) } else { hive.join(a, b) }));
                    });
                    assert_eq!(panicked, if a_panics { "a" } else { "b" });
                    assert!(ended.iter().all(|gate| gate.arrived() == 1), "both run, once");
                    let results = usize::from(!a_panics) + usize::from(!b_panics);
                    assert_eq!(dropped.into_inner(), 2 + results, "what both captured, and what one returned");
                }
            }
        }
        assert_hive_and_tasks_work(&hive, 2);
    }
}

#[test]
fn a_panic_in_a_task_of_a_scope_reaches_the_caller_when_all_are_done() {
    let _alone = run_exclusively();
    {
        let hive = Hive::new(2).unwrap();
        let done = AtomicUsize::new(0);
        let panic = catch_unwind(AssertUnwindSafe(|| {
            hive.scope(|scope| {
                for number in 0..20 {
                    let done = &done;
                    scope.spawn(move |_| {
                        assert!(number != 7, "number seven");
                        done.fetch_add(1, Ordering::Relaxed);
                    });
                }
            });
        }));
        assert_eq!(*panic.unwrap_err().downcast::<&str>().unwrap(), "number seven");
        assert_eq!(done.into_inner(), 19);
    }
}

#[test]
fn a_panic_in_a_scope_s_body_waits_for_the_tasks_and_goes_before_theirs() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    for builder in builders() {
        let hive = builder.bees(3).build().unwrap();
        for task_panics in [false, true] {
            let (begun, free, ended) = (Gate::new(), Gate::new(), Gate::new());
            let panicked = payload_of(|| {
                hive.scope(|scope| {
                    scope.spawn(|_| {
                        let _ended = ArrivesOnDrop(&ended);
                        begun.arrive();
                        free.wait_for(1);
                        if task_panics {
                            panic_any(Payload("task"));
                        }
                    });
                    begun.wait_for(1);
                    let _free = ArrivesOnDrop(&free);
                    panic_any(Payload("body"));
                });
            });
            assert_eq!((panicked, ended.arrived()), ("body", 1));
        }
        assert_hive_and_tasks_work(&hive, 3);
    }
}

#[test]
fn of_several_tasks_that_panic_the_first_counts_and_all_end() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    const NAMES: [&str; 4] = ["one", "two", "three", "four"];
    // The queen runs all of them one after the other, in an order of her own.
    let hive = Hive::new(1).unwrap();
    let order = Mutex::new(Vec::new());
    let panicked = payload_of(|| {
        hive.scope(|scope| {
            for name in NAMES {
                let order = &order;
                scope.spawn(move |_| {
                    order.lock().unwrap().push(name);
                    panic_any(Payload(name));
                });
            }
        });
    });
    let order = order.into_inner().unwrap();
    assert_eq!((panicked, order.len()), (order[0], NAMES.len()));
    // Any bee runs them, in any order.
    for builder in builders() {
        let hive = builder.bees(4).build().unwrap();
        let ended = Gate::new();
        let panicked = payload_of(|| {
            hive.scope(|scope| {
                for name in NAMES {
                    let ended = &ended;
                    scope.spawn(move |_| {
                        let _ended = ArrivesOnDrop(ended);
                        panic_any(Payload(name));
                    });
                }
            });
        });
        assert!(NAMES.contains(&panicked));
        assert_eq!(ended.arrived(), NAMES.len());
        assert_hive_and_tasks_work(&hive, 4);
    }
}

#[test]
fn a_panic_in_a_nested_task_ends_the_scope_that_it_was_spawned_in() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    for builder in builders() {
        let hive = builder.bees(3).build().unwrap();
        let ended = AtomicUsize::new(0);
        let panicked = payload_of(|| {
            hive.scope(|scope| {
                scope.spawn(|scope| {
                    // A task of the same scope.
                    scope.spawn(|_| panic_any(Payload("outer")));
                    // A task of a scope of its own, which ends before this task does.
                    let inner = payload_of(|| hive.scope(|scope| scope.spawn(|_| panic_any(Payload("inner")))));
                    assert_eq!(inner, "inner");
                    add(&ended, 1);
                });
                scope.spawn(|_| add(&ended, 10));
            });
        });
        assert_eq!((panicked, ended.into_inner()), ("outer", 11));
        assert_hive_and_tasks_work(&hive, 3);
    }
}

#[test]
fn a_panic_passes_from_any_level_of_scopes_joins_and_regions_to_the_caller() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    /// Panics if `level` is the level that is asked for.
    fn here(level: usize, asked: usize, name: &'static str) {
        if level == asked {
            panic_any(Payload(name));
        }
    }
    const LEVELS: [&str; 7] = ["body", "task", "region", "inner body", "inner task", "a", "b"];
    for builder in builders() {
        let hive = builder.bees(2).build().unwrap();
        for (asked, name) in LEVELS.into_iter().enumerate() {
            let check = |level| here(level, asked, name);
            let inside = || {
                hive.scope(|scope| {
                    scope.spawn(|_| {
                        hive.join(|| check(5), || check(6));
                        check(4);
                    });
                    check(3);
                });
                check(2);
            };
            let scope_first = || {
                hive.scope(|scope| {
                    scope.spawn(|_| {
                        hive.spmd(2, |_| inside());
                        check(1);
                    });
                    check(0);
                });
            };
            assert_eq!(payload_of(scope_first), name);
            // With a team of two around it, whose other bee waits at a barrier.
            let region_first = || {
                hive.spmd(2, |bee| {
                    if bee.id() == 1 {
                        scope_first();
                    }
                    bee.barrier();
                });
            };
            assert_eq!(payload_of(region_first), name);
            assert_eq!(payload_of(|| hive.install(scope_first)), name);
            assert_hive_and_tasks_work(&hive, 2);
        }
    }
}

#[test]
fn a_panic_reaches_a_caller_who_waits_because_the_queen_s_place_is_taken() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    for builder in builders() {
        let hive = builder.bees(3).build().unwrap();
        while_queen_lock_is_held(&hive, || {
            assert_eq!(payload_of(|| hive.install(|| panic_any(Payload("work")))), "work");
            assert_eq!(payload_of(|| _ = hive.join(|| panic_any(Payload("a")), || ())), "a");
            assert_eq!(payload_of(|| _ = hive.join(|| (), || panic_any(Payload("b")))), "b");
            assert_eq!(payload_of(|| hive.scope(|scope| scope.spawn(|_| panic_any(Payload("task"))))), "task");
            assert_eq!(hive.install(|| fib_by_joins(&hive, 10)), 55);
        });
        assert_hive_and_tasks_work(&hive, 3);
    }
}

#[test]
fn broadcast_ends_with_a_panic_when_it_has_run_on_all_bees() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    for builder in builders() {
        let hive = builder.bees(4).build().unwrap();
        for who in [&[1][..], &[2], &[3], &[1, 3], &[1, 2, 3]] {
            let check = || {
                let ran = AtomicUsize::new(0);
                let panicked = payload_of(|| {
                    hive.broadcast(|bee| {
                        add(&ran, 1);
                        if who.contains(&bee) {
                            panic_any(Payload("bee"));
                        }
                    });
                });
                assert_eq!((panicked, ran.into_inner()), ("bee", 3), "of {who:?}");
            };
            check();
            while_queen_lock_is_held(&hive, check);
        }
        assert_hive_and_tasks_work(&hive, 4);
    }
}

/// The bees for which the broadcast would wait may be waiting for its caller.
#[test]
fn broadcast_from_a_bee_or_a_region_of_any_hive_is_refused() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    let (hive, other) = (Hive::new(3).unwrap(), Hive::new(2).unwrap());
    let refused = |ran: &AtomicUsize| {
        let refusal = panic_payload(|| {
            hive.broadcast(|_| add(ran, 1));
        });
        let refusal = refusal.downcast_ref::<&str>().copied().expect("a message");
        assert!(refusal.contains("broadcast") && refusal.contains("spawn_on"), "{refusal}");
    };
    let ran = AtomicUsize::new(0);
    for of in [&hive, &other] {
        of.spmd(2, |_| refused(&ran));
        of.broadcast(|_| refused(&ran));
        // A thread is also a bee when it has the queen's position of another hive.
        of.broadcast(|_| hive.install(|| refused(&ran)));
    }
    assert_eq!(ran.load(Ordering::Relaxed), 0);
    hive.spmd(1, |_| drop(hive.broadcast(|_| add(&ran, 1))));
    hive.install(|| hive.broadcast(|_| add(&ran, 1)));
    other.install(|| hive.broadcast(|_| add(&ran, 1)));
    assert_eq!(ran.into_inner(), 6);
    assert_hive_and_tasks_work(&hive, 3);
    assert_hive_and_tasks_work(&other, 2);
}
