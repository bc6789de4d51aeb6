//! Tests of places and of the orders in which bees get them, on machines of all kinds.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::topology::machine::{FLAT, RawCpu};
use crate::topology::place_policy::list_of;
use crate::topology::proc_bind::ProcBind;
use crate::topology::shrink::Shrink;

/// A machine of equal parts: packages of nodes of clusters of cores of hardware threads. As on Linux, the first threads
/// of all cores have lower numbers than the second ones. The numbers are `stride` apart.
fn regular([packages, nodes, clusters, cores, threads]: [usize; 5], stride: usize) -> Machine {
    let per_package = nodes * clusters * cores;
    let all_cores = packages * per_package;
    let raw = (0..all_cores * threads).map(|position| {
        let (core, thread) = (position / threads, position % threads);
        let keys = [core, core / cores, core / (clusters * cores), core / per_package].map(|key| key as u64);
        RawCpu { os_index: (core + thread * all_cores) * stride, keys, slowness: 0 }
    });
    Machine::new(raw, FLAT, false)
}

/// Two performance cores with two threads each, then four efficiency cores that share a cluster.
fn hybrid() -> Machine {
    let cpu = |os_index, core, cluster| RawCpu { os_index, keys: [core, cluster, 0, 0], slowness: 0 };
    let performance = [cpu(0, 0, 0), cpu(1, 0, 0), cpu(2, 1, 0), cpu(3, 1, 0)];
    let efficiency = (4..8).map(|os_index| cpu(os_index, os_index as u64, 1));
    Machine::new(performance.into_iter().chain(efficiency), FLAT, false)
}

/// How many hardware threads of its core come before this one in the machine.
fn thread_number(machine: &Machine, cpu: &Cpu) -> usize {
    let core = |cpu: &Cpu| cpu.unit_number(PlaceUnit::Cores);
    machine.cpus.iter().take_while(|other| *other != cpu).filter(|other| core(other) == core(cpu)).count()
}

/// The first CPU of the place.
fn first_cpu(machine: &Machine, place: &Place) -> Cpu {
    *machine.cpus.iter().find(|cpu| cpu.os_index == place.cpus()[0]).unwrap()
}

/// The CPUs of a text such as "0-3".
fn mask(text: &str) -> CpuMask {
    text.parse().unwrap()
}

/// The places for a `Pin` of the program's.
pub(crate) fn places_of_pin(
    machine: &Machine,
    pin: &Pin,
    shrink: Shrink,
    taken: &CpuMask,
) -> Result<PlaceAssignment, String> {
    let Some(list) = list_of(machine, pin, false)? else { return Ok(PlaceAssignment::default()) };
    PlaceAssignment::from_list(machine, &list, ProcBind::True, shrink, 0, taken).map(|(places, _)| places)
}

/// The places in the default order when no other hive has a CPU.
fn free_places(machine: &Machine, pin: Pin) -> PlaceAssignment {
    places_of_pin(machine, &pin, Shrink::Compact, &mask("")).unwrap()
}

/// The CPUs of the places of the first `bees` bees, each place as a text.
fn first_masks(places: &PlaceAssignment, bees: usize) -> Vec<String> {
    (0..bees).map(|bee| places.place_of(bee).unwrap().mask().to_string()).collect()
}

#[test]
fn cores_come_before_second_threads_and_wrap_around() {
    let smt = regular([1, 1, 1, 3, 2], 1);
    assert_eq!(first_masks(&free_places(&smt, Pin::Core), 8), ["0", "1", "2", "3", "4", "5", "0", "1"]);
    assert_eq!(first_masks(&free_places(&hybrid(), Pin::Core), 9), ["0", "2", "4", "5", "6", "7", "1", "3", "0"]);
}

#[test]
fn the_cpus_around_a_place_are_those_of_its_node() {
    let machine = regular([2, 2, 1, 2, 2], 1);
    let cores = free_places(&machine, Pin::Core);
    let around = |bee| cores.place_of(bee).unwrap().node_cpus(&machine).to_string();
    assert_eq!([0, 1, 2, 7].map(around), ["0-1,8-9", "0-1,8-9", "2-3,10-11", "6-7,14-15"]);
    // A package of two nodes is on no single node.
    let packages = free_places(&machine, Pin::Package);
    assert_eq!(packages.place_of(0).unwrap().node_cpus(&machine), mask("0-3,8-11"));
}

#[test]
fn a_single_cpu_serves_all() {
    let machine = regular([1, 1, 1, 1, 1], 1);
    for pin in [Pin::Core, Pin::Cluster, Pin::Node, Pin::Package, Pin::Cpus(vec![0])] {
        assert_eq!(first_masks(&free_places(&machine, pin), 3), ["0", "0", "0"]);
    }
}

#[test]
fn two_sockets_of_six_clusters_fill_one_after_the_other() {
    let machine = regular([2, 1, 6, 4, 1], 1);
    let clusters = first_masks(&free_places(&machine, Pin::Cluster), 49);
    assert_eq!(clusters[..5], ["0-3", "0-3", "0-3", "0-3", "4-7"]);
    assert_eq!((clusters[47].as_str(), clusters[48].as_str()), ("44-47", "0-3"));
    let nodes = first_masks(&free_places(&machine, Pin::Node), 48);
    assert!(nodes[..24].iter().all(|list| list == "0-23") && nodes[24..].iter().all(|list| list == "24-47"));
}

#[test]
fn second_threads_fill_units_only_when_all_cores_are_used() {
    let machine = regular([2, 1, 1, 2, 2], 1);
    let packages = first_masks(&free_places(&machine, Pin::Package), 9);
    let (first, second) = ("0-1,4-5", "2-3,6-7");
    assert_eq!(packages, [first, first, second, second, first, first, second, second, first]);
}

#[test]
fn places_say_what_they_are() {
    let machine = regular([2, 1, 2, 2, 1], 1);
    let core = free_places(&machine, Pin::Core).place_of(5).unwrap().clone();
    assert_eq!((core.core(), core.cluster(), core.node(), core.package()), (Some(5), Some(2), Some(1), Some(1)));
    assert_eq!((core.cpus(), core.to_string().as_str()), (&[5][..], "cpu 5"));
    let node = free_places(&machine, Pin::Node).place_of(4).unwrap().clone();
    assert_eq!((node.core(), node.cluster(), node.node(), node.package()), (None, None, Some(1), Some(1)));
    assert_eq!(node.to_string(), "cpus 4-7 (node 1)");
    assert_eq!(free_places(&regular([1; 5], 1), Pin::Package).place_of(0).unwrap().to_string(), "cpu 0 (package 0)");
}

#[test]
fn unpinned_bees_have_no_place() {
    let places = free_places(&hybrid(), Pin::None);
    assert_eq!((places.place_of(0), places.place_of(65_534)), (None, None));
    assert_eq!(places.exclusive_cpus(8), CpuMask::new());
}

#[test]
fn lists_are_taken_as_they_are() {
    let machine = regular([1, 1, 1, 2, 1], 700);
    let places = free_places(&machine, Pin::Cpus(vec![700, 0, 700]));
    assert_eq!(first_masks(&places, 4), ["700", "0", "700", "700"]);
    let taken = mask("0,700");
    assert_eq!(
        first_masks(&places_of_pin(&machine, &Pin::Cpus(vec![700]), Shrink::Compact, &taken).unwrap(), 1),
        ["700"]
    );
}

#[test]
fn lists_that_cannot_be_had_are_named() {
    let machine = regular([1, 1, 1, 4, 1], 1);
    let error = |list| places_of_pin(&machine, &Pin::Cpus(list), Shrink::Compact, &CpuMask::new()).unwrap_err();
    assert!(error(vec![]).contains("the list of CPUs to pin to is empty"));
    let message = error(vec![9, 1, 4, 4]);
    assert!(message.starts_with("CPUs 4,9 cannot be pinned to: this process may use CPUs 0-3"), "{message}");
}

#[test]
fn taken_cpus_are_left_out_and_their_cores_come_last() {
    let machine = regular([1, 1, 1, 3, 2], 1);
    let places = |taken: &str| places_of_pin(&machine, &Pin::Core, Shrink::Compact, &mask(taken));
    assert_eq!(first_masks(&places("0").unwrap(), 6), ["1", "2", "3", "4", "5", "1"]);
    assert_eq!(first_masks(&places("3").unwrap(), 6), ["1", "2", "0", "4", "5", "1"]);
    let message = places("0-5").unwrap_err();
    assert!(message.contains("other hives of this process have all of its CPUs, 0-5"), "{message}");
}

#[test]
fn bees_claim_their_own_cpus_and_no_units() {
    let machine = regular([1, 1, 1, 3, 2], 1);
    let claims = |pin, bees| free_places(&machine, pin).exclusive_cpus(bees).to_string();
    assert_eq!(claims(Pin::Core, 0), "");
    assert_eq!(claims(Pin::Core, 4), "0-3");
    assert_eq!(claims(Pin::Core, 65_535), "0-5");
    assert_eq!(claims(Pin::Cpus(vec![5, 5, 1]), 2), "5");
    assert_eq!(claims(Pin::Node, 4), "");
}

#[test]
fn by_default_bees_are_pinned_as_long_as_each_has_a_cpu() {
    let machine = regular([1, 1, 1, 2, 2], 1);
    assert_eq!(default_pin(&machine, &mask(""), 4), Pin::Core);
    assert_eq!(default_pin(&machine, &mask(""), 5), Pin::None);
    assert_eq!(default_pin(&machine, &mask("0,9"), 3), Pin::Core);
    assert_eq!(default_pin(&machine, &mask("0,9"), 4), Pin::None);
    assert_eq!(default_pin(&machine, &mask("0-3"), 1), Pin::None);
}

/// The CPUs that bees are pinned to, in the order of the bees, one bee for each CPU.
fn cpus_in_assignment_order(machine: &Machine, shrink: Shrink) -> Vec<Cpu> {
    let places = places_of_pin(machine, &Pin::Core, shrink, &mask("")).unwrap();
    (0..machine.cpus.len()).map(|bee| first_cpu(machine, places.place_of(bee).unwrap())).collect()
}

/// Regular machines, sparsely numbered, from which some CPUs are missing, as if the process might not use them. They
/// have up to 1,440 CPUs, which is more than a fixed-size mask holds.
fn machines() -> impl Strategy<Value = Machine> {
    let shape = [1..=2_usize, 1..=3, 1..=6, 1..=10, 1..=4];
    let left = proptest::collection::vec(proptest::bool::weighted(0.8), 1..40);
    (shape, 1..4_usize, left).prop_map(|(shape, stride, left)| without_cpus(&regular(shape, stride), &left))
}

/// The machine without the CPUs whose position in `is_kept`, which is repeated, has `false`. CPU 0 always stays.
fn without_cpus(machine: &Machine, is_kept: &[bool]) -> Machine {
    let remaining = machine.cpus.iter().enumerate().filter(|(i, _)| *i == 0 || is_kept[i % is_kept.len()]);
    let groups = [PlaceUnit::Cores, PlaceUnit::LlCaches, PlaceUnit::NumaDomains, PlaceUnit::Sockets];
    let keys = |cpu: &Cpu| groups.map(|unit| cpu.unit_number(unit) as u64);
    let raw = remaining.map(|(_, cpu)| RawCpu { os_index: cpu.os_index, keys: keys(cpu), slowness: 0 });
    Machine::new(raw, FLAT, false)
}

proptest! {
    #[test]
    fn cores_are_allowed_distinct_and_physical_first(machine in machines()) {
        let places = free_places(&machine, Pin::Core);
        let all = machine.cpus.len();
        let turns: Vec<_> =
            (0..all).map(|bee| first_cpu(&machine, places.place_of(bee).unwrap())).collect();
        prop_assert_eq!(turns.iter().map(|cpu| cpu.os_index).collect::<CpuMask>(), machine.mask());
        prop_assert!(turns.is_sorted_by_key(|cpu| thread_number(&machine, cpu)));
        let cores = machine.unit_count(PlaceUnit::Cores);
        prop_assert!(turns[..cores].is_sorted_by_key(|cpu| cpu.unit_number(PlaceUnit::Cores)));
        prop_assert_eq!(places.place_of(65_534), places.place_of(65_534 % all));
        prop_assert_eq!(places.unshared_place_of(all - 1), places.place_of(all - 1));
        prop_assert_eq!(places.unshared_place_of(all), None);
    }

    #[test]
    fn units_are_filled_one_after_the_other(machine in machines(), unit in 0..3_usize) {
        let units = [PlaceUnit::LlCaches, PlaceUnit::NumaDomains, PlaceUnit::Sockets];
        let (unit, pin) = (units[unit], [Pin::Cluster, Pin::Node, Pin::Package][unit].clone());
        let places = free_places(&machine, pin);
        let cores = free_places(&machine, Pin::Core);
        let mut bees = vec![0; machine.unit_count(unit)];
        for bee in 0..machine.cpus.len() {
            let place = places.place_of(bee).unwrap();
            let number = first_cpu(&machine, place).unit_number(unit);
            prop_assert!(machine.unit_cpus(unit, number) == place.mask());
            prop_assert!(place.cpus().contains(&cores.place_of(bee).unwrap().cpus()[0]));
            bees[number] += 1;
        }
        prop_assert!((0..bees.len()).all(|number| bees[number] == machine.unit_cpus(unit, number).len()));
        let mut visited: Vec<_> =
            (0..machine.unit_count(PlaceUnit::Cores)).map(|bee| places.place_of(bee).unwrap().mask()).collect();
        visited.dedup();
        prop_assert_eq!(visited.len(), machine.unit_count(unit), "consecutive bees share a unit until it is full");
    }

    #[test]
    fn hives_side_by_side_never_share_a_cpu(machine in machines(), bees in 1..60_usize) {
        let mut taken = CpuMask::new();
        while default_pin(&machine, &taken, bees) == Pin::Core {
            let own = places_of_pin(&machine, &Pin::Core, Shrink::Compact, &taken).unwrap().exclusive_cpus(bees);
            prop_assert_eq!(own.len(), bees);
            prop_assert!(own.intersection(&taken).is_empty());
            taken = taken.union(&own);
        }
        prop_assert!(machine.cpus.len() - taken.len() < bees);
    }

    #[test]
    fn every_order_has_all_cpus_and_first_threads_first(machine in machines(), nth in 0..3_usize) {
        let shrink = [Shrink::Compact, Shrink::Spread, Shrink::KeepNodes][nth];
        let turns = cpus_in_assignment_order(&machine, shrink);
        prop_assert_eq!(turns.len(), machine.cpus.len());
        prop_assert_eq!(turns.iter().map(|cpu| cpu.os_index).collect::<CpuMask>(), machine.mask());
        prop_assert!(turns.is_sorted_by_key(|cpu| thread_number(&machine, cpu)));
    }

    #[test]
    fn orders_use_units_as_they_say(shape in [1..=3_usize, 1..=3, 1..=4, 1..=5, 1..=2]) {
        let [packages, nodes, clusters, cores, _] = shape;
        let machine = regular(shape, 1);
        let [compact, spread, keep_nodes] = [Shrink::Compact, Shrink::Spread, Shrink::KeepNodes]
            .map(|shrink| cpus_in_assignment_order(&machine, shrink));
        let used = |turns: &[Cpu], bees: usize, unit| {
            turns[..bees].iter().map(|cpu| cpu.unit_number(unit)).collect::<BTreeSet<_>>().len()
        };
        let (all_nodes, all_clusters) = (packages * nodes, packages * nodes * clusters);
        for bees in 1..=all_clusters * cores {
            prop_assert_eq!(used(&compact, bees, PlaceUnit::LlCaches), bees.div_ceil(cores));
            prop_assert_eq!(used(&spread, bees, PlaceUnit::LlCaches), bees.min(all_clusters));
            prop_assert_eq!(used(&spread, bees, PlaceUnit::Sockets), bees.min(packages));
            prop_assert_eq!(used(&keep_nodes, bees, PlaceUnit::NumaDomains), bees.min(all_nodes));
            // The bees are dealt evenly over the nodes, and fill as few clusters of each node as hold them.
            let of_node = |node| bees / all_nodes + usize::from(node < bees % all_nodes);
            let clusters: usize = (0..all_nodes).map(|node| of_node(node).div_ceil(cores)).sum();
            prop_assert_eq!(used(&keep_nodes, bees, PlaceUnit::LlCaches), clusters);
        }
    }
}

#[test]
fn more_cpus_than_a_fixed_size_mask_holds() {
    let machine = regular([2, 4, 8, 16, 2], 3);
    assert_eq!(machine.cpus.len(), 2048);
    assert_eq!(first_masks(&free_places(&machine, Pin::Core), 2048)[2047], "6141");
    assert_eq!(free_places(&machine, Pin::Node).place_of(1023).unwrap().cpus().len(), 256);
}
