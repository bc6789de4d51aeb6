//! A sandbox that is applied when hives already exist, and that forbids calls that they use.

#![cfg(target_os = "linux")]

mod common;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use common::process::in_own_process;
use common::seccomp::{CALLS_OF_STD, deny_syscalls, die_of_all_syscalls_but};
use common::sys::{self, UnsyncCell};
use common::{Gate, assert_hive_works, task_helpers};
use hive::{Hive, Pin, Reduction, Schedule};

/// More regions than a thread needs for the queen lock to be reserved to it.
const RESERVING_REGIONS: u64 = 1_200;

/// The regions of each of two queens that pass the queen lock to each other.
const CONTENDED_REGIONS: u64 = 50;

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

/// Hives whose queen lock is reserved to the calling thread.
fn reserved_hives(hives: usize) -> Vec<(Hive, UnsyncCell)> {
    let hive = |_| {
        let (hive, count) = (Hive::new(2).unwrap(), UnsyncCell::default());
        run_regions(&hive, RESERVING_REGIONS, &count);
        (hive, count)
    };
    (0..hives).map(hive).collect()
}

/// The calling thread, to which the queen lock is reserved, and another one start regions at the same time. `prepare`
/// is called on the other thread first.
fn two_queens(hive: &Hive, count: &UnsyncCell, prepare: impl FnOnce() + Send) {
    let (before, gate, is_over) = (count.get(), Gate::new(), AtomicBool::new(false));
    let own = thread::scope(|scope| {
        let other = scope.spawn(|| {
            prepare();
            gate.arrive_and_wait(2);
            run_regions(hive, CONTENDED_REGIONS, count);
            is_over.store(true, Ordering::Release);
        });
        gate.arrive_and_wait(2);
        let mut own = 0;
        while !is_over.load(Ordering::Acquire) {
            run_regions(hive, 1, count);
            own += 1;
        }
        other.join().unwrap();
        own
    });
    assert_eq!(count.get(), before + CONTENDED_REGIONS + own, "regions");
    assert_eq!(task_helpers::fib_by_joins(hive, 12), 144);
}

/// Whether there is anything to forbid; if not, the lock is never reserved.
fn can_be_forbidden() -> bool {
    drop(Hive::new(2).unwrap());
    let can = sys::has_membarrier();
    if !can {
        println!("skipped: the kernel has no membarrier for this process");
    }
    can
}

fn assert_works_without(calls: &[libc::c_long], hives: usize) {
    if !can_be_forbidden() {
        return;
    }
    let hives = reserved_hives(hives);
    sys::forbid_syscalls(calls, true);
    assert!(!sys::has_membarrier());
    hives.iter().for_each(|(hive, count)| two_queens(hive, count, || ()));
    // The lock is not reserved any more.
    hives.iter().for_each(|(hive, count)| run_regions(hive, RESERVING_REGIONS, count));
    hives.iter().for_each(|(hive, count)| two_queens(hive, count, || ()));
    two_queens(&Hive::new(2).unwrap(), &UnsyncCell::default(), || ());
}

#[test]
fn two_queens_go_on_when_membarrier_is_forbidden() {
    in_own_process("two_queens_go_on_when_membarrier_is_forbidden", || {
        assert_works_without(&[libc::SYS_membarrier], 3)
    });
}

/// On other systems the process is aborted with a message that says what to do.
#[cfg(target_arch = "x86_64")]
#[test]
fn two_queens_go_on_when_affinity_is_forbidden_as_well() {
    in_own_process("two_queens_go_on_when_affinity_is_forbidden_as_well", || {
        assert_works_without(&[libc::SYS_membarrier, libc::SYS_sched_setaffinity, libc::SYS_sched_getaffinity], 2);
    });
}

#[test]
fn two_queens_go_on_when_membarrier_is_forbidden_to_one_of_them() {
    in_own_process("two_queens_go_on_when_membarrier_is_forbidden_to_one_of_them", || {
        if can_be_forbidden() {
            for (hive, count) in reserved_hives(2) {
                two_queens(&hive, &count, || sys::forbid_syscalls(&[libc::SYS_membarrier], false));
            }
        }
    });
}

#[test]
fn a_queen_goes_on_after_one_who_has_ended() {
    in_own_process("a_queen_goes_on_after_one_who_has_ended", || {
        if can_be_forbidden() {
            let hives = thread::spawn(|| reserved_hives(2)).join().unwrap();
            sys::forbid_syscalls(&[libc::SYS_membarrier], true);
            hives.iter().for_each(|(hive, count)| two_queens(hive, count, || ()));
        }
    });
}

/// A thread that only tries, and finds the owner holding the lock, also goes on.
#[test]
fn an_outsider_s_join_goes_on() {
    in_own_process("an_outsider_s_join_goes_on", || {
        if can_be_forbidden() {
            let hives = reserved_hives(2);
            sys::forbid_syscalls(&[libc::SYS_membarrier], true);
            for (hive, _) in &hives {
                let joined = hive.spmd_map(2, |bee| {
                    bee.is_queen().then(|| thread::scope(|scope| scope.spawn(|| hive.join(|| 1, || 2)).join().unwrap()))
                });
                assert_eq!(joined, [Some((1, 2)), None]);
            }
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
        let reserved = reserved_hives(2);
        let unbound = Hive::builder().bees(3).pin(Pin::None).build().unwrap();
        if !die_of_all_syscalls_but(&CALLS_OF_STD) {
            return;
        }
        reserved.iter().for_each(|(hive, count)| two_queens(hive, count, || ()));
        let data = vec![1_u64; 10_000];
        let sum = Reduction::deterministic(0, |a, b| a + b);
        for hive in reserved.iter().map(|(hive, _)| hive).chain([&sleepy, global, &unbound]) {
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
        drop((reserved, sleepy, unbound));
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
