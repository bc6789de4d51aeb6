//! Loops while workers sleep, are parked, or have not begun; and while hives with excused workers are resized, dropped,
//! forked, traced and watched. `latecomers.rs` has the workers that are in tasks.

#![cfg(target_os = "linux")]

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self};
use std::time::Duration;

use common::held_workers::{
    BEES, Held, LEN, Record, Release, SCHEDULES, assert_all_take_part, assert_covers, assert_loop_works, hives,
    wait_until_asleep,
};
use common::process::in_own_process;
use common::sys::{exit_now, fork, fork_here};
use common::task_helpers::{assert_hive_and_tasks_work, builders};
use common::trace_reader::{Trace, TraceDirectory};
use common::{Gate, Rng, assert_hive_works, run_exclusively};
use hive::{Hive, Reduction, Schedule};

#[test]
fn loops_are_complete_while_all_workers_sleep() {
    let _alone = run_exclusively();
    for builder in builders() {
        let hive = builder.spin(Duration::ZERO).poll(None).bees(BEES).build().unwrap();
        for round in 0..20 {
            for schedule in SCHEDULES {
                wait_until_asleep(&hive, BEES - 1);
                assert_loop_works(&hive, schedule);
            }
            if round % 5 == 0 {
                assert_all_take_part(&hive, BEES);
            }
        }
    }
}

#[test]
fn loops_are_complete_with_parked_workers_and_resizes() {
    let _alone = run_exclusively();
    for hive in hives() {
        for round in 0..20 {
            let schedule = SCHEDULES[round % SCHEDULES.len()];
            hive.resize(1).unwrap();
            hive.wait_until_parked();
            assert_loop_works(&hive, schedule);
            hive.resize(BEES).unwrap();
            assert_loop_works(&hive, schedule);
            // The shrink comes while workers that were excused are perhaps still on their way.
            hive.resize(2).unwrap();
            assert_loop_works(&hive, schedule);
            hive.wait_until_parked();
            assert_eq!(hive.bees_not_yet_tucked_in(), 0);
            hive.resize(BEES).unwrap();
            assert_loop_works(&hive, schedule);
        }
        assert_hive_and_tasks_work(&hive, BEES);
    }
}

#[test]
fn a_hive_is_resized_and_dropped_while_its_excused_workers_are_in_tasks() {
    let _alone = run_exclusively();
    for hive in hives() {
        let held = Held::all(&hive);
        assert_loop_works(&hive, Schedule::Static);
        hive.resize(2).unwrap();
        assert_eq!(hive.bees_not_yet_tucked_in(), 1);
        assert_loop_works(&hive, Schedule::Dynamic(1));
        hive.resize(BEES).unwrap();
        assert_loop_works(&hive, Schedule::Affinity);
        hive.resize(1).unwrap();
        assert_loop_works(&hive, Schedule::Static);
        drop(held);
        hive.wait_until_parked();
        hive.resize(BEES).unwrap();
        assert_loop_works(&hive, Schedule::Static);
        // A resize inside of a part that is stood in for.
        let held = Held::all(&hive);
        hive.par_for(0..BEES, |_, bee| {
            if bee.id() == 2 {
                hive.resize(2).unwrap();
            }
            assert_eq!(hive.bees(), BEES);
        });
        assert_eq!(hive.bees(), 2);
        hive.resize(BEES).unwrap();
        assert_loop_works(&hive, Schedule::Static);
        // The drop of the hive waits for the tasks, so another thread ends them.
        let release = Arc::clone(&held.release);
        let dropper = thread::spawn(move || drop(hive));
        release.give();
        dropper.join().unwrap();
        drop(held);
    }
}

#[test]
fn the_threads_of_a_hive_that_grows_for_a_loop_may_begin_later() {
    let _alone = run_exclusively();
    for builder in builders() {
        let release = Arc::new(Release::default());
        let (began, ended) = (Arc::new(Gate::new()), Arc::new(Gate::new()));
        let hive = {
            let (began, ended, release) = (Arc::clone(&began), Arc::clone(&ended), Arc::clone(&release));
            let handler = move |_| {
                began.arrive();
                release.wait();
                ended.arrive();
            };
            builder.bees(1).max_bees(BEES).start_handler(handler).build().unwrap()
        };
        let hired = began.arrived();
        assert_loop_works(&hive, Schedule::Static);
        hive.resize(BEES).unwrap();
        let owners: Vec<_> = (0..BEES).map(|id| (id, thread::current().id())).collect();
        for schedule in SCHEDULES {
            let record = Record::default();
            hive.par_for((0..LEN, schedule), |range, bee| record.add(range, bee));
            let ranges = record.into_sorted();
            assert_covers(&ranges, 0..LEN);
            if let Schedule::Static = schedule {
                let ran: Vec<_> = ranges.into_iter().map(|(_, id, thread)| (id, thread)).collect();
                assert_eq!(ran, owners);
            }
        }
        assert!(ended.arrived() == 0 && hired <= 1, "the handlers are still running");
        release.give();
        assert_all_take_part(&hive, BEES);
        assert_eq!((began.arrived(), ended.arrived()), (BEES - 1, BEES - 1));
        assert_hive_and_tasks_work(&hive, BEES);
    }
}

// Other circumstances.

#[test]
fn a_fork_after_loops_with_excused_workers_works() {
    in_own_process("a_fork_after_loops_with_excused_workers_works", || {
        let hive = Hive::new(BEES).unwrap();
        let held = Held::all(&hive);
        assert_loop_works(&hive, Schedule::Static);
        fork(|| {
            assert!(hive.try_spmd(2, |_| ()).is_err());
            assert_loop_works(&Hive::new(BEES).unwrap(), Schedule::Static);
        })
        .join();
        assert_loop_works(&hive, Schedule::Static);
        drop(held);
        assert_hive_works(&hive, BEES);
    });
}

/// A child that comes back from a part is aborted. It runs no parts of bees that it does not have.
#[test]
fn a_child_that_is_forked_in_a_loop_stands_in_for_nobody() {
    in_own_process("a_child_that_is_forked_in_a_loop_stands_in_for_nobody", || {
        for forks_in in [0, 1] {
            let hive = Hive::new(BEES).unwrap();
            let (held, child, is_child) = (Held::all(&hive), Mutex::new(None), AtomicBool::new(false));
            hive.par_for(0..BEES, |_, bee| {
                if is_child.load(Ordering::Relaxed) {
                    exit_now(77);
                }
                if bee.id() == forks_in {
                    match fork_here() {
                        None => is_child.store(true, Ordering::Relaxed),
                        forked => *child.lock().unwrap() = forked,
                    }
                }
            });
            held.assert_held();
            let status = child.into_inner().unwrap().unwrap().outcome().expect("it does not hang");
            assert_ne!(status >> 8, 77, "the child has run the part of another bee");
            assert_eq!(status & 0x7f, libc::SIGABRT);
        }
    });
}

#[test]
fn traces_of_loops_with_excused_workers_are_consistent() {
    let _alone = run_exclusively();
    let room = TraceDirectory::new("latecomers");
    let hive = room.builder(BEES).build().unwrap();
    for schedule in SCHEDULES {
        for held_ids in [vec![1, 2], vec![2]] {
            let held = Held::workers(&hive, held_ids);
            hive.par_for((0..LEN, schedule), |_, _| ());
            held.assert_held();
        }
        assert_loop_works(&hive, schedule);
    }
    hive.spmd(BEES, |bee| bee.barrier());
    let mut outcome = Err(String::new());
    // A worker that is falling asleep is between its count and its entry.
    for _ in 0..100 {
        let stats = hive.stats();
        outcome = Trace::read(&hive.write_trace().unwrap()).compare(&stats);
        if outcome.is_ok() {
            break;
        }
        thread::sleep(Duration::from_millis(1));
    }
    outcome.unwrap();
}

#[test]
fn a_hive_with_a_watchdog_runs_loops_with_excused_workers() {
    in_own_process("a_hive_with_a_watchdog_runs_loops_with_excused_workers", || {
        let hive = Hive::builder().bees(BEES).deadlock_watchdog(Some(Duration::from_millis(1))).build().unwrap();
        for _ in 0..20 {
            let held = Held::all(&hive);
            hive.par_for(0..BEES, |_, _| thread::sleep(Duration::from_millis(2)));
            held.assert_held();
            let text = format!("{hive:?}");
            assert!(text.contains("max_bees"), "{text}");
        }
        assert_hive_works(&hive, BEES);
    });
}

// Everything at random.

#[test]
fn loops_are_complete_whatever_the_workers_do() {
    let _alone = run_exclusively();
    let rounds = if cfg!(debug_assertions) { 500 } else { 5_000 };
    for (seed, builder) in (1..).zip(builders()) {
        let hive = builder.bees(4).max_bees(4).build().unwrap();
        let is_over = AtomicBool::new(false);
        let run_loop = |rng: &mut Rng| {
            let (len, schedule) = (rng.next_up_to(60), SCHEDULES[rng.next_up_to(8) - 1]);
            let runs: Vec<_> = (0..len).map(|_| AtomicUsize::new(0)).collect();
            let body = |index: usize| {
                runs[index].fetch_add(1, Ordering::Relaxed);
                if index.is_multiple_of(17) {
                    thread::yield_now();
                }
            };
            if rng.next_up_to(3) == 1 {
                let count = Reduction::deterministic(0, |a, b| a + b);
                let counted = hive.par_reduce((0..len, schedule), &count, |range| {
                    range.clone().for_each(body);
                    range.len()
                });
                assert_eq!(counted, len);
            } else {
                hive.par_for((0..len, schedule), |range, _| range.for_each(body));
            }
            assert!(runs.iter().all(|runs| runs.load(Ordering::Relaxed) == 1), "{schedule:?}: {runs:?}");
        };
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut rng = Rng::new(seed);
                while !is_over.load(Ordering::Relaxed) {
                    match rng.next_up_to(5) {
                        1 => hive.resize(rng.next_up_to(4)).unwrap(),
                        2 => run_loop(&mut rng),
                        3 => hive.spawn(thread::yield_now),
                        4 => {
                            let pause = Duration::from_micros(rng.next_up_to(200) as u64);
                            hive.spawn_on(rng.next_up_to(3), move || thread::sleep(pause));
                        }
                        _ => thread::sleep(Duration::from_micros(rng.next_up_to(300) as u64)),
                    }
                }
            });
            let mut rng = Rng::new(seed + 100);
            for _ in 0..rounds {
                match rng.next_up_to(8) {
                    1 => hive.spmd(rng.next_up_to(4), |bee| bee.barrier()),
                    2 => _ = hive.join(|| (), || ()),
                    3 => hive.install(|| run_loop(&mut rng)),
                    4 => thread::sleep(Duration::from_micros(rng.next_up_to(200) as u64)),
                    _ => run_loop(&mut rng),
                }
            }
            is_over.store(true, Ordering::Relaxed);
        });
        hive.resize(4).unwrap();
        assert_all_take_part(&hive, 4);
    }
}
