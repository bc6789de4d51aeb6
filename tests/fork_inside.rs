//! A child that is forked inside a region or a task has none of the other bees. It may use hives of its own and exit.
//! If it returns into the region instead, or waits for the others, it is aborted with a message: it never hangs, and it
//! runs nothing of what its parent has queued.
//!
//! See `docs/fork.md`.

#![cfg(target_os = "linux")]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use common::fork_point::{CHILD_ACTIONS, ChildAction, ForkPoint, Outcome};
use common::process::in_own_process;
use common::sys::{exit_now, fork};
use common::task_helpers::join_on_two_bees;
use common::{Gate, assert_hive_works, deep_down, keep, silence_panics, wait_until};
use hive::{BarrierShape, Bee, Builder, Hive, Loop, Pin, Reduction, Scan, Schedule};

/// A place for the fork: its name, whether the others miss a child that returns there, and a function that gets there.
type ForkPlace = (&'static str, bool, fn(&'static ForkPoint));

const PLACES: [ForkPlace; 21] = [
    ("the queen in a region", true, |scene| {
        scene.hive.spmd(3, |bee| {
            if bee.is_queen() {
                scene.fork()
            }
        })
    }),
    ("a bee in a region", true, |scene| {
        scene.hive.spmd(3, |bee| {
            if bee.id() == 2 {
                scene.fork()
            }
        })
    }),
    ("the queen when the others have come to the end", true, |scene| {
        let left = Gate::new();
        scene.hive.spmd(3, |bee| {
            if bee.is_queen() {
                left.wait_for(2);
                thread::sleep(Duration::from_millis(1));
                scene.fork();
            }
            left.arrive();
        });
    }),
    ("a bee that has been made surplus", true, |scene| {
        scene.hive.spmd(3, |bee| {
            if bee.id() == 2 {
                thread::spawn(|| scene.hive.resize(1).unwrap()).join().unwrap();
                scene.fork();
            }
        });
    }),
    ("a region of one", false, |scene| scene.hive.spmd(1, |_| scene.fork())),
    ("a loop", true, |scene| scene.hive.par_for((0..9, Schedule::Dynamic(1)), |_, _| scene.fork())),
    ("the last part of a loop that its caller runs alone", true, |scene| {
        let run = |forks| {
            scene.hive.par_for(0..3, |_, bee| {
                if forks && bee.id() == 2 {
                    scene.fork();
                }
            });
        };
        learn_as_lone_loop(scene.hive, run);
    }),
    ("a scan that its caller runs alone", true, |scene| {
        let run = |forks| {
            let mut numbers = [1; 3];
            let sum = Reduction::deterministic(0, |a, b| {
                if forks {
                    scene.fork();
                }
                a + b
            });
            scene.hive.par_scan(&mut numbers, &sum, Scan::Inclusive);
            assert_eq!(numbers, [1, 2, 3]);
        };
        learn_as_lone_loop(scene.hive, run);
    }),
    ("the last block of a reduction whose caller runs the first one alone", true, |scene| {
        let sum = Reduction::per_team_size(0, |a, b| a + b);
        let run = |forks| {
            let total = scene.hive.par_reduce(0..3, &sum, |range| {
                if forks && range.contains(&1) {
                    thread::sleep(Duration::from_millis(2));
                }
                if forks && range.contains(&2) {
                    scene.fork();
                }
                range.len()
            });
            assert_eq!(total, 3);
        };
        learn_as_lone_loop(scene.hive, run);
    }),
    ("a short reduction that its caller runs alone", true, |scene| {
        let sum = Reduction::unordered(0, |a, b| a + b);
        let run = |forks| {
            let total = scene.hive.par_reduce(0..3, &sum, |range| {
                if forks && range.contains(&1) {
                    scene.fork();
                }
                range.len()
            });
            assert_eq!(total, 3);
        };
        learn_as_lone_loop(scene.hive, run);
    }),
    ("a task", true, |scene| {
        // Not a channel: the child hangs on its lock if this thread, which the child does not have, holds that at the
        // fork.
        let is_done: &'static Gate = keep(Default::default());
        scene.hive.spawn(|| {
            scene.fork();
            is_done.arrive();
        });
        is_done.wait_for(1);
    }),
    ("an asynchronous call, with another in the queue", true, |scene| {
        let is_done: &'static Gate = keep(Default::default());
        let _calls = [(); 2].map(|()| hive::run_async(|| (scene.fork(), is_done.arrive())));
        is_done.wait_for(2);
    }),
    ("a scope", false, |scene| scene.hive.scope(|_| scene.fork())),
    ("a scope with a task that has not ended", true, |scene| {
        let free = Gate::new();
        scene.hive.scope(|scope| {
            scope.spawn(|_| free.wait_for(1));
            scene.fork();
            free.arrive();
        });
    }),
    ("a scope's task on a bee", true, |scene| {
        scene.hive.scope(|scope| {
            scope.spawn(|_| scene.fork());
            wait_until(|| scene.is_done.load(Ordering::Relaxed));
        });
    }),
    ("the first half of a join whose second has not ended", true, |scene| {
        let free = Gate::new();
        let first = || {
            scene.fork();
            free.arrive();
        };
        let _ = scene.hive.install(|| join_on_two_bees(scene.hive, first, || free.wait_for(1)));
    }),
    ("the second half of a join, on a bee", true, |scene| {
        let _ = scene.hive.install(|| join_on_two_bees(scene.hive, || (), || scene.fork()));
    }),
    ("install", false, |scene| scene.hive.install(|| scene.fork())),
    ("an install that a worker runs, since another thread has the queen's place", true, |scene| {
        let (begun, free) = (Gate::new(), Gate::new());
        thread::scope(|threads| {
            let queen = || (begun.arrive(), free.wait_for(1));
            threads.spawn(move || scene.hive.install(queen));
            begun.wait_for(1);
            let on_worker = || (scene.fork(), "on the heap".to_owned()).1;
            let result = threads.spawn(move || scene.hive.install(on_worker)).join();
            assert_eq!(result.unwrap(), "on the heap");
            free.arrive();
        });
    }),
    ("a broadcast", true, |scene| {
        let fork_on = |bee| {
            if bee == 2 {
                scene.fork()
            }
        };
        assert_eq!(scene.hive.broadcast(fork_on).len(), 2);
    }),
    ("a region whose bees return something", true, |scene| {
        let results = scene.hive.spmd_map(3, |bee| {
            if bee.id() == 2 {
                scene.fork();
            }
            bee.id().to_string()
        });
        assert_eq!(results, ["0", "1", "2"]);
    }),
];

/// Has the hive run this loop until it has left one to its caller alone, and then with a fork. Workers that never sleep
/// get all of them; then it is one more place in a loop.
fn learn_as_lone_loop(hive: &Hive, run: impl Fn(bool)) {
    let lone_loops = || hive.stats().total().lone_loops;
    for _ in 0..50 {
        thread::sleep(Duration::from_millis(2));
        let before = lone_loops();
        run(false);
        if lone_loops() > before {
            break;
        }
    }
    thread::sleep(Duration::from_millis(2));
    run(true);
}

/// Builders with different times of polling.
fn builders() -> [Builder; 3] {
    [Duration::ZERO, Duration::from_micros(200), Duration::MAX].map(|spin| Hive::builder().bees(3).spin(spin))
}

/// Goes to a place and returns what happens to the child. Runs in a process of its own, because the child also returns
/// here.
fn outcome_of(builder: Builder, action: ChildAction, go: impl FnOnce(&'static ForkPoint)) -> Outcome {
    const SEEN: [Outcome; 3] = [Outcome::Success, Outcome::Aborted, Outcome::Hung];
    let process = fork(|| {
        let own = std::process::id();
        let scene = ForkPoint::new(builder.build().unwrap(), action);
        let went = catch_unwind(AssertUnwindSafe(|| go(scene)));
        if std::process::id() != own {
            // The child has returned, which is right if the others do not miss it.
            exit_now(if went.is_ok() == (action != ChildAction::Panic) { 0 } else { 9 });
        }
        went.expect("the parent goes on");
        assert_hive_works(scene.hive, 4);
        let outcome = scene.outcome();
        exit_now(SEEN.iter().position(|seen| *seen == outcome).map_or(10, |code| code as i32 + 20));
    });
    let status = process.outcome_of_parent().expect("the parent ends");
    let code = status >> 8;
    let seen = if status & 0x7f == 0 && code >= 20 { SEEN.get(code as usize - 20).copied() } else { None };
    seen.unwrap_or(Outcome::Other(status))
}

const MESSAGE: &str = "this process is a forked child, and was forked inside a region or a task";

/// Runs `part`, which returns how many children were aborted. Each of them must have printed why.
fn with_messages(test: &str, part: impl FnOnce() -> usize) {
    let output = in_own_process(test, || {
        silence_panics("forked");
        println!("{} aborted", part());
    });
    let count = |text: &str| output.matches(text).count();
    let said: usize = output.lines().find_map(|line| line.strip_suffix(" aborted")?.parse().ok()).expect("a number");
    assert!(said > 0 && count(MESSAGE) == said, "{} said why:\n{output}", count(MESSAGE));
}

#[test]
fn a_child_that_comes_back_is_aborted_where_it_is_missed() {
    with_messages("a_child_that_comes_back_is_aborted_where_it_is_missed", || {
        let mut aborted = 0;
        let mut faults = Vec::new();
        for (name, is_missed, go) in PLACES {
            for builder in builders() {
                for deed in CHILD_ACTIONS {
                    let expected =
                        if is_missed && deed != ChildAction::Exit { Outcome::Aborted } else { Outcome::Success };
                    let seen = outcome_of(builder.clone(), deed, go);
                    // The panic of a task that no thread waits for has ended the process before.
                    let is_unheard = name == "a task" && deed == ChildAction::Panic;
                    aborted += usize::from(seen == Outcome::Aborted && !is_unheard);
                    if seen != expected {
                        faults.push(format!("{name}, {deed:?}, {builder:?}: {seen:?}"));
                    }
                }
            }
        }
        assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
        aborted
    });
}

/// A call by which a bee waits for the others.
type CollectiveCall = fn(&Bee<'_>);

/// The calls by which bees wait for each other.
const COLLECTIVE_CALLS: [(&str, CollectiveCall); 6] = [
    ("a barrier", |bee| bee.barrier()),
    ("a reduction", |bee| assert_eq!(bee.all_reduce(1, |a, b| a + b), 3)),
    ("a broadcast", |bee| assert_eq!(bee.broadcast_from(1, || 7), 7)),
    ("what one does", |bee| assert_eq!(bee.single(|| 7), 7)),
    ("a scan", |bee| assert_eq!(bee.scan_inclusive(1, |a, b| a + b), bee.id() + 1)),
    ("a loop and a barrier", |bee| {
        bee.for_each(&Loop::new(0..9, Schedule::Guided(1)), drop);
        bee.barrier();
    }),
];

#[test]
fn a_child_that_waits_for_the_others_is_aborted() {
    with_messages("a_child_that_waits_for_the_others_is_aborted", || {
        let mut aborted = 0;
        let mut faults = Vec::new();
        for (name, meet) in COLLECTIVE_CALLS {
            for id in [0, 2] {
                for builder in builders() {
                    let seen = outcome_of(builder.clone(), ChildAction::Return, |scene| {
                        scene.hive.spmd(3, |bee| {
                            if bee.id() == id {
                                scene.fork_and(|| meet(bee));
                            }
                        });
                    });
                    aborted += usize::from(seen == Outcome::Aborted);
                    if seen != Outcome::Aborted {
                        faults.push(format!("{name}, bee {id}, {builder:?}: {seen:?}"));
                    }
                }
            }
        }
        assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
        aborted
    });
}

/// Bees in several groups, whose leaders wait for the others.
#[test]
fn a_child_of_a_region_in_groups_is_aborted() {
    with_messages("a_child_of_a_region_in_groups_is_aborted", || {
        let bees = 40;
        let builder = Hive::builder().bees(bees).barrier(BarrierShape::Cluster);
        let mut seen = Vec::new();
        for meets in [false, true] {
            for id in [0, 1, bees / 2, bees - 1] {
                seen.push(outcome_of(builder.clone(), ChildAction::Return, move |scene| {
                    scene.hive.spmd(bees, |bee| {
                        if bee.id() == id {
                            scene.fork_and(|| {
                                if meets {
                                    bee.barrier()
                                }
                            });
                        }
                    });
                }));
            }
        }
        assert_eq!(seen, [Outcome::Aborted; 8]);
        8
    });
}

/// Waits of bees that are bound nowhere sleep at once where yields do not pay, as beside busy threads.
#[test]
fn a_child_of_bees_that_are_bound_nowhere_is_aborted() {
    with_messages("a_child_of_bees_that_are_bound_nowhere_is_aborted", || {
        let builder = Hive::builder().bees(2).pin(Pin::None);
        let mut seen = Vec::new();
        for meets in [false, true] {
            seen.extend([(); 5].map(|()| {
                outcome_of(builder.clone(), ChildAction::Return, move |scene| {
                    // They go on until the process ends.
                    (0..4).for_each(|_| {
                        _ = thread::spawn(|| {
                            loop {
                                std::hint::spin_loop()
                            }
                        })
                    });
                    scene.hive.spmd(2, |bee| {
                        if bee.is_queen() {
                            scene.fork_and(|| {
                                if meets {
                                    bee.barrier()
                                }
                            });
                        }
                    });
                })
            }));
        }
        assert_eq!(seen, [Outcome::Aborted; 10]);
        10
    });
}

/// Bees that were told to keep spinning poll without end.
#[test]
fn a_child_of_a_hot_section_is_aborted() {
    with_messages("a_child_of_a_hot_section_is_aborted", || {
        let seen = outcome_of(Hive::builder().bees(2), ChildAction::Return, |scene| {
            scene.hive.keep_spinning(|| {
                scene.hive.spmd(2, |bee| {
                    if bee.is_queen() {
                        scene.fork()
                    }
                })
            });
        });
        assert_eq!(seen, Outcome::Aborted);
        1
    });
}

/// A bee that returns from its region in a child finds the tasks that its parent has queued.
#[test]
fn a_child_runs_none_of_its_parent_s_tasks() {
    with_messages("a_child_runs_none_of_its_parent_s_tasks", || {
        let own = std::process::id();
        let seen = outcome_of(Hive::builder().bees(2), ChildAction::Return, move |scene| {
            let parent = std::process::id();
            assert_ne!(parent, own);
            let free: &'static Gate = keep(Default::default());
            scene.hive.spmd(2, |bee| {
                if !bee.is_queen() {
                    for _ in 0..9 {
                        scene
                            .hive
                            .spawn(move || if std::process::id() != parent { exit_now(7) } else { free.arrive() });
                    }
                    scene.fork();
                }
            });
            free.wait_for(9);
        });
        assert_eq!(seen, Outcome::Aborted);
        1
    });
}

/// The same for a wait for which the stack has too little room.
#[test]
fn a_child_deep_on_the_stack_runs_none_of_its_parent_s_tasks() {
    with_messages("a_child_deep_on_the_stack_runs_none_of_its_parent_s_tasks", || {
        const STACK: usize = 512 << 10;
        for bees in [1, 2] {
            let seen = outcome_of(Hive::builder().bees(bees), ChildAction::Return, |scene| {
                let parent = std::process::id();
                // Not before the fork: else the worker might have run all tasks by then.
                let is_forked: &'static AtomicBool = keep(AtomicBool::default());
                let task = move || {
                    if std::process::id() != parent {
                        exit_now(7);
                    }
                    wait_until(|| is_forked.load(Ordering::Relaxed));
                };
                let fork_in_scope = || {
                    scene.hive.scope(|scope| {
                        (0..100).for_each(|_| scope.spawn(move |_| task()));
                        scene.fork();
                        is_forked.store(true, Ordering::Relaxed);
                    });
                };
                thread::scope(|threads| {
                    let thread = thread::Builder::new().stack_size(STACK);
                    thread.spawn_scoped(threads, || deep_down(STACK / 100 * 78, fork_in_scope)).unwrap();
                });
            });
            assert_eq!(seen, Outcome::Aborted, "{bees} bees");
        }
        2
    });
}

/// The start handler and the exit handler of a bee.
#[test]
fn a_child_of_a_handler_is_aborted() {
    with_messages("a_child_of_a_handler_is_aborted", || {
        for ends in [false, true] {
            let process = fork(move || {
                let scene = ForkPoint::new(Hive::new(2).unwrap(), ChildAction::Return);
                let handle = move |_| scene.fork();
                let builder = Hive::builder().bees(3);
                let builder = if ends { builder.exit_handler(handle) } else { builder.start_handler(handle) };
                let own = builder.build().unwrap();
                assert_hive_works(&own, 3);
                drop(own);
                assert_eq!(scene.outcome(), Outcome::Aborted);
            });
            assert_eq!(process.outcome_of_parent(), Some(0));
        }
        2
    });
}
