//! A hive that has nothing to do uses no CPU: workers that have been idle for the time of their polling sleep, and
//! nothing wakes them.

#![cfg(target_os = "linux")]

mod common;

use std::thread::{self, sleep};
use std::time::Duration;

use common::process::in_own_process;
use common::{Gate, proc_threads, seccomp, sys};
use hive::{Builder, Hive, Pin};

/// Checks that this process uses less than a thousandth of the CPU while it does nothing.
fn assert_idle(what: &str) {
    // A virtual CPU that is taken away in the middle of a call may count as used, for once.
    let used = [(); 3].map(|()| {
        let before = sys::cpu_time();
        sleep(Duration::from_millis(500));
        sys::cpu_time() - before
    });
    let least = used.iter().min().expect("three");
    assert!(*least < Duration::from_micros(500), "{what}: {used:?} of CPU time; {}", proc_threads::list(None));
}

/// Runs a region so that all workers have been awake. Returns the numbers of their threads.
fn use_hive(hive: &Hive, n: usize) -> Vec<i32> {
    let gate = Gate::new();
    let mut tids = hive.spmd_map(n, |bee| {
        gate.arrive_and_wait(n);
        bee.barrier();
        sys::tid()
    });
    tids.remove(0);
    tids
}

#[test]
fn parked_bees_use_no_cpu() {
    in_own_process("parked_bees_use_no_cpu", || {
        // Bees that poll without end sleep only because of parking.
        for spin in [Duration::from_micros(200), Duration::MAX] {
            let hive = Hive::builder().bees(2).spin(spin).build().unwrap();
            let bees = use_hive(&hive, 2);
            hive.resize(1).unwrap();
            hive.wait_until_parked();
            // The bee has announced that it goes to sleep; the last step is the system's.
            proc_threads::wait_until_asleep(&bees);
            assert_idle("after resize(1) and settle()");
            let bees = use_hive(&hive, 8);
            hive.resize(1).unwrap();
            hive.wait_until_parked();
            proc_threads::wait_until_asleep(&bees);
            assert_idle("after eight bees");
        }
    });
}

#[test]
fn a_second_after_the_last_region_a_hive_uses_no_cpu() {
    in_own_process("a_second_after_the_last_region_a_hive_uses_no_cpu", || {
        for n in [2, 8] {
            let bees = use_hive(hive::global(), n);
            sleep(Duration::from_secs(1));
            proc_threads::wait_until_asleep(&bees);
            assert_idle("a second after the last region");
            assert!(hive::global().bees() >= n, "it has not shrunk by itself");
            // Regions that need only some of the bees wake only those.
            let sleeps: Vec<_> = bees.iter().map(|&bee| proc_threads::sleep_count(bee)).collect();
            (0..10).for_each(|_| hive::spmd(2, |bee| bee.barrier()));
            proc_threads::wait_until_asleep(&bees);
            assert!(
                bees[1..].iter().map(|&bee| proc_threads::sleep_count(bee)).eq(sleeps[1..].iter().copied()),
                "a bee was woken in vain"
            );
        }
    });
}

#[test]
fn a_hive_that_was_never_used_uses_no_cpu() {
    in_own_process("a_hive_that_was_never_used_uses_no_cpu", || {
        let hives = [Hive::new(1).unwrap(), Hive::new(2).unwrap(), Hive::new(6).unwrap()];
        sleep(Duration::from_secs(1));
        assert_idle("a second after building");
        assert_eq!(hives.map(|hive| hive.bees_not_yet_tucked_in()), [0, 0, 0]);
    });
}

/// Regions of `bees` bees that wait for each other at barriers, at the end and for the next start. The kernel kills the
/// process if one of them yields its CPU meanwhile.
fn wait_without_yields(bees: usize, builder: Builder) {
    let hive = builder.bees(bees).spin(Duration::ZERO).build().unwrap();
    let tids = hive.spmd_map(bees, |bee| {
        // Each bee has a thread of its own, and leaves it only when all have come.
        bee.barrier();
        assert!(seccomp::die_of_syscalls(&[libc::SYS_sched_yield]));
        sys::tid()
    });
    let until_asleep = |bees: &[i32]| {
        while !bees.iter().all(|&bee| proc_threads::is_asleep(bee)) {
            sleep(Duration::from_millis(1));
        }
    };
    for last in [0, bees - 1] {
        hive.spmd(bees, |bee| {
            if bee.id() == last {
                until_asleep(&[&tids[..last], &tids[last + 1..]].concat());
                assert_idle("while all others wait at a barrier");
            }
            bee.barrier();
        });
    }
    hive.spmd(bees, |bee| {
        if bee.id() == 1 {
            until_asleep(&[&tids[..1], &tids[2..]].concat());
            assert_idle("while the queen waits at the end of the region");
        }
    });
    (0..200).for_each(|_| hive.spmd(bees, |bee| bee.barrier()));
}

#[test]
fn with_a_spin_time_of_zero_nobody_polls_or_yields() {
    in_own_process("with_a_spin_time_of_zero_nobody_polls_or_yields", || {
        let builder = Hive::builder;
        // A queen that is not bound yields when she wakes a worker whose CPU she is on. She does not wait then.
        for (bees, builder) in
            [(2, builder().pin_queen(true)), (2, builder().pin(Pin::None)), (8, builder().pin(Pin::None))]
        {
            // What the kernel has been told holds for the threads of this case.
            thread::scope(|scope| drop(scope.spawn(|| wait_without_yields(bees, builder))));
        }
    });
}
