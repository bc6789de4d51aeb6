//! What the tests of several hives share.

use std::time::Duration;

use hive::{Hive, HiveSet};

use super::assert_region_works;
use super::process::in_own_process_with;

/// Two nodes of two CPUs.
pub(crate) const TWO_BY_TWO: &str = "pack:2 [numa(memory=1GB)] core:2 pu:1";

/// Runs `part` in a process of its own, for which hwloc makes up a machine. Bees are not really bound there. Unless `variables` say otherwise, hives have as
/// many bees as it has CPUs, whatever quota this process has.
pub(crate) fn on_machine(machine: &str, test: &str, variables: &[(&str, &str)], body: impl FnOnce()) {
    // The products of its levels' arities; what is in brackets is none.
    let levels = machine.split_whitespace().filter(|level| !level.starts_with('['));
    let arities = levels.filter_map(|level| level.split_once(':')?.1.parse::<usize>().ok());
    let cpus = arities.product::<usize>().to_string();
    let machine = [("HIVE_NUM_BEES", &*cpus), ("HWLOC_SYNTHETIC", machine)];
    in_own_process_with(test, &[&machine, variables].concat(), body);
}

/// Two hives of two bees, who wait asleep, and two whose bees poll: not for long, as there may be fewer CPUs than are made up.
pub(crate) fn two_hives_of_two() -> impl Iterator<Item = HiveSet> {
    let spins = [Duration::ZERO, Duration::from_micros(100)];
    spins.into_iter().map(|spin| HiveSet::builder().template(Hive::builder().spin(spin)).build().unwrap())
}

/// A region over all hives does what it should: each of `n` bees runs once, and they meet at barriers.
#[track_caller]
pub(crate) fn assert_set_works(hives: &HiveSet, n: usize) {
    assert_region_works(n, |part| hives.spmd(|bee| part(bee.id(), bee.bees(), &|| bee.barrier())));
}

/// The CPUs of each hive's places.
pub(crate) fn cpus_of_hives(hives: &HiveSet) -> Vec<Vec<usize>> {
    let of = |hive: &Hive| hive.places().iter().flatten().flat_map(|place| place.cpus().to_vec()).collect();
    hives.iter().map(of).collect()
}
