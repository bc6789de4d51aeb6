//! The watchdog: what a hive prints on standard error when a region makes no progress for longer than the limit.

#![cfg(target_os = "linux")]

mod common;

use std::sync::mpsc;
use std::time::Duration;

use common::process::in_own_process;
use common::{assert_contains_all, assert_hive_works, proc_threads, run_exclusively, sys, wait_until};
use hive::Hive;

const LIMIT: Duration = Duration::from_millis(20);

fn watched(bees: usize) -> Hive {
    Hive::builder().bees(bees).thread_name("watched").deadlock_watchdog(Some(LIMIT)).build().unwrap()
}

#[test]
fn a_bee_that_does_not_come_to_a_barrier_is_named() {
    let output = in_own_process("a_bee_that_does_not_come_to_a_barrier_is_named", || {
        watched(3).spmd(3, |bee| {
            bee.barrier();
            if bee.id() == 2 {
                std::thread::sleep(50 * LIMIT);
            }
            bee.barrier();
        });
    });
    let missing = "bee 2 is missing: in its part, before barrier 2";
    assert_contains_all(
        &output,
        &["watched: a region of 3 has made no progress for", "bee 0 waits at barrier 2", missing],
    );
}

#[test]
fn a_bee_that_is_in_a_task_is_named() {
    let output = in_own_process("a_bee_that_is_in_a_task_is_named", || {
        let hive = watched(2);
        let (sender, receiver) = mpsc::channel::<()>();
        hive.spawn_on(1, move || receiver.iter().for_each(drop));
        wait_until(|| hive.stats()[1].tasks == 1);
        std::thread::scope(|scope| {
            scope.spawn(|| hive.spmd(2, |_| {}));
            std::thread::sleep(50 * LIMIT);
            drop(sender);
        });
    });
    assert_contains_all(&output, &["bee 0 waits at the end", "bee 1 is missing: in a task"]);
}

#[test]
fn a_hive_that_has_nothing_to_do_is_not_reported() {
    let output = in_own_process("a_hive_that_has_nothing_to_do_is_not_reported", || {
        let hive = watched(2);
        for _ in 0..1_000 {
            hive.spmd(2, |bee| (0..10).for_each(|_| bee.barrier()));
        }
        // A region that makes progress may still be kept from a core by other programs for as long as the limit, and
        // the last report may be on its way.
        std::thread::sleep(5 * LIMIT);
        println!("[idle]");
        std::thread::sleep(5 * LIMIT);
    });
    let (_, while_idle) = output.split_once("[idle]").expect("the line is printed");
    assert!(!while_idle.contains("has made no progress for"), "{output}");
}

/// A message to a closed pipe is lost, without any other effect.
#[test]
fn a_hive_whose_standard_error_nobody_reads_goes_on_and_ends() {
    in_own_process("a_hive_whose_standard_error_nobody_reads_goes_on_and_ends", || {
        sys::silence_stderr();
        let hive = watched(2);
        for _ in 0..2 {
            hive.spmd(2, |bee| {
                if bee.id() == 1 {
                    std::thread::sleep(5 * LIMIT);
                }
            });
        }
        assert_hive_works(&hive, 2);
        drop(hive);
    });
}

#[test]
fn a_watchdog_without_time_is_refused() {
    let _alone = run_exclusively();
    let error = Hive::builder().deadlock_watchdog(Some(Duration::ZERO)).build().unwrap_err().to_string();
    assert!(error.contains("deadlock_watchdog") && error.contains("None"), "{error}");
}

/// A pipe that is full and that nobody reads: the watchdog waits in the middle of its report, and the drop does not.
#[test]
fn a_hive_whose_standard_error_is_full_ends() {
    in_own_process("a_hive_whose_standard_error_is_full_ends", || {
        // The kernel keeps the first 15 bytes of the name.
        let watchdog = || proc_threads::named("watched-watchdo");
        let reader = sys::redirect_stderr_to_full_pipe();
        let hive = watched(2);
        hive.spmd(2, |bee| {
            if bee.id() == 1 {
                wait_until(|| watchdog().into_iter().any(proc_threads::is_writing_to_stderr));
            }
        });
        drop(hive);
        assert_eq!(watchdog().len(), 1, "it still writes");
        // Then it ends as well.
        drop(reader);
        wait_until(|| watchdog().is_empty());
    });
}
