//! Pages are on the nodes where they were asked for, according to the kernel's `move_pages` and `/proc/self/numa_maps`.
//! On a machine of one node this shows little; it is meant for guests with several nodes, which `tests/numa/run` starts
//! and where no placement may be refused.
//!
//! See `docs/memory.md`.

#![cfg(target_os = "linux")]

mod common;

use std::collections::BTreeMap;
use std::fs;

use common::{is_in_guest, kernel, proc_threads, run_exclusively, sys};
use hive::{Hive, NumaVec, Pin, Placement, Plan, memory_nodes, node_of};

const PAGE: usize = 4096;
const PAGES: usize = 600;

/// A bee on each CPU; the queen is bound too.
fn hive_of_all_cpus() -> Hive {
    let cpus = proc_threads::cpus(sys::tid());
    Hive::builder().bees(cpus.len()).pin(Pin::Core).pin_queen(true).build().unwrap()
}

/// A vector of whole pages. None: the system refuses to place memory, which is not allowed in a guest.
fn place_pages(hive: &Hive, placement: Placement<'_>) -> Option<NumaVec<[u8; PAGE]>> {
    sys::disable_huge_pages();
    let data = hive.alloc(PAGES, placement, |_| [1; PAGE]);
    let refused = hive.report().warnings().iter().any(|warning| warning.starts_with("memory is where"));
    let told = node_of(&data[0]).is_some();
    assert!(!is_in_guest() || (told && !refused), "{}", hive.report());
    (told && !refused).then_some(data)
}

/// How many of these pages are on each node.
fn counts(data: &[[u8; PAGE]]) -> BTreeMap<usize, usize> {
    let mut counts = BTreeMap::new();
    data.iter().filter_map(|page| node_of(page)).for_each(|node| *counts.entry(node).or_default() += 1);
    counts
}

/// The same by the kernel's list of the process's memory areas, which begin where the memory policy changes. The memory
/// must have a policy of its own; otherwise its area may also contain its neighbours.
fn counts_in_maps(data: &[[u8; PAGE]]) -> Option<BTreeMap<usize, usize>> {
    let maps = fs::read_to_string("/proc/self/numa_maps").ok()?;
    let memory = data.as_ptr_range();
    let memory = memory.start.addr()..memory.end.addr();
    let mut counts = BTreeMap::new();
    for piece in maps.lines() {
        let (start, rest) = piece.split_once(' ').expect("an address, and what is there");
        if memory.contains(&usize::from_str_radix(start, 16).expect("an address")) {
            for (node, pages) in rest.split(' ').filter_map(|word| word.strip_prefix('N')?.split_once('=')) {
                *counts.entry(node.parse().unwrap()).or_default() += pages.parse::<usize>().unwrap();
            }
        }
    }
    Some(counts)
}

/// Checks that all pages exist, and that both of the kernel's accounts agree.
#[track_caller]
fn assert_in_maps(data: &[[u8; PAGE]]) {
    let counts = counts(data);
    assert_eq!(counts.values().sum::<usize>(), data.len(), "{counts:?}");
    let in_maps = counts_in_maps(data).unwrap_or_else(|| counts.clone());
    assert_eq!(in_maps, counts, "in numa_maps, and by move_pages");
}

/// The node of each bee's place, according to the kernel.
fn nodes_of_bees(hive: &Hive) -> Vec<Option<usize>> {
    hive.places().iter().map(|place| kernel::node_of(place.as_ref()?.cpus()[0])).collect()
}

#[track_caller]
fn assert_by_owner(data: &[[u8; PAGE]], plan: &Plan, nodes: &[Option<usize>]) {
    for (index, page) in data.iter().enumerate() {
        let owner = plan.owner(index);
        if let Some(node) = nodes[owner.bee] {
            assert_eq!((node_of(page), owner.node), (Some(node), Some(node)), "page {index}, of bee {}", owner.bee);
        }
    }
}

#[test]
fn the_numbers_are_the_kernels() {
    let _alone = run_exclusively();
    let hive = hive_of_all_cpus();
    for place in hive.places().iter().flatten() {
        let (own, kernels) = (place.node().and_then(|node| hive.memory_node(node)), kernel::node_of(place.cpus()[0]));
        assert!(kernels.is_none() || own == kernels, "{place}: {own:?}, and the kernel has {kernels:?}");
    }
    let online = |node: &usize| fs::exists(format!("/sys/devices/system/node/node{node}")).unwrap();
    assert!(
        !fs::exists("/sys/devices/system/node").unwrap() || memory_nodes().iter().all(online),
        "{:?}",
        memory_nodes()
    );
}

#[test]
fn memory_is_bound_to_each_node() {
    let _alone = run_exclusively();
    let hive = hive_of_all_cpus();
    assert!(!memory_nodes().is_empty());
    for node in memory_nodes() {
        let Some(data) = place_pages(&hive, Placement::Bind(node)) else { return };
        assert_eq!(counts(&data), [(node, PAGES)].into());
        assert_in_maps(&data);
    }
}

#[test]
fn memory_is_interleaved_over_the_nodes_with_cpus() {
    let _alone = run_exclusively();
    let hive = hive_of_all_cpus();
    let Some(data) = place_pages(&hive, Placement::Interleave) else { return };
    let counts = counts(&data);
    assert_in_maps(&data);
    let mut with_cpus: Vec<_> = nodes_of_bees(&hive).into_iter().flatten().collect();
    with_cpus.sort_unstable();
    with_cpus.dedup();
    assert!(with_cpus.is_empty() || with_cpus.iter().eq(counts.keys()), "{counts:?} over {with_cpus:?}");
    let (least, most) = (counts.values().min().unwrap(), counts.values().max().unwrap());
    assert!(most - least <= 1, "{counts:?}");
}

#[test]
fn memory_is_with_its_owners() {
    let _alone = run_exclusively();
    let hive = hive_of_all_cpus();
    let plan = hive.plan(PAGES);
    let Some(data) = place_pages(&hive, Placement::LikeLoop(&plan)) else { return };
    assert_by_owner(&data, &plan, &nodes_of_bees(&hive));
    assert_in_maps(&data);
}

#[test]
fn what_is_touched_first_is_where_its_bee_is() {
    let _alone = run_exclusively();
    let hive = hive_of_all_cpus();
    let Some(data) = place_pages(&hive, Placement::FirstTouch) else { return };
    assert_by_owner(&data, &hive.plan(PAGES), &nodes_of_bees(&hive));
}

#[test]
fn pages_follow_a_new_plan() {
    let _alone = run_exclusively();
    let hive = hive_of_all_cpus();
    let old = hive.plan(PAGES);
    let Some(mut data) = place_pages(&hive, Placement::LikeLoop(&old)) else { return };
    let before: Vec<_> = data.iter().map(|page| node_of(page)).collect();
    for bees in [1, hive.bees().div_ceil(2), hive.bees()] {
        hive.resize(bees).unwrap();
        let new = old.rebuild(&hive);
        let moves = old.moves_to(&new);
        hive.migrate(&mut data, &new);
        assert_by_owner(&data, &new, &nodes_of_bees(&hive));
        assert_in_maps(&data);
        let moved = data.iter().zip(&before).filter(|(page, before)| node_of(*page) != **before).count();
        assert_eq!(moved * PAGE, moves.bytes_to_other_nodes::<[u8; PAGE]>(), "with {bees} bees");
        assert!(data.iter().all(|page| *page == [1; PAGE]));
    }
    assert!(hive.report().warnings().iter().all(|warning| !warning.starts_with("memory is")), "{}", hive.report());
}
