//! A kernel that refuses to report or to change affinity and signal masks, as in some sandboxes. Each test runs in a
//! process of its own, for which a filter is set.

#![cfg(target_os = "linux")]

mod common;

use common::process::{in_own_process, in_own_process_with};
use common::seccomp::deny_syscalls;
use common::{assert_contains_all, assert_hive_works, proc_threads, report_line, sys};
use hive::{Hive, Pin};

/// The machine is read without hwloc, which would ask for the mask again and again.
#[test]
fn a_mask_that_is_not_told_is_done_without() {
    in_own_process("a_mask_that_is_not_told_is_done_without", || {
        let cpus = proc_threads::cpus(sys::tid());
        if !deny_syscalls(&[libc::SYS_sched_getaffinity]) {
            return;
        }
        let hive = Hive::builder().bees(2).build().unwrap();
        assert_hive_works(&hive, 2);
        assert_hive_works(&hive, 5);
        let report = hive.report();
        if cfg!(feature = "hwloc") {
            assert_contains_all(
                &report.warnings().join("\n"),
                &["sched_getaffinity failed", "not permitted", "hwloc is not asked"],
            );
        }
        // The kernel also reports the mask in another way.
        assert_eq!(proc_threads::parse_cpu_list(report_line(&report.to_string(), "allowed CPUs")), cpus);
        // Other calls that may read the machine.
        assert!(hive::memory_nodes().is_empty() || cfg!(not(feature = "hwloc")));
        let _ = hive.alloc(10_000, hive::Placement::Interleave, |_| 0_u8);
        assert_hive_works(&Hive::builder().bees(2).pin(Pin::None).build().unwrap(), 2);
        assert_hive_works(hive::global(), 3);
    });
}

#[test]
fn the_mask_of_the_process_holds_also_where_it_is_not_told() {
    in_own_process("the_mask_of_the_process_holds_also_where_it_is_not_told", || {
        let Some(&last) = proc_threads::cpus(sys::tid()).last() else { unreachable!("it is on one") };
        sys::bind(&[last]);
        if deny_syscalls(&[libc::SYS_sched_getaffinity]) {
            let hive = Hive::builder().build().unwrap();
            assert_eq!(report_line(&hive.report().to_string(), "allowed CPUs"), last.to_string());
            assert_hive_works(&hive, 2);
        }
    });
}

#[test]
fn a_mask_that_cannot_be_set_is_told_and_done_without() {
    in_own_process("a_mask_that_cannot_be_set_is_told_and_done_without", || {
        if deny_syscalls(&[libc::SYS_sched_setaffinity]) {
            let hive = Hive::builder()
                .bees(2)
                .pin_queen(true)
                .pin(Pin::Cpus(proc_threads::cpus(sys::tid())[..1].to_vec()))
                .build()
                .unwrap();
            assert_hive_works(&hive, 3);
            assert_contains_all(
                &hive.report().warnings().join("\n"),
                &["the queen is not bound", "bee 1 is not bound"],
            );
        }
    });
}

#[test]
fn nothing_of_affinity_is_allowed() {
    in_own_process("nothing_of_affinity_is_allowed", || {
        let calls = [
            libc::SYS_sched_getaffinity,
            libc::SYS_sched_setaffinity,
            libc::SYS_get_mempolicy,
            libc::SYS_set_mempolicy,
        ];
        if deny_syscalls(
            &[&calls[..], &[libc::SYS_mbind, libc::SYS_move_pages, libc::SYS_membarrier, libc::SYS_getcpu]].concat(),
        ) {
            assert_hive_works(&Hive::new(2).unwrap(), 4);
            assert_hive_works(hive::global(), 2);
            let _ = hive::global().alloc(10_000, hive::Placement::Interleave, |_| 0_u8);
        }
    });
}

/// Workers then have the signal mask of the thread that makes them.
#[test]
fn a_signal_mask_that_cannot_be_set_is_told_and_done_without() {
    let test = "a_signal_mask_that_cannot_be_set_is_told_and_done_without";
    in_own_process_with(test, &[("HIVE_NUM_BEES", "2")], || {
        if !deny_syscalls(&[libc::SYS_rt_sigprocmask]) {
            return;
        }
        let limit = std::time::Duration::from_secs(600);
        let hive = Hive::builder().bees(2).deadlock_watchdog(Some(limit)).build().unwrap();
        assert_hive_works(&hive, 2);
        assert_hive_works(&hive, 4);
        let report = hive.report();
        let [warning] = report.warnings() else { panic!("{report}") };
        assert_contains_all(warning, &["signals", "pthread_sigmask", "not permitted"]);
        assert_hive_works(hive::global(), 3);
    });
}
