//! Memory by placement and plan: the elements exist and are dropped once, whatever the system makes of the placement,
//! and where the system says on which nodes the pages are, they are on the right ones.
//!
//! See `docs/memory.md`.

#![cfg(target_os = "linux")]

mod common;

use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use common::process::{in_own_process, in_own_process_with};
use common::{assert_contains_all, panic_message, run_exclusively, silence_panics, sys};
use hive::{Hive, NumaVec, Parts, Placement, Plan, Reduction, Schedule, memory_nodes, node_of};
use proptest::prelude::*;

/// Counts the values that exist.
struct LiveCounter<'c>(&'c AtomicUsize);

impl<'c> LiveCounter<'c> {
    fn new(live: &'c AtomicUsize) -> Self {
        live.fetch_add(1, Ordering::Relaxed);
        Self(live)
    }
}

impl Drop for LiveCounter<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Every way to place memory on a machine with a node 0, which every machine has.
fn placements(plan: &Plan) -> [Placement<'_>; 4] {
    [Placement::FirstTouch, Placement::Bind(0), Placement::Interleave, Placement::LikeLoop(plan)]
}

#[test]
fn elements_are_made_once_and_dropped_once() {
    let _alone = run_exclusively();
    let hive = Hive::new(3).unwrap();
    let there = AtomicUsize::new(0);
    for len in [0, 1, 2, 1000] {
        let plan = hive.plan(len);
        for placement in placements(&plan) {
            let data = hive.alloc(len, placement, |i| (i, LiveCounter::new(&there)));
            assert_eq!(there.load(Ordering::Relaxed), len, "{placement:?}");
            assert!(data.iter().map(|(i, _)| *i).eq(0..len));
            drop(data);
            assert_eq!(there.load(Ordering::Relaxed), 0, "{placement:?}");
        }
    }
}

#[test]
fn what_was_made_before_a_panic_is_dropped() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    let hive = Hive::new(3).unwrap();
    let plan = hive.plan(1000);
    for fatal in [0, 1, 500, 999] {
        let (there, made) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let message = panic_message(|| {
            hive.alloc(1000, Placement::FirstTouch, |i| {
                assert_ne!(i, fatal, "as expected");
                made.fetch_add(1, Ordering::Relaxed);
                LiveCounter::new(&there)
            });
        });
        assert_contains_all(&message, &["as expected"]);
        let own = plan.range(plan.owner(fatal).bee);
        assert_eq!(made.into_inner(), 1000 - (own.end - fatal), "the others' parts, and its own up to there");
        assert_eq!(there.into_inner(), 0);
    }
    common::assert_hive_works(&hive, 3);
}

#[test]
fn a_vector_is_a_slice_in_whole_pages() {
    let _alone = run_exclusively();
    let hive = Hive::new(2).unwrap();
    let mut data: NumaVec<u16> = hive.alloc(10_000, Placement::FirstTouch, |i| i as u16);
    assert_eq!(data.as_ptr().addr() % 4096, 0);
    data.reverse();
    assert_eq!((data[0], data.len()), (9_999, 10_000));
    assert_eq!(format!("{:?}", hive.alloc(3, Placement::FirstTouch, |i| i)), "[0, 1, 2]");
}

#[test]
fn elements_without_size_are_counted() {
    let _alone = run_exclusively();
    let (hive, there) = (Hive::new(2).unwrap(), AtomicUsize::new(0));
    #[derive(Debug)]
    struct Nothing;
    assert_eq!(hive.alloc(100, Placement::Interleave, |_| Nothing).len(), 100);
    let plan = hive.plan(100).in_pages::<()>();
    let units = hive.alloc(100, Placement::LikeLoop(&plan), |_| {
        there.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!((units.len(), there.into_inner()), (100, 100));
    assert_eq!(hive.report().warnings(), [] as [&str; 0]);
}

#[test]
fn aligned_elements_are_aligned() {
    #[repr(align(4096))]
    struct Page(u8);
    let _alone = run_exclusively();
    let hive = Hive::new(2).unwrap();
    let pages = hive.alloc(5, Placement::FirstTouch, |i| Page(i as u8));
    assert!(pages.iter().enumerate().all(|(i, page)| page.0 == i as u8 && (&raw const *page).addr() % 4096 == 0));
    assert_eq!((&raw const *hive.alloc(0, Placement::FirstTouch, |_| Page(0))).addr() % 4096, 0);
}

#[test]
fn too_much_is_refused_in_words() {
    let _alone = run_exclusively();
    silence_panics("no memory");
    let hive = Hive::new(2).unwrap();
    for len in [usize::MAX, usize::MAX / 8, isize::MAX as usize / 8] {
        let message = panic_message(|| drop(hive.alloc(len, Placement::FirstTouch, |i| i)));
        assert_contains_all(&message, &["no memory", &len.to_string(), "8 bytes"]);
    }
}

#[test]
fn a_plan_for_another_length_is_refused() {
    let _alone = run_exclusively();
    silence_panics("plan");
    let hive = Hive::builder().bees(2).max_bees(2).build().unwrap();
    let plan = hive.plan(10);
    assert_contains_all(
        &panic_message(|| drop(hive.alloc(11, Placement::LikeLoop(&plan), |i| i))),
        &["another number of elements", "11", "10"],
    );
    let mut data = hive.alloc(9, Placement::FirstTouch, |i| i);
    assert_contains_all(&panic_message(|| hive.migrate(&mut data, &plan)), &["another number of elements"]);
    assert_contains_all(&panic_message(|| drop(plan.moves_to(&hive.plan(11)))), &["different numbers of indices"]);
    for bees in [0, 3] {
        assert_contains_all(
            &panic_message(|| drop(Plan::new(&hive, 10, bees))),
            &[&format!("for {bees} bees"), "1 to 2"],
        );
    }
}

#[test]
fn a_page_is_on_a_node_once_it_is_touched() {
    let _alone = run_exclusively();
    let hive = Hive::new(2).unwrap();
    // More than malloc has at hand, so the pages are fresh.
    let untouched = Vec::<u8>::with_capacity(1 << 27);
    let data = hive.alloc(1 << 16, Placement::FirstTouch, |i| i);
    let local = 0;
    if let Some(node) = node_of(&local) {
        assert!(node_of(&data[0]).is_some() && node_of(&data[data.len() - 1]).is_some());
        assert!(memory_nodes().contains(&node) || memory_nodes().is_empty());
        assert_eq!(node_of(&data[..]), node_of(&data[0]), "a slice is where it begins");
    }
    assert_eq!(node_of(untouched.as_ptr().wrapping_add(1 << 26)), None);
    assert_eq!(node_of(std::ptr::null::<u8>()), None);
    assert_eq!(node_of(std::ptr::without_provenance::<u8>(usize::MAX)), None);
}

#[test]
fn memory_on_a_node_that_is_not_there_is_there_with_a_warning() {
    let _alone = run_exclusively();
    let hive = Hive::new(2).unwrap();
    for _ in 0..2 {
        let data = hive.alloc(1000, Placement::Bind(987_654), |i| i);
        assert!(data.iter().copied().eq(0..1000));
    }
    let report = hive.report();
    let about_it: Vec<_> = report.warnings().iter().filter(|warning| warning.contains("Bind(987654)")).collect();
    assert_eq!(about_it.len(), 1, "told once: {report}");
    assert_contains_all(about_it[0], &["touched first", "no memory node 987654"]);
}

/// A number may be anything, also where the system does not describe its nodes.
#[test]
fn no_number_of_a_node_is_too_large_for_a_warning() {
    let check = || {
        let hive = Hive::new(2).unwrap();
        for node in [64, 1023, 1024, 1 << 31, 1 << 40, usize::MAX] {
            let data = hive.alloc(1000, Placement::Bind(node), |i| i);
            assert!(data.iter().copied().eq(0..1000));
            assert_contains_all(&hive.report().warnings().join("\n"), &[&format!("as Bind({node}) has it")]);
        }
    };
    in_own_process("no_number_of_a_node_is_too_large_for_a_warning", || {
        check();
        sys::fork(|| match sys::mount_over(c"/sys", None) {
            Ok(()) => check(),
            Err(error) => println!("skipped: no namespaces: {error}"),
        })
        .join();
    });
}

/// A plan for more bees than the hive may have. Whatever the schedule, the panic is that of the line with the call.
#[test]
fn a_loop_that_no_team_can_run_panics_where_it_is_called() {
    in_own_process("a_loop_that_no_team_can_run_panics_where_it_is_called", || {
        let place = Arc::new(Mutex::new(String::new()));
        let noted = Arc::clone(&place);
        panic::set_hook(Box::new(move |info| {
            println!("{info}");
            *noted.lock().unwrap() = info.location().unwrap().to_string();
        }));
        let hives = [3, 2].map(|bees| Hive::builder().bees(bees).max_bees(bees).build().unwrap());
        let plan = hives[0].plan(100);
        for schedule in [Schedule::Static, Schedule::StaticChunk(1), Schedule::Dynamic(1), Schedule::Guided(1)] {
            let line = line!() + 1;
            let message = panic_message(|| hives[1].par_for(plan.to_loop(schedule), |_, _| ()));
            assert_contains_all(&message, &["no region of 3"]);
            let place = place.lock().unwrap().clone();
            assert!(place.starts_with(&format!("{}:{line}:", file!())), "{schedule:?}: {place}");
        }
    });
}

#[test]
fn binding_on_another_machine_is_a_warning() {
    in_own_process_with(
        "binding_on_another_machine_is_a_warning",
        &[("HWLOC_SYNTHETIC", "pack:2 [numa] core:2 pu:1")],
        || {
            let hive = Hive::builder().bees(4).pin(hive::Pin::Core).build().unwrap();
            let plan = hive.plan(100);
            let data = hive.alloc(100, Placement::LikeLoop(&plan), |i| i);
            assert!(data.iter().copied().eq(0..100));
            let warnings = hive.report().to_string();
            if cfg!(feature = "hwloc") {
                assert_contains_all(&warnings, &["not as LikeLoop has it: hwloc describes another machine"]);
                assert_eq!((0..4).map(|bee| plan.node(bee)).collect::<Vec<_>>(), [Some(0), Some(0), Some(1), Some(1)]);
                assert_eq!((memory_nodes(), hive.memory_node(1), hive.memory_node(2)), (vec![0, 1], Some(1), None));
            }
        },
    );
}

#[test]
fn memory_that_moves_keeps_its_elements() {
    let _alone = run_exclusively();
    let hive = Hive::new(4).unwrap();
    let plan = hive.plan(50_000);
    let mut data = hive.alloc(plan.len(), Placement::LikeLoop(&plan), |i| i);
    hive.resize(1).unwrap();
    let plan = plan.rebuild(&hive);
    assert_eq!(plan.bees(), 1);
    hive.migrate(&mut data, &plan);
    assert!(data.iter().copied().eq(0..50_000));
}

#[test]
fn inside_a_region_one_bee_makes_all() {
    let _alone = run_exclusively();
    let hive = Hive::new(3).unwrap();
    let plan = hive.plan(1000);
    hive.spmd(2, |_| {
        let data = hive.alloc(1000, Placement::LikeLoop(&plan), |i| i);
        assert!(data.iter().copied().eq(0..1000));
        let sum = hive.par_reduce(&plan, &Reduction::per_team_size(0, |a, b| a + b), |range| data[range].iter().sum());
        assert_eq!(sum, 499_500);
    });
}

proptest! {
    #[test]
    fn loops_by_a_plan_run_where_it_says(len in 0usize..2000, bees in 1usize..5, multiple in 1usize..40) {
        let _alone = run_exclusively();
        let hive = Hive::builder().bees(4).max_bees(4).build().unwrap();
        let plan = Plan::new(&hive, len, bees).aligned(multiple);
        let mut owners = hive.alloc(len, Placement::LikeLoop(&plan), |_| usize::MAX);
        let parts = Parts::by_plan(&mut owners, &plan);
        hive.par_for(&plan, |range, bee| {
            assert_eq!((range, bee.bees()), (plan.range(bee.id()), bees));
            parts.own_mut(bee).fill(bee.id());
        });
        drop(parts);
        prop_assert!(owners.iter().enumerate().all(|(index, owner)| plan.owner(index).bee == *owner));
        let shared = plan.to_loop(Schedule::Static);
        hive.spmd(bees, |bee| bee.for_each(&shared, |range| assert_eq!(range, plan.range(bee.id()))));
    }

    #[test]
    fn a_plan_as_it_comes_is_a_static_loop(len in 0usize..2000, bees in 1usize..5) {
        let _alone = run_exclusively();
        let hive = Hive::new(bees).unwrap();
        let plan = hive.plan(len);
        hive.par_for(0..len, |range, bee| assert_eq!(range, plan.range(bee.id())));
        hive.spmd(bees, |bee| assert_eq!(bee.split(0..len), plan.range(bee.id())));
    }

    #[test]
    fn reductions_by_a_plan_have_the_same_sums(len in 0usize..3000, bees in 1usize..5, multiple in 1usize..40) {
        let _alone = run_exclusively();
        let hive = Hive::new(4).unwrap();
        let plan = Plan::new(&hive, len, bees).aligned(multiple);
        let value = |range: std::ops::Range<usize>| range.map(|i| 1.0 / (i as f64 + 0.3)).sum::<f64>();
        let fixed = Reduction::deterministic(0.0, |a: f64, b| a + b);
        let expected = hive.par_reduce((0..len, Schedule::Dynamic(7)), &fixed, value);
        prop_assert_eq!(hive.par_reduce(&plan, &fixed, value).to_bits(), expected.to_bits());
        let fast = hive.par_reduce(&plan, &Reduction::unordered(0.0, |a: f64, b| a + b), value);
        prop_assert!((fast - expected).abs() < 1e-9);
    }
}
