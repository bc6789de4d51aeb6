//! Places on machines of all kinds.

use std::collections::BTreeSet;

use super::super::machine::{RawCpu, Source};
use super::*;
use proptest::prelude::*;

/// A machine of equal parts: packages of nodes of clusters of cores of threads. The operating system numbers the first threads
/// of all cores before the second ones, as Linux does, `stride` apart.
fn regular([packages, nodes, clusters, cores, threads]: [usize; 5], stride: usize) -> Machine {
    let per_package = nodes * clusters * cores;
    let all_cores = packages * per_package;
    let raw = (0..all_cores * threads).map(|position| {
        let (core, thread) = (position / threads, position % threads);
        RawCpu {
            os_index: (core + thread * all_cores) * stride,
            core: core as u64,
            cluster: (core / cores) as u64,
            node: (core / (clusters * cores)) as u64,
            package: (core / per_package) as u64,
            slowness: 0,
        }
    });
    Machine::new(raw, Source::Flat, false)
}

/// Two performance cores with two threads each, then four efficiency cores that share a cluster.
fn hybrid() -> Machine {
    let cpu = |os_index, core, cluster| RawCpu { os_index, core, cluster, node: 0, package: 0, slowness: 0 };
    let performance = [cpu(0, 0, 0), cpu(1, 0, 0), cpu(2, 1, 0), cpu(3, 1, 0)];
    let efficiency = (4..8).map(|os_index| cpu(os_index, os_index as u64, 1));
    Machine::new(performance.into_iter().chain(efficiency), Source::Flat, false)
}

fn mask(text: &str) -> CpuMask {
    text.parse().unwrap()
}

fn free_places(machine: &Machine, pin: Pin) -> Places {
    Places::new(machine, &pin, Shrink::Compact, &mask("")).unwrap()
}

/// The CPUs of the first members' places, as lists.
fn lists(places: &Places, members: usize) -> Vec<String> {
    (0..members).map(|member| places.of(member).unwrap().mask().to_string()).collect()
}

#[test]
fn cores_come_before_second_threads_and_wrap_around() {
    let smt = regular([1, 1, 1, 3, 2], 1);
    assert_eq!(lists(&free_places(&smt, Pin::Core), 8), ["0", "1", "2", "3", "4", "5", "0", "1"]);
    assert_eq!(lists(&free_places(&hybrid(), Pin::Core), 9), ["0", "2", "4", "5", "6", "7", "1", "3", "0"]);
}

#[test]
fn a_single_cpu_serves_all() {
    let machine = regular([1, 1, 1, 1, 1], 1);
    for pin in [Pin::Core, Pin::Cluster, Pin::Node, Pin::Package, Pin::Cpus(vec![0])] {
        assert_eq!(lists(&free_places(&machine, pin), 3), ["0", "0", "0"]);
    }
}

#[test]
fn two_sockets_of_six_clusters_fill_one_after_the_other() {
    let machine = regular([2, 1, 6, 4, 1], 1);
    let clusters = lists(&free_places(&machine, Pin::Cluster), 49);
    assert_eq!(clusters[..5], ["0-3", "0-3", "0-3", "0-3", "4-7"]);
    assert_eq!((clusters[47].as_str(), clusters[48].as_str()), ("44-47", "0-3"));
    let nodes = lists(&free_places(&machine, Pin::Node), 48);
    assert!(nodes[..24].iter().all(|list| list == "0-23") && nodes[24..].iter().all(|list| list == "24-47"));
}

#[test]
fn second_threads_fill_units_only_when_all_cores_are_used() {
    let machine = regular([2, 1, 1, 2, 2], 1);
    let packages = lists(&free_places(&machine, Pin::Package), 9);
    let (first, second) = ("0-1,4-5", "2-3,6-7");
    assert_eq!(packages, [first, first, second, second, first, first, second, second, first]);
}

#[test]
fn places_say_what_they_are() {
    let machine = regular([2, 1, 2, 2, 1], 1);
    let core = free_places(&machine, Pin::Core).of(5).unwrap().clone();
    assert_eq!((core.core(), core.cluster(), core.node(), core.package()), (Some(5), Some(2), Some(1), Some(1)));
    assert_eq!((core.cpus(), core.to_string().as_str()), (&[5][..], "cpu 5"));
    let node = free_places(&machine, Pin::Node).of(4).unwrap().clone();
    assert_eq!((node.core(), node.cluster(), node.node(), node.package()), (None, None, Some(1), Some(1)));
    assert_eq!(node.to_string(), "cpus 4-7 (node 1)");
    assert_eq!(free_places(&regular([1; 5], 1), Pin::Package).of(0).unwrap().to_string(), "cpu 0 (package 0)");
}

#[test]
fn unpinned_members_have_no_place() {
    let places = free_places(&hybrid(), Pin::None);
    assert_eq!((places.of(0), places.of(65_534)), (None, None));
    assert_eq!(places.claims(8), CpuMask::new());
}

#[test]
fn lists_are_taken_as_they_are() {
    let machine = regular([1, 1, 1, 2, 1], 700);
    let places = free_places(&machine, Pin::Cpus(vec![700, 0, 700]));
    assert_eq!(lists(&places, 4), ["700", "0", "700", "700"]);
    let taken = mask("0,700");
    assert_eq!(lists(&Places::new(&machine, &Pin::Cpus(vec![700]), Shrink::Compact, &taken).unwrap(), 1), ["700"]);
}

#[test]
fn lists_that_cannot_be_had_are_named() {
    let machine = regular([1, 1, 1, 4, 1], 1);
    let error = |list| Places::new(&machine, &Pin::Cpus(list), Shrink::Compact, &CpuMask::new()).unwrap_err().to_string();
    assert!(error(vec![]).contains("the list of CPUs to pin to is empty"));
    let message = error(vec![9, 1, 4, 4]);
    assert!(message.starts_with("CPUs 4,9 cannot be pinned to: this process may use CPUs 0-3"), "{message}");
}

#[test]
fn taken_cpus_are_left_out_and_their_cores_come_last() {
    let machine = regular([1, 1, 1, 3, 2], 1);
    let places = |taken: &str| Places::new(&machine, &Pin::Core, Shrink::Compact, &mask(taken));
    assert_eq!(lists(&places("0").unwrap(), 6), ["1", "2", "3", "4", "5", "1"]);
    assert_eq!(lists(&places("3").unwrap(), 6), ["1", "2", "0", "4", "5", "1"]);
    let message = places("0-5").unwrap_err().to_string();
    assert!(message.contains("other hives of this process have all of its CPUs, 0-5"), "{message}");
}

#[test]
fn members_claim_their_own_cpus_and_no_units() {
    let machine = regular([1, 1, 1, 3, 2], 1);
    let claims = |pin, members| free_places(&machine, pin).claims(members).to_string();
    assert_eq!(claims(Pin::Core, 0), "");
    assert_eq!(claims(Pin::Core, 4), "0-3");
    assert_eq!(claims(Pin::Core, 65_535), "0-5");
    assert_eq!(claims(Pin::Cpus(vec![5, 5, 1]), 2), "5");
    assert_eq!(claims(Pin::Node, 4), "");
}

#[test]
fn by_default_members_are_pinned_as_long_as_each_has_a_cpu() {
    let machine = regular([1, 1, 1, 2, 2], 1);
    assert_eq!(default_pin(&machine, &mask(""), 4), Pin::Core);
    assert_eq!(default_pin(&machine, &mask(""), 5), Pin::None);
    assert_eq!(default_pin(&machine, &mask("0,9"), 3), Pin::Core);
    assert_eq!(default_pin(&machine, &mask("0,9"), 4), Pin::None);
    assert_eq!(default_pin(&machine, &mask("0-3"), 1), Pin::None);
}

/// The CPUs of all members that have one for themselves, in their order.
fn turns(machine: &Machine, shrink: Shrink) -> Vec<Cpu> {
    let places = Places::new(machine, &Pin::Core, shrink, &mask("")).unwrap();
    (0..machine.cpus().len()).map(|member| *machine.cpu(places.of(member).unwrap().cpus()[0]).unwrap()).collect()
}

/// Regular machines, up to more CPUs than a fixed-size mask holds, sparsely numbered, and what is left of them when CPUs or
/// whole nodes may not be used.
fn machines() -> impl Strategy<Value = Machine> {
    let shape = [1..=2_usize, 1..=3, 1..=6, 1..=10, 1..=4];
    let left = proptest::collection::vec(proptest::bool::weighted(0.8), 1..40);
    (shape, 1..4_usize, left).prop_map(|(shape, stride, left)| restrict(&regular(shape, stride), &left))
}

fn restrict(machine: &Machine, left: &[bool]) -> Machine {
    let kept = machine.cpus().iter().enumerate().filter(|(i, _)| *i == 0 || left[i % left.len()]);
    let raw = kept.map(|(_, cpu)| RawCpu {
        os_index: cpu.os_index,
        core: cpu.core as u64,
        cluster: cpu.cluster as u64,
        node: cpu.node as u64,
        package: cpu.package as u64,
        slowness: 0,
    });
    Machine::new(raw, Source::Flat, false)
}

proptest! {
    #[test]
    fn cores_are_allowed_distinct_and_physical_first(machine in machines()) {
        let places = free_places(&machine, Pin::Core);
        let all = machine.cpus().len();
        let turns: Vec<_> = (0..all).map(|member| *machine.cpu(places.of(member).unwrap().cpus()[0]).unwrap()).collect();
        prop_assert_eq!(turns.iter().map(|cpu| cpu.os_index).collect::<CpuMask>(), machine.mask());
        prop_assert!(turns.is_sorted_by_key(|cpu| cpu.smt));
        prop_assert!(turns[..machine.count(Unit::Core)].is_sorted_by_key(|cpu| cpu.core));
        prop_assert_eq!(places.of(65_534), places.of(65_534 % all));
        prop_assert_eq!(places.first_of(all - 1), places.of(all - 1));
        prop_assert_eq!(places.first_of(all), None);
    }

    #[test]
    fn units_are_filled_one_after_the_other(machine in machines(), unit in 0..3_usize) {
        let (unit, pin) = [(Unit::Cluster, Pin::Cluster), (Unit::Node, Pin::Node), (Unit::Package, Pin::Package)][unit].clone();
        let places = free_places(&machine, pin);
        let cores = free_places(&machine, Pin::Core);
        let mut members = vec![0; machine.count(unit)];
        for member in 0..machine.cpus().len() {
            let place = places.of(member).unwrap();
            let number = machine.cpu(place.cpus()[0]).unwrap().number(unit);
            prop_assert!(machine.cpus_of(unit, number).map(|cpu| cpu.os_index).eq(place.cpus().iter().copied()));
            prop_assert!(place.cpus().contains(&cores.of(member).unwrap().cpus()[0]));
            members[number] += 1;
        }
        prop_assert!((0..members.len()).all(|number| members[number] == machine.cpus_of(unit, number).count()));
        let mut visited: Vec<_> = (0..machine.count(Unit::Core)).map(|member| places.of(member).unwrap().mask()).collect();
        visited.dedup();
        prop_assert_eq!(visited.len(), machine.count(unit), "consecutive members share a unit until it is full");
    }

    #[test]
    fn hives_side_by_side_never_share_a_cpu(machine in machines(), members in 1..60_usize) {
        let mut taken = CpuMask::new();
        while default_pin(&machine, &taken, members) == Pin::Core {
            let own = Places::new(&machine, &Pin::Core, Shrink::Compact, &taken).unwrap().claims(members);
            prop_assert_eq!(own.len(), members);
            prop_assert!(own.intersection(&taken).is_empty());
            taken = taken.union(&own);
        }
        prop_assert!(machine.cpus().len() - taken.len() < members);
    }

    #[test]
    fn every_order_has_all_cpus_and_first_threads_first(machine in machines(), nth in 0..3_usize) {
        let shrink = [Shrink::Compact, Shrink::Spread, Shrink::KeepNodes][nth];
        let turns = turns(&machine, shrink);
        prop_assert_eq!(turns.len(), machine.cpus().len());
        prop_assert_eq!(turns.iter().map(|cpu| cpu.os_index).collect::<CpuMask>(), machine.mask());
        prop_assert!(turns.is_sorted_by_key(|cpu| cpu.smt));
    }

    #[test]
    fn orders_use_units_as_they_say(shape in [1..=3_usize, 1..=3, 1..=4, 1..=5, 1..=2]) {
        let [packages, nodes, clusters, cores, _] = shape;
        let machine = regular(shape, 1);
        let [compact, spread, keep_nodes] = [Shrink::Compact, Shrink::Spread, Shrink::KeepNodes].map(|shrink| turns(&machine, shrink));
        let used = |turns: &[Cpu], members: usize, unit| {
            turns[..members].iter().map(|cpu| cpu.number(unit)).collect::<BTreeSet<_>>().len()
        };
        let (all_nodes, all_clusters) = (packages * nodes, packages * nodes * clusters);
        for members in 1..=all_clusters * cores {
            prop_assert_eq!(used(&compact, members, Unit::Cluster), members.div_ceil(cores));
            prop_assert_eq!(used(&spread, members, Unit::Cluster), members.min(all_clusters));
            prop_assert_eq!(used(&spread, members, Unit::Package), members.min(packages));
            prop_assert_eq!(used(&keep_nodes, members, Unit::Node), members.min(all_nodes));
            // As few clusters of each node as hold its members.
            let of_node = |node| members / all_nodes + usize::from(node < members % all_nodes);
            let clusters: usize = (0..all_nodes).map(|node| of_node(node).div_ceil(cores)).sum();
            prop_assert_eq!(used(&keep_nodes, members, Unit::Cluster), clusters);
        }
    }
}

#[test]
fn more_cpus_than_a_fixed_size_mask_holds() {
    let machine = regular([2, 4, 8, 16, 2], 3);
    assert_eq!(machine.cpus().len(), 2048);
    assert_eq!(lists(&free_places(&machine, Pin::Core), 2048)[2047], "6141");
    assert_eq!(free_places(&machine, Pin::Node).of(1023).unwrap().cpus().len(), 256);
}
