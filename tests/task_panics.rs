//! Panics in tasks: who hears of them, that everything else still runs, and that the hive is as good as before.

#![cfg(target_os = "linux")]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use common::process::{aborts_in_own_process, in_own_process};
use common::tasks::{assert_all_works, builders, fib, join_apart};
use common::{Gate, alone, assert_says, hush, panic_of};
use hive::Hive;

fn add(count: &AtomicUsize, number: usize) {
    count.fetch_add(number, Ordering::Relaxed);
}

/// What a task panics with.
#[derive(Debug, PartialEq)]
struct Payload(&'static str);

/// The payload that reached the caller.
fn whose(body: impl FnOnce()) -> &'static str {
    panic_of(body).downcast::<Payload>().expect("a task's own payload").0
}

/// Comes to a gate when it is dropped, unwinding or not.
struct Comes<'g>(&'g Gate);

impl Drop for Comes<'_> {
    fn drop(&mut self) {
        self.0.come();
    }
}

/// A value whose end is counted.
struct Counted<'c>(&'c AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        add(self.0, 1);
    }
}

/// Runs `work` while another thread has the queen's place of `hive`.
fn without_place(hive: &Hive, work: impl FnOnce()) {
    let (taken, free) = (Gate::new(), Gate::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            hive.install(|| {
                taken.come();
                free.wait_for(1);
            });
        });
        taken.wait_for(1);
        let _free = Comes(&free);
        work();
    });
}

#[test]
fn the_other_half_of_a_join_completes_when_one_panics() {
    let _alone = alone();
    {
        let hive = Hive::new(2).unwrap();
        hive.install(|| {
            // Deep enough for joins that keep their second half and for those that do not.
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

/// One half of a join ends first; the other then returns a value or panics, on the same member or on another.
#[test]
fn a_join_goes_on_with_the_panic_of_the_first_half_before_the_second_s() {
    let _alone = alone();
    hush("as expected");
    for builder in builders() {
        let hive = builder.bees(2).build().unwrap();
        for (a_panics, b_panics) in [(true, false), (false, true), (true, true)] {
            for apart in [false, true] {
                for a_ends_first in [false, true] {
                    let (dropped, ended) = (AtomicUsize::new(0), [Gate::new(), Gate::new()]);
                    let half = |number: usize, panics: bool, waits: bool, name| {
                        let (dropped, ended) = (&dropped, &ended);
                        move || {
                            let _captured = Counted(dropped);
                            // On one member they end in order.
                            if apart && waits {
                                ended[1 - number].wait_for(1);
                            }
                            let _ended = Comes(&ended[number]);
                            if panics {
                                panic_any(Payload(name));
                            }
                            Counted(dropped)
                        }
                    };
                    let a = half(0, a_panics, !a_ends_first, "a");
                    let b = half(1, b_panics, a_ends_first, "b");
                    let panicked = whose(|| {
                        drop(hive.install(|| if apart { join_apart(&hive, a, b) } else { hive.join(a, b) }));
                    });
                    assert_eq!(panicked, if a_panics { "a" } else { "b" });
                    assert!(ended.iter().all(|gate| gate.here() == 1), "both run, once");
                    let results = usize::from(!a_panics) + usize::from(!b_panics);
                    assert_eq!(dropped.into_inner(), 2 + results, "what both captured, and what one returned");
                }
            }
        }
        assert_all_works(&hive, 2);
    }
}

#[test]
fn a_panic_in_a_task_of_a_scope_reaches_the_caller_when_all_are_done() {
    let _alone = alone();
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
    let _alone = alone();
    hush("as expected");
    for builder in builders() {
        let hive = builder.bees(3).build().unwrap();
        for task_panics in [false, true] {
            let (begun, free, ended) = (Gate::new(), Gate::new(), Gate::new());
            let panicked = whose(|| {
                hive.scope(|scope| {
                    scope.spawn(|_| {
                        let _ended = Comes(&ended);
                        begun.come();
                        free.wait_for(1);
                        if task_panics {
                            panic_any(Payload("task"));
                        }
                    });
                    begun.wait_for(1);
                    let _free = Comes(&free);
                    panic_any(Payload("body"));
                });
            });
            assert_eq!((panicked, ended.here()), ("body", 1));
        }
        assert_all_works(&hive, 3);
    }
}

#[test]
fn of_several_tasks_that_panic_the_first_counts_and_all_end() {
    let _alone = alone();
    hush("as expected");
    const NAMES: [&str; 4] = ["one", "two", "three", "four"];
    // The queen alone runs them, one after the other, in an order of hers.
    let hive = Hive::new(1).unwrap();
    let order = Mutex::new(Vec::new());
    let panicked = whose(|| {
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
    // And anybody, in no order.
    for builder in builders() {
        let hive = builder.bees(4).build().unwrap();
        let ended = Gate::new();
        let panicked = whose(|| {
            hive.scope(|scope| {
                for name in NAMES {
                    let ended = &ended;
                    scope.spawn(move |_| {
                        let _ended = Comes(ended);
                        panic_any(Payload(name));
                    });
                }
            });
        });
        assert!(NAMES.contains(&panicked));
        assert_eq!(ended.here(), NAMES.len());
        assert_all_works(&hive, 4);
    }
}

#[test]
fn a_panic_in_a_nested_task_ends_the_scope_that_it_was_spawned_in() {
    let _alone = alone();
    hush("as expected");
    for builder in builders() {
        let hive = builder.bees(3).build().unwrap();
        let ended = AtomicUsize::new(0);
        let panicked = whose(|| {
            hive.scope(|scope| {
                scope.spawn(|scope| {
                    // Of the same scope.
                    scope.spawn(|_| panic_any(Payload("outer")));
                    // Of a scope of its own, which is over before this task is.
                    let inner = whose(|| hive.scope(|scope| scope.spawn(|_| panic_any(Payload("inner")))));
                    assert_eq!(inner, "inner");
                    add(&ended, 1);
                });
                scope.spawn(|_| add(&ended, 10));
            });
        });
        assert_eq!((panicked, ended.into_inner()), ("outer", 11));
        assert_all_works(&hive, 3);
    }
}

#[test]
fn a_panic_passes_from_any_level_of_scopes_joins_and_regions_to_the_caller() {
    let _alone = alone();
    hush("as expected");
    /// Panics on the level that is asked for.
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
            assert_eq!(whose(scope_first), name);
            // A team of two around it, whose others wait at a barrier.
            let region_first = || {
                hive.spmd(2, |bee| {
                    if bee.id() == 1 {
                        scope_first();
                    }
                    bee.barrier();
                });
            };
            assert_eq!(whose(region_first), name);
            assert_eq!(whose(|| hive.install(scope_first)), name);
            assert_all_works(&hive, 2);
        }
    }
}

#[test]
fn a_panic_reaches_a_caller_who_waits_because_the_queen_s_place_is_taken() {
    let _alone = alone();
    hush("as expected");
    for builder in builders() {
        let hive = builder.bees(3).build().unwrap();
        without_place(&hive, || {
            assert_eq!(whose(|| hive.install(|| panic_any(Payload("work")))), "work");
            assert_eq!(whose(|| _ = hive.join(|| panic_any(Payload("a")), || ())), "a");
            assert_eq!(whose(|| _ = hive.join(|| (), || panic_any(Payload("b")))), "b");
            assert_eq!(whose(|| hive.scope(|scope| scope.spawn(|_| panic_any(Payload("task"))))), "task");
            assert_eq!(hive.install(|| fib(&hive, 10)), 55);
        });
        assert_all_works(&hive, 3);
    }
}

#[test]
fn broadcast_ends_with_a_panic_when_it_has_run_on_all_bees() {
    let _alone = alone();
    hush("as expected");
    for builder in builders() {
        let hive = builder.bees(4).build().unwrap();
        for who in [&[1][..], &[2], &[3], &[1, 3], &[1, 2, 3]] {
            let check = || {
                let ran = AtomicUsize::new(0);
                let panicked = whose(|| {
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
            without_place(&hive, check);
        }
        assert_all_works(&hive, 4);
    }
}

/// There it goes from bee to bee, for want of a member that could wait.
#[test]
fn broadcast_to_a_busy_hive_from_a_region_of_another_ends_with_a_panic_when_it_has_run_on_all_bees() {
    let _alone = alone();
    hush("as expected");
    let (hive, other) = (Hive::new(4).unwrap(), Hive::new(2).unwrap());
    without_place(&hive, || {
        other.spmd(2, |bee| {
            if !bee.is_queen() {
                let ran = AtomicUsize::new(0);
                let panicked = whose(|| {
                    hive.broadcast(|bee| {
                        add(&ran, 1);
                        if bee == 1 {
                            panic_any(Payload("bee"));
                        }
                    });
                });
                assert_eq!((panicked, ran.into_inner()), ("bee", 3));
            }
        });
    });
    assert_all_works(&hive, 4);
    assert_all_works(&other, 2);
}

#[test]
fn handlers_hear_of_bees_and_of_panics_that_nobody_else_hears_of() {
    type List = Arc<Mutex<Vec<usize>>>;
    let _alone = alone();
    hush("nobody waits");
    let [starts, exits, panics] = [(); 3].map(|()| List::default());
    let note = |list: &List| {
        let list = list.clone();
        move |bee| {
            list.lock().unwrap().push(bee);
            assert_ne!(bee, 2, "nobody waits for handlers");
        }
    };
    let heard = panics.clone();
    let hive = Hive::builder()
        .bees(3)
        .start_handler(note(&starts))
        .exit_handler(note(&exits))
        .panic_handler(move |panic| heard.lock().unwrap().push(usize::from(panic.is::<String>())))
        .build()
        .unwrap();
    hive.spawn(|| panic!("nobody waits"));
    hive.spawn_on(1, || panic!("nobody waits"));
    assert_eq!(fib(&hive, 10), 55);
    drop(hive);
    let sorted = |list: &List| {
        let mut list = list.lock().unwrap().clone();
        list.sort_unstable();
        list
    };
    assert_eq!((sorted(&starts), sorted(&exits)), (vec![1, 2], vec![1, 2]));
    assert_eq!(sorted(&panics), [0, 0, 1, 1], "two tasks, two handlers");
}

#[test]
fn the_panic_handler_gets_each_payload_once_and_what_the_tasks_captured_is_dropped() {
    let _alone = alone();
    hush("as expected");
    for builder in builders() {
        let (sender, receiver) = mpsc::channel();
        let handler = {
            let sender = Mutex::new(sender);
            move |panic| sender.lock().unwrap().send(panic).unwrap()
        };
        let captured = Arc::new(());
        let hive = Arc::new(builder.bees(3).panic_handler(handler).build().unwrap());
        for number in 0..100_usize {
            let captured = Arc::clone(&captured);
            let task = move || {
                let _captured = captured;
                panic_any(number);
            };
            match number % 4 {
                0 => hive.spawn(task),
                1 => hive.spawn_on(1 + number % 2, task),
                2 => hive.install(|| hive.spawn(task)),
                _ => {
                    // By a bee, which catches nothing of it.
                    let (own, spawned) = (Arc::clone(&hive), Arc::new(Gate::new()));
                    let gate = Arc::clone(&spawned);
                    hive.spawn(move || {
                        own.spawn(task);
                        drop(own);
                        gate.come();
                    });
                    spawned.wait_for(1);
                }
            }
        }
        assert_all_works(&hive, 3);
        let hive = Arc::into_inner(hive).expect("the bees have dropped theirs");
        drop(hive);
        let mut numbers: Vec<_> = receiver.iter().map(|panic| *panic.downcast::<usize>().unwrap()).collect();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..100));
        assert_eq!(Arc::strong_count(&captured), 1);
    }
}

#[test]
fn without_a_panic_handler_a_panic_that_nobody_hears_of_aborts() {
    let output = aborts_in_own_process("without_a_panic_handler_a_panic_that_nobody_hears_of_aborts", || {
        let hive = Hive::new(2).unwrap();
        hive.spawn(|| panic!("nobody waits for this"));
        drop(hive);
    });
    assert_says(&output, &["nobody waits for this"]);
}

#[test]
fn without_a_panic_handler_a_panic_of_mail_aborts() {
    let output = aborts_in_own_process("without_a_panic_handler_a_panic_of_mail_aborts", || {
        let hive = Hive::new(2).unwrap();
        hive.spawn_on(1, || panic!("nobody waits for this"));
        drop(hive);
    });
    assert_says(&output, &["nobody waits for this"]);
}

#[test]
fn a_panic_handler_that_panics_aborts() {
    let output = aborts_in_own_process("a_panic_handler_that_panics_aborts", || {
        let hive = Hive::builder().bees(2).panic_handler(|_| panic!("nor does the handler")).build().unwrap();
        hive.spawn(|| panic!("nobody waits for this"));
        drop(hive);
    });
    assert_says(&output, &["nobody waits for this", "nor does the handler"]);
}

#[test]
fn without_a_panic_handler_a_start_handler_that_panics_aborts() {
    let output = aborts_in_own_process("without_a_panic_handler_a_start_handler_that_panics_aborts", || {
        let hive = Hive::builder().bees(2).start_handler(|bee| panic!("bee {bee} does not start")).build().unwrap();
        drop(hive);
    });
    assert_says(&output, &["bee 1 does not start"]);
}

#[test]
fn without_a_panic_handler_an_exit_handler_that_panics_aborts() {
    let output = aborts_in_own_process("without_a_panic_handler_an_exit_handler_that_panics_aborts", || {
        let hive = Hive::builder().bees(2).exit_handler(|bee| panic!("bee {bee} does not end")).build().unwrap();
        assert_all_works(&hive, 2);
        drop(hive);
    });
    assert_says(&output, &["bee 1 does not end"]);
}

/// A payload whose drop panics: aborts the process if that happens while unwinding.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        resume_unwind(Box::new(()));
    }
}

#[test]
fn a_payload_whose_drop_panics_is_got_rid_of_by_a_join() {
    in_own_process("a_payload_whose_drop_panics_is_got_rid_of_by_a_join", || {
        hush("as expected");
        fn nest(hive: &Hive, depth: usize) {
            assert_eq!(whose(|| _ = hive.join(|| panic_any(Payload("a")), || panic_any(Bomb))), "a");
            if depth > 0 {
                hive.join(|| nest(hive, depth - 1), || ());
            }
        }
        for builder in builders() {
            let hive = builder.bees(2).build().unwrap();
            hive.install(|| {
                let apart = || _ = join_apart(&hive, || panic_any(Payload("a")), || panic_any(Bomb));
                assert_eq!(whose(apart), "a");
                // Deep enough for joins that keep their second half and for those that do not.
                nest(&hive, 20);
            });
            assert_all_works(&hive, 2);
        }
    });
}

#[test]
fn a_payload_whose_drop_panics_is_got_rid_of_by_a_scope() {
    in_own_process("a_payload_whose_drop_panics_is_got_rid_of_by_a_scope", || {
        hush("as expected");
        for builder in builders() {
            for bees in [1, 4] {
                let hive = builder.clone().bees(bees).build().unwrap();
                let (order, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
                let first = hive.install(|| {
                    panic_of(|| {
                        hive.scope(|scope| {
                            for _ in 0..10 {
                                scope.spawn(|_| {
                                    let _ended = Counted(&ended);
                                    match order.fetch_add(1, Ordering::Relaxed) {
                                        0 => panic_any(Payload("task")),
                                        _ => panic_any(Bomb),
                                    }
                                });
                            }
                        });
                    })
                });
                // Of several who panic at once any may be the first.
                assert!(bees > 1 || first.is::<Payload>());
                std::mem::forget(first);
                assert_eq!(ended.into_inner(), 10);
                assert_all_works(&hive, bees);
            }
        }
    });
}

#[test]
fn a_payload_whose_drop_panics_is_got_rid_of_when_a_scope_s_body_panics() {
    in_own_process("a_payload_whose_drop_panics_is_got_rid_of_when_a_scope_s_body_panics", || {
        hush("as expected");
        for builder in builders() {
            let hive = builder.bees(2).build().unwrap();
            let panicked = whose(|| {
                hive.scope(|scope| {
                    scope.spawn(|_| panic_any(Bomb));
                    panic_any(Payload("body"));
                });
            });
            assert_eq!(panicked, "body");
            assert_all_works(&hive, 2);
        }
    });
}

#[test]
fn a_payload_whose_drop_panics_is_got_rid_of_by_a_broadcast() {
    in_own_process("a_payload_whose_drop_panics_is_got_rid_of_by_a_broadcast", || {
        hush("as expected");
        for builder in builders() {
            let hive = builder.bees(4).build().unwrap();
            let ran = AtomicUsize::new(0);
            std::mem::forget(panic_of(|| {
                hive.broadcast(|_| {
                    add(&ran, 1);
                    panic_any(Bomb);
                });
            }));
            assert_eq!(ran.into_inner(), 3);
            assert_all_works(&hive, 4);
        }
    });
}
