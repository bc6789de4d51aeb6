//! Sets of hives on this machine, which may have one node: what the bees and the leaders are bound to, and what is
//! refused.
//!
//! See `docs/hive-sets.md`.

#![cfg(target_os = "linux")]

mod common;

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::hive_sets::{assert_set_works, cpus_of_hives};
use common::process::{build_bound, in_own_process};
use common::{assert_contains_all, proc_threads, sys};
use hive::{Hive, HiveSet, Pin, PlaceUnit, Placement, node_of};

/// Two hives of one CPU each on this machine, if it has two CPUs.
fn two_hives_on_one_cpu() -> Option<HiveSet> {
    let hives = HiveSet::builder().each(PlaceUnit::Threads).build().unwrap();
    if hives.len() < 2 {
        println!("skipped: there is only one CPU");
        return None;
    }
    Some(hives)
}

#[test]
fn on_this_machine_each_node_has_a_hive() {
    in_own_process("on_this_machine_each_node_has_a_hive", || {
        let hives = HiveSet::per_node().unwrap();
        let bees = hives.bees();
        assert!(bees >= hives.len());
        assert_set_works(&hives, bees);
        assert!(hives.spmd_map(|bee| bee.id()).into_iter().eq(0..bees));
        let report = hives.report().to_string();
        assert_contains_all(
            &report,
            &[&format!("{}, one for each node; {bees} bees in all", hives.len()), "0: node 0"],
        );
        drop(hives);
        assert_set_works(&HiveSet::builder().each(PlaceUnit::Sockets).build().unwrap(), bees);
    });
}

#[test]
fn leaders_and_bees_are_bound_where_their_hive_is() {
    in_own_process("leaders_and_bees_are_bound_where_their_hive_is", || {
        let own = proc_threads::cpus(sys::tid());
        let Some(hives) = two_hives_on_one_cpu() else { return };
        let places = cpus_of_hives(&hives);
        let masks = hives.spmd_map(|_| proc_threads::cpus(sys::tid()));
        assert_eq!(masks[0], own, "the caller is not bound");
        assert_eq!(masks[1..], places[1..]);
        let masks = hives.on_each(|number, hive| (number, hive.spmd_map(1, |_| proc_threads::cpus(sys::tid()))));
        assert!(masks[1..].iter().all(|(number, masks)| masks[0] == places[*number]), "{masks:?}");
        drop(hives);
        let like = Hive::builder().pin_queen(true);
        let hives = HiveSet::builder().each(PlaceUnit::Threads).template(like).build().unwrap();
        assert_eq!(hives.spmd_map(|_| proc_threads::cpus(sys::tid())), places);
        drop(hives);
        assert_eq!(proc_threads::cpus(sys::tid()), own);
    });
}

/// The node of a CPU, as the kernel lists it.
fn node_of_cpu(cpu: usize) -> Option<usize> {
    let entries = fs::read_dir(format!("/sys/devices/system/cpu/cpu{cpu}")).ok()?;
    entries.flatten().find_map(|entry| entry.file_name().to_str()?.strip_prefix("node")?.parse().ok())
}

/// Meant for a guest with several nodes, as `tests/numa/run` boots it.
#[test]
fn bees_and_what_they_touch_first_are_on_their_hive_s_node() {
    in_own_process("bees_and_what_they_touch_first_are_on_their_hive_s_node", || {
        let hives = HiveSet::builder().template(Hive::builder().pin_queen(true)).build().unwrap();
        for (node, cpus) in hives.spmd_map(|bee| (bee.node(), proc_threads::cpus(sys::tid()))) {
            assert_eq!(cpus.len(), 1, "each has a CPU");
            let kernels = node_of_cpu(cpus[0]);
            assert!(
                node.is_none() || kernels.is_none() || node == kernels,
                "CPU {cpus:?}: {node:?}, and the kernel has {kernels:?}"
            );
        }
        let data = hives.on_each(|_, hive| hive.alloc(1 << 16, Placement::FirstTouch, |_| 1_u64));
        for (number, data) in data.iter().enumerate() {
            let (told, own) = (node_of(&data[1 << 15]), hives.node(number));
            assert!(told.is_none() || own.is_none() || told == own, "hive {number} on {own:?}: {told:?}");
        }
    });
}

#[test]
fn every_thread_is_started_and_ends() {
    in_own_process("every_thread_is_started_and_ends", || {
        static RUNNING: AtomicUsize = AtomicUsize::new(0);
        let begins = |_| _ = RUNNING.fetch_add(1, Ordering::Relaxed);
        let ends = |_| _ = RUNNING.fetch_sub(1, Ordering::Relaxed);
        let like = Hive::builder().bees(3).start_handler(begins).exit_handler(ends);
        let hives = HiveSet::builder().each(PlaceUnit::Threads).template(like).build().unwrap();
        assert_set_works(&hives, 3 * hives.len());
        assert_eq!(RUNNING.load(Ordering::Relaxed), hives.bees() - 1, "all but the caller");
        drop(hives);
        assert_eq!(RUNNING.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn a_forked_child_is_told() {
    in_own_process("a_forked_child_is_told", || {
        let hives = HiveSet::builder().each(PlaceUnit::Threads).template(Hive::builder().bees(2)).build().unwrap();
        assert_set_works(&hives, hives.bees());
        sys::fork(|| {
            let error = hives.try_spmd(|_| unreachable!()).unwrap_err().to_string();
            assert_contains_all(&error, &["forked"]);
            std::mem::forget(HiveSet::per_node().unwrap());
        })
        .join();
        assert_set_works(&hives, hives.bees());
    });
}

#[test]
fn what_says_where_bees_are_is_refused() {
    let refused = |like| HiveSet::builder().template(like).build().unwrap_err().to_string();
    assert_contains_all(&refused(Hive::builder().pin(Pin::Core)), &["was given pin", "leave it out"]);
    assert_contains_all(&refused(Hive::builder().places("cores".parse().unwrap())), &["was given places"]);
    assert_contains_all(&refused(Hive::builder().proc_bind(hive::ProcBind::Close)), &["was given proc_bind"]);
    assert_contains_all(&refused(Hive::builder().bees(0)), &["0 bees were asked for"]);
}

#[test]
fn two_hives_share_no_cpu_by_default() {
    in_own_process("two_hives_share_no_cpu_by_default", || {
        if proc_threads::cpus(sys::tid()).len() < 2 {
            return println!("skipped: there is only one CPU");
        }
        let Some([first, second]) = build_bound(|| [1, 1].map(|bees| Hive::new(bees).unwrap())) else { return };
        let cpu = |hive: &Hive| hive.places()[0].as_ref().expect("there is a CPU for each").cpus().to_vec();
        assert_ne!(cpu(&first), cpu(&second));
    });
}
