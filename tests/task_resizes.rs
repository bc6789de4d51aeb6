//! Resizes while tasks are in flight: no task is lost, and no thread waits for ever.
//!
//! See `docs/resize.md`.

#![cfg(target_os = "linux")]

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use common::process::in_own_process;
use common::task_helpers::{assert_hive_and_tasks_work, builders, join_on_two_bees};
use common::{Gate, proc_threads, run_exclusively, sys, wait_until};
use hive::Hive;

/// A join whose second half is on bee 2 and does not end until it is told to. Bee 1, which has called the join, sleeps.
struct BlockedTask {
    release: mpsc::Sender<()>,
    sum: mpsc::Receiver<u32>,
}

impl BlockedTask {
    fn on_bee_1(hive: &Arc<Hive>) -> Self {
        let (release, held) = mpsc::channel();
        let (tell_owner, owner) = mpsc::channel();
        let (tell_sum, sum) = mpsc::channel();
        let own = Arc::clone(hive);
        hive.spawn_on(1, move || {
            let first = || {
                tell_owner.send(sys::tid()).unwrap();
                1
            };
            let second = move || {
                held.recv().unwrap();
                2
            };
            let (a, b) = join_on_two_bees(&own, first, second);
            // Dropped here so that the task does not drop the hive.
            drop(own);
            tell_sum.send(a + b).unwrap();
        });
        // Nothing else is there that could make it sleep.
        proc_threads::wait_until_asleep(&[owner.recv().unwrap()]);
        Self { release, sum }
    }

    fn finish(self) {
        self.release.send(()).unwrap();
        assert_eq!(self.sum.recv(), Ok(3));
    }
}

#[test]
fn a_join_ends_whose_owner_was_laid_off_while_it_slept() {
    let _alone = run_exclusively();
    for builder in builders() {
        let hive = Arc::new(builder.bees(3).build().unwrap());
        let waiting = BlockedTask::on_bee_1(&hive);
        hive.resize(1).unwrap();
        waiting.finish();
        hive.wait_until_parked();
        assert_eq!((hive.bees(), hive.bees_not_yet_tucked_in()), (1, 0));
        assert_hive_and_tasks_work(&hive, 3);
    }
}

#[test]
fn a_join_ends_whose_owner_was_laid_off_and_brought_back_while_it_slept() {
    let _alone = run_exclusively();
    for builder in builders() {
        let hive = Arc::new(builder.bees(3).build().unwrap());
        let waiting = BlockedTask::on_bee_1(&hive);
        for size in [1, 3, 1, 2, 3] {
            hive.resize(size).unwrap();
        }
        waiting.finish();
        hive.wait_until_parked();
        assert_hive_and_tasks_work(&hive, 3);
    }
}

#[test]
fn a_join_ends_whose_second_half_is_on_a_bee_that_was_laid_off() {
    let _alone = run_exclusively();
    for builder in builders() {
        let hive = Arc::new(builder.bees(3).build().unwrap());
        let waiting = BlockedTask::on_bee_1(&hive);
        hive.resize(2).unwrap();
        assert_eq!(hive.bees_not_yet_tucked_in(), 1, "it is at work on it");
        waiting.finish();
        hive.wait_until_parked();
        assert_hive_and_tasks_work(&hive, 3);
    }
}

#[test]
fn a_scope_ends_whose_owner_was_laid_off_while_it_slept() {
    let _alone = run_exclusively();
    for builder in builders() {
        let hive = Arc::new(builder.bees(3).build().unwrap());
        let (release, held) = mpsc::channel();
        let (tell_owner, owner) = mpsc::channel();
        let (tell_end, end) = mpsc::channel();
        let own = Arc::clone(&hive);
        hive.spawn_on(1, move || {
            let begun = &Gate::new();
            own.scope(|scope| {
                scope.spawn(move |_| {
                    begun.arrive();
                    held.recv().unwrap();
                });
                begun.wait_for(1);
                tell_owner.send(sys::tid()).unwrap();
            });
            drop(own);
            tell_end.send(()).unwrap();
        });
        proc_threads::wait_until_asleep(&[owner.recv().unwrap()]);
        hive.resize(1).unwrap();
        release.send(()).unwrap();
        end.recv().unwrap();
        hive.wait_until_parked();
        assert_hive_and_tasks_work(&hive, 3);
    }
}

/// She wakes nobody for what she spawns while she is there, and then goes before she has run it.
#[test]
fn what_a_lone_queen_spawns_for_a_worker_that_is_asleep_is_run_when_she_has_gone() {
    /// More than she keeps in her own deque.
    const TASKS: usize = 3000;
    let _alone = run_exclusively();
    for builder in builders() {
        let hive = Arc::new(builder.bees(2).build().unwrap());
        let (taken, ran) = (Arc::new(Gate::new()), Arc::new(AtomicUsize::new(0)));
        let (tell_spawned, spawned) = mpsc::channel();
        let (tell_end, end) = mpsc::channel();
        let (own, their_taken, their_ran) = (Arc::clone(&hive), Arc::clone(&taken), Arc::clone(&ran));
        hive.spawn_on(1, move || {
            own.scope(|scope| {
                let worker = sys::tid();
                let (taken, ran) = (&their_taken, &their_ran);
                scope.spawn(move |scope| {
                    taken.arrive();
                    proc_threads::wait_until_asleep(&[worker]);
                    (0..TASKS).for_each(|_| scope.spawn(|_| _ = ran.fetch_add(1, Ordering::Relaxed)));
                });
                tell_spawned.send(()).unwrap();
                taken.wait_for(1);
            });
            drop(own);
            tell_end.send(()).unwrap();
        });
        spawned.recv().unwrap();
        hive.resize(1).unwrap();
        hive.scope(|_| {
            while taken.arrived() == 0 {
                hive::yield_now();
            }
        });
        end.recv().unwrap();
        assert_eq!(ran.load(Ordering::Relaxed), TASKS);
        hive.wait_until_parked();
        assert_hive_and_tasks_work(&hive, 2);
    }
}

#[test]
fn a_lone_queen_wakes_nobody_for_what_she_spawns_and_runs() {
    /// More than she keeps in her own deque.
    const TASKS: usize = 10_000;
    let _alone = run_exclusively();
    for builder in builders() {
        let before = proc_threads::own_tids();
        let hive = builder.bees(2).build().unwrap();
        hive.resize(1).unwrap();
        hive.wait_until_parked();
        // A worker that the shrink finds falling asleep looks for tasks once more before it blocks.
        let workers: Vec<_> = proc_threads::own_tids().into_iter().filter(|tid| !before.contains(tid)).collect();
        proc_threads::wait_until_asleep(&workers);
        let ran = AtomicUsize::new(0);
        hive.scope(|scope| {
            for _ in 0..TASKS {
                scope.spawn(|_| _ = ran.fetch_add(1, Ordering::Relaxed));
            }
        });
        assert_eq!(ran.load(Ordering::Relaxed), TASKS);
        let stats = hive.stats();
        let [queen, worker] = stats.per_bee() else { panic!("two bees") };
        assert_eq!((queen.tasks, worker.tasks, worker.wakes), (TASKS as u64, 0, 0));
        assert_eq!(worker.parks, 1, "it has been woken and has parked again");
    }
}

/// The queen, in a long task herself, waits for one of those that she has kept for herself.
#[test]
fn a_hive_that_grows_runs_what_its_queen_has_spawned_while_she_was_alone() {
    const TASKS: usize = 3000;
    let _alone = run_exclusively();
    for builder in builders() {
        let hive = builder.bees(2).build().unwrap();
        hive.resize(1).unwrap();
        let (tell_end, end) = mpsc::channel();
        hive.scope(|scope| {
            for task in 0..TASKS {
                let tell_end = tell_end.clone();
                scope.spawn(move |_| tell_end.send(task).unwrap());
            }
            hive.resize(2).unwrap();
            let mut ended: Vec<_> = end.into_iter().take(TASKS).collect();
            ended.sort_unstable();
            assert!(ended.into_iter().eq(0..TASKS));
        });
        assert_hive_and_tasks_work(&hive, 2);
    }
}

#[test]
fn a_region_ends_whose_bee_was_laid_off_while_it_slept_in_a_join() {
    let _alone = run_exclusively();
    for builder in builders() {
        let hive = builder.bees(3).build().unwrap();
        let (release, held) = mpsc::channel();
        let (tell_owner, owner) = mpsc::channel();
        let held = Mutex::new(held);
        thread::scope(|scope| {
            scope.spawn(|| {
                hive.spmd(2, |bee| {
                    if bee.id() == 1 {
                        let tell = || tell_owner.send(sys::tid()).unwrap();
                        join_on_two_bees(&hive, tell, || held.lock().unwrap().recv().unwrap());
                    }
                });
            });
            proc_threads::wait_until_asleep(&[owner.recv().unwrap()]);
            hive.resize(1).unwrap();
            release.send(()).unwrap();
        });
        hive.wait_until_parked();
        assert_hive_and_tasks_work(&hive, 3);
    }
}

/// What the scope waits for spawns a task more while all other bees are in the region, or about to come to it. The
/// scope is in a task that was begun before the region, or in the bee's part of it.
#[test]
fn a_region_ends_that_waits_for_a_bee_that_was_laid_off_while_it_slept_in_a_scope() {
    let _alone = run_exclusively();
    for builder in builders() {
        for is_inside in [false, true] {
            let hive = Arc::new(builder.clone().bees(3).build().unwrap());
            let ([begun, spawns], (tell_waiter, waiter)) = ([(); 2].map(|()| Arc::new(Gate::new())), mpsc::channel());
            let wait_in_scope = {
                let (hive, begun, spawns) = (Arc::clone(&hive), Arc::clone(&begun), Arc::clone(&spawns));
                move || {
                    hive.scope(|scope| {
                        scope.spawn(|scope| {
                            begun.arrive();
                            spawns.wait_for(1);
                            scope.spawn(|_| ());
                        });
                        // On another bee.
                        begun.wait_for(1);
                        tell_waiter.send(sys::tid()).unwrap();
                    });
                }
            };
            if !is_inside {
                hive.spawn_on(2, wait_in_scope.clone());
                begun.wait_for(1);
            }
            thread::scope(|threads| {
                threads.spawn(|| {
                    hive.spmd_all(|bee| {
                        match bee.id() {
                            1 if is_inside => {
                                while begun.arrived() == 0 {
                                    hive::yield_now();
                                }
                            }
                            2 if is_inside => wait_in_scope(),
                            _ => {}
                        }
                        bee.barrier();
                    });
                });
                proc_threads::wait_until_asleep(&[waiter.recv().unwrap()]);
                hive.resize(2).unwrap();
                // It has nothing to run now.
                hive.wait_until_parked();
                spawns.arrive();
            });
            drop(wait_in_scope);
            hive.wait_until_parked();
            assert_hive_and_tasks_work(&hive, 3);
        }
    }
}

/// A queen alone keeps to herself what she spawns, but not in a region that others wait for.
#[test]
fn a_region_ends_that_waits_for_what_its_queen_has_spawned_in_a_hive_that_has_become_hers_alone() {
    let _alone = run_exclusively();
    for builder in builders() {
        let hive = builder.bees(3).build().unwrap();
        let begun = Gate::new();
        let spawn_many = |scope: &hive::Scope<'_>| {
            begun.arrive();
            wait_until(|| hive.bees() == 1);
            (0..3_000).for_each(|_| scope.spawn(|_| ()));
        };
        thread::scope(|threads| {
            threads.spawn(|| {
                begun.wait_for(1);
                hive.resize(1).unwrap();
            });
            hive.install(|| {
                hive.spmd_all(|bee| match bee.id() {
                    // Runs the task of the scope.
                    0 => {
                        while begun.arrived() == 0 {
                            hive::yield_now();
                        }
                    }
                    2 => hive.scope(|scope| {
                        scope.spawn(spawn_many);
                        begun.wait_for(1);
                    }),
                    _ => {}
                })
            });
        });
        hive.wait_until_parked();
        assert_hive_and_tasks_work(&hive, 3);
    }
}

/// Runs in a process of its own, because a bee that does not sleep polls for ever.
#[test]
fn a_bee_that_became_surplus_in_a_join_sleeps_while_it_waits_for_the_other_half() {
    in_own_process("a_bee_that_became_surplus_in_a_join_sleeps_while_it_waits_for_the_other_half", || {
        for builder in builders() {
            let hive = Arc::new(builder.bees(3).build().unwrap());
            let (release, held) = mpsc::channel();
            let (tell, told) = mpsc::channel();
            let (own, laid_off) = (Arc::clone(&hive), Arc::new(Gate::new()));
            let gate = Arc::clone(&laid_off);
            hive.spawn_on(2, move || {
                let first = || {
                    gate.arrive_and_wait(2);
                    gate.wait_for(3);
                    tell.send(sys::tid()).unwrap();
                };
                join_on_two_bees(&own, first, move || held.recv().unwrap());
            });
            laid_off.arrive_and_wait(2);
            hive.resize(2).unwrap();
            laid_off.arrive();
            proc_threads::wait_until_asleep(&[told.recv().unwrap()]);
            release.send(()).unwrap();
            // The bee has dropped its handle and its sender.
            assert!(told.recv().is_err());
            hive.wait_until_parked();
            assert_hive_and_tasks_work(&hive, 3);
        }
    });
}

#[test]
fn a_bee_in_a_long_task_is_surplus_until_it_has_run_that_and_its_mail() {
    let _alone = run_exclusively();
    for builder in builders() {
        let hive = builder.bees(4).build().unwrap();
        let (release, held) = mpsc::channel();
        let (tell, told) = mpsc::channel();
        let started = tell.clone();
        hive.spawn_on(3, move || {
            started.send(0).unwrap();
            held.recv().unwrap();
        });
        assert_eq!(told.recv(), Ok(0));
        hive.resize(2).unwrap();
        let sent = tell.clone();
        hive.spawn_on(3, move || sent.send(3).unwrap());
        // A task that any bee may run does not wait for it.
        for number in 10..20 {
            let tell = tell.clone();
            hive.spawn(move || tell.send(number).unwrap());
            assert_eq!(told.recv(), Ok(number));
        }
        // Nor does a task that is sent to a parked bee.
        hive.spawn_on(2, move || tell.send(2).unwrap());
        assert_eq!(told.recv(), Ok(2));
        assert!(hive.bees_not_yet_tucked_in() >= 1, "bee 3 is still at work");
        assert!(told.try_recv().is_err(), "its mail waits for that");
        release.send(()).unwrap();
        assert_eq!(told.recv(), Ok(3));
        hive.wait_until_parked();
        assert_eq!((hive.bees(), hive.bees_not_yet_tucked_in()), (2, 0));
        assert_hive_and_tasks_work(&hive, 4);
    }
}

#[test]
fn what_a_busy_bee_has_spawned_is_run_by_others_although_it_is_laid_off() {
    let _alone = run_exclusively();
    for builder in builders() {
        for size in [1, 2] {
            let hive = Arc::new(builder.clone().bees(3).build().unwrap());
            let (release, held) = mpsc::channel();
            let (tell, told) = mpsc::channel();
            let own = Arc::clone(&hive);
            let laid_off = Arc::new(Gate::new());
            let gate = Arc::clone(&laid_off);
            hive.spawn_on(2, move || {
                gate.arrive_and_wait(2);
                gate.wait_for(3);
                for number in 0..10 {
                    let tell = tell.clone();
                    own.spawn(move || tell.send(number).unwrap());
                }
                drop((own, tell));
                held.recv().unwrap();
            });
            laid_off.arrive_and_wait(2);
            hive.resize(size).unwrap();
            laid_off.arrive();
            let mut numbers: Vec<_> = told.iter().collect();
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..10), "hive of {size}");
            release.send(()).unwrap();
            hive.wait_until_parked();
            assert_hive_and_tasks_work(&hive, 3);
        }
    }
}
