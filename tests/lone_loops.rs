//! The caller of a loop runs all of it where that is sooner: if the loop is short and the workers are asleep, and, in a
//! reduction or a scan, if another thread is queen. The results are those of the whole team.

#![cfg(target_os = "linux")]

mod common;

use std::collections::HashSet;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};
use std::{hint, thread};

use common::held_workers::{
    BEES, LEN, Record, SCHEDULES, assert_all_take_part, assert_covers, hives, wait_until_asleep,
};
use common::short_loops::{lone_loops, short_and_then, until_alone};
use common::{Gate, assert_hive_works, panic_message, proc_threads, run_exclusively, silence_panics, sys, wait_until};
use hive::{Hive, Loop, PerBee, Pin, Reduction, Scan, Schedule};

/// Calls `run` while a region is running on all bees of the hive, and so many more threads wait to be queen that
/// whoever calls a loop is better off alone, whether the loop is short or not.
fn while_busy<R>(hive: &Hive, run: impl FnOnce() -> R) -> R {
    let (entered, release) = (Gate::new(), Gate::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            hive.spmd(hive.bees(), |_| {
                entered.arrive();
                release.wait_for(1);
            });
        });
        entered.wait_for(hive.bees());
        let wait = || {
            let (sender, receiver) = mpsc::channel();
            scope.spawn(move || {
                sender.send(sys::tid()).unwrap();
                hive.spmd(2, |_| ());
            });
            receiver.recv().unwrap()
        };
        proc_threads::wait_until_asleep(&(1..hive.bees()).map(|_| wait()).collect::<Vec<_>>());
        let result = run();
        release.arrive();
        result
    })
}

#[test]
fn a_short_loop_wakes_nobody() {
    // Few, so that the loop is short even where an index takes some microseconds, as it may in an emulated guest.
    const LEN: usize = 12;
    let _alone = run_exclusively();
    for hive in hives() {
        for schedule in SCHEDULES {
            let (own, caller) = (PerBee::new(BEES, |_| 0), thread::current().id());
            let runs = until_alone(&hive, || {
                let record = Record::default();
                hive.par_for((0..LEN, schedule), |range, bee| {
                    assert_eq!(bee.bees(), BEES);
                    *own.get(bee) += range.len();
                    record.add(range, bee);
                });
                record.into_sorted()
            });
            runs.iter().for_each(|ranges| assert_covers(ranges, 0..LEN));
            // A bee that happened to be awake has run its own part.
            let last = runs.last().unwrap();
            assert!(last.iter().all(|(_, id, thread)| *id > 0 || *thread == caller), "{schedule:?}: {last:?}");
            assert_eq!(own.into_iter().sum::<usize>(), runs.len() * LEN, "{schedule:?}");
        }
        // The next regions have all bees.
        assert_all_take_part(&hive, BEES);
    }
}

#[test]
fn each_bee_has_its_own_part_of_a_loop_that_wakes_nobody() {
    let _alone = run_exclusively();
    let hive = Hive::new(BEES).unwrap();
    let plan = hive.plan(LEN);
    let mut data = vec![0; LEN];
    let data = std::cell::RefCell::new(&mut data);
    until_alone(&hive, || {
        hive.par_for_mut(&mut data.borrow_mut(), &plan, |range, part, bee| {
            assert_eq!(range, plan.range(bee.id()));
            part.iter_mut().for_each(|element| *element += 1);
        });
    });
}

#[test]
fn a_loop_that_turns_out_to_be_long_wakes_the_workers_after_all() {
    let _alone = run_exclusively();
    for schedule in SCHEDULES {
        let hive = Hive::new(BEES).unwrap();
        let threads = Mutex::new(HashSet::new());
        let run = |is_long, times| {
            hive.par_for((0..LEN * times, schedule), |_, _| {
                if is_long {
                    threads.lock().unwrap().insert(thread::current().id());
                    thread::sleep(Duration::from_millis(1));
                }
            });
        };
        // If the workers were late, the queen has stood in for them: then again.
        let have_come = (0..100).any(|_| {
            short_and_then(&hive, run);
            threads.lock().unwrap().len() > 1
        });
        assert!(have_come, "{schedule:?}");
    }
}

/// While a region is announced, its workers begin no task before they have come to it. If this loop were begun by its
/// caller alone, the task would never run, and the test would end at its time limit.
#[test]
fn a_short_loop_inside_another_hive_may_wait_for_a_task_of_its_worker() {
    let _alone = run_exclusively();
    let outer = Hive::new(2).unwrap();
    for hive in hives() {
        let run = |waits| {
            hive.par_for(0..BEES, |_, bee| {
                if waits && bee.is_queen() {
                    let (sender, receiver) = mpsc::channel();
                    hive.spawn_on(1, move || sender.send(()).unwrap());
                    receiver.recv().unwrap();
                }
            });
        };
        until_alone(&hive, || run(false));
        wait_until_asleep(&hive, BEES - 1);
        outer.join(|| run(true), || ());
    }
}

#[test]
fn panics_in_a_loop_that_wakes_nobody_are_those_of_its_bees() {
    let _alone = run_exclusively();
    silence_panics("part of bee");
    for hive in hives() {
        let (panicking, ran) = (AtomicUsize::new(BEES), AtomicUsize::new(0));
        short_and_then(&hive, |they_panic, times| {
            panicking.store(if they_panic { 1 } else { BEES }, Ordering::Relaxed);
            ran.store(0, Ordering::Relaxed);
            let run = || {
                hive.par_for(0..BEES * times, |_, bee| {
                    ran.fetch_add(1, Ordering::Relaxed);
                    assert!(bee.id() < panicking.load(Ordering::Relaxed), "part of bee {}", bee.id());
                });
            };
            if they_panic {
                assert_eq!(panic_message(run), "part of bee 1");
            } else {
                run();
            }
            assert_eq!(ran.load(Ordering::Relaxed), BEES, "parts that have run");
        });
        assert_hive_works(&hive, BEES);
    }
}

/// Takes so long on a CPU of its own. It does not yield: beside busy programs each yield would take many milliseconds.
fn work_for(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() <= time {
        hint::spin_loop();
    }
}

#[test]
fn a_loop_that_is_long_wakes_the_workers() {
    let _alone = run_exclusively();
    let hive = Hive::new(BEES).unwrap();
    for _ in 0..5 {
        wait_until_asleep(&hive, BEES - 1);
        hive.par_for(0..LEN, |_, bee| {
            assert_eq!(bee.bees(), BEES);
            work_for(Duration::from_millis(5));
        });
    }
    assert_eq!(lone_loops(&hive), 0);
}

/// A worker that is bound to no CPU may move off that of its waker, for which its mask is another one for a moment.
/// What it runs has the whole mask.
#[test]
fn bodies_run_with_the_whole_mask_of_the_process() {
    let _alone = run_exclusively();
    let all = core_affinity::get_core_ids();
    let hive = Hive::builder().pin(Pin::None).bees(BEES).build().unwrap();
    let check = || assert_eq!(core_affinity::get_core_ids(), all);
    for _ in 0..30 {
        wait_until_asleep(&hive, BEES - 1);
        // Long enough to wake the workers.
        hive.par_for((0..10, Schedule::Dynamic(1)), |_, _| {
            check();
            work_for(Duration::from_micros(300));
        });
    }
    hive.spmd(BEES, |_| check());
    thread::scope(|scope| {
        hive.scope(|tasks| (0..BEES).for_each(|_| tasks.spawn(|_| check())));
        scope.spawn(|| hive.install(check)).join().unwrap();
    });
}

/// By the index, not by the call: more indices of the same body take longer.
#[test]
fn a_loop_is_expected_to_take_longer_if_it_has_more_indices() {
    let _alone = run_exclusively();
    let hive = Hive::new(2).unwrap();
    let run = |indices: usize| {
        hive.par_for((0..indices, Schedule::Dynamic(1)), |_, _| {
            work_for(Duration::from_micros(5));
        });
    };
    until_alone(&hive, || run(2));
    wait_until_asleep(&hive, 1);
    let before = lone_loops(&hive);
    run(2_000);
    assert_eq!(lone_loops(&hive), before);
}

#[test]
fn loops_one_after_another_wake_the_workers_even_if_each_is_short() {
    let _alone = run_exclusively();
    let hive = Hive::new(2).unwrap();
    let run = || {
        hive.par_for(0..2, |_, _| {
            work_for(Duration::from_micros(20));
        });
    };
    until_alone(&hive, run);
    // If they are not woken, the time limit of the test ends it.
    wait_until(|| {
        let before = lone_loops(&hive);
        run();
        lone_loops(&hive) == before
    });
}

#[test]
fn reductions_and_scans_give_the_same_result_bit_by_bit() {
    let _alone = run_exclusively();
    let numbers: Vec<f64> = (0..LEN).map(|i| 1.0 / (i as f64 + 0.1)).collect();
    let per_team_size = Reduction::per_team_size(0.0, |a, b| a + b);
    let deterministic = Reduction::deterministic(0.0, |a, b| a + b);
    let map = |range: Range<usize>| numbers[range].iter().sum::<f64>();
    let large_map = |range: Range<usize>| [map(range); 100];
    let large = Reduction::per_team_size([0.0; 100], |a: [f64; 100], b| std::array::from_fn(|i| a[i] + b[i]));
    let scanned = |scan: &dyn Fn(&mut [f64])| {
        let mut data = numbers.clone();
        scan(&mut data);
        data.into_iter().map(f64::to_bits).collect::<Vec<_>>()
    };
    let with_min_work = || Loop::new(0..LEN, Schedule::Static).min_work(40);
    for hive in [2, BEES, 8].map(|bees| Hive::new(bees).unwrap()) {
        let results = || {
            let mut bits = vec![
                hive.par_reduce(0..LEN, &per_team_size, map).to_bits(),
                hive.par_reduce(0..5, &per_team_size, map).to_bits(),
                hive.par_reduce(0..0, &per_team_size, map).to_bits(),
                hive.par_reduce(with_min_work(), &per_team_size, map).to_bits(),
                hive.par_reduce(0..LEN, &large, large_map)[99].to_bits(),
                hive.par_reduce(0..LEN, &deterministic, map).to_bits(),
                hive.par_reduce((0..LEN, Schedule::Dynamic(3)), &deterministic, map).to_bits(),
            ];
            bits.extend(scanned(&|data| hive.par_scan(data, &per_team_size, Scan::Inclusive)));
            bits.extend(scanned(&|data| hive.par_scan(data, &deterministic, Scan::Exclusive)));
            bits
        };
        let by_team = results();
        let before = lone_loops(&hive);
        assert_eq!(while_busy(&hive, results), by_team);
        // All of them but the one that is empty, which has a team of one in any case.
        assert_eq!(lone_loops(&hive), before + 8);
    }
}

#[test]
fn a_panic_in_a_reduction_that_runs_alone_drops_what_is_there() {
    let _alone = run_exclusively();
    silence_panics("part ");
    let hive = Hive::new(BEES).unwrap();
    let witness = Arc::new(());
    let concat = Reduction::per_team_size(Vec::new(), |mut a: Vec<Arc<()>>, mut b| {
        a.append(&mut b);
        a
    });
    for panicking_part in 0..BEES {
        let run = || {
            hive.par_reduce(0..BEES, &concat, |range| {
                assert!(!range.contains(&panicking_part), "part {panicking_part}");
                vec![Arc::clone(&witness)]
            })
        };
        let before = lone_loops(&hive);
        let message = while_busy(&hive, || panic_message(|| drop(run())));
        assert_eq!((message, lone_loops(&hive)), (format!("part {panicking_part}"), before + 1));
        assert_eq!(Arc::strong_count(&witness), 1);
    }
    assert_hive_works(&hive, hive.bees());
}

/// If one of these waited for its turn, the test would end at its time limit.
#[test]
fn reductions_and_scans_do_not_wait_for_the_queen() {
    let _alone = run_exclusively();
    let sum = Reduction::unordered(0, |a, b| a + b);
    for hive in [2, BEES].map(|bees| Hive::new(bees).unwrap()) {
        let before = lone_loops(&hive);
        while_busy(&hive, || {
            for schedule in SCHEDULES {
                assert_eq!(hive.par_reduce((0..LEN, schedule), &sum, Range::sum), LEN * (LEN - 1) / 2);
            }
            let mut begins = vec![1; LEN];
            hive.par_scan(&mut begins, &sum, Scan::Exclusive);
            assert!(begins.iter().copied().eq(0..LEN));
        });
        assert_eq!(lone_loops(&hive), before + SCHEDULES.len() as u64 + 1);
        assert_hive_works(&hive, hive.bees());
    }
}

/// The loop of a schedule that hands out chunks keeps its shared words for the next loop, whoever runs that.
#[test]
fn loops_of_a_team_and_lone_loops_follow_each_other() {
    let _alone = run_exclusively();
    let hive = Hive::new(2).unwrap();
    let sum = Reduction::unordered(0, |a, b| a + b);
    let run = || {
        for schedule in [Schedule::Dynamic(7), Schedule::Guided(1)] {
            assert_eq!(hive.par_reduce((0..LEN, schedule), &sum, Range::sum), LEN * (LEN - 1) / 2);
        }
    };
    for _ in 0..10 {
        (0..10).for_each(|_| run());
        while_busy(&hive, || (0..10).for_each(|_| run()));
    }
}
