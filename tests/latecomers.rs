//! Loops do not wait for workers that are away: asleep, parked, not started yet, or in the middle of a task. The leader
//! of their group runs their parts in their names. Regions of other kinds do wait for them.
//!
//! Most tests here hold workers in tasks until the loop has returned. A loop that waits for such a worker does not
//! return, so the test ends at its time limit.

#![cfg(target_os = "linux")]

mod common;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread::{self};
use std::time::Duration;

use common::held_workers::{
    BEES, Held, LEN, Record, SCHEDULES, assert_all_take_part, assert_covers, assert_loop_works, hives,
};
use common::task_helpers::{assert_hive_and_tasks_work, fib_by_joins};
use common::{
    Gate, assert_contains_all, assert_hive_works, panic_message, proc_threads, run_exclusively, silence_panics,
};
use hive::{Bee, Hive, HiveSet, Loop, Parts, PerBee, Placement, Reduction, Schedule};

/// The bee that owns each range under a static schedule, as a region with all of its bees sees it.
fn static_owners(hive: &Hive, schedule: Schedule) -> Vec<(Range<usize>, usize)> {
    let shared = Loop::new(0..LEN, schedule);
    let mut owners: Vec<_> = hive
        .spmd_map(BEES, |bee| {
            let mut ranges = Vec::new();
            bee.for_each(&shared, |range| ranges.push((range, bee.id())));
            ranges
        })
        .concat();
    owners.sort_by_key(|(range, _)| range.start);
    owners
}

// Workers in tasks.

#[test]
fn loops_of_all_schedules_do_not_wait_for_workers_in_tasks() {
    let _alone = run_exclusively();
    for hive in hives() {
        for schedule in SCHEDULES {
            for held_ids in [vec![1, 2], vec![1], vec![2]] {
                let owners = matches!(schedule, Schedule::Static | Schedule::StaticChunk(_))
                    .then(|| static_owners(&hive, schedule));
                let held = Held::workers(&hive, held_ids.clone());
                let (record, caller) = (Record::default(), thread::current().id());
                hive.par_for((0..LEN, schedule), |range, bee| {
                    assert_eq!((bee.bees(), hive::current().unwrap().id), (BEES, bee.id()));
                    record.add(range, bee);
                });
                held.assert_held();
                let ranges = record.into_sorted();
                assert_covers(&ranges, 0..LEN);
                for (range, id, thread) in &ranges {
                    // Where there are fewer CPUs, any worker that is there takes what is next.
                    let by_leader = proc_threads::own_cpus().len() >= BEES && held_ids.contains(id);
                    assert!(!by_leader || *thread == caller, "{schedule:?}: {range:?} of {id}");
                }
                if let Some(owners) = owners {
                    let ran: Vec<_> = ranges.into_iter().map(|(range, id, _)| (range, id)).collect();
                    assert_eq!(ran, owners, "{schedule:?}");
                }
                drop(held);
                assert_loop_works(&hive, schedule);
                assert_all_take_part(&hive, BEES);
            }
        }
        assert_hive_and_tasks_work(&hive, BEES);
    }
}

#[test]
fn reductions_have_the_same_results_with_and_without_held_workers() {
    fn check<L: Sync>(hive: &Hive, work: impl Fn() -> Loop, sum: &Reduction<L, f64, fn(f64, f64) -> f64>)
    where
        Reduction<L, f64, fn(f64, f64) -> f64>: ReduceOn<L>,
    {
        let expected = sum.run(hive, work());
        let held = Held::all(hive);
        let result = sum.run(hive, work());
        held.assert_held();
        assert_eq!(result.to_bits(), expected.to_bits(), "{result} and {expected}");
    }
    let _alone = run_exclusively();
    let add: fn(f64, f64) -> f64 = |a, b| a + b;
    for hive in hives() {
        for schedule in SCHEDULES {
            let work = || Loop::new(0..1000, schedule);
            // Without a fixed order only sums that are exact in every order are the same.
            let exact = |range: Range<usize>| range.map(|index| index as f64).sum::<f64>();
            let held = Held::all(&hive);
            assert_eq!(hive.par_reduce(work(), &Reduction::unordered(0.0, add), exact), 499_500.0);
            held.assert_held();
            drop(held);
            check(&hive, work, &Reduction::per_team_size(0.0, add));
            check(&hive, work, &Reduction::deterministic(0.0, add));
        }
        check(&hive, || Loop::from(0..1000), &Reduction::unordered(0.0, add));
        check(&hive, || Loop::from(&hive.plan(1000)), &Reduction::deterministic(0.0, add));
    }
}

/// Runs a sum of values whose rounding depends on the order.
trait ReduceOn<L> {
    fn run(&self, hive: &Hive, work: Loop) -> f64;
}

macro_rules! reduce_on {
    ($($level:ty),*) => {$(
        impl ReduceOn<$level> for Reduction<$level, f64, fn(f64, f64) -> f64> {
            fn run(&self, hive: &Hive, work: Loop) -> f64 {
                hive.par_reduce(work, self, |range| range.map(|index| 1.0 / (index as f64 + 1.0)).sum())
            }
        }
    )*};
}
reduce_on!(hive::Unordered, hive::PerTeamSize, hive::Deterministic);

#[test]
fn slices_rows_and_plans_are_complete() {
    let _alone = run_exclusively();
    for hive in hives() {
        for schedule in SCHEDULES {
            let held = Held::all(&hive);
            let mut data = vec![0; LEN];
            hive.par_for_mut(&mut data, schedule, |range, part, _| {
                range.zip(part).for_each(|(index, value)| *value += index + 1);
            });
            assert!(data.iter().copied().eq(1..=LEN), "{schedule:?}: {data:?}");
            let mut rows = vec![0; 7 * 40];
            hive.par_rows_mut(&mut rows, 7, schedule, |range, part, _| {
                assert_eq!(part.len(), range.len() * 7);
                range
                    .zip(part.chunks_exact_mut(7))
                    .for_each(|(row, values)| values.iter_mut().for_each(|v| *v += row + 1));
            });
            assert!(rows.chunks_exact(7).zip(1..).all(|(values, row)| values == [row; 7]), "{schedule:?}: {rows:?}");
            held.assert_held();
        }
        let plan = hive.plan(LEN);
        let mut data = hive.alloc(LEN, Placement::LikeLoop(&plan), |index| index);
        let held = Held::all(&hive);
        let record = Record::default();
        hive.par_for_mut(&mut data, &plan, |range, part, bee| {
            assert_eq!(range, plan.range(bee.id()));
            part.iter_mut().for_each(|value| *value += 1);
            record.add(range, bee);
        });
        held.assert_held();
        assert_covers(&record.into_sorted(), 0..LEN);
        assert!(data.iter().copied().eq(1..=LEN));
    }
}

#[test]
fn a_bee_that_is_stood_in_for_has_its_own_parts_and_values() {
    let _alone = run_exclusively();
    for hive in hives() {
        let mut data = vec![0; LEN];
        let mut values = PerBee::new(BEES, |_| 0);
        for round in 0..20 {
            let held = (round % 2 == 0).then(|| Held::workers(&hive, [1 + round / 2 % 2]));
            let parts = Parts::new(&mut data, BEES);
            hive.par_for(0..BEES, |_, bee| {
                parts.own_mut(bee).iter_mut().for_each(|value| *value += bee.id() + 1);
                *values.get(bee) += 1;
            });
            drop(held);
            drop(parts);
        }
        let by_bee = hive.spmd_map(BEES, |bee| bee.split(0..LEN));
        for (id, range) in by_bee.into_iter().enumerate() {
            assert!(data[range.clone()].iter().all(|&value| value == 20 * (id + 1)), "{id}: {:?}", &data[range]);
        }
        assert!(values.iter_mut().all(|value| *value == 20));
    }
}

#[test]
fn what_a_stood_in_part_calls_works() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    for hive in hives() {
        for held_ids in [1..BEES, 2..BEES] {
            let held = Held::workers(&hive, held_ids);
            let (count, spawned) = (&AtomicUsize::new(0), Arc::new(Gate::new()));
            hive.par_for(0..BEES, |_, _| {
                assert_eq!(fib_by_joins(&hive, 8), 21);
                hive.scope(|scope| (0..5).for_each(|_| scope.spawn(|_| _ = count.fetch_add(1, Ordering::Relaxed))));
                assert_eq!(hive.install(|| 3), 3);
                assert_eq!(hive.spmd_map(BEES, |bee| bee.bees()), [1], "a region in a region");
                assert!(hive.try_spmd(usize::MAX, |_| ()).is_err());
                assert_contains_all(&panic_message(|| drop(hive.broadcast(|_| ()))), &["called on a bee"]);
                let inner = Record::default();
                hive.par_for((0..LEN, Schedule::Guided(1)), |range, bee| inner.add(range, bee));
                assert_covers(&inner.into_sorted(), 0..LEN);
                let spawned = Arc::clone(&spawned);
                hive.spawn(move || spawned.arrive());
            });
            held.assert_held();
            drop(held);
            spawned.wait_for(BEES);
            assert_eq!(count.load(Ordering::Relaxed), 5 * BEES);
        }
        assert_hive_and_tasks_work(&hive, BEES);
    }
}

#[test]
fn loops_in_tasks_in_install_in_scopes_and_of_several_threads_are_complete() {
    let _alone = run_exclusively();
    for hive in hives() {
        let hive = Arc::new(hive);
        for schedule in SCHEDULES {
            // The task that calls the loop is on worker 2, if worker 1 is held.
            let held = Held::workers(&hive, [1]);
            let (sender, receiver) = channel();
            let in_task = Arc::clone(&hive);
            hive.spawn_on(2, move || {
                assert_loop_works(&in_task, schedule);
                // The handle is dropped before the thread that waits drops the last one.
                drop(in_task);
                sender.send(()).unwrap();
            });
            receiver.recv().unwrap();
            hive.install(|| assert_loop_works(&hive, schedule));
            hive.scope(|_| assert_loop_works(&hive, schedule));
            hive.join(|| assert_loop_works(&hive, schedule), || ());
            thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| (0..20).for_each(|_| assert_loop_works(&hive, schedule)));
                }
            });
            held.assert_held();
        }
        assert_hive_and_tasks_work(&hive, BEES);
    }
}

#[test]
fn a_loop_in_a_region_or_a_loop_of_another_hive_is_complete() {
    let _alone = run_exclusively();
    for hive in hives() {
        let other = Hive::builder().bees(BEES).spin(Duration::ZERO).build().unwrap();
        for _ in 0..5 {
            let (held, other_held) = (Held::all(&hive), Held::workers(&other, [2]));
            hive.par_for(0..BEES, |_, _| {
                SCHEDULES.into_iter().for_each(|schedule| assert_loop_works(&other, schedule));
                // And back into the first one, from within the second.
                other.par_for(0..BEES, |_, _| assert_loop_works(&hive, Schedule::Dynamic(1)));
            });
            held.assert_held();
            drop(held);
            hive.spmd(BEES, |bee| {
                assert_loop_works(&other, Schedule::Affinity);
                bee.barrier();
            });
            other_held.assert_held();
        }
        assert_hive_works(&hive, BEES);
        assert_hive_works(&other, BEES);
    }
}

#[test]
fn a_hive_set_waits_for_the_workers_of_its_hives() {
    let _alone = run_exclusively();
    let hives = HiveSet::builder().template(Hive::builder().bees(2).spin(Duration::ZERO)).build().unwrap();
    for hive in &hives {
        let held = Held::workers(hive, [1]);
        let release = Arc::clone(&held.release);
        let held_parts = AtomicUsize::new(0);
        hives.spmd(|bee| {
            if bee.id() == 0 {
                release.give();
            }
            held_parts.fetch_add(1, Ordering::Relaxed);
            bee.barrier();
        });
        assert_eq!(held_parts.into_inner(), hives.iter().map(Hive::bees).sum::<usize>());
    }
    common::hive_sets::assert_set_works(&hives, hives.iter().map(Hive::bees).sum());
}

/// A region that is no loop waits: its parts end after the task, and its worker's part is on the worker's thread.
#[test]
fn regions_that_are_no_loops_wait_for_workers_in_tasks() {
    let _alone = run_exclusively();
    for hive in hives() {
        for is_map in [false, true] {
            let threads = hive.spmd_map(BEES, |_| thread::current().id());
            let held = Held::workers(&hive, [1]);
            let (release, left) = (Arc::clone(&held.release), Arc::clone(&held.left));
            let body = |bee: &Bee<'_>| {
                assert_eq!(thread::current().id(), threads[bee.id()]);
                match bee.id() {
                    // The other parts end first. A region that does not wait returns within this time, mostly.
                    0 => release.give(),
                    1 => assert_eq!(left.arrived(), 1, "the task has ended"),
                    _ => {}
                }
            };
            if is_map {
                hive.spmd_map(BEES, body);
            } else {
                hive.spmd(BEES, body);
            }
            assert_eq!(held.left.arrived(), 1, "the task has ended");
        }
    }
}

/// The region returns in its own thread, and a third thread releases the task when the queen and worker 2 have ended
/// their parts.
#[test]
fn a_region_that_is_no_loop_has_not_returned_while_the_task_is_held() {
    let _alone = run_exclusively();
    for hive in hives() {
        let held = Held::workers(&hive, [1]);
        let (ended, has_returned) = (Gate::new(), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                hive.spmd(BEES, |_| ended.arrive());
                has_returned.store(true, Ordering::Release);
            });
            ended.wait_for(BEES - 1);
            // A loop's queen would have stood in by now, or would do so soon.
            (0..100).for_each(|_| thread::yield_now());
            assert_eq!((ended.arrived(), has_returned.load(Ordering::Acquire)), (BEES - 1, false));
            drop(held);
        });
        assert_eq!(ended.arrived(), BEES);
    }
}
