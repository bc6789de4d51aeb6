//! Short reductions whose callers run them alone while all workers sleep, outside of any region. The results are those
//! of the whole team, whatever happens in the parts.

#![cfg(target_os = "linux")]

mod common;

use std::collections::HashSet;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use common::held_workers::{BEES, LEN, assert_all_take_part, hives, wait_until_asleep};
use common::process::in_own_process;
use common::short_loops::{lone_loops, short_and_then, until_alone};
use common::{assert_hive_works, panic_message, run_exclusively, silence_panics};
use hive::{Hive, Reduction, Reproducibility, Schedule};

#[test]
fn a_short_reduction_wakes_nobody_and_is_no_region() {
    let _alone = run_exclusively();
    let numbers: Vec<f64> = (0..LEN).map(|i| 1.0 / (i as f64 + 0.1)).collect();
    let per_team_size = Reduction::per_team_size(0.0, |a, b| a + b);
    let unordered = Reduction::unordered(0, |a, b| a + b);
    let caller = thread::current().id();
    for hive in hives() {
        let bits = until_alone(&hive, || {
            hive.par_reduce(0..LEN, &per_team_size, |range| numbers[range].iter().sum::<f64>()).to_bits()
        });
        assert!(bits.iter().all(|it| *it == bits[0]), "the team's result is {:x}, of {bits:x?}", bits[0]);
        let run = || {
            let (threads, before) = (Mutex::new(HashSet::new()), hive.stats().total().regions);
            let sum = hive.par_reduce(0..LEN, &unordered, |range| {
                threads.lock().unwrap().insert(thread::current().id());
                range.sum()
            });
            assert_eq!(sum, LEN * (LEN - 1) / 2);
            (hive.stats().total().regions - before, threads.into_inner().unwrap())
        };
        // A caller that loses its CPU meanwhile leaves the blocks that it has not run to the team.
        let ends_alone = || until_alone(&hive, run).pop() == Some((0, HashSet::from([caller])));
        assert!((0..100).any(|_| ends_alone()), "each time the loop took longer than was expected");
        assert_all_take_part(&hive, BEES);
    }
}

/// The first part takes long, so the others are left to the team.
#[test]
fn a_reduction_that_turns_out_to_be_long_goes_on_on_the_team() {
    let _alone = run_exclusively();
    let per_team_size = Reduction::per_team_size(0.0, |a, b| a + b);
    let unordered = Reduction::unordered(0, |a, b| a + b);
    for hive in hives() {
        for is_unordered in [false, true] {
            let threads = Mutex::new(HashSet::new());
            let ran = AtomicUsize::new(0);
            let work = |is_long: bool, range: Range<usize>| {
                ran.fetch_add(range.len(), Ordering::Relaxed);
                if is_long {
                    threads.lock().unwrap().insert(thread::current().id());
                    thread::sleep(Duration::from_millis(2));
                }
            };
            let run = |is_long: bool, times: usize| {
                ran.store(0, Ordering::Relaxed);
                let indices = 0..LEN * times;
                if is_unordered {
                    let sum = hive.par_reduce(indices.clone(), &unordered, |range| {
                        work(is_long, range.clone());
                        range.sum()
                    });
                    assert_eq!(sum, indices.clone().sum::<usize>());
                } else {
                    // Of different sizes, so that each order of additions has a result of its own.
                    let of = |range: Range<usize>| range.map(|i| 1.0 / (i as f64 + 0.1)).sum::<f64>();
                    let sum = hive.par_reduce(indices.clone(), &per_team_size, |range| {
                        work(is_long, range.clone());
                        of(range)
                    });
                    let parts = Reduction::deterministic(0.0, |a, b| a + b).blocks(BEES);
                    let expected = parts.blocks_of(indices.clone()).map(of).reduce(|a, b| a + b).unwrap();
                    assert_eq!(sum.to_bits(), expected.to_bits());
                }
                assert_eq!(ran.load(Ordering::Relaxed), indices.len());
            };
            // If the workers were late, the queen has stood in for them: then again.
            let have_come = (0..100).any(|_| {
                short_and_then(&hive, run);
                threads.lock().unwrap().len() > 1
            });
            assert!(have_come, "unordered: {is_unordered}");
        }
        assert_hive_works(&hive, BEES);
    }
}

/// The same for a deterministic reduction, whatever its schedule. The result is that of one bee, bit by bit.
#[test]
fn a_deterministic_reduction_that_turns_out_to_be_long_has_the_same_bits() {
    let _alone = run_exclusively();
    let sum = Reduction::deterministic(0.0, |a, b| a + b);
    let numbers: Vec<f64> = (0..100 * BEES).map(|i| 1.0 / (i as f64 + 0.1)).collect();
    let one_bee = Hive::new(1).unwrap();
    for hive in hives() {
        for schedule in [Schedule::Static, Schedule::Dynamic(1), Schedule::Guided(1), Schedule::Affinity] {
            short_and_then(&hive, |is_long, times| {
                let ran = AtomicUsize::new(0);
                let indices = 0..BEES * times;
                let found = hive.par_reduce((indices.clone(), schedule), &sum, |range| {
                    ran.fetch_add(range.len(), Ordering::Relaxed);
                    if is_long && range.start == 0 {
                        thread::sleep(Duration::from_millis(3));
                    }
                    numbers[range].iter().sum::<f64>()
                });
                let expected = one_bee.par_reduce(indices, &sum, |range| numbers[range].iter().sum::<f64>());
                assert_eq!((ran.into_inner(), found.to_bits()), (BEES * times, expected.to_bits()), "{schedule:?}");
            });
        }
    }
}

/// Joins the lists of its values.
fn concat(mut a: Vec<Arc<()>>, mut b: Vec<Arc<()>>) -> Vec<Arc<()>> {
    a.append(&mut b);
    a
}

fn check_panics_in_parts<L: Reproducibility>(
    concat: &Reduction<L, Vec<Arc<()>>, impl Fn(Vec<Arc<()>>, Vec<Arc<()>>) -> Vec<Arc<()>> + Sync>,
) {
    for hive in hives() {
        let witness = Arc::new(());
        for panicking in 0..BEES {
            short_and_then(&hive, |panics, times| {
                let run = || {
                    hive.par_reduce(0..BEES * times, concat, |range| {
                        assert!(!panics || !range.contains(&panicking), "part {panicking}");
                        vec![Arc::clone(&witness)]
                    })
                };
                if panics {
                    assert_eq!(panic_message(|| drop(run())), format!("part {panicking}"));
                } else {
                    assert!(run().len() >= BEES);
                }
                assert_eq!(Arc::strong_count(&witness), 1);
            });
        }
        let (armed, own) = (Armed(true), Arc::clone(&witness));
        let run = move || {
            hive.par_reduce(0..BEES, concat, move |_| {
                let _captured = &armed;
                vec![Arc::clone(&own)]
            })
        };
        assert_eq!(panic_message(|| drop(run())), "a drop panics as expected");
        assert_eq!(Arc::strong_count(&witness), 1);
    }
}

#[test]
fn a_panic_in_a_part_is_that_of_the_reduction_and_nothing_is_lost() {
    let _alone = run_exclusively();
    silence_panics("part ");
    check_panics_in_parts(&Reduction::per_team_size(Vec::new(), concat));
    check_panics_in_parts(&Reduction::unordered(Vec::new(), concat));
    check_panics_in_parts(&Reduction::deterministic(Vec::new(), concat));
}

/// A value that panics when it is dropped, unless it is taken.
struct Armed(bool);

impl Drop for Armed {
    fn drop(&mut self) {
        assert!(!self.0, "a drop panics as expected");
    }
}

/// In a process of its own: a second panic would end it.
#[test]
fn the_sum_so_far_may_panic_when_a_part_does() {
    in_own_process("the_sum_so_far_may_panic_when_a_part_does", || {
        silence_panics("part ");
        let hive = Hive::new(BEES).unwrap();
        short_and_then(&hive, |panics, times| {
            // The value of the identity is dropped at the end, and so it is not armed.
            let sum = Reduction::per_team_size(None, |mut a: Option<Arc<Mutex<Armed>>>, b| {
                for armed in a.iter().chain(&b) {
                    armed.lock().unwrap().0 = false;
                }
                a.take()
            });
            let run = || {
                hive.par_reduce(0..BEES * times, &sum, |range| {
                    assert!(!panics || range.start == 0, "part 1 and later ones");
                    Some(Arc::new(Mutex::new(Armed(true))))
                })
            };
            if panics {
                assert_eq!(panic_message(|| drop(run())), "part 1 and later ones");
            } else {
                drop(run());
            }
        });
    });
}

/// What the parts do besides: they are those of a team of one then, and the hive goes on as after any region.
#[test]
fn parts_may_use_the_hive() {
    let _alone = run_exclusively();
    let sum = Reduction::unordered(0, |a, b| a + b);
    for hive in hives() {
        short_and_then(&hive, |uses, times| {
            let total = hive.par_reduce(0..BEES * times, &sum, |range| {
                if uses {
                    hive.spmd(2, |bee| assert!(bee.id() < bee.bees()));
                    assert_eq!(hive.join(|| 1, || 2), (1, 2));
                    assert_eq!(hive.par_reduce(0..10, &sum, Range::sum), 45);
                    hive.resize(BEES + 1).unwrap();
                }
                range.len()
            });
            assert_eq!(total, BEES * times);
            if uses {
                assert_eq!(hive.bees(), BEES + 1);
                hive.resize(BEES).unwrap();
            }
        });
        assert_hive_works(&hive, BEES);
    }
}

/// Who asks for the resize of `a_resize_in_a_part_that_takes_long_holds_afterwards`.
#[derive(Clone, Copy, Debug)]
enum ResizedBy {
    Part,
    OtherThread,
    WorkerOfOtherHive,
    Combining,
}

impl ResizedBy {
    const ALL: [Self; 4] = [Self::Part, Self::OtherThread, Self::WorkerOfOtherHive, Self::Combining];

    /// Resizes `hive`, if it is to be done in a part.
    fn resize_in_part(self, hive: &Hive, other: &Hive, bees: usize) {
        match self {
            Self::Part => hive.resize(bees).unwrap(),
            Self::OtherThread => thread::scope(|scope| scope.spawn(|| hive.resize(bees)).join().unwrap().unwrap()),
            Self::WorkerOfOtherHive => other.spmd(2, |bee| {
                if bee.id() == 1 {
                    hive.resize(bees).unwrap();
                }
            }),
            Self::Combining => {}
        }
    }
}

#[test]
fn a_resize_in_a_part_that_takes_long_holds_afterwards() {
    let _alone = run_exclusively();
    let other = Hive::new(2).unwrap();
    // Once a run: another resize later would make up for one that was undone.
    let is_to_resize = AtomicBool::new(false);
    let resizes_now = || is_to_resize.swap(false, Ordering::Relaxed);
    for hive in hives() {
        for (by, bees) in ResizedBy::ALL.into_iter().flat_map(|by| [1, 2, BEES + 1].map(|bees| (by, bees))) {
            let combine = |a, b| {
                if matches!(by, ResizedBy::Combining) && resizes_now() {
                    hive.resize(bees).unwrap();
                }
                a + b
            };
            let (per_team_size, unordered) = (Reduction::per_team_size(0, combine), Reduction::unordered(0, combine));
            for is_unordered in [false, true] {
                short_and_then(&hive, |is_long, times| {
                    is_to_resize.store(is_long, Ordering::Relaxed);
                    let (indices, part) = (0..BEES * times, |range: Range<usize>| {
                        if is_long && (matches!(by, ResizedBy::Combining) || resizes_now()) {
                            by.resize_in_part(&hive, &other, bees);
                            thread::sleep(Duration::from_millis(3));
                        }
                        range.len()
                    });
                    let total = if is_unordered {
                        hive.par_reduce(indices, &unordered, part)
                    } else {
                        hive.par_reduce(indices, &per_team_size, part)
                    };
                    assert_eq!(total, BEES * times);
                    if is_long {
                        assert_eq!(hive.bees(), bees, "by {by:?}");
                        hive.resize(BEES).unwrap();
                    }
                });
            }
        }
        assert_hive_works(&hive, BEES);
    }
}

#[test]
fn many_threads_may_run_short_reductions_at_the_same_time() {
    let _alone = run_exclusively();
    let hive = Hive::new(BEES).unwrap();
    let sum = Reduction::unordered(0, |a, b| a + b);
    let run = || assert_eq!(hive.par_reduce(0..LEN, &sum, Range::sum), LEN * (LEN - 1) / 2);
    until_alone(&hive, run);
    for _ in 0..20 {
        wait_until_asleep(&hive, BEES - 1);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..50).for_each(|_| run()));
            }
            hive.spmd(BEES, |bee| bee.barrier());
        });
    }
    assert!(lone_loops(&hive) > 0);
}
