//! What a hive reports about itself: its bees, their places and how they wait, what comes from the environment, and
//! warnings.

#![cfg(target_os = "linux")]

mod common;

use std::time::Duration;

use common::process::{build_bound, in_own_process, in_own_process_with};
use common::{assert_contains_all, proc_threads, report_line, run_exclusively, sys};
use hive::{Hive, Pin, build_info};

#[test]
fn a_report_says_all_that_is_in_effect() {
    let _alone = run_exclusively();
    let hive = Hive::builder().bees(3).max_bees(99).spin(Duration::from_micros(77)).pin(Pin::None).build().unwrap();
    let report = hive.report().to_string();
    assert_contains_all(report_line(&report, "bees"), &["3", "99", "0 surplus"]);
    assert_contains_all(report_line(&report, "waiting"), &["77µs"]);
    assert_contains_all(report_line(&report, "pinned to"), &["none"]);
    assert_contains_all(report_line(&report, "hive"), &[env!("CARGO_PKG_VERSION")]);
    assert_contains_all(report_line(&report, "places"), &["queen not bound", "1 not bound", "2 not bound"]);
    assert_contains_all(report_line(&report, "machine"), &["CPU", "core", "node", "package"]);
    let hwloc = report_line(&report, "machine").contains("read by hwloc");
    assert_eq!(hwloc, cfg!(feature = "hwloc"), "{report}");
    assert_eq!(hwloc, !report_line(&report, "machine").contains("read from /sys"));
    assert_eq!(proc_threads::parse_cpu_list(report_line(&report, "allowed CPUs")), proc_threads::cpus(sys::tid()));
    assert!(!report_line(&report, "CPU quota").is_empty() && !report_line(&report, "usable CPUs").is_empty());
    assert_eq!(report_line(&report, "warnings"), "none");
    assert_eq!(hive.report().warnings(), [] as [&str; 0]);

    hive.resize(2).unwrap();
    hive.wait_until_parked();
    assert_contains_all(report_line(&hive.report().to_string(), "bees"), &["2"]);
    let endless = Hive::builder().bees(1).spin(Duration::MAX).build().unwrap().report().to_string();
    assert_contains_all(report_line(&endless, "waiting"), &["without end"]);
}

#[test]
fn a_report_names_the_places() {
    let _alone = run_exclusively();
    let cpu = proc_threads::cpus(sys::tid())[0];
    let hive = Hive::builder().bees(3).pin(Pin::Cpus(vec![cpu])).build().unwrap();
    let report = hive.report().to_string();
    let on = |bee: usize| format!("{bee} on cpu {cpu}");
    assert_contains_all(report_line(&report, "places"), &["queen not bound", &on(1), &on(2)]);
    assert_contains_all(report_line(&report, "pinned to"), &[&cpu.to_string()]);
    assert_eq!(hive.places().iter().flatten().map(|place| place.cpus()).collect::<Vec<_>>(), [[cpu]; 3]);
}

/// As `taskset -a` does it: all threads get another mask.
#[test]
fn a_report_tells_of_masks_that_were_changed_from_outside() {
    in_own_process("a_report_tells_of_masks_that_were_changed_from_outside", || {
        let cpus = proc_threads::cpus(sys::tid());
        let [first, .., last] = cpus[..] else { return println!("skipped: there is only CPU {cpus:?}") };
        let all = hive::Pin::Cpus(cpus.clone()).to_string();
        for pin in [None, Some(Pin::Cpus(vec![first, last]))] {
            let builder = Hive::builder().bees(2).pin_queen(true);
            let builder = pin.into_iter().fold(builder, hive::Builder::pin);
            let Some([hive]) = build_bound(|| [builder.clone().build().unwrap()]) else { return };
            let places = || report_line(&hive.report().to_string(), "places").to_owned();
            assert!(!places().contains("outside"), "{}", places());
            let worker = hive.spmd_map(2, |_| sys::tid())[1];
            let worker_cpus = proc_threads::cpus(worker);
            let other = *cpus.iter().find(|cpu| [**cpu] != worker_cpus[..]).unwrap();
            for (mask, shown) in [(&cpus[..], &*all), (&[other], &*other.to_string())] {
                proc_threads::own_tids().into_iter().for_each(|tid| sys::bind_thread(tid, mask));
                // A worker that ends its polling moves off the CPU that it was bound to, by another mask for a moment.
                proc_threads::wait_until_asleep(&[worker]);
                let changed = format!("changed from outside to cpus {shown}");
                assert_contains_all(&places(), &[&format!("1 on cpu {} by hive, but {changed}", worker_cpus[0])]);
                // The queen as well, unless the mask is her place.
                let is_queens = hive.places()[0].as_ref().unwrap().cpus() == mask;
                assert_eq!(places().matches(&changed).count(), if is_queens { 1 } else { 2 }, "{}", places());
                // Another thread cannot know of the queen's.
                let elsewhere = std::thread::scope(|scope| scope.spawn(places).join().unwrap());
                assert_eq!(elsewhere.matches(&changed).count(), 1, "{elsewhere}");
            }
            sys::bind_thread(worker, &worker_cpus);
            sys::bind(hive.places()[0].as_ref().unwrap().cpus());
            assert!(!places().contains("outside"), "{}", places());
            drop(hive);
            sys::bind(&cpus);
        }
    });
}

#[test]
fn surplus_bees_are_in_the_report() {
    let _alone = run_exclusively();
    let hive = Hive::new(4).unwrap();
    hive.spmd(4, |bee| {
        bee.barrier();
        if bee.id() == 1 {
            std::thread::scope(|scope| scope.spawn(|| hive.resize(2).unwrap()).join().unwrap());
            assert_contains_all(report_line(&hive.report().to_string(), "bees"), &["2", "2 surplus"]);
        }
        bee.barrier();
    });
}

#[test]
fn build_info_is_complete() {
    let info = build_info();
    let fields = [info.version, info.rustc, info.target, info.opt_level, info.profile, info.hwloc, info.commit];
    assert!(fields.iter().all(|field| !field.trim().is_empty()), "{info:?}");
    assert_contains_all(info.rustc, &["rustc"]);
    assert_eq!(info.version, env!("CARGO_PKG_VERSION"));
    assert_eq!(info.features.contains("hwloc"), cfg!(feature = "hwloc"));
    let shown = info.to_string();
    assert_contains_all(&shown, &fields);
}

/// The report of a hive in a process with these variables.
fn report_with(test: &str, variables: &[(&str, &str)]) -> String {
    in_own_process_with(test, variables, || {
        let hive = Hive::builder().build().unwrap();
        println!("{}size: {}\nwarned: {}", hive.report(), hive.bees(), hive.report().warnings().len());
    })
}

#[test]
fn the_environment_is_heard() {
    let variables = [("HIVE_NUM_BEES", "3"), ("HIVE_PIN", "none"), ("HIVE_SPIN", "50us")];
    let report = report_with("the_environment_is_heard", &variables);
    assert_contains_all(report_line(&report, "size"), &["3"]);
    assert_contains_all(report_line(&report, "pinned to"), &["none"]);
    assert_contains_all(report_line(&report, "waiting"), &["50µs"]);
    assert_eq!((report_line(&report, "warned"), report_line(&report, "warnings")), ("0", "none"));
}

#[test]
fn bad_values_in_the_environment_are_warnings_and_as_if_not_there() {
    let variables = [("HIVE_NUM_BEES", "none"), ("HIVE_PIN", "socks"), ("HIVE_SPIN", "200")];
    let report = report_with("bad_values_in_the_environment_are_warnings_and_as_if_not_there", &variables);
    let plain = Hive::builder().build().unwrap();
    assert_eq!(report_line(&report, "size"), plain.bees().to_string());
    assert_eq!(report_line(&report, "warned"), "3");
    for (name, value) in variables {
        let warning = report.lines().find(|line| line.starts_with("warning:") && line.contains(name));
        assert_contains_all(
            warning.unwrap_or_else(|| panic!("no warning of {name} in {report}")),
            &[value, "expected"],
        );
    }
}

#[test]
fn the_builder_goes_before_the_environment() {
    let variables = [("HIVE_NUM_BEES", "3"), ("HIVE_PIN", "node"), ("HIVE_SPIN", "50us")];
    let report = in_own_process_with("the_builder_goes_before_the_environment", &variables, || {
        let hive = Hive::builder().bees(2).pin(Pin::None).spin(Duration::from_millis(9)).build().unwrap();
        println!("{}", hive.report());
    });
    assert_contains_all(report_line(&report, "bees"), &["2"]);
    assert_contains_all(report_line(&report, "pinned to"), &["none"]);
    assert_contains_all(report_line(&report, "waiting"), &["9ms"]);
}

#[test]
fn the_global_hive_does_without_places_that_it_cannot_have() {
    let variables = [("HIVE_PIN", "4000")];
    let report = in_own_process_with("the_global_hive_does_without_places_that_it_cannot_have", &variables, || {
        common::assert_hive_works(hive::global(), 2);
        println!("{}", hive::global().report());
        assert_eq!(hive::global().report().warnings().len(), 1);
    });
    assert_contains_all(report_line(&report, "warning"), &["4000"]);
}
