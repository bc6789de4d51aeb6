//! Places, masks, orders and sizes are as the kernel itself reports them: /sys says what the CPUs share, and /proc to
//! which of them a thread is bound. Neither hive nor hwloc is asked for the expected values. On one node of a few cores
//! this shows little; `tests/numa/run` runs it on machines of many kinds, and `HIVE_TEST_GUEST` says there what must be
//! seen.

#![cfg(target_os = "linux")]

mod common;

use std::env;
use std::fs;
use std::io::{Write, stderr};
use std::thread;
use std::time::Duration;

use common::kernel::{self, Cpu, UnitOf, format_list};
use common::process::build_bound;
use common::{
    Gate, assert_contains_all, assert_hive_works, is_in_guest, proc_threads, report_line, run_exclusively, sorted, sys,
};
use hive::{Builder, Hive, Pin, PlaceList, ProcBind, Shrink};

/// The words for places of several CPUs, as in OpenMP, the `Pin` of the same meaning, and where the kernel lists the
/// units.
const UNITS: [(&str, Option<Pin>, UnitOf); 4] = [
    ("cores", None, |cpu| &cpu.core),
    ("ll_caches", Some(Pin::Cluster), |cpu| &cpu.cluster),
    ("numa_domains", Some(Pin::Node), |cpu| &cpu.node),
    ("sockets", Some(Pin::Package), |cpu| &cpu.package),
];

/// The kernel's list of CPUs. None, with a message, if the kernel does not say what they share.
fn kernel_cpus(test: &str) -> Option<Vec<Cpu>> {
    let cpus = kernel::cpus();
    assert!(cpus.is_some() || env::var_os("HIVE_TEST_GUEST").is_none(), "/sys does not say what the CPUs share");
    if cpus.is_none() {
        report_to_user(&format!("{test}: skipped: /sys does not say what the CPUs share"));
    }
    cpus
}

/// Prints past the capture of the tests' output, so that it is visible what was seen and what was not.
fn report_to_user(text: &str) {
    let _ = writeln!(stderr(), "{text}");
}

/// The kernel's list of units as one line.
fn describe_cpus(cpus: &[Cpu]) -> String {
    let shown = |units: &[Vec<usize>]| units.iter().map(|unit| format_list(unit)).collect::<Vec<_>>().join(" ");
    let mut numbers: Vec<_> = cpus.iter().map(|cpu| cpu.number).collect();
    numbers.sort_unstable();
    let units = UNITS.map(|(word, _, unit)| format!("{word} {}", shown(&kernel::units(cpus, unit)))).join("; ");
    let quota = kernel::cpu_quota().map_or_else(|| "none".to_owned(), |cpus| cpus.to_string());
    let (off, memory) = (format_list(&kernel::offline().unwrap_or_default()), format_list(&kernel::memory_nodes()));
    format!("CPUs {}; {units}; memory {memory}; off {off}; quota {quota}", format_list(&numbers))
}

/// A builder for a small team, on a machine that may be crowded.
fn builder_for(bees: usize) -> Builder {
    Hive::builder().bees(bees).pin_queen(true).spin(Duration::ZERO)
}

/// The kernel's masks of the threads of `n` bees, which must be a team of `n`. The masks must be as the hive says, and
/// each thread must be within its own.
#[track_caller]
fn masks(hive: &Hive, n: usize) -> Vec<Vec<usize>> {
    let gate = Gate::new();
    let seen = hive.spmd_map(n, |bee| {
        gate.arrive_and_wait(n);
        let raw = proc_threads::parse_cpu_list(&proc_threads::status(sys::tid(), "Cpus_allowed_list"));
        (raw, proc_threads::last_cpu(sys::tid()), bee.place())
    });
    let places = hive.places();
    for (bee, (mask, on, told)) in seen.iter().enumerate() {
        let place = places[bee].as_ref().unwrap_or_else(|| panic!("bee {bee} of {n} has no place"));
        assert_eq!((mask.as_slice(), told.as_ref()), (&sorted(place.cpus())[..], Some(place)), "bee {bee} of {n}");
        assert!(mask.contains(on), "bee {bee} of {n} is on CPU {on}, and bound to {mask:?}");
    }
    seen.into_iter().map(|(mask, ..)| mask).collect()
}

fn places(word: &str) -> PlaceList {
    word.parse().unwrap()
}

#[test]
fn the_machine_is_the_one_that_the_kernel_lists() {
    let _alone = run_exclusively();
    let Some(cpus) = kernel_cpus("the_machine_is_the_one_that_the_kernel_lists") else { return };
    let told = describe_cpus(&cpus);
    report_to_user(&format!("kernel: {told}"));
    if let Ok(guest) = env::var("HIVE_TEST_GUEST") {
        assert_eq!(told, guest, "this is not the machine that it should be");
    }
    let hive = Hive::builder().build().unwrap();
    let report = hive.report().to_string();
    let counts = UNITS.map(|(_, _, unit)| kernel::units(&cpus, unit).len());
    let names = ["core", "cluster", "node", "package"].into_iter().zip(counts);
    let units =
        names.map(|(name, count)| format!("{count} {name}{}", if count == 1 { "" } else { "s" })).collect::<Vec<_>>();
    assert_contains_all(report_line(&report, "machine"), &[&format!("{} CPUs in {};", cpus.len(), units.join(", "))]);
    assert_eq!(report_line(&report, "allowed CPUs"), format_list(&proc_threads::cpus(sys::tid())));
    assert_eq!(hive::memory_nodes(), kernel::memory_nodes());
    assert_eq!(hive.report().warnings(), [] as [&str; 0]);
}

#[test]
fn by_default_there_are_as_many_bees_as_mask_and_quota_allow() {
    let _alone = run_exclusively();
    let allowed = proc_threads::cpus(sys::tid());
    if !fs::exists("/sys/fs/cgroup/cgroup.controllers").unwrap() {
        report_to_user(
            "by_default_there_are_as_many_bees_as_mask_and_quota_allow: skipped: no control groups of version 2",
        );
        return;
    }
    let Some([hive]) = build_bound(|| [Hive::builder().pin_queen(true).build().unwrap()]) else { return };
    let quota = kernel::cpu_quota();
    let whole = quota.map_or(allowed.len(), |cpus| cpus.floor() as usize).clamp(1, allowed.len());
    assert_eq!(hive.bees(), whole, "with CPUs {allowed:?} and a quota of {quota:?}");
    let report = hive.report().to_string();
    assert_contains_all(
        report_line(&report, "CPU quota"),
        &[&quota.map_or_else(|| "none".to_owned(), |cpus| format!("{cpus} CPUs (/"))],
    );
    assert_contains_all(report_line(&report, "usable CPUs"), &[&whole.to_string()]);
    let masks = masks(&hive, whole);
    assert!(masks.iter().all(|mask| mask.len() == 1 && allowed.contains(&mask[0])), "{masks:?} within {allowed:?}");
    assert!((1..whole).all(|bee| !masks[..bee].contains(&masks[bee])), "{masks:?}");
}

/// The place that OpenMP 5.2 gives to bee `bee` of `bees`, out of `places`.
fn openmp_place(bind: ProcBind, bee: usize, bees: usize, places: usize) -> usize {
    match bind {
        ProcBind::Primary => 0,
        ProcBind::Close if bees <= places => bee,
        // The list of places is divided into as many parts as there are bees. The first parts are larger by one if it
        // does not divide evenly.
        ProcBind::Spread if bees <= places => bee * (places / bees) + bee.min(places % bees),
        // The bees are divided into as many parts as there are places.
        _ => (0..places).rfind(|&place| place * (bees / places) + place.min(bees % places) <= bee).unwrap(),
    }
}

#[test]
fn policies_go_by_the_units_that_the_kernel_lists() {
    let _alone = run_exclusively();
    let Some(cpus) = kernel_cpus("policies_go_by_the_units_that_the_kernel_lists") else { return };
    let threads: (_, _, Vec<_>) = ("threads", None, cpus.iter().map(|cpu| vec![cpu.number]).collect());
    let units = UNITS.map(|(word, pin, unit)| (word, pin, kernel::units(&cpus, unit)));
    for (word, _, units) in [threads].iter().chain(&units) {
        for bind in [ProcBind::Primary, ProcBind::Close, ProcBind::Spread] {
            for bees in [2, units.len(), units.len() * 2 + 1] {
                let hive = builder_for(bees).places(places(word)).proc_bind(bind).build().unwrap();
                let expected: Vec<_> =
                    (0..bees).map(|bee| &units[openmp_place(bind, bee, bees, units.len())]).collect();
                assert_eq!(masks(&hive, bees).iter().collect::<Vec<_>>(), expected, "{word} by {bind}");
            }
        }
    }
}

/// The CPUs in the order in which bees get them: first one hardware thread of each core, then the second ones, and so
/// on.
fn expected_order(cpus: &[Cpu], shrink: Shrink) -> Vec<&Cpu> {
    let thread = |cpu: &Cpu| cpu.core.iter().position(|&sibling| sibling == cpu.number);
    let threads = cpus.iter().map(|cpu| cpu.core.len()).max().unwrap_or(0);
    let turn = |nth| cpus.iter().filter(|cpu| thread(cpu) == Some(nth)).collect();
    (0..threads).flat_map(|nth| order_equals(turn(nth), shrink)).collect()
}

fn order_equals(cpus: Vec<&Cpu>, shrink: Shrink) -> Vec<&Cpu> {
    let [_, cluster, node, package] = UNITS.map(|(_, _, unit)| unit);
    match shrink {
        Shrink::Spread => round_robin(round_robin(round_robin(cpus, cluster), node), package),
        Shrink::KeepNodes => round_robin(round_robin(cpus, node), package),
        _ => cpus,
    }
}

/// The first CPU of each unit, then the second of each, and so on.
fn round_robin(cpus: Vec<&Cpu>, unit: UnitOf) -> Vec<&Cpu> {
    let mut hands: Vec<(&[usize], usize)> = Vec::new();
    let mut rounds = Vec::new();
    for cpu in cpus {
        let hand = hands.iter().position(|&(of, _)| of == unit(cpu)).unwrap_or_else(|| {
            hands.push((unit(cpu), 0));
            hands.len() - 1
        });
        hands[hand].1 += 1;
        rounds.push((hands[hand].1, hand, cpu));
    }
    rounds.sort_by_key(|&(round, hand, _)| (round, hand));
    rounds.into_iter().map(|(.., cpu)| cpu).collect()
}

#[test]
fn bees_come_in_the_order_that_was_asked_for() {
    let _alone = run_exclusively();
    let Some(cpus) = kernel_cpus("bees_come_in_the_order_that_was_asked_for") else { return };
    if report_line(&Hive::new(1).unwrap().report().to_string(), "machine").contains("fastest cores") {
        report_to_user(
            "bees_come_in_the_order_that_was_asked_for: skipped: hwloc knows faster and slower cores \
             here, and the kernel does not list them",
        );
        return;
    }
    for shrink in [Shrink::Compact, Shrink::Spread, Shrink::KeepNodes] {
        let order = expected_order(&cpus, shrink);
        let n = order.len();
        let by_thread: Vec<_> = order.iter().map(|cpu| vec![cpu.number]).collect();
        for builder in [builder_for(n).pin(Pin::Core), builder_for(n).places(places("threads"))] {
            let hive = builder.shrink(shrink).build().unwrap();
            assert_eq!(masks(&hive, n), by_thread, "{shrink}");
            // The bees that remain have the first CPUs, and those that come back have the others.
            for few in [n.div_ceil(2), n] {
                hive.resize(few).unwrap();
                assert_eq!(masks(&hive, few), by_thread[..few], "{shrink}, resized to {few}");
            }
        }
        for (word, pin, unit) in UNITS {
            let by_unit: Vec<_> = order.iter().map(|cpu| unit(cpu).clone()).collect();
            let pinned = pin.map(|pin| builder_for(n).pin(pin));
            for builder in pinned.into_iter().chain([builder_for(n).places(places(word))]) {
                let hive = builder.shrink(shrink).build().unwrap();
                assert_eq!(masks(&hive, n), by_unit, "{shrink} by {word}");
            }
        }
    }
}

#[test]
fn hives_of_half_the_cpus_each_are_apart() {
    let _alone = run_exclusively();
    let cpus = proc_threads::cpus(sys::tid());
    let half = cpus.len() / 2;
    if half == 0 {
        report_to_user("hives_of_half_the_cpus_each_are_apart: skipped: there is one CPU");
        return;
    }
    let built = || Hive::builder().bees(half).pin(Pin::Core).spin(Duration::ZERO).build().unwrap();
    let (one, other) = (built(), built());
    let taken = |hive: &Hive| {
        assert_hive_works(hive, half);
        hive.spmd_map(half, |bee| if bee.id() == 0 { Vec::new() } else { proc_threads::cpus(sys::tid()) }).concat()
    };
    let (one, other) = (taken(&one), taken(&other));
    assert_eq!((one.len(), other.len()), (half - 1, half - 1), "{one:?} and {other:?}");
    assert!(one.iter().all(|cpu| cpus.contains(cpu) && !other.contains(cpu)), "{one:?} and {other:?} within {cpus:?}");
}

/// A CPU that is not there when a hive is built is seen by the next hive after it has come back.
#[test]
fn cpus_go_and_come_back() {
    let _alone = run_exclusively();
    let cpus = proc_threads::cpus(sys::tid());
    let (n, last) = (cpus.len(), cpus[cpus.len() - 1]);
    if !is_in_guest() || n == 1 {
        report_to_user("cpus_go_and_come_back: skipped: CPUs are switched off in guests only");
        return;
    }
    let switch = |on: u8| fs::write(format!("/sys/devices/system/cpu/cpu{last}/online"), on.to_string()).unwrap();
    let bound = |bees: usize| {
        let hive = builder_for(bees).pin(Pin::Core).build().unwrap();
        assert_eq!(sorted(&masks(&hive, bees).concat()), cpus[..bees]);
        hive
    };
    // Each hive on a thread of its own. The mask that the kernel reports while a CPU is offline is the mask that a
    // thread gets back when its hive is dropped.
    let on_a_thread = |part: &(dyn Fn() + Sync)| thread::scope(|scope| scope.spawn(part).join().unwrap());
    on_a_thread(&|| {
        let hive = bound(n);
        switch(0);
        // Linux lets a thread run elsewhere if its only CPU goes offline.
        assert_hive_works(&hive, n);
        hive.resize(1).unwrap();
        assert_hive_works(&hive, n);
    });
    on_a_thread(&|| {
        let hive = bound(n - 1);
        let refused = Hive::builder().bees(1).pin(Pin::Cpus(vec![last])).build().unwrap_err().to_string();
        assert_contains_all(&refused, &[&format!("CPUs {last} cannot be pinned to")]);
        switch(1);
        assert_hive_works(&hive, n);
    });
    on_a_thread(&|| drop(bound(n)));
}
