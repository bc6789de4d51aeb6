//! A reduction that is divided by `Static` is handed out in chunks if its workers have to be woken for it, unless its
//! result depends on the bees' parts: `par_reduce` with an unordered or deterministic reduction.

#![cfg(target_os = "linux")]

mod common;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use common::held_workers::{BEES, LEN, hives, wait_until_asleep};
use common::{assert_hive_works, panic_message, run_exclusively, silence_panics, wait_until};
use hive::{Hive, Loop, Reduction, Schedule};

/// How long an index takes. All of them take so long that workers are woken.
const INDEX: Duration = Duration::from_micros(100);

/// A loop whose calls of `map` are recorded.
#[derive(Default)]
struct Recorded(Mutex<Vec<Range<usize>>>);

impl Recorded {
    fn map(&self, range: &Range<usize>) {
        thread::sleep(INDEX * range.len() as u32);
        self.0.lock().unwrap().push(range.clone());
    }

    /// The ranges of the loop that has just ended, which together are `0..LEN`.
    fn take(&self) -> Vec<Range<usize>> {
        let mut ranges = std::mem::take(&mut *self.0.lock().unwrap());
        ranges.sort_by_key(|range| range.start);
        assert!(ranges.iter().flat_map(Range::clone).eq(0..LEN), "{ranges:?}");
        ranges
    }
}

/// Waits until all workers of the hive are asleep, and then calls `run`.
fn cold<R>(hive: &Hive, run: impl FnOnce() -> R) -> R {
    wait_until_asleep(hive, hive.bees() - 1);
    run()
}

/// The first such loop is not known yet. From the second one on it is handed out, unless a worker has happened to be
/// awake.
#[test]
fn an_unordered_loop_is_handed_out_once_it_is_known_to_be_long() {
    let _alone = run_exclusively();
    let sum = Reduction::unordered(0, |a, b| a + b);
    for hive in hives() {
        let recorded = Recorded::default();
        let run = || {
            let result = hive.par_reduce(0..LEN, &sum, |range| {
                recorded.map(&range);
                range.sum()
            });
            assert_eq!(result, LEN * (LEN - 1) / 2);
            recorded.take().len()
        };
        assert!(cold(&hive, run) <= BEES, "one block for each bee");
        // Now and then it is handed out.
        wait_until(|| cold(&hive, run) > BEES);
        // While the workers are awake, each has a block. Where CPUs are short they sleep even here, at times too soon.
        hive.keep_spinning(|| wait_until(|| run() == BEES));
    }
}

#[test]
fn a_result_that_depends_on_the_bees_parts_stays_what_it_is() {
    let _alone = run_exclusively();
    let sum = Reduction::per_team_size(0, |a, b| a + b);
    let hive = Hive::new(BEES).unwrap();
    let recorded = Recorded::default();
    for _ in 0..5 {
        cold(&hive, || {
            hive.par_reduce(0..LEN, &sum, |range| {
                recorded.map(&range);
                range.sum()
            })
        });
        assert_eq!(recorded.take().len(), BEES);
    }
}

/// The operation is associative only: the blocks have to be combined in their order, whoever runs them.
#[test]
fn a_deterministic_loop_gives_the_same_result_bit_by_bit() {
    let _alone = run_exclusively();
    let sum = Reduction::deterministic(0.0, |a, b| a + b);
    let concat = Reduction::deterministic(String::new(), |a: String, b: String| a + &b).blocks(20);
    let letters = |range: Range<usize>| range.map(|i| char::from(b'a' + (i % 26) as u8)).collect::<String>();
    for hive in hives() {
        let recorded = Recorded::default();
        let run = |loop_| {
            let bits = hive.par_reduce(loop_, &sum, |range| {
                recorded.map(&range);
                range.map(|i| 1.0 / (i as f64 + 0.1)).sum::<f64>()
            });
            recorded.take();
            bits.to_bits()
        };
        let of_team = run(Loop::new(0..LEN, Schedule::Static));
        for _ in 0..5 {
            assert_eq!(cold(&hive, || run(Loop::new(0..LEN, Schedule::Static))), of_team);
            assert_eq!(cold(&hive, || run(Loop::new(0..LEN, Schedule::Static).aligned(8))), of_team);
            assert_eq!(cold(&hive, || run(Loop::from(&hive.plan(LEN)))), of_team);
            let text = cold(&hive, || {
                hive.par_reduce(0..LEN, &concat, |range| {
                    thread::sleep(INDEX * range.len() as u32);
                    letters(range)
                })
            });
            assert_eq!(text, letters(0..LEN));
        }
    }
}

/// Large values, large closures, more bees than indices, and a hive that is in the middle of something else.
#[test]
fn whatever_is_reduced_is_reduced_once() {
    let _alone = run_exclusively();
    let hive = Hive::new(BEES).unwrap();
    let large = Reduction::unordered([0; 100], |a: [usize; 100], b| std::array::from_fn(|i| a[i] + b[i]));
    let sum = Reduction::unordered(0, |a, b| a + b);
    let ballast = [1; 1000];
    let nap = |range: &Range<usize>| thread::sleep(INDEX * 10 * range.len() as u32);
    let run = || {
        let sum_of_few = hive.par_reduce(0..BEES - 1, &sum, |range| {
            nap(&range);
            // A loop inside of the loop.
            range.map(|_| hive.par_reduce(0..10, &sum, |range| range.len())).sum()
        });
        let large_values = hive.par_reduce(0..10, &large, |range| {
            nap(&range);
            [range.len(); 100]
        });
        let by_large_closure = hive.par_reduce(0..10, &sum, move |range| {
            nap(&range);
            range.len() * ballast[999]
        });
        (sum_of_few, large_values[99], by_large_closure)
    };
    for _ in 0..5 {
        assert_eq!(cold(&hive, run), (10 * (BEES - 1), 10, 10));
        assert_eq!(cold(&hive, || hive.install(run)), (10 * (BEES - 1), 10, 10));
        let other = Hive::new(2).unwrap();
        let from_another_hive = other.spmd_map(2, |_| run());
        assert!(from_another_hive.iter().all(|results| *results == (10 * (BEES - 1), 10, 10)));
        // Callers that find the hive busy.
        thread::scope(|scope| {
            let callers = [(); 3].map(|()| scope.spawn(run));
            assert!(callers.into_iter().all(|caller| caller.join().unwrap() == (10 * (BEES - 1), 10, 10)));
        });
    }
}

#[test]
fn a_panic_in_a_chunk_drops_what_is_there() {
    let _alone = run_exclusively();
    silence_panics("index ");
    let hive = Hive::new(BEES).unwrap();
    let witness = Arc::new(());
    let concat = Reduction::unordered(Vec::new(), |mut a: Vec<Arc<()>>, mut b| {
        a.append(&mut b);
        a
    });
    let panics = AtomicBool::new(false);
    for index in [0, 1, LEN / 2, LEN - 1] {
        let run = || {
            hive.par_reduce(0..LEN, &concat, |range| {
                thread::sleep(INDEX * range.len() as u32);
                assert!(!(panics.load(Ordering::Relaxed) && range.contains(&index)), "index {index}");
                range.map(|_| Arc::clone(&witness)).collect()
            })
        };
        // Known to be long, and then handed out, most probably.
        for is_to_panic in [false, false, true, true] {
            panics.store(is_to_panic, Ordering::Relaxed);
            if is_to_panic {
                assert_eq!(cold(&hive, || panic_message(|| drop(run()))), format!("index {index}"));
            } else {
                assert_eq!(cold(&hive, run).len(), LEN);
            }
            assert_eq!(Arc::strong_count(&witness), 1);
        }
        assert_hive_works(&hive, BEES);
    }
}

/// What is known of a loop is known of it in either form, so one that has become short wakes nobody.
#[test]
fn a_loop_that_has_become_short_runs_alone() {
    let _alone = run_exclusively();
    let hive = Hive::new(BEES).unwrap();
    let index = AtomicU64::new(INDEX.as_nanos() as u64);
    let sum = Reduction::unordered(0, |a, b| a + b);
    let run = || {
        hive.par_reduce(0..LEN, &sum, |range| {
            match index.load(Ordering::Relaxed) {
                0 => {}
                nanos => thread::sleep(Duration::from_nanos(nanos) * range.len() as u32),
            }
            range.len()
        })
    };
    (0..3).for_each(|_| assert_eq!(cold(&hive, run), LEN));
    index.store(0, Ordering::Relaxed);
    // If it is never expected to be short, the time limit of the test ends it.
    while hive.stats().total().lone_loops == 0 {
        assert_eq!(cold(&hive, run), LEN);
    }
}
