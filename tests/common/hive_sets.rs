//! What the tests of hive sets share: a made-up machine, sets of hives on it, and a check that a set works.

use std::time::Duration;

use hive::{Hive, HiveSet};

use super::assert_region_works;
use super::process::in_own_process_with;

/// A machine of two nodes with two CPUs each, in hwloc's notation.
pub(crate) const TWO_BY_TWO: &str = "pack:2 [numa(memory=1GB)] core:2 pu:1";

/// Runs `body` in a process of its own, on a machine that hwloc makes up. Bees are not really bound there. Unless
/// `variables` say otherwise, hives have as many bees as the machine has CPUs, whatever CPU quota this process has.
pub(crate) fn on_machine(machine: &str, test: &str, variables: &[(&str, &str)], body: impl FnOnce()) {
    // The number of CPUs is the product of the levels' arities. An entry in brackets is not a level.
    let levels = machine.split_whitespace().filter(|level| !level.starts_with('['));
    let arities = levels.filter_map(|level| level.split_once(':')?.1.parse::<usize>().ok());
    let cpus = arities.product::<usize>().to_string();
    let machine = [("HIVE_NUM_BEES", &*cpus), ("HWLOC_SYNTHETIC", machine)];
    in_own_process_with(test, &[&machine, variables].concat(), body);
}

/// Sets of two hives of two bees: one whose bees sleep at once when they wait, and one whose bees poll first. They poll
/// only briefly, because there may be fewer CPUs than the machine pretends to have.
pub(crate) fn two_hives_of_two() -> impl Iterator<Item = HiveSet> {
    let spins = [Duration::ZERO, Duration::from_micros(100)];
    spins.into_iter().map(|spin| HiveSet::builder().template(Hive::builder().spin(spin)).build().unwrap())
}

/// Checks that a region over all hives works: each of `n` bees runs once, and they wait for each other at barriers.
#[track_caller]
pub(crate) fn assert_set_works(hives: &HiveSet, n: usize) {
    assert_region_works(n, |part| hives.spmd(|bee| part(bee.id(), bee.bees(), &|| bee.barrier())));
}

/// The CPUs of the places of each hive.
pub(crate) fn cpus_of_hives(hives: &HiveSet) -> Vec<Vec<usize>> {
    let of = |hive: &Hive| hive.places().iter().flatten().flat_map(|place| place.cpus().to_vec()).collect();
    hives.iter().map(of).collect()
}
