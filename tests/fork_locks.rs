//! A child has the parent's locks as they were at the fork, and no thread to release those that another thread held.
//! Each test forks repeatedly while other threads hold hive's locks, or are initialising what is initialised once.
//!
//! See `docs/fork.md`.

#![cfg(target_os = "linux")]

mod common;

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::process::{in_own_process, in_own_process_with};
use common::sys::{Forked, fork};
use common::trace_reader::TraceDirectory;
use common::{Rng, assert_contains_all, assert_hive_works, panic_message, silence_panics, wait_until};
use hive::{Hive, Placement};

/// Many children, none of which may hang or fail.
#[derive(Default)]
struct Children {
    hung: usize,
    failed: usize,
    all: usize,
}

impl Children {
    fn record(&mut self, child: Forked) {
        self.count(child.outcome());
    }

    fn count(&mut self, outcome: Option<i32>) {
        self.all += 1;
        match outcome {
            Some(0) => {}
            Some(_) => self.failed += 1,
            None => self.hung += 1,
        }
    }

    #[track_caller]
    fn assert_all_succeeded(&self) {
        let Self { hung, failed, all } = self;
        assert!(hung + failed == 0, "of {all} children {hung} hang and {failed} fail");
    }
}

/// Forks some time after another thread has begun `first`, which its process has not done before, and does `part` in
/// the child. This is repeated in many new processes.
fn fork_during(first: fn(), part: fn()) {
    const ROUNDS: usize = 60;
    let (mut children, mut dice) = (Children::default(), Rng::new(7));
    for _ in 0..ROUNDS {
        // From a microsecond to 16 milliseconds, each order of magnitude equally often.
        let wait = Duration::from_nanos(500 << dice.next_up_to(15));
        let process = fork(|| {
            let (begun, has_forked) = (AtomicBool::new(false), AtomicBool::new(false));
            thread::scope(|scope| {
                // Once it exists, it starts and ends no threads, and does not end before the fork: std has a lock there
                // on which a child hangs that makes a thread.
                scope.spawn(|| {
                    begun.store(true, Ordering::Release);
                    first();
                    wait_until(|| has_forked.load(Ordering::Relaxed));
                });
                poll_until(|| begun.load(Ordering::Acquire));
                let start = Instant::now();
                poll_until(|| start.elapsed() >= wait);
                let forked = fork(part);
                has_forked.store(true, Ordering::Relaxed);
                let mut child = Children::default();
                child.record(forked);
                child.assert_all_succeeded();
            });
        });
        children.count(process.outcome_of_parent());
    }
    children.assert_all_succeeded();
}

fn poll_until(condition: impl Fn() -> bool) {
    while !condition() {
        spin_loop();
    }
}

#[test]
fn stress_the_memory_nodes_are_being_read() {
    let part: fn() = || drop(hive::memory_nodes());
    in_own_process("stress_the_memory_nodes_are_being_read", || fork_during(part, part));
}

#[test]
fn stress_the_first_hive_is_being_built_used_and_dropped() {
    in_own_process("stress_the_first_hive_is_being_built_used_and_dropped", || {
        let first: fn() = || drop(Hive::new(1).unwrap());
        fork_during(first, || {
            drop(Hive::new(1).unwrap());
            let hive = Hive::new(2).unwrap();
            assert_hive_works(&hive, 2);
            assert_eq!(common::task_helpers::fib_by_joins(&hive, 12), 144);
        });
    });
}

#[test]
fn stress_the_global_hive_is_being_built() {
    let variables = [("HIVE_NUM_BEES", "1")];
    in_own_process_with("stress_the_global_hive_is_being_built", &variables, || {
        let first = || hive::spmd(1, |_| ());
        fork_during(first, || {
            // However far the parent was with its own.
            hive::spmd(2, |bee| bee.barrier());
            assert_hive_works(&Hive::new(2).unwrap(), 2);
        });
    });
}

#[test]
fn stress_the_first_traces_begin() {
    let room = TraceDirectory::new("fork_locks");
    let file = room.file();
    let variables = [("HIVE_TRACE", file.to_str().unwrap())];
    in_own_process_with("stress_the_first_traces_begin", &variables, || {
        let part: fn() = || {
            let hive = Hive::new(1).unwrap();
            assert!(hive.write_trace().is_ok(), "{}", hive.report());
        };
        fork_during(part, part);
    });
}

/// Reports of a hive from before the fork still work.
#[test]
fn stress_others_look_at_a_hive_and_change_what_it_says() {
    in_own_process("stress_others_look_at_a_hive_and_change_what_it_says", || {
        silence_panics("forked");
        let (hive, over) = (Hive::new(2).unwrap(), AtomicBool::new(false));
        let mut children = Children::default();
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        assert_eq!(hive.places().len(), 2);
                        assert!(hive.report().to_string().contains("bees"));
                        drop(hive.alloc(1, Placement::Bind(usize::MAX), |i| i));
                    }
                });
            }
            for _ in 0..300 {
                children.record(fork(|| {
                    assert_eq!(hive.places().len(), 2);
                    assert!(hive.report().to_string().contains("forked"));
                    // The child cannot start a region, but it gets the warning before that.
                    assert_contains_all(
                        &panic_message(|| drop(hive.alloc(1, Placement::Bind(usize::MAX), |i| i))),
                        &["forked"],
                    );
                }));
            }
            over.store(true, Ordering::Relaxed);
        });
        children.assert_all_succeeded();
    });
}

/// A thread that forks waits for what is held only briefly, and does not hold up any other thread.
#[test]
fn stress_several_threads_fork_at_once() {
    in_own_process("stress_several_threads_fork_at_once", || {
        let parents = Hive::new(2).unwrap();
        let well = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut children = Children::default();
                    for _ in 0..50 {
                        drop(Hive::new(1).unwrap());
                        children.record(fork(|| {
                            assert!(parents.try_spmd(1, |_| ()).is_err());
                            drop(Hive::new(1).unwrap());
                        }));
                    }
                    children.assert_all_succeeded();
                    well.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        assert_eq!(well.into_inner(), 3);
    });
}
