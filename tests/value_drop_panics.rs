//! Results, captures and elements that panic when they are dropped. While another panic is going on they must be
//! dropped without a second one; anywhere else the drop's panic is a panic like any other.
//!
//! Each test runs in a process of its own, because a panic of a drop during unwinding aborts the process.

#![cfg(target_os = "linux")]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use common::drop_panics::{PanicsOnDrop, with_drop_count};
use common::process::in_own_process;
use common::task_helpers::{Payload, assert_hive_and_tasks_work, builders, join_on_two_bees, payload_of};
use common::{Gate, silence_panics, wait_until};
use hive::{Hive, HiveSet, PlaceUnit, Placement, Reduction, Schedule};

/// The payload of the panic that `work` ends with. None: it ended without a panic.
fn payload_if_any(work: impl FnOnce()) -> Option<&'static str> {
    let panic = catch_unwind(AssertUnwindSafe(work)).err()?;
    Some(panic.downcast::<Payload>().expect("a payload of the test's").0)
}

/// A function that panics at one of its calls.
struct PanicsAtCall {
    calls: AtomicUsize,
    bad: usize,
}

impl PanicsAtCall {
    fn new(panicking_call: usize) -> Self {
        Self { calls: AtomicUsize::new(0), bad: panicking_call }
    }

    fn call(&self) {
        if self.calls.fetch_add(1, Ordering::Relaxed) == self.bad {
            panic_any(Payload("its own"));
        }
    }

    /// The payload that the operation under test must end with: the function's own if it has panicked.
    fn panicked(&self) -> Option<&'static str> {
        (self.calls.load(Ordering::Relaxed) > self.bad).then_some("its own")
    }
}

#[test]
fn results_and_captures_whose_drop_panics_do_not_stop_the_panic_of_a_region() {
    in_own_process("results_and_captures_whose_drop_panics_do_not_stop_the_panic_of_a_region", || {
        silence_panics("as expected");
        for n in [2, 3, 12] {
            let hive = Hive::new(n).unwrap();
            for who in [0, 1, n - 1] {
                with_drop_count(|alive| {
                    let captured = PanicsOnDrop::new(alive);
                    let panicked = payload_of(|| {
                        hive.spmd(n, move |bee| {
                            assert!(captured.is_armed());
                            if bee.id() == who {
                                panic_any(Payload("its own"));
                            }
                        });
                    });
                    assert_eq!(panicked, "its own");
                });
                with_drop_count(|alive| {
                    let captured = PanicsOnDrop::new(alive);
                    let panicked = payload_of(|| {
                        hive.spmd_map(n, move |bee| {
                            if bee.id() == who {
                                panic_any(Payload("its own"));
                            }
                            captured.clone()
                        });
                    });
                    assert_eq!(panicked, "its own");
                });
            }
            // Without another panic, the drop's panic is an ordinary one: that of the capture comes when the region is
            // over.
            with_drop_count(|alive| {
                let captured = PanicsOnDrop::new(alive);
                assert_eq!(payload_of(|| hive.spmd(n, move |_| _ = captured.is_armed())), "the drop");
            });
            assert_hive_and_tasks_work(&hive, n);
        }
    });
}

const SCHEDULES: [Schedule; 5] =
    [Schedule::Static, Schedule::Dynamic(1), Schedule::Affinity, Schedule::Guided(1), Schedule::Factoring];

const NEVER: usize = usize::MAX;

/// The functions that a reduction calls. One of them panics at one of its calls, while live values exist.
struct Calls<'a> {
    alive: &'a Arc<()>,
    map: PanicsAtCall,
    op: PanicsAtCall,
}

impl Calls<'_> {
    fn each(reduce: impl Fn(&Calls<'_>) -> PanicsOnDrop) {
        for (map, op) in
            [(0, NEVER), (1, NEVER), (7, NEVER), (40, NEVER), (NEVER, 0), (NEVER, 1), (NEVER, 5), (NEVER, 40)]
        {
            with_drop_count(|alive| {
                let calls = Calls { alive, map: PanicsAtCall::new(map), op: PanicsAtCall::new(op) };
                let panicked = payload_if_any(|| drop(reduce(&calls).disarmed()));
                assert_eq!(panicked, calls.map.panicked().or(calls.op.panicked()));
            });
        }
    }

    fn identity(&self) -> PanicsOnDrop {
        PanicsOnDrop::new(self.alive).disarmed()
    }

    fn map(&self) -> PanicsOnDrop {
        self.map.call();
        PanicsOnDrop::new(self.alive)
    }

    fn op(&self, a: PanicsOnDrop, b: PanicsOnDrop) -> PanicsOnDrop {
        // The function drops what it is given.
        drop([a.disarmed(), b.disarmed()]);
        self.op.call();
        PanicsOnDrop::new(self.alive)
    }
}

#[test]
fn values_whose_drop_panics_do_not_stop_the_panic_of_a_reduction() {
    in_own_process("values_whose_drop_panics_do_not_stop_the_panic_of_a_reduction", || {
        silence_panics("as expected");
        for n in [1, 3] {
            let hive = Hive::new(n).unwrap();
            macro_rules! of_level {
                ($level:ident) => {
                    for schedule in SCHEDULES {
                        Calls::each(|calls| {
                            let reduction = Reduction::$level(calls.identity(), |a, b| calls.op(a, b));
                            hive.par_reduce((0..64, schedule), &reduction, |_| calls.map())
                        });
                    }
                    Calls::each(|calls| {
                        let reduction = Reduction::$level(calls.identity(), |a, b| calls.op(a, b));
                        hive.par_reduce(&hive.plan(64), &reduction, |_| calls.map())
                    });
                };
            }
            of_level!(unordered);
            of_level!(per_team_size);
            of_level!(deterministic);
            // The same for what its closure has captured.
            with_drop_count(|alive| {
                let (reduction, captured) = (Reduction::unordered(0, |a, b| a + b), PanicsOnDrop::new(alive));
                let reduce = || {
                    hive.par_reduce(0..64, &reduction, move |_| {
                        if captured.is_armed() { panic_any(Payload("its own")) } else { 1 }
                    });
                };
                assert_eq!(payload_of(reduce), "its own");
            });
            // A region whose results are combined: in its body, and in what combines them.
            with_drop_count(|alive| {
                let captured = PanicsOnDrop::new(alive);
                let combine = move |(), ()| assert!(!captured.is_armed());
                assert_eq!(payload_of(|| hive.spmd_reduce(n, |_| panic_any(Payload("its own")), combine)), "its own");
            });
            Calls::each(|calls| hive.spmd_reduce(n, |_| calls.map(), |a, b| calls.op(a, b)));
            assert_hive_and_tasks_work(&hive, n);
        }
    });
}

#[test]
fn elements_whose_drop_panics_do_not_stop_the_panic_of_an_alloc() {
    in_own_process("elements_whose_drop_panics_do_not_stop_the_panic_of_an_alloc", || {
        silence_panics("as expected");
        for n in [1, 3] {
            let hive = Hive::new(n).unwrap();
            for bad in [0, 1, 7, 99] {
                with_drop_count(|alive| {
                    let calls = PanicsAtCall::new(bad);
                    let element = |_| {
                        calls.call();
                        PanicsOnDrop::new(alive)
                    };
                    assert_eq!(payload_of(|| drop(hive.alloc(100, Placement::FirstTouch, element))), "its own");
                });
            }
        }
    });
}

#[test]
fn results_whose_drop_panics_do_not_stop_the_panic_of_the_other_half_of_a_join() {
    /// Deep enough for joins that buffer their second half and for those that do not.
    fn nest(hive: &Hive, depth: usize) {
        with_drop_count(|alive| {
            assert_eq!(payload_of(|| _ = hive.join(|| PanicsOnDrop::new(alive), || panic_any(Payload("b")))), "b");
            assert_eq!(payload_of(|| _ = hive.join(|| panic_any(Payload("a")), || PanicsOnDrop::new(alive))), "a");
        });
        if depth > 0 {
            hive.join(|| nest(hive, depth - 1), || ());
        }
    }
    in_own_process("results_whose_drop_panics_do_not_stop_the_panic_of_the_other_half_of_a_join", || {
        silence_panics("as expected");
        for builder in builders() {
            let hive = builder.bees(2).build().unwrap();
            hive.install(|| {
                nest(&hive, 20);
                with_drop_count(|alive| {
                    let apart = || _ = join_on_two_bees(&hive, || panic_any(Payload("a")), || PanicsOnDrop::new(alive));
                    assert_eq!(payload_of(apart), "a");
                });
            });
            // On a worker for which the caller waits, and in a region of two, where each bee does the same.
            with_queen_position_taken(&hive, || nest(&hive, 2));
            hive.spmd(2, |_| nest(&hive, 2));
            assert_hive_and_tasks_work(&hive, 2);
        }
    });
}

/// Runs `work` while another thread has the queen's position of `hive`.
fn with_queen_position_taken(hive: &Hive, work: impl FnOnce()) {
    let (taken, free) = (Gate::new(), Gate::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            hive.install(|| {
                taken.arrive();
                free.wait_for(1);
            });
        });
        taken.wait_for(1);
        work();
        free.arrive();
    });
}

#[test]
fn a_drop_that_panics_in_a_task_is_the_task_s_panic() {
    in_own_process("a_drop_that_panics_in_a_task_is_the_task_s_panic", || {
        silence_panics("as expected");
        for builder in builders() {
            let (sender, receiver) = mpsc::channel();
            let sender = Mutex::new(sender);
            let hive = builder
                .bees(3)
                .panic_handler(move |panic| sender.lock().unwrap().send(panic).unwrap())
                .build()
                .unwrap();
            with_drop_count(|alive| {
                let captured = || PanicsOnDrop::new(alive);
                let tasks: [&(dyn Fn() + Sync); 6] = [
                    &|| {
                        _ = hive.join(
                            {
                                let captured = captured();
                                move || drop(captured)
                            },
                            || (),
                        )
                    },
                    &|| {
                        _ = hive.join(|| (), {
                            let captured = captured();
                            move || drop(captured)
                        })
                    },
                    &|| hive.scope(|_| drop(captured())),
                    &|| {
                        hive.scope(|scope| {
                            let captured = captured();
                            scope.spawn(move |_| drop(captured))
                        })
                    },
                    &|| {
                        hive.install({
                            let captured = captured();
                            move || drop(captured)
                        })
                    },
                    &|| drop(hive.broadcast(|_| drop(captured()))),
                ];
                for task in tasks {
                    assert_eq!(payload_of(task), "the drop");
                    assert_eq!(hive.install(|| payload_of(task)), "the drop");
                    with_queen_position_taken(&hive, || assert_eq!(payload_of(task), "the drop"));
                }
                for bee in 0..3 {
                    let captured = captured();
                    let task = move || assert!(captured.is_armed());
                    if bee == 0 {
                        hive.spawn(task)
                    } else {
                        hive.spawn_on(bee, task)
                    }
                    assert!(receiver.recv().unwrap().is::<Payload>());
                }
            });
            assert_hive_and_tasks_work(&hive, 3);
        }
    });
}

#[test]
fn results_whose_drop_panics_do_not_stop_the_panic_of_a_scope_or_a_broadcast() {
    /// Panics on the last bee and returns live values on the others. What it has captured is also live.
    fn broadcast(hive: &Hive, captured: PanicsOnDrop) {
        hive.broadcast(move |bee| {
            if bee == 3 {
                panic_any(Payload("bee"));
            }
            captured.clone()
        });
    }
    in_own_process("results_whose_drop_panics_do_not_stop_the_panic_of_a_scope_or_a_broadcast", || {
        silence_panics("as expected");
        for builder in builders() {
            let hive = builder.bees(4).build().unwrap();
            let check = || {
                with_drop_count(|alive| {
                    let scope = || {
                        hive.scope(|scope| {
                            scope.spawn(|_| panic_any(Payload("task")));
                            PanicsOnDrop::new(alive)
                        });
                    };
                    assert_eq!(payload_of(scope), "task");
                    let captured = PanicsOnDrop::new(alive);
                    assert_eq!(payload_of(|| broadcast(&hive, captured)), "bee");
                });
            };
            check();
            hive.install(check);
            with_queen_position_taken(&hive, check);
            assert_hive_and_tasks_work(&hive, 4);
        }
    });
}

#[test]
fn values_whose_drop_panics_do_not_stop_the_panic_of_a_region_over_several_hives() {
    in_own_process("values_whose_drop_panics_do_not_stop_the_panic_of_a_region_over_several_hives", || {
        silence_panics("as expected");
        let hives = HiveSet::builder().each(PlaceUnit::Cores).build().unwrap();
        for who in [0, hives.bees() - 1] {
            with_drop_count(|alive| {
                let captured = PanicsOnDrop::new(alive);
                let panicked = payload_of(|| {
                    hives.spmd_map(move |bee| {
                        if bee.id() == who {
                            panic_any(Payload("its own"));
                        }
                        captured.clone()
                    });
                });
                assert_eq!(panicked, "its own");
                let captured = PanicsOnDrop::new(alive);
                let panicked = payload_of(|| {
                    hives.on_each(move |hive, _| {
                        if hive == 0 {
                            panic_any(Payload("its own"));
                        }
                        captured.clone()
                    });
                });
                assert_eq!(panicked, "its own");
            });
        }
    });
}

/// The handler is dropped together with the hive, by the thread that drops the hive: here first the caller, then a bee.
#[test]
fn a_handler_whose_drop_panics_does_so_in_who_drops_the_hive() {
    in_own_process("a_handler_whose_drop_panics_does_so_in_who_drops_the_hive", || {
        silence_panics("as expected");
        with_drop_count(|alive| {
            let built = || {
                let captured = PanicsOnDrop::new(alive);
                Hive::builder().bees(3).panic_handler(move |_| _ = captured.is_armed()).build().unwrap()
            };
            let hive = built();
            assert_hive_and_tasks_work(&hive, 3);
            assert_eq!(payload_of(|| drop(hive)), "the drop");
            let (hive, gone) = (Arc::new(built()), Arc::new(Gate::new()));
            let (own, gate) = (Arc::clone(&hive), Arc::clone(&gone));
            hive.spawn(move || {
                gate.wait_for(1);
                drop(own);
            });
            drop(hive);
            gone.arrive();
            wait_until(|| Arc::strong_count(alive) == 1);
        });
    });
}
