//! Regions whose barriers a panic has broken: none of them returns as if nothing had happened, whichever bee catches
//! which panic.

#![cfg(target_os = "linux")]

#[path = "poisoned_regions/bee_calls.rs"]
mod bee_calls;
mod common;
#[path = "poisoned_regions/failed_calls.rs"]
mod failed_calls;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use common::process::in_own_process;
use common::task_helpers::{Payload, assert_hive_and_tasks_work, builders, payload_of};
use common::{Gate, assert_contains_all, assert_hive_works, panic_message, run_exclusively, silence_panics};
use hive::{Bee, Hive, Loop, Ordered, Parts, PerBee, Reduction, Schedule};

type Caught = Box<dyn Any + Send>;

fn hives() -> impl Iterator<Item = Hive> {
    builders().map(|builder| builder.bees(3).build().unwrap())
}

fn caught(work: impl FnOnce()) -> Option<Caught> {
    catch_unwind(AssertUnwindSafe(work)).err()
}

/// What a bee caught when it was released from its barrier, in a region of `hive` that is over.
fn catch_barrier_release(hive: &Hive) -> Caught {
    let release = Mutex::new(None);
    let panicked = payload_of(|| {
        hive.spmd(2, |bee| {
            if bee.is_queen() {
                panic_any(Payload("queen"));
            }
            *release.lock().unwrap() = caught(|| bee.barrier());
        });
    });
    assert_eq!(panicked, "queen");
    release.into_inner().unwrap().expect("the barrier was broken")
}

/// The message for a release that is resumed outside of its region.
const RESUMED: &str = "resumed outside of that region";

/// A release of another region, which the first bee that asks resumes.
struct ForeignRelease(Mutex<Option<Caught>>);

impl ForeignRelease {
    fn of(hive: &Hive) -> Self {
        Self(Mutex::new(Some(catch_barrier_release(hive))))
    }

    fn resume(&self) {
        // The lock is released first; otherwise the panic would poison it for a bee that comes at the same time.
        let release = self.0.lock().unwrap().take();
        if let Some(release) = release {
            resume_unwind(release);
        }
    }
}

#[test]
fn a_release_that_is_resumed_in_another_region_is_a_panic_there() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    for hive in hives() {
        let other = Hive::new(2).unwrap();
        // A release of an earlier region of the same hive, and one of another hive.
        for from in [&hive, &other] {
            for who in 0..3 {
                let stray = ForeignRelease::of(from);
                let passed = AtomicUsize::new(0);
                let message = panic_message(|| {
                    hive.spmd(3, |bee| {
                        if bee.id() == who {
                            stray.resume();
                        }
                        bee.barrier();
                        passed.fetch_add(1, Ordering::Relaxed);
                    });
                });
                assert_contains_all(&message, &[RESUMED]);
                assert_eq!(passed.into_inner(), 0, "the others are let go from a barrier that one does not come to");
                assert_hive_works(&hive, 3);
            }
        }
    }
}

#[test]
fn a_release_that_is_resumed_elsewhere_goes_on_as_a_message_whatever_it_goes_through() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    for hive in hives() {
        let through = |run: &dyn Fn(&ForeignRelease)| {
            let stray = ForeignRelease::of(&hive);
            assert_contains_all(&panic_message(|| run(&stray)), &[RESUMED]);
            assert_hive_and_tasks_work(&hive, 3);
        };
        through(&|stray| drop(hive.spmd_map(2, |_| stray.resume())));
        through(&|stray| _ = hive.join(|| stray.resume(), || ()));
        through(&|stray| _ = hive.join(|| (), || stray.resume()));
        through(&|stray| hive.scope(|_| stray.resume()));
        through(&|stray| hive.scope(|scope| scope.spawn(|_| stray.resume())));
        through(&|stray| drop(hive.broadcast(|_| stray.resume())));
        through(&|stray| drop(hive.install(|| hive.broadcast(|_| stray.resume()))));
    }
}

#[test]
fn the_panic_handler_gets_a_release_as_a_message() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    let (sender, receiver) = std::sync::mpsc::channel();
    let sender = Mutex::new(sender);
    let hive = Hive::builder()
        .bees(2)
        .panic_handler(move |panic| sender.lock().unwrap().send(panic).unwrap())
        .build()
        .unwrap();
    let stray = ForeignRelease::of(&hive);
    hive.spawn(move || stray.resume());
    let heard = receiver.recv().unwrap();
    assert_contains_all(heard.downcast_ref::<String>().expect("a message"), &[RESUMED]);
    drop(hive);
}

/// The bee of the outer region is released there, whichever way its release comes: that bee has not panicked, and the
/// hive knows which bee has.
#[test]
fn a_release_ends_its_own_region_s_bee_also_through_a_region_of_another_hive() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    for hive in hives() {
        let other = Hive::new(2).unwrap();
        for who in 0..2 {
            let panicked = payload_of(|| {
                hive.spmd(2, |bee| {
                    if bee.is_queen() {
                        panic_any(Payload("outer"));
                    }
                    let release = Mutex::new(caught(|| bee.barrier()));
                    other.spmd(2, |inner| {
                        if inner.id() == who {
                            resume_unwind(release.lock().unwrap().take().unwrap());
                        }
                    });
                    unreachable!("the inner region has ended with the outer one's release");
                });
            });
            assert_eq!(panicked, "outer");
            assert_hive_works(&hive, 2);
            assert_hive_works(&other, 2);
        }
    }
}

#[test]
fn a_loop_whose_bee_was_let_go_by_another_region_s_release_panics_and_its_board_is_thrown_away() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    for schedule in
        [Schedule::Static, Schedule::Dynamic(1), Schedule::Affinity, Schedule::Guided(1), Schedule::Factoring]
    {
        for who in 0..3 {
            // A new one, whose first loop asks all bees for help, however busy the machine may be.
            let hive = Hive::new(3).unwrap();
            let stray = ForeignRelease::of(&hive);
            let mut data = vec![0; 3_000];
            let (begun, has_left) = (Gate::new(), AtomicBool::new(false));
            let message = panic_message(|| {
                hive.par_for_mut(&mut data, schedule, |_, part, bee| {
                    // Each bee takes part, and one leaves in the middle of it. With fewer CPUs, not all run at once,
                    // and it is the one that comes first.
                    let all_at_once = std::thread::available_parallelism().unwrap().get() >= 3;
                    if all_at_once && begun.arrived() < 3 && bee.bees() == 3 {
                        begun.arrive_and_wait(3);
                    }
                    let is_culprit =
                        if all_at_once { bee.id() == who } else { !has_left.swap(true, Ordering::Relaxed) };
                    if is_culprit {
                        stray.resume();
                    }
                    part.fill(1);
                });
            });
            assert_contains_all(&message, &[RESUMED]);
            for _ in 0..3 {
                data.fill(0);
                hive.par_for_mut(&mut data, schedule, |_, part, _| part.iter_mut().for_each(|element| *element += 1));
                assert!(data.iter().all(|element| *element == 1), "{schedule:?}");
            }
        }
    }
}

/// Bee 1 catches its own panic at a barrier that the queen leaves out. Bee 2 is released from the barrier, or panics in
/// the same way.
#[test]
fn a_region_does_not_return_if_a_bee_was_let_go_whoever_caught_the_panic() {
    let _alone = run_exclusively();
    silence_panics("bee");
    for hive in hives() {
        let let_go = AtomicUsize::new(0);
        for round in 0..200 {
            let (leaves, catches) = [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)][round % 6];
            let is_broken = Gate::new();
            let message = panic_message(|| {
                let results = hive.spmd_map(3, |bee| {
                    if bee.id() == leaves {
                        return;
                    }
                    if bee.id() == catches {
                        assert!(caught(|| bee.barrier()).is_some());
                        is_broken.arrive();
                    } else {
                        // In every second round it comes to the barrier after that is broken.
                        is_broken.wait_for(round / 6 % 2);
                        bee.barrier();
                    }
                });
                unreachable!("{} results of 3", results.len());
            });
            assert!(message.contains("equally often") || message.contains("a call of barrier"), "{message}");
            if message.contains("a call of barrier") {
                assert_contains_all(&message, &[&format!("on bee {catches}: with"), "caught"]);
                let_go.fetch_add(1, Ordering::Relaxed);
            }
            assert_hive_works(&hive, 3);
        }
        assert!(let_go.into_inner() > 0);
    }
}

#[test]
fn a_region_does_not_return_although_all_bees_caught_what_happened_and_ended() {
    let _alone = run_exclusively();
    silence_panics("bee");
    for hive in hives() {
        for leaves in [1, 2] {
            for _ in 0..50 {
                let is_broken = Gate::new();
                let message = panic_message(|| {
                    hive.spmd(3, |bee| {
                        // The queen is never the bee that leaves (see `leaves`): the others could then see her end
                        // first, and she would panic on their behalf.
                        if bee.id() != leaves {
                            assert!(caught(|| bee.barrier()).is_some());
                            is_broken.arrive_and_wait(2);
                        }
                    });
                });
                assert_contains_all(&message, &["a panic that was caught has ended a call of barrier on bee"]);
            }
            assert_hive_works(&hive, 3);
        }
    }
}

/// Calls a closure when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// A barrier in a destructor cannot panic when another bee has left it out, so its bee continues. All bees catch their
/// panics.
#[test]
fn a_region_does_not_return_if_a_destructor_s_barrier_has_returned_without_having_met() {
    in_own_process("a_region_does_not_return_if_a_destructor_s_barrier_has_returned_without_having_met", || {
        silence_panics("as expected");
        for hive in hives() {
            for who in 0..3 {
                let passed_by = AtomicUsize::new(0);
                let ended = caught(|| {
                    hive.spmd(3, |bee| {
                        if bee.id() != who {
                            return;
                        }
                        let own = caught(|| {
                            let _barrier = OnDrop(|| bee.barrier());
                            panic_any(Payload("its own"));
                        });
                        assert!(own.unwrap().is::<Payload>());
                        passed_by.fetch_add(1, Ordering::Relaxed);
                    });
                });
                let ended = ended.expect("a barrier was passed by").downcast::<String>().expect("a message");
                // If the queen is the first to see that a bee has left the barrier out, her panic says so.
                assert!(
                    ended.contains("equally often") || ended.contains(&format!("bee {who} has gone on")),
                    "{ended}"
                );
                assert_eq!(passed_by.into_inner(), 1);
                assert_hive_works(&hive, 3);
            }
        }
    });
}

/// The calling thread unwinds because of another panic. The part that it runs does not unwind.
#[test]
fn a_barrier_meets_or_unwinds_in_a_region_that_a_destructor_runs() {
    in_own_process("a_barrier_meets_or_unwinds_in_a_region_that_a_destructor_runs", || {
        silence_panics("equally often");
        for hive in hives() {
            for panics in [false, true] {
                let ended = Mutex::new(None);
                let passed = AtomicUsize::new(0);
                let first = payload_of(|| {
                    let _region = OnDrop(|| {
                        // Barriers work there.
                        assert_hive_works(&hive, 3);
                        let region = || {
                            hive.spmd(3, |bee| {
                                if bee.id() == 2 {
                                    if panics {
                                        panic_any(Payload("of the region"));
                                    }
                                    return;
                                }
                                bee.barrier();
                                passed.fetch_add(1, Ordering::Relaxed);
                            });
                        };
                        *ended.lock().unwrap() = caught(region);
                        // So do collective operations.
                        assert_eq!(hive.spmd_map(3, |bee| bee.all_reduce(bee.id(), |a, b| a + b)), [3; 3]);
                    });
                    panic_any(Payload("the first"));
                });
                assert_eq!((first, passed.into_inner()), ("the first", 0));
                let ended = ended.into_inner().unwrap().expect("the region cannot have returned");
                match ended.downcast::<Payload>() {
                    Ok(payload) => assert_eq!((payload.0, panics), ("of the region", true)),
                    Err(other) => {
                        assert_contains_all(&other.downcast::<String>().expect("a message"), &["equally often"])
                    }
                }
                assert_hive_works(&hive, 3);
            }
        }
    });
}

/// A collective operation that a destructor may call.
struct Collective {
    name: &'static str,
    run: fn(&Bee<'_>) -> usize,
    /// Its result on a bee if the bees do not meet, or the others meet for another operation.
    alone: fn(usize) -> usize,
    /// Whether the bee with this number reads values of other bees.
    looks: fn(usize) -> bool,
}

const COLLECTIVES: [Collective; 9] = [
    Collective {
        name: "broadcast_from the bee itself",
        run: |bee| bee.broadcast_from(bee.id(), || 100 + bee.id()),
        alone: |id| 100 + id,
        // A root also checks that bee 0 names the same root.
        looks: |id| id > 0,
    },
    Collective {
        name: "broadcast_from another",
        run: |bee| bee.broadcast_from((bee.id() + 1) % 3, || 100 + bee.id()),
        alone: |id| 100 + id,
        looks: |_| true,
    },
    Collective { name: "single", run: |bee| bee.single(|| 100 + bee.id()), alone: |id| 100 + id, looks: |_| false },
    Collective {
        name: "all_reduce",
        run: |bee| bee.all_reduce(100 + bee.id(), |a, b| a + b),
        alone: |id| 100 + id,
        looks: |_| true,
    },
    Collective {
        name: "reduce",
        run: |bee| bee.reduce(100 + bee.id(), |a, b| a + b).unwrap_or(1),
        alone: |id| if id == 0 { 100 } else { 1 },
        looks: |id| id == 0,
    },
    Collective {
        name: "scan_inclusive",
        run: |bee| bee.scan_inclusive(100 + bee.id(), |a, b| a + b),
        alone: |id| 100 + id,
        looks: |id| id > 0,
    },
    Collective {
        name: "scan_exclusive",
        run: |bee| bee.scan_exclusive(7, bee.id(), |a, b| a + b),
        alone: |_| 7,
        looks: |id| id > 0,
    },
    Collective {
        name: "reduce_over, a part each",
        run: |bee| bee.reduce_over(1..4, &Reduction::per_team_size(0, |a, b| a + b), |range| range.sum()),
        alone: |id| 1 + id,
        looks: |_| true,
    },
    Collective {
        name: "reduce_over, in blocks",
        run: |bee| bee.reduce_over(1..4, &Reduction::deterministic(0, |a, b| a + b), |range| range.sum()),
        alone: |id| 1 + id,
        looks: |_| true,
    },
];

#[test]
fn no_collective_aborts_in_a_destructor_where_nobody_meets() {
    in_own_process("no_collective_aborts_in_a_destructor_where_nobody_meets", || {
        silence_panics("as expected");
        let hive = Hive::new(3).unwrap();
        for Collective { name, run, alone, .. } in COLLECTIVES {
            for who in 0..3 {
                let results = Mutex::new(Vec::new());
                let panicked = payload_of(|| {
                    hive.spmd(3, |bee| {
                        if bee.id() == who {
                            panic_any(Payload("its own"));
                        }
                        let _collective = OnDrop(|| results.lock().unwrap().push((bee.id(), run(bee))));
                        bee.barrier();
                    });
                });
                assert_eq!(panicked, "its own");
                let results = results.into_inner().unwrap();
                assert_eq!(results.len(), 2, "{name}");
                assert!(results.iter().all(|&(id, result)| result == alone(id)), "{name}: {results:?}");
                assert_hive_works(&hive, 3);
            }
        }
    });
}

/// A collective operation in a destructor meets bees that have come for another operation, and cannot report that by a
/// panic.
#[test]
fn no_collective_aborts_in_a_destructor_that_meets_bees_who_do_something_else() {
    in_own_process("no_collective_aborts_in_a_destructor_that_meets_bees_who_do_something_else", || {
        silence_panics("same operations");
        silence_panics("bee");
        let hive = Hive::new(3).unwrap();
        type Other = fn(&Bee<'_>);
        let others: [(bool, Other); 2] =
            [(false, |bee| bee.barrier()), (true, |bee| _ = caught(|| _ = bee.all_reduce(1.5, f64::max)))];
        for Collective { name, run, alone, looks } in COLLECTIVES {
            for (others_look, other) in others {
                for who in 0..3 {
                    let result = Mutex::new(None);
                    let ended = caught(|| {
                        hive.spmd(3, |bee| {
                            if bee.id() != who {
                                return other(bee);
                            }
                            let own = caught(|| {
                                let _collective = OnDrop(|| *result.lock().unwrap() = Some(run(bee)));
                                panic_any(Payload("its own"));
                            });
                            assert!(own.unwrap().is::<Payload>());
                        });
                    });
                    assert_eq!(result.into_inner().unwrap(), Some(alone(who)), "{name}");
                    // With debug assertions, all bees except 0 read bee 0's values in any case, and bee 0 reads those
                    // of all others.
                    let is_found = looks(who) || others_look || cfg!(debug_assertions);
                    assert_eq!(ended.is_some(), is_found, "{name} on bee {who}");
                    assert_hive_works(&hive, 3);
                }
            }
        }
    });
}

/// Loops, ordered sections, parts of slices and per-bee values in a destructor whose region is broken.
#[test]
fn nothing_else_aborts_in_a_destructor_whose_region_is_broken() {
    in_own_process("nothing_else_aborts_in_a_destructor_whose_region_is_broken", || {
        silence_panics("as expected");
        let hive = Hive::new(3).unwrap();
        let schedules = [
            Schedule::Static,
            Schedule::StaticChunk(1),
            Schedule::Dynamic(1),
            Schedule::Affinity,
            Schedule::Guided(1),
            Schedule::Factoring,
        ];
        for schedule in schedules {
            let shared = Loop::new(0..1_000, schedule);
            let (own, turns, runs) = (PerBee::new(3, |_| 0), Ordered::new(0..3), AtomicUsize::new(0));
            let mut data = vec![0; 9];
            let parts = Parts::new(&mut data, 3);
            let panicked = payload_of(|| {
                hive.spmd(3, |bee| {
                    if bee.id() == 1 {
                        panic_any(Payload("its own"));
                    }
                    let _work = OnDrop(|| {
                        bee.for_each(&shared, |range| *own.get(bee) += range.len());
                        bee.for_each(&shared, |range| *own.get(bee) += range.len());
                        bee.ordered(&turns, bee.id(), || runs.fetch_add(1, Ordering::Relaxed));
                        // Another bee may have borrowed its part at the moment. Outside of unwinding the call below
                        // reports that by a panic; here it must not.
                        parts.own_mut(bee).fill(1);
                        bee.barrier();
                        let others = parts.part(bee, 2 - bee.id());
                        assert!(others.iter().all(|element| *element <= 1));
                    });
                    bee.barrier();
                });
            });
            assert_eq!((panicked, runs.into_inner()), ("its own", 2));
            drop(parts);
            assert_hive_works(&hive, 3);
        }
    });
}

/// What a team of one can run in a destructor while its part unwinds, and what it cannot have there: a part that is
/// borrowed, and a turn that no bee brings.
#[test]
fn nothing_aborts_in_a_destructor_of_a_team_of_one() {
    in_own_process("nothing_aborts_in_a_destructor_of_a_team_of_one", || {
        silence_panics("as expected");
        let hive = Hive::new(2).unwrap();
        let region = || {
            let (turns, runs) = (Ordered::new(0..3), AtomicUsize::new(0));
            let mut data = vec![0; 4];
            let parts = Parts::new(&mut data, 2);
            let panicked = payload_of(|| {
                hive.spmd(1, |bee| {
                    let _out = parts.part_mut(bee, 0);
                    let _at_end = OnDrop(|| {
                        assert!(parts.own_mut(bee).is_empty(), "there is another part");
                        assert!(parts.part_mut(bee, 0).is_empty() && parts.part(bee, 0).is_empty(), "it is out");
                        assert_eq!(parts.part_mut(bee, 1).len(), 2);
                        assert_eq!(bee.all_reduce(3, usize::max), 3);
                        bee.barrier();
                        bee.ordered(&turns, 0, || runs.fetch_add(1, Ordering::Relaxed));
                        bee.ordered(&turns, 1, || runs.fetch_add(1, Ordering::Relaxed));
                    });
                    panic_any(Payload("its own"));
                });
            });
            assert_eq!((panicked, runs.load(Ordering::Relaxed)), ("its own", 2));
        };
        // A turn that no other bee can bring is not waited for.
        let out_of_turn = || {
            let (turns, runs) = (Ordered::new(0..3), AtomicUsize::new(0));
            let panicked = payload_of(|| {
                hive.spmd(1, |bee| {
                    let _at_end = OnDrop(|| _ = bee.ordered(&turns, 2, || runs.fetch_add(1, Ordering::Relaxed)));
                    panic_any(Payload("its own"));
                });
            });
            assert_eq!((panicked, runs.load(Ordering::Relaxed)), ("its own", 1));
        };
        region();
        out_of_turn();
        hive.install(region);
        hive.install(out_of_turn);
        hive.spmd(2, |_| region());
        hive.join(region, region);
        assert_hive_works(&hive, 2);
    });
}

/// A region of one bee returns normally only if its bee got all that it asked for, whichever panics are caught. That
/// holds when the bee's part unwound and the bee caught the panic, and also when a destructor runs the region during
/// another unwinding, where the two cannot be told apart.
#[test]
fn a_team_of_one_does_not_return_if_it_has_gone_without_something() {
    in_own_process("a_team_of_one_does_not_return_if_it_has_gone_without_something", || {
        silence_panics("cannot return as if");
        let (hive, said) = (Hive::new(2).unwrap(), Mutex::new(Vec::new()));
        let mut data = vec![0; 4];
        let parts = Parts::new(&mut data, 2);
        let asks_twice = |bee: &Bee<'_>| {
            let _out = parts.part_mut(bee, 0);
            assert!(parts.part_mut(bee, 0).is_empty());
        };
        let say = |region: &dyn Fn()| said.lock().unwrap().push(panic_message(region));
        let unwinds = |destructor: &dyn Fn()| {
            let _at_end = OnDrop(destructor);
            panic_any(Payload("another"));
        };
        say(&|| hive.spmd(1, |bee| assert_eq!(payload_of(|| unwinds(&|| asks_twice(bee))), "another")));
        let amid = || unwinds(&|| say(&|| hive.spmd(1, asks_twice)));
        assert_eq!(payload_of(amid), "another");
        // The same in a part of a team of one that unwinds, and in one of a larger team.
        assert_eq!(payload_of(|| hive.spmd(1, |_| amid())), "another");
        assert_eq!(
            payload_of(|| hive.spmd(2, |bee| if bee.is_queen() {
                amid()
            })),
            "another"
        );
        assert_eq!(
            payload_of(|| hive.spmd(2, |bee| if !bee.is_queen() {
                amid()
            })),
            "another"
        );
        let said = said.into_inner().unwrap();
        assert_eq!(said.len(), 5);
        assert!(said.iter().all(|said| said.contains("gone on after a call that should have panicked")), "{said:?}");
        // A resize that is asked for at the same time still takes effect.
        let region = || {
            hive.spmd(1, |bee| {
                hive.resize(3).unwrap();
                caught(|| unwinds(&|| asks_twice(bee)));
                hive.resize(4).unwrap();
            });
        };
        assert_contains_all(&panic_message(region), &["gone on after a call that should have panicked"]);
        assert_eq!(hive.bees(), 4);
        hive.spmd(1, |_| hive.resize(2).unwrap());
        assert_hive_works(&hive, 2);
    });
}
