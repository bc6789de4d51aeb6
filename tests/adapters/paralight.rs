//! paralight's iterators on a hive.

#![cfg(target_os = "linux")]

#[path = "../common/mod.rs"]
mod common;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hive::Hive;
use paralight::prelude::*;

use common::process::in_own_process;
use common::task_helpers::{DropCounter, Payload, payload_of};
use common::{assert_contains_all, assert_hive_works, panic_message, run_exclusively, silence_panics, wait_until};

fn hives() -> impl Iterator<Item = Hive> {
    (1..=5).map(|bees| Hive::new(bees).unwrap())
}

#[test]
fn sums_are_right_for_any_length_and_size() {
    let _alone = run_exclusively();
    for hive in hives() {
        for len in [0, 1, 2, 3, 7, 1_000, 100_003] {
            let input: Vec<u64> = (0..len).collect();
            let sum = input.par_iter().with_thread_pool(&hive).sum::<u64>();
            assert_eq!(sum, input.iter().sum::<u64>(), "{len} on {hive:?}");
            let count = (0..len as usize).into_par_iter().with_thread_pool(&hive).map(|_| 1).reduce(|| 0, |a, b| a + b);
            assert_eq!(count, len);
        }
    }
}

#[test]
fn each_element_is_written_once() {
    let _alone = run_exclusively();
    for mut hive in hives() {
        let (left, right) = (vec![1_u32; 5_000], vec![10_u32; 5_000]);
        let mut output = vec![100_u32; 5_000];
        // By a mutable reference, as paralight's own pool.
        (output.par_iter_mut(), left.par_iter(), right.par_iter())
            .zip_eq()
            .with_thread_pool(&mut hive)
            .for_each(|(out, a, b)| *out += a + b);
        assert!(output.iter().all(|out| *out == 111));
    }
}

#[test]
fn items_run_on_bees_of_the_hive_and_in_all_shares() {
    let _alone = run_exclusively();
    // No more run at once than there are CPUs.
    let bees = std::thread::available_parallelism().unwrap().get().min(3);
    let hive = Hive::new(bees).unwrap();
    let tids = Mutex::new(BTreeSet::new());
    // Each waits for all others, who therefore are others.
    (0..bees).into_par_iter().with_thread_pool(&hive).for_each(|_| {
        tids.lock().unwrap().insert(hive::current().expect("a bee").id);
        wait_until(|| tids.lock().unwrap().len() == bees);
    });
}

/// One bee is held up by its first item until all others have been processed, if somebody takes those of its share. (A
/// loop may also run on its caller alone, whose first item then waits in vain.)
#[test]
fn who_is_done_takes_from_who_is_not() {
    const ENOUGH: Duration = Duration::from_millis(20);
    let _alone = run_exclusively();
    for hive in hives().filter(|hive| hive.bees() > 1) {
        let len = 8 * hive.bees();
        for slow in (0..len).step_by(8) {
            let is_taken = || {
                let done = AtomicUsize::new(0);
                let are_others_done = || done.load(Ordering::Relaxed) == len - 1;
                let is_taken = AtomicBool::new(false);
                (0..len).into_par_iter().with_thread_pool(&hive).for_each(|index| {
                    if index == slow {
                        let begin = Instant::now();
                        wait_until(|| are_others_done() || begin.elapsed() > ENOUGH);
                        is_taken.store(are_others_done(), Ordering::Relaxed);
                    } else {
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                });
                is_taken.into_inner()
            };
            assert!((0..1_000).any(|_| is_taken()), "nobody takes from the share of item {slow} of {len}");
        }
    }
}

#[test]
fn the_first_match_is_the_first_and_any_is_one() {
    let _alone = run_exclusively();
    for hive in hives() {
        for first in [0, 1, 4_999, 9_999] {
            let input: Vec<usize> = (0..10_000).collect();
            let found = input.par_iter().with_thread_pool(&hive).find_first(|&&item| item >= first);
            assert_eq!(found, Some(&first), "{hive:?}");
            let any = input.par_iter().with_thread_pool(&hive).find_any(|&&item| item >= first);
            assert!(any.is_some_and(|item| *item >= first));
        }
        assert_eq!((0..10_000_usize).into_par_iter().with_thread_pool(&hive).find_first(|_| false), None);
    }
}

#[test]
fn nothing_is_looked_at_past_the_first_match() {
    let _alone = run_exclusively();
    let hive = Hive::new(1).unwrap();
    let seen = AtomicUsize::new(0);
    let matches = |item: usize| {
        seen.fetch_add(1, Ordering::Relaxed);
        item == 300
    };
    assert_eq!((0..10_000_usize).into_par_iter().with_thread_pool(&hive).find_first(|item| matches(*item)), Some(300));
    assert_eq!(seen.load(Ordering::Relaxed), 301);
    seen.store(0, Ordering::Relaxed);
    assert!((0..10_000_usize).into_par_iter().with_thread_pool(&hive).any(matches));
    assert_eq!(seen.load(Ordering::Relaxed), 301);
}

/// Has `work` consume items whose ends are counted: each ends once, whether it was processed or not.
#[track_caller]
fn assert_each_ends_once(what: &str, work: impl FnOnce(Vec<(usize, DropCounter<'_>)>)) {
    let ends: Vec<_> = (0..1_000).map(|_| AtomicUsize::new(0)).collect();
    work(ends.iter().enumerate().map(|(number, end)| (number, DropCounter(end))).collect());
    assert!(ends.iter().all(|end| end.load(Ordering::Relaxed) == 1), "{what}: {ends:?}");
}

#[test]
fn each_item_ends_once_processed_or_not() {
    let _alone = run_exclusively();
    for hive in hives() {
        assert_each_ends_once("all are processed", |items| {
            items.into_par_iter().with_thread_pool(&hive).for_each(drop);
        });
        for last in [0, 499, 999] {
            assert_each_ends_once("some are found", |items| {
                let found = items.into_par_iter().with_thread_pool(&hive).find_first(|(number, _)| *number >= last);
                assert_eq!(found.map(|(number, _)| number), Some(last));
            });
            assert_each_ends_once("an error ends it", |items| {
                let stop = |(number, _)| if number == last { Err(number) } else { Ok(()) };
                assert_eq!(items.into_par_iter().with_thread_pool(&hive).try_for_each(stop), Err(last));
            });
        }
        // A team of one has all shares to itself, and leaves at the first error.
        assert_each_ends_once("an error in a nested region", |items| {
            let items = Mutex::new(Some(items));
            hive.spmd(hive.bees(), |bee| {
                if bee.is_queen() {
                    let items = items.lock().unwrap().take().unwrap();
                    let stopped = items.into_par_iter().with_thread_pool(&hive).try_for_each(|(number, _)| Err(number));
                    assert!(stopped.is_err());
                }
            });
        });
    }
}

#[test]
fn a_panic_reaches_the_caller_and_each_item_still_ends_once() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    for hive in hives() {
        for bad in [0, 500, 999] {
            assert_each_ends_once("a panic", |items| {
                let part = |(number, _)| {
                    if number == bad {
                        std::panic::panic_any(Payload("an item's"));
                    }
                };
                assert_eq!(payload_of(|| items.into_par_iter().with_thread_pool(&hive).for_each(part)), "an item's");
            });
            // And by the loop for items that need no cleaning up.
            let part = |number| if number == bad { std::panic::panic_any(Payload("a number's")) } else { number };
            let sum = || (0..1_000_usize).into_par_iter().with_thread_pool(&hive).map(part).sum::<usize>();
            assert_eq!(payload_of(|| assert_eq!(sum(), 499_500)), "a number's");
        }
        assert_hive_works(&hive, hive.bees());
    }
}

#[test]
fn inside_a_region_and_a_task_of_the_same_hive() {
    let _alone = run_exclusively();
    for hive in hives() {
        let sums = hive.spmd_map(hive.bees(), |bee| {
            let id = bee.id();
            (0..1_000_usize).into_par_iter().with_thread_pool(&hive).map(|number| number * id).sum::<usize>()
        });
        assert!(sums.into_iter().enumerate().all(|(bee, sum)| sum == 499_500 * bee));
        let sum = || (0..1_000_usize).into_par_iter().with_thread_pool(&hive).sum::<usize>();
        assert_eq!(hive.install(sum), 499_500);
        assert_eq!(hive.join(sum, sum), (499_500, 499_500));
    }
}

/// Were it taken for the end of a bee that is let go, the pipeline would return with elements that nobody has made.
#[test]
fn what_let_a_bee_of_another_region_go_is_a_panic_in_an_item() {
    in_own_process("what_let_a_bee_of_another_region_go_is_a_panic_in_an_item", || {
        silence_panics("as expected");
        for hive in hives() {
            for bad in [0, 500, 999] {
                let release = Mutex::new(None);
                let region = || {
                    let other = Hive::new(2).unwrap();
                    other.spmd(2, |bee| {
                        if bee.is_queen() {
                            std::panic::panic_any(Payload("the other region's"));
                        }
                        *release.lock().unwrap() = catch_unwind(AssertUnwindSafe(|| bee.barrier())).err();
                    });
                };
                assert_eq!(payload_of(region), "the other region's");
                let item = |number: usize| {
                    if number == bad {
                        resume_unwind(release.lock().unwrap().take().unwrap());
                    }
                    number.to_string()
                };
                let strings = || (0..1_000).into_par_iter().map(item).with_thread_pool(&hive).collect::<Vec<String>>();
                if hive.bees() == 1 {
                    // What nobody catches goes through as it is.
                    assert!(catch_unwind(AssertUnwindSafe(strings)).is_err());
                    continue;
                }
                let message = panic_message(|| println!("{:?}", strings()));
                assert_contains_all(&message, &["resumed outside of that region"]);
            }
            assert_hive_works(&hive, hive.bees());
        }
    });
}
