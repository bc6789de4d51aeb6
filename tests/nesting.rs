//! Regions inside regions, of the same hive and of others, from one thread, and crosswise from several threads.

#![cfg(target_os = "linux")]

mod common;

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use common::{Gate, run_exclusively, wait_until};
use hive::{BarrierShape, Hive};

#[test]
fn inside_a_region_of_the_same_hive_a_region_is_a_team_of_one() {
    let _alone = run_exclusively();
    let hive = Hive::new(3).unwrap();
    for n in [1, 2, 6] {
        let runs = AtomicUsize::new(0);
        hive.spmd(n, |_| {
            let outer = thread::current().id();
            // All at the same time, and none waits for another.
            hive.spmd(4, |bee| {
                assert_eq!((bee.id(), bee.bees(), bee.is_queen()), (0, 1, true));
                assert_eq!(bee.split(0..10), 0..10);
                bee.barrier();
                hive.spmd(2, |bee| {
                    assert_eq!((bee.id(), bee.bees()), (0, 1));
                    assert_eq!(hive.spmd_map(5, |bee| (bee.bees(), thread::current().id())), [(1, outer)]);
                    runs.fetch_add(1, Ordering::Relaxed);
                });
            });
        });
        assert_eq!(runs.into_inner(), n);
    }
    assert_eq!(hive.bees(), 6, "nested regions grow nothing");
}

#[test]
fn barriers_outside_and_inside_do_not_mix() {
    let _alone = run_exclusively();
    let hive = Hive::new(4).unwrap();
    let arrived = AtomicUsize::new(0);
    hive.spmd(4, |bee| {
        for round in 1..=100 {
            hive.spmd(3, |alone| (0..inner_barriers(round)).for_each(|_| alone.barrier()));
            arrived.fetch_add(1, Ordering::Relaxed);
            bee.barrier();
            assert_eq!(arrived.load(Ordering::Relaxed), 4 * round);
            bee.barrier();
        }
    });
}

/// A number of inner barriers that differs from round to round.
fn inner_barriers(round: usize) -> usize {
    round % 5
}

#[test]
fn inside_a_region_of_another_hive_a_region_is_a_team_where_that_hive_is_free() {
    let _alone = run_exclusively();
    let (outer, inner) = (Hive::new(2).unwrap(), Hive::new(3).unwrap());
    let gate = Gate::new();
    outer.spmd(2, |bee| {
        // One bee after the other, so that the inner hive is free.
        for id in 0..2 {
            if bee.id() == id {
                let counts = inner.spmd_map(3, |bee| {
                    gate.arrive_and_wait((id + 1) * 3);
                    (bee.id(), bee.bees())
                });
                assert_eq!(counts, [(0, 3), (1, 3), (2, 3)]);
            }
            bee.barrier();
        }
    });
    assert_eq!(gate.arrived(), 6);
}

#[test]
fn inside_a_region_of_another_hive_a_region_is_a_team_of_one_where_that_hive_is_busy() {
    let _alone = run_exclusively();
    let (outer, inner) = (Hive::new(2).unwrap(), Hive::new(3).unwrap());
    let (busy, free) = (Gate::new(), Gate::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            inner.spmd(2, |_| {
                busy.arrive();
                free.wait_for(1);
            });
        });
        busy.wait_for(2);
        let counts = outer.spmd_map(2, |_| inner.spmd_map(3, |bee| bee.bees()));
        assert_eq!(counts, [[1], [1]]);
        free.arrive();
    });
}

#[test]
fn a_then_b_then_a_is_a_team_of_one_in_a() {
    let _alone = run_exclusively();
    let (a, b) = (Hive::new(2).unwrap(), Hive::new(2).unwrap());
    let counts = a.spmd_map(2, |outer| {
        let outer = outer.id();
        // The second bee to come finds b busy or free again, so its team has one or two bees.
        b.spmd_map(2, |middle| {
            let inner = a.spmd_map(2, |bee| bee.bees());
            (outer, middle.bees(), inner)
        })
    });
    // A bee of b is not inside of a, but a is busy.
    for (bee, teams) in counts.iter().enumerate() {
        assert!(teams.len() == 1 || teams.len() == 2);
        assert!(
            teams.iter().all(|(outer, count, inner)| (*outer, *count) == (bee, teams.len()) && inner == &[1]),
            "{counts:?}"
        );
    }
}

#[test]
fn stress_every_bee_of_one_hive_starts_regions_on_another() {
    let _alone = run_exclusively();
    let (outer, inner) = (Hive::new(4).unwrap(), Hive::new(3).unwrap());
    let (expected, runs) = (AtomicUsize::new(0), AtomicUsize::new(0));
    outer.spmd(4, |bee| {
        for _ in 0..500 {
            let team = inner.spmd_map(3, |bee| {
                runs.fetch_add(1, Ordering::Relaxed);
                bee.barrier();
                bee.bees()
            });
            assert!(team == [1] || team == [3, 3, 3], "{team:?}");
            expected.fetch_add(team.len(), Ordering::Relaxed);
        }
        bee.barrier();
    });
    assert_eq!(runs.into_inner(), expected.into_inner());
}

#[test]
fn stress_two_hives_nested_crosswise_do_not_deadlock() {
    let _alone = run_exclusively();
    let (a, b) = (Hive::new(2).unwrap(), Hive::new(2).unwrap());
    let start = Gate::new();
    thread::scope(|scope| {
        for (first, second) in [(&a, &b), (&b, &a)] {
            let start = &start;
            scope.spawn(move || {
                start.arrive_and_wait(2);
                for _ in 0..1_000 {
                    first.spmd(2, |bee| {
                        second.spmd(2, |inner| {
                            first.spmd(2, |innermost| assert_eq!(innermost.bees(), 1));
                            inner.barrier();
                        });
                        bee.barrier();
                    });
                }
            });
        }
    });
}

#[test]
fn a_hive_is_built_used_resized_and_dropped_inside_a_region_of_another() {
    let _alone = run_exclusively();
    let outer = Hive::new(3).unwrap();
    for _ in 0..20 {
        outer.spmd(3, |bee| {
            let own = Hive::new(2).unwrap();
            common::assert_hive_works(&own, 2);
            common::assert_hive_works(&own, 4);
            own.resize(1).unwrap();
            own.wait_until_parked();
            bee.barrier();
        });
    }
}

#[test]
fn a_bee_is_a_bee_of_its_hive_also_inside_of_another() {
    let _alone = run_exclusively();
    let (a, b) = (&Hive::new(2).unwrap(), &Hive::new(2).unwrap());
    for _ in 0..100 {
        let counts = a.broadcast(|_| b.install(|| a.spmd_map(2, |bee| bee.bees())));
        assert_eq!(counts, [[1]], "bee 1 of a cannot wait for itself");
    }
}

#[test]
fn who_runs_tasks_of_a_hive_does_so_inside_of_another_too() {
    let _alone = run_exclusively();
    let (a, b) = (&Hive::new(2).unwrap(), &Hive::new(2).unwrap());
    for _ in 0..100 {
        let runs = AtomicUsize::new(0);
        let one = || {
            runs.fetch_add(1, Ordering::Relaxed);
        };
        a.spmd(2, |bee| {
            if bee.is_queen() {
                a.join(|| b.install(|| a.join(one, one)), one);
            }
        });
        a.install(|| {
            a.spmd(2, |_| {
                b.install(|| a.join(one, one));
            });
        });
        a.install(|| b.scope(|_| a.scope(|scope| scope.spawn(|_| one()))));
        assert_eq!(runs.into_inner(), 3 + 4 + 1);
    }
}

#[test]
fn in_the_queens_place_a_region_is_a_real_one_inside_of_another_hives_too() {
    let _alone = run_exclusively();
    let (a, b) = (Hive::new(2).unwrap(), Hive::new(2).unwrap());
    assert_eq!(a.install(|| b.install(|| a.spmd_map(2, |bee| bee.bees()))), [2, 2]);
    assert_eq!(a.install(|| b.join(|| a.spmd_map(2, |bee| bee.bees()), || ()).0), [2, 2]);
}

#[test]
fn current_says_what_the_thread_is_inside_of_last() {
    let _alone = run_exclusively();
    let (a, b) = (Hive::new(2).unwrap(), Hive::new(2).unwrap());
    let hive_of = |inside: Option<hive::CurrentBee>| inside.expect("it is inside of a hive").hive;
    a.spmd(1, |_| {
        let outer = hive_of(hive::current());
        b.install(|| {
            assert_ne!(hive_of(hive::current()), outer);
            a.install(|| assert_eq!(hive_of(hive::current()), outer));
        });
    });
    assert_eq!(hive::current(), None);
}

#[test]
fn a_surplus_bee_that_settles_does_not_wait_for_itself() {
    let _alone = run_exclusively();
    let hive = Arc::new(Hive::new(2).unwrap());
    let other = Arc::new(Hive::new(2).unwrap());
    for _ in 0..50 {
        let (sender, receiver) = channel();
        let task = {
            let (hive, other) = (Arc::clone(&hive), Arc::clone(&other));
            move || {
                hive.resize(1).unwrap();
                hive.wait_until_parked();
                // Nor does a bee for which it waits.
                other.spmd(2, |_| hive.wait_until_parked());
                sender.send(()).unwrap();
            }
        };
        hive.spawn_on(1, task);
        receiver.recv().unwrap();
        hive.wait_until_parked();
        assert_eq!(hive.bees_not_yet_tucked_in(), 0);
        hive.resize(2).unwrap();
    }
}

#[test]
fn a_region_does_not_wait_for_a_bee_whose_task_waits_for_its_caller() {
    let _alone = run_exclusively();
    let (a, b) = (&Hive::new(2).unwrap(), &Hive::new(2).unwrap());
    for _ in 0..100 {
        let teams = Mutex::new(Vec::new());
        let from_b = |bee: &hive::Bee<'_>| {
            if !bee.is_queen() {
                teams.lock().unwrap().push(a.spmd_map(2, |bee| bee.bees()));
            }
        };
        a.broadcast(|_| b.spmd(2, from_b));
        assert_eq!(teams.into_inner().unwrap(), [[1]], "bee 1 of a waits for bee 1 of b");
    }
}

#[test]
fn stress_tasks_of_two_hives_that_start_regions_on_the_other() {
    let _alone = run_exclusively();
    let hives = Arc::new([Hive::new(3).unwrap(), Hive::new(3).unwrap()]);
    let (sender, receiver) = channel();
    for round in 0..4_000 {
        let (hives, sender) = (Arc::clone(&hives), sender.clone());
        let own = round % 2;
        let task = {
            let hives = Arc::clone(&hives);
            move || {
                let counts = hives[1 - own].spmd_map(3, |bee| bee.bees());
                assert!(counts == [1] || counts == [3, 3, 3], "{counts:?}");
                // The hive must not end on one of its own bees.
                sender.send(hives).unwrap();
            }
        };
        if round % 3 == 0 { hives[own].spawn_on(1, task) } else { hives[own].spawn(task) }
    }
    assert_eq!(receiver.iter().take(4_000).count(), 4_000);
}

#[test]
fn the_queen_of_a_region_who_yields_runs_what_she_has_spawned() {
    let _alone = run_exclusively();
    let hive = Hive::new(2).unwrap();
    for _ in 0..100 {
        hive.spmd(2, |bee| {
            if bee.is_queen() {
                let (sender, receiver) = channel();
                hive.spawn(move || sender.send(()).unwrap());
                // The only worker waits for her at the barrier.
                common::wait_until(|| {
                    hive::yield_now();
                    receiver.try_recv().is_ok()
                });
            }
            bee.barrier();
        });
    }
}

#[test]
fn a_task_spawned_by_a_queen_alone_is_run_while_she_waits_elsewhere() {
    let _alone = run_exclusively();
    let (a, b) = (Hive::new(1).unwrap(), Hive::new(2).unwrap());
    for _ in 0..100 {
        a.install(|| {
            let done = Arc::new(AtomicUsize::new(0));
            let says = Arc::clone(&done);
            a.spawn(move || says.store(1, Ordering::Release));
            b.spmd(2, |bee| {
                if !bee.is_queen() {
                    common::wait_until(|| done.load(Ordering::Acquire) == 1);
                }
            });
        });
    }
}

#[test]
fn what_runs_at_the_end_of_a_bee_does_not_wait_for_who_drops_its_hive() {
    let _alone = run_exclusively();
    struct Last(Arc<Hive>);
    impl Drop for Last {
        fn drop(&mut self) {
            // The queen lock of that hive is held by a thread that waits for this one.
            assert_eq!(self.0.spmd_map(2, |bee| bee.bees()), [1]);
        }
    }
    thread_local! {
        static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
    }
    let busy = Arc::new(Hive::new(2).unwrap());
    for _ in 0..50 {
        let dropped = Mutex::new(Some(Hive::new(2).unwrap()));
        let last = Arc::clone(&busy);
        dropped.lock().unwrap().as_ref().unwrap().broadcast(move |_| LAST.set(Some(Last(Arc::clone(&last)))));
        busy.spmd(2, |bee| {
            if bee.is_queen() {
                drop(dropped.lock().unwrap().take());
            }
        });
    }
}

/// The sizes of the teams in a region of `n` bees on `inner`, started by a thread that others may be waiting for: a
/// worker of `outer`.
fn counts_from_a_join(outer: &Hive, inner: &Hive, n: usize) -> Vec<usize> {
    outer.join(|| inner.spmd_map(n, |bee| bee.bees()), || ()).0
}

/// Runs a task on all workers of `inner`, which has eighteen bees, and waits until a worker of `outer` can have a team
/// of two there. What the task returns is known before its bee is out of it; for that moment, the team is one of one.
fn broadcast_and_wait_for_idle(outer: &Hive, inner: &Hive) {
    assert_eq!(inner.broadcast(|index| index).len(), 17);
    wait_until(|| counts_from_a_join(outer, inner, 2) == [2, 2]);
}

/// A bee that has run a task in its part of a region is idle afterwards like any other, even if it never stops polling.
/// The hive has two bees, because where CPUs are short bees do not poll for long.
#[test]
fn bees_that_ran_tasks_in_a_region_are_idle_after_it() {
    let _alone = run_exclusively();
    let outer = Hive::new(1).unwrap();
    let run_tasks_and_nest = |inner: &Hive| {
        for _ in 0..20 {
            inner.spmd(2, |bee| {
                if !bee.is_queen() {
                    inner.scope(|scope| (0..4).for_each(|_| scope.spawn(|_| ())));
                }
            });
            assert_eq!(counts_from_a_join(&outer, inner, 2), [2, 2]);
        }
    };
    let hot = Hive::new(2).unwrap();
    hot.keep_spinning(|| run_tasks_and_nest(&hot));
    drop(hot);
    for spin in [Duration::MAX, Duration::ZERO] {
        run_tasks_and_nest(&Hive::builder().bees(2).spin(spin).build().unwrap());
    }
}

/// Bees that are not bound are in groups of sixteen, so the last of eighteen bees does not learn of a region of two.
#[test]
fn bees_that_hear_nothing_of_an_announced_region_run_tasks_during_it_and_after_it() {
    let _alone = run_exclusively();
    let outer = Hive::new(1).unwrap();
    let inner = Hive::builder().bees(18).barrier(BarrierShape::Node).build().unwrap();
    let count_runs = |inner: &Hive| {
        let ran = Arc::new(Gate::new());
        let by_the_last = Arc::clone(&ran);
        inner.spawn_on(17, move || by_the_last.arrive());
        ran.wait_for(1);
        ran.arrived()
    };
    for _ in 0..20 {
        broadcast_and_wait_for_idle(&outer, &inner);
        let during =
            outer.join(|| inner.spmd_map(2, |bee| if bee.is_queen() { count_runs(&inner) } else { 0 }), || ()).0;
        assert_eq!(during, [1, 0]);
        // Others go to sleep.
        thread::sleep(Duration::from_micros(500));
    }
    counts_from_a_join(&outer, &inner, 2);
    inner.resize(1).unwrap();
    inner.wait_until_parked();
}

/// An announced region that ends with a panic leaves nothing behind either.
#[test]
fn an_announced_region_that_panics_holds_nobody_back() {
    let _alone = run_exclusively();
    let outer = Hive::new(1).unwrap();
    let inner = Hive::builder().bees(18).barrier(BarrierShape::Node).build().unwrap();
    for culprit in 0..2 {
        outer.join(
            || {
                let panicking = || {
                    inner.spmd(2, |bee| {
                        if bee.id() == culprit {
                            std::panic::resume_unwind(Box::new(culprit))
                        }
                    })
                };
                let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(panicking));
                assert_eq!(caught.unwrap_err().downcast_ref(), Some(&culprit));
            },
            || (),
        );
        broadcast_and_wait_for_idle(&outer, &inner);
    }
}
