//! A sandbox that is applied when hives already exist, and that forbids calls that they use.

#![cfg(target_os = "linux")]

mod common;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use common::process::in_own_process;
use common::seccomp::{CALLS_OF_STD, deny_syscalls, deny_syscalls_of_all_threads, die_of_all_syscalls_but};
use common::sys::{self, UnsyncCell};
use common::{Gate, assert_hive_works, assert_loops_work, task_helpers};
use hive::{Hive, Pin, Reduction, Schedule};

/// The regions of each of two queens that pass the queen lock to each other.
const REGIONS: u64 = 50;

/// Regions of the calling thread. They count in a cell that only the current queen may touch.
fn run_regions(hive: &Hive, regions: u64, count: &UnsyncCell) {
    for _ in 0..regions {
        hive.spmd(2, |bee| {
            if bee.is_queen() {
                count.set(count.get() + 1);
            }
        });
    }
}

/// The calling thread and another one start regions at the same time.
fn two_queens(hive: &Hive) {
    let (count, gate, is_over) = (UnsyncCell::default(), Gate::new(), AtomicBool::new(false));
    let own = thread::scope(|scope| {
        let other = scope.spawn(|| {
            gate.arrive_and_wait(2);
            run_regions(hive, REGIONS, &count);
            is_over.store(true, Ordering::Release);
        });
        gate.arrive_and_wait(2);
        let mut own = 0;
        while !is_over.load(Ordering::Acquire) {
            run_regions(hive, 1, &count);
            own += 1;
        }
        other.join().unwrap();
        own
    });
    assert_eq!(count.get(), REGIONS + own, "regions");
    assert_eq!(task_helpers::fib_by_joins(hive, 12), 144);
}

/// A leader without heavy fences waits for a worker that is there but does not come.
fn assert_loops_of_all_lengths_work(hive: &Hive) {
    [10, 1_000, 100_000].into_iter().for_each(|len| assert_loops_work(hive, len));
}

#[test]
fn loops_go_on_when_membarrier_is_forbidden_to_their_caller_alone() {
    in_own_process("loops_go_on_when_membarrier_is_forbidden_to_their_caller_alone", || {
        let hive = Hive::new(2).unwrap();
        assert_loops_of_all_lengths_work(&hive);
        if deny_syscalls(&[libc::SYS_membarrier]) {
            (0..100).for_each(|_| assert_loops_of_all_lengths_work(&hive));
            two_queens(&hive);
        }
    });
}

#[test]
fn loops_go_on_when_membarrier_and_affinity_are_forbidden() {
    in_own_process("loops_go_on_when_membarrier_and_affinity_are_forbidden", || {
        let hive = Hive::new(2).unwrap();
        let calls = [libc::SYS_membarrier, libc::SYS_sched_setaffinity, libc::SYS_sched_getaffinity];
        assert!(deny_syscalls_of_all_threads(&calls));
        assert!(!sys::has_membarrier());
        for hive in [hive, Hive::new(2).unwrap()] {
            two_queens(&hive);
            assert_loops_of_all_lengths_work(&hive);
        }
    });
}

/// What a program does that only gives up the means to gain rights, and a thread with a filter of its own.
#[test]
fn who_has_no_filter_is_in_no_sandbox() {
    in_own_process("who_has_no_filter_is_in_no_sandbox", || {
        let is_bound = || {
            let cpus = sys::own_mask()[..1].to_vec();
            let hive = Hive::builder().bees(2).pin_queen(true).pin(Pin::Cpus(cpus)).build().unwrap();
            let warnings = hive.report().warnings().join("\n");
            assert!(!warnings.contains("not bound"), "{warnings}");
        };
        // The first hive of the process.
        let has_filter = thread::spawn(|| deny_syscalls(&[libc::SYS_membarrier]) && Hive::new(2).is_ok());
        if has_filter.join().unwrap() {
            is_bound();
            sys::set_no_new_privs();
            is_bound();
        }
    });
}

/// Everything that goes on in hives that exist: regions, loops, tasks, sleep and wake, more bees and fewer, their end.
#[cfg(target_arch = "x86_64")]
#[test]
fn hives_go_on_where_all_calls_but_those_of_std_end_the_process() {
    in_own_process("hives_go_on_where_all_calls_but_those_of_std_end_the_process", || {
        let (sleepy, global) = (Hive::builder().bees(2).spin(Duration::ZERO).build().unwrap(), hive::global());
        let bound = [Hive::new(2).unwrap(), Hive::new(2).unwrap()];
        let unbound = Hive::builder().bees(3).pin(Pin::None).build().unwrap();
        if !die_of_all_syscalls_but(&CALLS_OF_STD) {
            return;
        }
        bound.iter().for_each(two_queens);
        let data = vec![1_u64; 10_000];
        let sum = Reduction::deterministic(0, |a, b| a + b);
        for hive in bound.iter().chain([&sleepy, global, &unbound]) {
            let bees = hive.bees();
            for pause in [0, 1, 5, 20, 60].map(Duration::from_millis).into_iter().cycle().take(20) {
                thread::sleep(pause);
                assert_hive_works(hive, bees);
                thread::sleep(pause);
                for schedule in [Schedule::Static, Schedule::Dynamic(8), Schedule::Guided(8)] {
                    let total = hive.par_reduce((0..data.len(), schedule), &sum, |range| data[range].iter().sum());
                    assert_eq!(total, 10_000);
                }
                thread::sleep(pause);
                assert_eq!(task_helpers::fib_by_joins(hive, 15), 610);
                thread::sleep(pause);
                let (sender, receiver) = channel();
                hive.spawn(move || sender.send(1).unwrap());
                assert_eq!(receiver.recv(), Ok(1));
                let wait_in_scope = || hive.scope(|scope| (0..100).for_each(|_| scope.spawn(|_| ())));
                wait_in_scope();
                // On a thread that has run no tasks yet, and deep on its stack.
                thread::scope(|threads| _ = threads.spawn(|| common::deep_down(1 << 20, wait_in_scope)));
            }
            hive.resize(1).unwrap();
            hive.wait_until_parked();
            hive.resize(bees + 2).unwrap();
            assert_hive_works(hive, bees + 3);
            assert_eq!(task_helpers::fib_by_joins(hive, 15), 610);
        }
        drop((bound, sleepy, unbound));
    });
}

/// A child is to forget the file in which its parent has locks on CPUs, and may not close it here.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_fork_ends_no_child_where_all_calls_but_those_of_std_end_the_process() {
    in_own_process("a_fork_ends_no_child_where_all_calls_but_those_of_std_end_the_process", || {
        let hive = Hive::builder().bees(2).pin(Pin::Core).build();
        let Ok(hive) = hive else { return println!("skipped: {}", hive.unwrap_err()) };
        let calls_of_forks = [libc::SYS_wait4, libc::SYS_getpid, libc::SYS_set_tid_address];
        if !die_of_all_syscalls_but(&[&CALLS_OF_STD[..], &calls_of_forks].concat()) {
            return;
        }
        sys::fork(|| ()).join();
        assert_hive_works(&hive, 2);
    });
}
