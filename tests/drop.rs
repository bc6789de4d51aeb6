//! Dropping a hive ends its workers and waits for their threads, whatever they are doing.

#![cfg(target_os = "linux")]

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use common::proc_threads::own_cpus;
use common::process::in_own_process;
use common::{Gate, assert_hive_works, proc_threads, run_exclusively, sys, wait_until};
use hive::{Builder, Hive, Pin};

/// The name of the workers' threads in these tests.
const THREAD_NAME: &str = "dropped";

fn builder(bees: usize) -> Builder {
    Hive::builder().bees(bees).thread_name(THREAD_NAME)
}

/// Drops the hive and checks that none of its threads is left.
fn drop_and_check(hive: Hive, bees: usize) {
    // A thread sets its own name, so wait until all have.
    wait_until(|| proc_threads::named(THREAD_NAME).len() == bees);
    drop(hive);
    proc_threads::wait_until_ended(THREAD_NAME);
}

#[test]
fn bees_that_poll() {
    let _alone = run_exclusively();
    for n in [2, 6] {
        let hive = builder(n).spin(Duration::MAX).build().unwrap();
        assert_hive_works(&hive, n);
        drop_and_check(hive, n - 1);
    }
}

#[test]
fn bees_that_sleep() {
    let _alone = run_exclusively();
    for n in [2, 6] {
        let hive = builder(n).spin(Duration::ZERO).build().unwrap();
        assert_hive_works(&hive, n);
        proc_threads::wait_until_asleep(&proc_threads::named(THREAD_NAME));
        drop_and_check(hive, n - 1);
    }
}

#[test]
fn bees_that_are_parked() {
    let _alone = run_exclusively();
    for n in [2, 6] {
        let hive = builder(n).build().unwrap();
        assert_hive_works(&hive, n);
        hive.resize(1).unwrap();
        hive.wait_until_parked();
        drop_and_check(hive, n - 1);
    }
}

#[test]
fn bees_that_have_just_become_surplus_or_been_called_back() {
    let _alone = run_exclusively();
    for spin in [Duration::ZERO, Duration::from_micros(200), Duration::MAX] {
        for sizes in [&[1][..], &[1, 6], &[3], &[1, 4, 2], &[2, 8]] {
            for _ in 0..10 {
                let hive = builder(6).spin(spin).build().unwrap();
                assert_hive_works(&hive, 6);
                sizes.iter().for_each(|&size| hive.resize(size).unwrap());
                drop(hive);
                proc_threads::wait_until_ended(THREAD_NAME);
            }
        }
    }
}

#[test]
fn drop_waits_for_the_very_end_of_the_threads() {
    let _alone = run_exclusively();
    static ENDED: AtomicUsize = AtomicUsize::new(0);
    struct EndsLate;
    impl Drop for EndsLate {
        fn drop(&mut self) {
            (0..100).for_each(|_| thread::yield_now());
            ENDED.fetch_add(1, Ordering::Relaxed);
        }
    }
    thread_local! {
        static AT_THE_END: EndsLate = const { EndsLate };
    }
    for _ in 0..10 {
        let hive = builder(4).build().unwrap();
        hive.spmd(4, |bee| {
            if !bee.is_queen() {
                AT_THE_END.with(|_| ())
            }
        });
        hive.resize(2).unwrap();
        drop(hive);
        assert_eq!(ENDED.swap(0, Ordering::Relaxed), 3);
    }
}

#[test]
fn bees_that_were_never_used() {
    let _alone = run_exclusively();
    for n in [1, 2, 6] {
        for _ in 0..20 {
            let hive = builder(n).build().unwrap();
            drop(hive);
            proc_threads::wait_until_ended(THREAD_NAME);
        }
    }
}

#[test]
fn bees_whose_region_panicked() {
    let _alone = run_exclusively();
    for n in [2, 6] {
        let hive = builder(n).build().unwrap();
        let body = |bee: &hive::Bee<'_>| {
            if bee.id() == n - 1 { std::panic::resume_unwind(Box::new(())) } else { bee.barrier() }
        };
        common::panic_payload(|| hive.spmd(n, body));
        drop_and_check(hive, n - 1);
    }
}

#[test]
fn stress_two_hundred_hives_leave_no_thread() {
    let _alone = run_exclusively();
    for number in 0..200 {
        let hive = builder(1 + number % 5).build().unwrap();
        if number % 2 == 0 {
            assert_hive_works(&hive, 3);
        }
        if number % 3 == 0 {
            hive.resize(1).unwrap();
        }
    }
    proc_threads::wait_until_ended(THREAD_NAME);
}

#[test]
fn stampede_of_hives_built_used_and_dropped_on_many_threads() {
    let _alone = run_exclusively();
    let start = Gate::new();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                start.arrive_and_wait(8);
                for n in 1..=10 {
                    let hive = builder(n).build().unwrap();
                    assert_hive_works(&hive, n / 2 + 1);
                }
            });
        }
    });
    proc_threads::wait_until_ended(THREAD_NAME);
}

#[test]
fn on_another_thread_than_the_builder_s() {
    let _alone = run_exclusively();
    let hive = builder(4).build().unwrap();
    assert_hive_works(&hive, 4);
    thread::spawn(move || drop_and_check(hive, 3)).join().unwrap();
}

#[test]
fn while_another_hive_works() {
    let _alone = run_exclusively();
    let other = Hive::new(3).unwrap();
    let (busy, free) = (Gate::new(), Gate::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            other.spmd(3, |bee| {
                busy.arrive();
                free.wait_for(1);
                bee.barrier();
            });
        });
        busy.wait_for(3);
        let hive = builder(3).build().unwrap();
        assert_hive_works(&hive, 3);
        drop_and_check(hive, 2);
        free.arrive();
    });
    assert_hive_works(&other, 3);
}

#[test]
fn with_the_thread_that_has_it_for_a_thread_local() {
    let _alone = run_exclusively();
    thread_local! {
        static OWN: Hive = builder(3).pin_queen(true).build().unwrap();
    }
    for _ in 0..10 {
        thread::spawn(|| OWN.with(|hive| assert_hive_works(hive, 4))).join().unwrap();
        proc_threads::wait_until_ended(THREAD_NAME);
    }
}

/// Inside a region of the hive itself the caller still has a handle, the last one. So the hive ends after its region,
/// on the caller's thread.
#[test]
fn of_all_handles_but_the_caller_s_inside_a_region() {
    let _alone = run_exclusively();
    let hive = std::sync::Arc::new(builder(3).build().unwrap());
    let handles: Vec<_> = (0..3).map(|_| std::sync::Mutex::new(Some(hive.clone()))).collect();
    hive.spmd(3, |bee| {
        drop(handles[bee.id()].lock().unwrap().take());
        bee.barrier();
    });
    drop_and_check(std::sync::Arc::into_inner(hive).expect("the last handle"), 2);
}

#[test]
fn the_builder_s_mask_comes_back_whatever_the_order_of_the_drops() {
    in_own_process("the_builder_s_mask_comes_back_whatever_the_order_of_the_drops", || {
        let before = own_cpus();
        let cpu = |index: usize| before[index % before.len()];
        let built = |index| builder(2).pin(Pin::Cpus(vec![cpu(index)])).pin_queen(true).build().unwrap();
        for reversed in [false, true] {
            let (first, second) = (built(0), built(1));
            assert_eq!(own_cpus(), [cpu(1)]);
            if reversed {
                drop(second);
                assert_eq!(own_cpus(), [cpu(0)]);
                drop(first);
            } else {
                drop(first);
                assert_eq!(own_cpus(), [cpu(1)], "the other hive still has it");
                drop(second);
            }
            assert_eq!(own_cpus(), before);
        }
        // Dropped on another thread, whose mask must stay as it is; the builder's thread stays bound.
        let hive = built(0);
        let others = thread::spawn(move || {
            sys::bind(&before);
            drop(hive);
            (own_cpus(), before)
        });
        let (others, before) = others.join().unwrap();
        assert_eq!(others, before);
        proc_threads::wait_until_ended(THREAD_NAME);
    });
}
