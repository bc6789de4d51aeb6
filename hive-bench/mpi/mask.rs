//! The CPUs that mpirun has given this rank, and how many other ranks have them as well.

use std::env;
use std::time::Duration;

use hive::{Hive, Pin};

use super::ranks::Ranks;

/// A rank's CPUs.
#[derive(Debug, PartialEq)]
pub(super) struct Mask {
    pub(super) cpus: Vec<usize>,
    /// How many of them are this rank's when each is divided among all ranks that have it; at least one.
    share: usize,
    /// Whether other ranks have some of them as well.
    pub(super) is_shared: bool,
}

impl Mask {
    /// Asks all ranks on this machine.
    pub(super) fn read(ranks: &Ranks) -> Self {
        let own: Vec<u64> = core_affinity::get_core_ids().into_iter().flatten().map(|core| core.id as u64).collect();
        Self::among(&own, &ranks.gather_on_this_machine(&own))
    }

    /// `all` are the CPUs of all ranks, also the own ones.
    fn among(own: &[u64], all: &[u64]) -> Self {
        let ranks_on = |cpu: &u64| all.iter().filter(|other| *other == cpu).count();
        let share: f64 = own.iter().map(|cpu| 1.0 / ranks_on(cpu) as f64).sum();
        let mut cpus: Vec<usize> = own.iter().map(|cpu| *cpu as usize).collect();
        cpus.sort_unstable();
        // Thirds do not quite add up to one.
        Self { cpus, share: ((share + 1e-6) as usize).max(1), is_shared: own.iter().any(|cpu| ranks_on(cpu) > 1) }
    }

    /// A hive on these CPUs. hive itself keeps to the mask, but it cannot know that another process has the same CPUs.
    /// In that case the hive gets only its share of bees; they are not bound, because the other hive would bind its
    /// bees to the same CPUs; and they do not poll. Settings in the environment take precedence.
    pub(super) fn hive(&self, bees: Option<usize>) -> Result<Hive, String> {
        let is_free = |names: &[&str]| self.is_shared && names.iter().all(|name| env::var_os(name).is_none());
        let mut builder = Hive::builder();
        if let Some(bees) = bees.or_else(|| is_free(&["HIVE_NUM_BEES"]).then_some(self.share)) {
            builder = builder.bees(bees);
        }
        if is_free(&["HIVE_PIN", "HIVE_PLACES", "HIVE_PROC_BIND"]) {
            builder = builder.pin(Pin::None);
        }
        if is_free(&["HIVE_SPIN"]) {
            builder = builder.spin(Duration::ZERO);
        }
        builder.build().map_err(|error| format!("no such hive: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(own: &[u64], others: &[&[u64]]) -> (usize, bool) {
        let mask = Mask::among(own, &[own, &others.concat()].concat());
        (mask.share, mask.is_shared)
    }

    #[test]
    fn cpus_are_divided_among_the_ranks_that_have_them() {
        assert_eq!(share(&[0, 1], &[]), (2, false));
        assert_eq!(share(&[0, 1], &[&[2, 3]]), (2, false));
        assert_eq!(share(&[0, 1, 2, 3], &[&[0, 1, 2, 3]]), (2, true));
        assert_eq!(share(&[0, 1, 2], &[&[0, 1, 2], &[0, 1, 2]]), (1, true));
        assert_eq!(share(&[0, 1, 2], &[&[2]]), (2, true));
        assert_eq!(share(&[0], &[&[0], &[0]]), (1, true));
    }

    #[test]
    fn who_shares_cpus_does_not_poll_and_is_not_bound() {
        let hive = Mask { cpus: vec![0, 1], share: 2, is_shared: true }.hive(Some(3)).unwrap();
        assert_eq!(hive.bees(), 3);
        assert!(env::var_os("HIVE_PIN").is_some() || hive.places().iter().all(Option::is_none), "{}", hive.report());
        let polls = hive.report().to_string().contains("polls for 0ns");
        assert!(env::var_os("HIVE_SPIN").is_some() || polls, "{}", hive.report());
    }

    #[test]
    fn a_hive_that_cannot_be_is_reported() {
        let error = Mask { cpus: vec![0], share: 1, is_shared: false }.hive(Some(0)).unwrap_err();
        assert!(error.contains("0 bees"), "{error}");
    }
}
