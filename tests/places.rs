//! Places by OpenMP's grammar: what threads are really bound to. A test that changes the environment or the mask runs
//! in a process of its own.
//!
//! See `docs/places.md`.

#![cfg(target_os = "linux")]

mod common;

use common::proc_threads::{open_files, own_cpus};
use common::process::{CROWDED, in_own_process, in_own_process_with, is_child};
use common::{Gate, assert_contains_all, report_line, sys};
use hive::{Builder, Hive, Pin, PlaceList, ProcBind, Shrink};

/// The masks of the threads of `n` bees, which must be a team of `n`.
fn masks(hive: &Hive, n: usize) -> Vec<Vec<usize>> {
    let gate = Gate::new();
    hive.spmd_map(n, |_| {
        gate.arrive_and_wait(n);
        own_cpus()
    })
}

fn place_list(places: &[&[usize]]) -> PlaceList {
    PlaceList::Listed(places.iter().map(|cpus| cpus.to_vec()).collect())
}

fn builder_for(places: &[&[usize]], bees: usize) -> Builder {
    Hive::builder().bees(bees).pin_queen(true).places(place_list(places))
}

#[cfg(feature = "hwloc")]
#[test]
fn kinds_of_cores_are_in_the_report() {
    let machine = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/topologies/hybrid_laptop.xml");
    let variables = [("HWLOC_XMLFILE", machine), ("HWLOC_THISSYSTEM", "0"), ("HIVE_SHRINK", "spread")];
    in_own_process_with("kinds_of_cores_are_in_the_report", &variables, || {
        let hive = Hive::builder().bees(7).pin(Pin::Core).build().unwrap();
        assert_contains_all(
            &hive.report().to_string(),
            &["fastest cores: CPUs 0-7, then 8-15", "core; order to shrink in: spread"],
        );
        let cpus: Vec<_> = hive.places().iter().flatten().flat_map(|place| place.cpus().to_vec()).collect();
        assert_eq!(cpus, [0, 2, 4, 6, 8, 9, 10]);
    });
}

/// Runs `part` in a process of its own with two CPUs, if there are two.
fn with_two(test: &str, part: impl FnOnce(usize, usize)) {
    in_own_process(test, || match own_cpus()[..] {
        [a, b, ..] => part(a, b),
        ref cpus => println!("skipped: there is only CPU {cpus:?}"),
    });
}

#[test]
fn bees_are_bound_by_each_policy() {
    with_two("bees_are_bound_by_each_policy", |a, b| {
        let places: &[&[usize]] = &[&[b], &[a], &[a, b]];
        let bound = |bind: ProcBind, bees: usize, asked_of: usize| {
            let hive = builder_for(places, bees).proc_bind(bind).build().unwrap();
            let masks = masks(&hive, asked_of);
            let told: Vec<_> = hive.spmd_map(asked_of, |bee| bee.place().map(|place| place.cpus().to_vec()));
            assert!(
                told.iter().zip(&masks).all(|(told, mask)| told.as_ref().is_none_or(|told| told == mask)),
                "{told:?} {masks:?}"
            );
            masks
        };
        assert_eq!(bound(ProcBind::Primary, 2, 3), [[b], [b], [b]]);
        assert_eq!(bound(ProcBind::Close, 3, 4), [vec![b], vec![a], vec![a, b], vec![b]]);
        assert_eq!(bound(ProcBind::Spread, 2, 3), [vec![b], vec![a, b], vec![a]]);
        assert_eq!(bound(ProcBind::Close, 4, 4), [vec![b], vec![b], vec![a], vec![a, b]]);
        assert_eq!(bound(ProcBind::True, 2, 4), [vec![b], vec![a], vec![a, b], vec![b]]);
        assert_eq!(bound(ProcBind::False, 2, 2), vec![own_cpus(); 2]);
    });
}

#[test]
fn cpus_that_are_not_allowed_are_left_out_with_a_warning() {
    with_two("cpus_that_are_not_allowed_are_left_out_with_a_warning", |a, b| {
        sys::bind(&[b]);
        let hive = builder_for(&[&[a, b], &[a], &[4000]], 2).build().unwrap();
        assert_eq!(masks(&hive, 2), [[b], [b]]);
        let report = hive.report();
        let [warning] = report.warnings() else { panic!("{report}") };
        assert_contains_all(
            warning,
            &[
                &format!("CPUs {a},4000 of the places are left out, and places that have no other (2)"),
                &format!("may use CPUs {b}"),
            ],
        );
        let refused = builder_for(&[&[a], &[4000]], 2).build().unwrap_err().to_string();
        assert_contains_all(&refused, &["none of the places", &format!("may use CPUs {b}")]);
        assert_contains_all(&builder_for(&[], 2).build().unwrap_err().to_string(), &["none of the places"]);
    });
}

#[test]
fn hives_by_threads_and_cores_keep_apart() {
    with_two("hives_by_threads_and_cores_keep_apart", |a, _| {
        for each in ["threads", "cores"] {
            let first = Hive::builder().bees(1).pin(Pin::Cpus(vec![a])).build().unwrap();
            let second = Hive::builder().bees(own_cpus().len()).places(each.parse().unwrap()).build().unwrap();
            let places = second.places();
            assert!(places.iter().flatten().all(|place| !place.cpus().contains(&a)), "{each}: {places:?}");
            drop(first);
        }
    });
}

#[test]
fn the_environment_is_heard_and_what_is_not_heard_is_told() {
    let cpus = own_cpus();
    let (first, last) = (cpus[0], cpus[cpus.len() - 1]);
    let list = format!("{{{last}}}, {{{first}}}");
    let variables =
        [("HIVE_PLACES", &*list), ("HIVE_PROC_BIND", "close"), ("HIVE_SHRINK", "spread"), ("HIVE_PIN", "node")];
    in_own_process_with("the_environment_is_heard_and_what_is_not_heard_is_told", &variables, || {
        let hive = Hive::builder().bees(2).build().unwrap();
        assert_eq!(masks(&hive, 2)[1], [first]);
        let report = hive.report().to_string();
        assert_contains_all(
            &report,
            &["bound by close", "HIVE_PIN=node has no effect", "the order to shrink in, spread, has no effect"],
        );
        // The builder's setting has priority over the environment.
        let hive = Hive::builder().bees(2).pin(Pin::None).build().unwrap();
        assert_eq!(masks(&hive, 2)[1], cpus);
        let hive =
            Hive::builder().bees(2).places("sockets".parse().unwrap()).shrink(Shrink::KeepNodes).build().unwrap();
        assert_contains_all(
            &hive.report().to_string(),
            &["places sockets, bound by true; order to shrink in: keep_nodes"],
        );
    });
}

/// Of a list of CPUs in the environment, those that exist are used, as with a list of places. A warning names the
/// others.
#[test]
fn cpus_that_the_machine_does_not_have_are_left_out_of_the_environment_s_list() {
    let test = "cpus_that_the_machine_does_not_have_are_left_out_of_the_environment_s_list";
    let cpus = own_cpus();
    let (first, last) = (cpus[0], cpus[cpus.len() - 1]);
    let variables = [("HIVE_PIN", &*format!("{last},4000-4003,{first}")), ("HIVE_NUM_BEES", "2")];
    let output = in_own_process_with(test, &variables, || {
        assert_eq!(hive::global().bees(), 2);
        assert_eq!(masks(hive::global(), 2)[1], [first]);
        let report = hive::global().report();
        let [warning] = report.warnings() else { panic!("{report}") };
        assert_contains_all(warning, &["HIVE_PIN=", "CPUs 4000-4003 of the places are left out", "may use CPUs"]);
        assert_eq!(report_line(&report.to_string(), "pinned to"), format!("{last},4000-4003,{first}"));
        // A list that the program itself gives must be right: one with a CPU that does not exist is refused.
        let refused = Hive::builder().bees(2).pin(Pin::Cpus(vec![first, 4000])).build().unwrap_err().to_string();
        assert_contains_all(&refused, &["CPUs 4000 cannot be pinned to"]);
    });
    assert_eq!(output.matches("hive: HIVE_PIN=").count(), 1, "{output}");
}

#[test]
fn a_list_of_the_environment_s_of_which_nothing_is_there_is_told() {
    let test = "a_list_of_the_environment_s_of_which_nothing_is_there_is_told";
    let output = in_own_process_with(test, &[("HIVE_PIN", "4000-4003"), ("HIVE_NUM_BEES", "2")], || {
        assert_contains_all(
            &Hive::new(2).unwrap_err().to_string(),
            &["CPUs 4000-4003 cannot be pinned to", "may use CPUs"],
        );
        assert_eq!(hive::global().bees(), 1);
        assert_contains_all(
            &hive::global().report().warnings().join("\n"),
            &["queen alone", "CPUs 4000-4003 cannot be pinned to"],
        );
    });
    assert_contains_all(&output, &["hive: the hive starts with its queen alone: CPUs 4000-4003 cannot be pinned to"]);
}

#[test]
fn what_excludes_one_another_is_refused() {
    let refused = |builder: Builder| builder.bees(1).build().unwrap_err().to_string();
    let cores = || Hive::builder().places("cores".parse().unwrap());
    assert_contains_all(&refused(cores().pin(Pin::Core)), &["pin as well as places"]);
    assert_contains_all(
        &refused(Hive::builder().pin(Pin::Core).proc_bind(ProcBind::Close)),
        &["pin as well as proc_bind"],
    );
    assert_contains_all(&refused(cores().proc_bind(ProcBind::Spread).shrink(Shrink::Compact)), &["as well as shrink"]);
}

/// What a hive of two bees says of its places and of what they are pinned to, in a process of its own.
fn places_in_own_process(test: &str) -> String {
    in_own_process(test, || {
        let hive = Hive::new(2).unwrap();
        let bound = hive.places().iter().flatten().count();
        println!("[{bound} places, {}]", report_line(&hive.report().to_string(), "pinned to"));
        drop(hive);
        if bound == 0 {
            // One that grows finds them taken as well.
            let grown = Hive::new(1).unwrap();
            println!("[a worker bound to {}]", masks(&grown, 2)[1].len());
        }
        // What the user asks for is done.
        let asked = Hive::builder().bees(2).pin(Pin::Cpus(own_cpus())).build().unwrap();
        assert_eq!(asked.places().iter().flatten().count(), 2);
    })
}

/// By default, hives of two processes are not bound to the same CPUs.
#[test]
fn cpus_of_another_process_are_left_to_it() {
    let test = "cpus_of_another_process_are_left_to_it";
    if is_child() {
        places_in_own_process(test);
    }
    let cpus = own_cpus();
    if cpus.len() < 2 {
        return println!("skipped: there is only CPU {cpus:?}");
    }
    let others = Hive::builder().bees(cpus.len()).pin(Pin::Cpus(cpus)).build().unwrap();
    let beside = places_in_own_process(test);
    assert_contains_all(&beside, &["[0 places, none (", CROWDED]);
    assert!(!beside.contains("[a worker bound to 1]"), "{beside}");
    // A hive of another test or program may have them as well, which cannot be told from here.
    drop(others);
    let after = places_in_own_process(test);
    assert!(after.contains("[2 places, core (by default)") || after.contains(CROWDED), "{after}");
}

/// As a program does that closes all files which it does not know.
#[test]
fn locks_on_cpus_come_back_after_their_file_was_closed() {
    in_own_process("locks_on_cpus_come_back_after_their_file_was_closed", || {
        let files = || open_files("kernel_max");
        let hive = Hive::builder().bees(2).pin(Pin::Cpus(own_cpus())).build().unwrap();
        if files() == 0 {
            return println!("skipped: this system has no such file");
        }
        for _ in 0..3 {
            sys::close_files_from(3);
            assert_eq!(files(), 0);
            let others = [Hive::new(2).unwrap(), Hive::new(1).unwrap()];
            assert_eq!(files(), 1);
            drop(others);
            assert_eq!(files(), 1, "{}", hive.report());
        }
        drop(hive);
        assert_eq!(files(), 0);
    });
}
