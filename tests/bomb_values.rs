//! Results, captures and elements that panic when they are dropped: while another panic goes on they are dropped quietly, and anywhere else theirs is a panic like any other.
//!
//! Each test in a process of its own, because such a drop while unwinding ends it.

#![cfg(target_os = "linux")]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use common::process::in_own_process;
use common::tasks::{Payload, assert_all_works, builders, join_apart, whose};
use common::{Gate, assert_says, hush, message_of, until};
use hive::{Hive, Hives, PlaceUnit, Placement, Reduction, Schedule};

/// A value that panics when it is dropped, as long as it is live, and is counted.
#[derive(Clone)]
struct Fused {
    alive: Arc<()>,
    is_live: bool,
}

impl Fused {
    fn new(alive: &Arc<()>) -> Self {
        Self { alive: Arc::clone(alive), is_live: true }
    }

    /// Says that it is live, and is a use of the whole of it.
    fn look(&self) -> bool {
        self.is_live && Arc::strong_count(&self.alive) > 1
    }

    fn defused(mut self) -> Self {
        self.is_live = false;
        self
    }
}

impl Drop for Fused {
    fn drop(&mut self) {
        if self.is_live {
            resume_unwind(Box::new(Payload("the drop")));
        }
    }
}

/// Runs `work` with a count of the values that are there; none is afterwards.
#[track_caller]
fn counting(work: impl FnOnce(&Arc<()>)) {
    let alive = Arc::new(());
    work(&alive);
    assert_eq!(Arc::strong_count(&alive), 1, "each value is dropped once");
}

/// As [`whose`], of what may end well.
fn whose_if_any(work: impl FnOnce()) -> Option<&'static str> {
    let panic = catch_unwind(AssertUnwindSafe(work)).err()?;
    Some(panic.downcast::<Payload>().expect("a payload of the test's").0)
}

/// Panics at one of its calls.
struct Nth {
    calls: AtomicUsize,
    bad: usize,
}

impl Nth {
    fn new(bad: usize) -> Self {
        Self { calls: AtomicUsize::new(0), bad }
    }

    fn call(&self) {
        if self.calls.fetch_add(1, Ordering::Relaxed) == self.bad {
            panic_any(Payload("its own"));
        }
    }

    /// What a whole ends with that calls it.
    fn panicked(&self) -> Option<&'static str> {
        (self.calls.load(Ordering::Relaxed) > self.bad).then_some("its own")
    }
}

#[test]
fn results_and_captures_whose_drop_panics_do_not_stop_the_panic_of_a_region() {
    in_own_process("results_and_captures_whose_drop_panics_do_not_stop_the_panic_of_a_region", || {
        hush("as expected");
        for n in [2, 3, 12] {
            let hive = Hive::new(n).unwrap();
            for who in [0, 1, n - 1] {
                counting(|alive| {
                    let captured = Fused::new(alive);
                    let panicked = whose(|| {
                        hive.spmd(n, move |bee| {
                            assert!(captured.look());
                            if bee.id() == who {
                                panic_any(Payload("its own"));
                            }
                        });
                    });
                    assert_eq!(panicked, "its own");
                });
                counting(|alive| {
                    let captured = Fused::new(alive);
                    let panicked = whose(|| {
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
            // With no other panic the drop's own is one: the capture's, when the region is over.
            counting(|alive| {
                let captured = Fused::new(alive);
                assert_eq!(whose(|| hive.spmd(n, move |_| _ = captured.look())), "the drop");
            });
            assert_all_works(&hive, n);
        }
    });
}

const SCHEDULES: [Schedule; 5] =
    [Schedule::Static, Schedule::Dynamic(1), Schedule::Affinity, Schedule::Guided(1), Schedule::Factoring];

const NEVER: usize = usize::MAX;

/// What a reduction calls, one of which panics at one of its calls with live values around.
struct Calls<'a> {
    alive: &'a Arc<()>,
    map: Nth,
    op: Nth,
}

impl Calls<'_> {
    fn each(reduce: impl Fn(&Calls<'_>) -> Fused) {
        for (map, op) in [(0, NEVER), (1, NEVER), (7, NEVER), (40, NEVER), (NEVER, 0), (NEVER, 1), (NEVER, 5), (NEVER, 40)] {
            counting(|alive| {
                let calls = Calls { alive, map: Nth::new(map), op: Nth::new(op) };
                let panicked = whose_if_any(|| drop(reduce(&calls).defused()));
                assert_eq!(panicked, calls.map.panicked().or(calls.op.panicked()));
            });
        }
    }

    fn neutral(&self) -> Fused {
        Fused::new(self.alive).defused()
    }

    fn map(&self) -> Fused {
        self.map.call();
        Fused::new(self.alive)
    }

    fn op(&self, a: Fused, b: Fused) -> Fused {
        // What it is given is its own to drop.
        drop([a.defused(), b.defused()]);
        self.op.call();
        Fused::new(self.alive)
    }
}

#[test]
fn values_whose_drop_panics_do_not_stop_the_panic_of_a_reduction() {
    in_own_process("values_whose_drop_panics_do_not_stop_the_panic_of_a_reduction", || {
        hush("as expected");
        for n in [1, 3] {
            let hive = Hive::new(n).unwrap();
            macro_rules! of_level {
                ($level:ident) => {
                    for schedule in SCHEDULES {
                        Calls::each(|calls| {
                            let reduction = Reduction::$level(calls.neutral(), |a, b| calls.op(a, b));
                            hive.par_reduce(0..64, schedule, &reduction, |_| calls.map())
                        });
                    }
                    Calls::each(|calls| {
                        let reduction = Reduction::$level(calls.neutral(), |a, b| calls.op(a, b));
                        hive.par_reduce_plan(&hive.plan(64), &reduction, |_| calls.map())
                    });
                };
            }
            of_level!(fast);
            of_level!(per_team);
            of_level!(fixed);
            // And what its closure has captured.
            counting(|alive| {
                let (reduction, captured) = (Reduction::fast(0, |a, b| a + b), Fused::new(alive));
                let reduce = || {
                    hive.par_reduce(0..64, Schedule::Static, &reduction, move |_| {
                        if captured.look() { panic_any(Payload("its own")) } else { 1 }
                    });
                };
                assert_eq!(whose(reduce), "its own");
            });
            assert_all_works(&hive, n);
        }
    });
}

#[test]
fn elements_whose_drop_panics_do_not_stop_the_panic_of_an_alloc() {
    in_own_process("elements_whose_drop_panics_do_not_stop_the_panic_of_an_alloc", || {
        hush("as expected");
        for n in [1, 3] {
            let hive = Hive::new(n).unwrap();
            for bad in [0, 1, 7, 99] {
                counting(|alive| {
                    let calls = Nth::new(bad);
                    let element = |_| {
                        calls.call();
                        Fused::new(alive)
                    };
                    assert_eq!(whose(|| drop(hive.alloc(100, Placement::FirstTouch, element))), "its own");
                });
            }
        }
    });
}

#[test]
fn results_whose_drop_panics_do_not_stop_the_panic_of_the_other_half_of_a_join() {
    /// Deep enough for joins that keep their second half and for those that do not.
    fn nest(hive: &Hive, depth: usize) {
        counting(|alive| {
            assert_eq!(whose(|| _ = hive.join(|| Fused::new(alive), || panic_any(Payload("b")))), "b");
            assert_eq!(whose(|| _ = hive.join(|| panic_any(Payload("a")), || Fused::new(alive))), "a");
        });
        if depth > 0 {
            hive.join(|| nest(hive, depth - 1), || ());
        }
    }
    in_own_process("results_whose_drop_panics_do_not_stop_the_panic_of_the_other_half_of_a_join", || {
        hush("as expected");
        for builder in builders() {
            let hive = builder.bees(2).build().unwrap();
            hive.install(|| {
                nest(&hive, 20);
                counting(|alive| {
                    let apart = || _ = join_apart(&hive, || panic_any(Payload("a")), || Fused::new(alive));
                    assert_eq!(whose(apart), "a");
                });
            });
            // On a bee, for which the caller waits; and one after the other.
            with_place_taken(&hive, || nest(&hive, 2));
            hive.spmd(2, |_| nest(&hive, 2));
            assert_all_works(&hive, 2);
        }
    });
}

/// Runs `work` while another thread has the queen's place of `hive`.
fn with_place_taken(hive: &Hive, work: impl FnOnce()) {
    let (taken, free) = (Gate::new(), Gate::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            hive.install(|| {
                taken.come();
                free.wait_for(1);
            });
        });
        taken.wait_for(1);
        work();
        free.come();
    });
}

#[test]
fn a_drop_that_panics_in_a_task_is_the_task_s_panic() {
    in_own_process("a_drop_that_panics_in_a_task_is_the_task_s_panic", || {
        hush("as expected");
        for builder in builders() {
            let (sender, receiver) = mpsc::channel();
            let sender = Mutex::new(sender);
            let hive = builder.bees(3).panic_handler(move |panic| sender.lock().unwrap().send(panic).unwrap()).build().unwrap();
            counting(|alive| {
                let captured = || Fused::new(alive);
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
                    assert_eq!(whose(task), "the drop");
                    assert_eq!(hive.install(|| whose(task)), "the drop");
                    with_place_taken(&hive, || assert_eq!(whose(task), "the drop"));
                }
                for bee in 0..3 {
                    let captured = captured();
                    let task = move || assert!(captured.look());
                    if bee == 0 {
                        hive.spawn(task)
                    } else {
                        hive.spawn_on(bee, task)
                    }
                    assert!(receiver.recv().unwrap().is::<Payload>());
                }
            });
            assert_all_works(&hive, 3);
        }
    });
}

#[test]
fn results_whose_drop_panics_do_not_stop_the_panic_of_a_scope_or_a_broadcast() {
    /// On the last bee it panics, on the others it returns live values; and so is what it has captured.
    fn broadcast(hive: &Hive, captured: Fused) {
        hive.broadcast(move |bee| {
            if bee == 3 {
                panic_any(Payload("bee"));
            }
            captured.clone()
        });
    }
    in_own_process("results_whose_drop_panics_do_not_stop_the_panic_of_a_scope_or_a_broadcast", || {
        hush("as expected");
        for builder in builders() {
            let hive = builder.bees(4).build().unwrap();
            let check = || {
                counting(|alive| {
                    let scope = || {
                        hive.scope(|scope| {
                            scope.spawn(|_| panic_any(Payload("task")));
                            Fused::new(alive)
                        });
                    };
                    assert_eq!(whose(scope), "task");
                    let captured = Fused::new(alive);
                    assert_eq!(whose(|| broadcast(&hive, captured)), "bee");
                });
            };
            check();
            hive.install(check);
            with_place_taken(&hive, check);
            assert_all_works(&hive, 4);
        }
    });
}

#[test]
fn what_is_refused_is_dropped_quietly() {
    in_own_process("what_is_refused_is_dropped_quietly", || {
        let hive = Hive::new(2).unwrap();
        counting(|alive| {
            let captured = || Fused::new(alive);
            let refused: [&dyn Fn(); 3] = [
                &|| {
                    let captured = captured();
                    hive.spmd(0, move |_| _ = captured.look())
                },
                &|| {
                    let captured = captured();
                    hive.spawn_on(7, move || _ = captured.look())
                },
                &|| {
                    hive.spmd(2, |_| {
                        let captured = captured();
                        hive.broadcast(move |_| _ = captured.look());
                    })
                },
            ];
            let messages = ["no region of 0", "has no such bee", "spawn_on each bee instead"];
            refused.iter().zip(messages).for_each(|(refused, message)| assert_says(&message_of(refused), &[message]));
        });
        assert_all_works(&hive, 2);
    });
}

#[test]
fn values_whose_drop_panics_do_not_stop_the_panic_of_a_region_over_several_hives() {
    in_own_process("values_whose_drop_panics_do_not_stop_the_panic_of_a_region_over_several_hives", || {
        hush("as expected");
        let hives = Hives::builder().each(PlaceUnit::Cores).build().unwrap();
        for who in [0, hives.bees() - 1] {
            counting(|alive| {
                let captured = Fused::new(alive);
                let panicked = whose(|| {
                    hives.spmd_map(move |bee| {
                        if bee.id() == who {
                            panic_any(Payload("its own"));
                        }
                        captured.clone()
                    });
                });
                assert_eq!(panicked, "its own");
                let captured = Fused::new(alive);
                let panicked = whose(|| {
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

/// It is dropped with the hive, by who drops that: here first the caller, then a bee.
#[test]
fn a_handler_whose_drop_panics_does_so_in_who_drops_the_hive() {
    in_own_process("a_handler_whose_drop_panics_does_so_in_who_drops_the_hive", || {
        hush("as expected");
        counting(|alive| {
            let built = || {
                let captured = Fused::new(alive);
                Hive::builder().bees(3).panic_handler(move |_| _ = captured.look()).build().unwrap()
            };
            let hive = built();
            assert_all_works(&hive, 3);
            assert_eq!(whose(|| drop(hive)), "the drop");
            let (hive, gone) = (Arc::new(built()), Arc::new(Gate::new()));
            let (own, gate) = (Arc::clone(&hive), Arc::clone(&gone));
            hive.spawn(move || {
                gate.wait_for(1);
                drop(own);
            });
            drop(hive);
            gone.come();
            until(|| Arc::strong_count(alive) == 1);
        });
    });
}
