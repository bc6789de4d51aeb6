//! Who of a hive is where, and who is parked.

use hive::{Hive, Pin, Place};

/// The members of one hive.
#[derive(Debug)]
pub(crate) struct Members {
    places: Vec<Option<Place>>,
    /// Members from here on are parked.
    awake: usize,
    /// What hive, or the kernel, has to say.
    pub(crate) warnings: Vec<String>,
}

/// What a CPU is used for, with the numbers of the members in ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Bound(Vec<usize>),
    /// All who are bound to it are parked.
    Parked(Vec<usize>),
    Free,
}

impl Members {
    /// Builds a hive and looks. The queen is bound, too. An error names the flag.
    pub(crate) fn find(bees: Option<usize>, pin: Option<Pin>, shrink_to: Option<usize>, foreign: bool) -> Result<Self, String> {
        let mut builder = Hive::builder().pin_queen(true);
        builder = bees.map_or(builder.clone(), |bees| builder.bees(bees));
        builder = pin.map_or(builder.clone(), |pin| builder.pin(pin));
        let hive = builder.build().map_err(|error| format!("no such hive: {error}"))?;
        let count = hive.bees();
        if let Some(wrong) = shrink_to.filter(|to| !(1..=count).contains(to)) {
            return Err(format!("--shrink-to {wrong}: the hive has {count} members, so it can shrink to 1 to {count}"));
        }
        let places = hive.places();
        let mut warnings = hive.report().warnings().to_vec();
        if !foreign {
            warnings.extend(strays(&hive, &places));
        }
        let awake = shrink_to.unwrap_or(count);
        hive.resize(awake).map_err(|error| format!("--shrink-to {awake}: {error}"))?;
        hive.settle();
        Ok(Self { places, awake, warnings })
    }

    /// What a CPU is used for.
    pub(crate) fn on(&self, cpu: usize) -> State {
        let (awake, parked): (Vec<usize>, Vec<usize>) = self.of(cpu).partition(|member| *member < self.awake);
        match (awake.is_empty(), parked.is_empty()) {
            (false, _) => State::Bound(awake),
            (true, false) => State::Parked(parked),
            (true, true) => State::Free,
        }
    }

    fn of(&self, cpu: usize) -> impl Iterator<Item = usize> {
        let is_there = move |place: &Option<Place>| place.as_ref().is_some_and(|place| place.cpus().contains(&cpu));
        self.places.iter().enumerate().filter(move |(_, place)| is_there(place)).map(|(member, _)| member)
    }

    pub(crate) fn awake(&self) -> std::ops::Range<usize> {
        0..self.awake
    }

    pub(crate) fn parked(&self) -> std::ops::Range<usize> {
        self.awake..self.places.len()
    }

    /// Those who may run anywhere.
    pub(crate) fn unbound(&self) -> Vec<usize> {
        self.places.iter().enumerate().filter(|(_, place)| place.is_none()).map(|(member, _)| member).collect()
    }
}

/// A warning for each member that the kernel lets run elsewhere than hive says.
fn strays(hive: &Hive, places: &[Option<Place>]) -> Vec<String> {
    let allowed = hive.spmd_map(places.len(), |_| allowed());
    let stray = |(member, (place, allowed)): (usize, (&Option<Place>, Option<Vec<usize>>))| {
        let (mut wanted, allowed) = (place.as_ref()?.cpus().to_vec(), allowed?);
        wanted.sort_unstable();
        (wanted != allowed).then(|| {
            format!("member {member} belongs on CPUs {}, and the kernel lets it run on {}", Pin::Cpus(wanted), Pin::Cpus(allowed))
        })
    };
    places.iter().zip(allowed).enumerate().filter_map(stray).collect()
}

/// The CPUs that the kernel lets the calling thread run on, in ascending order, where it says.
fn allowed() -> Option<Vec<usize>> {
    let status = std::fs::read_to_string("/proc/thread-self/status").ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    match list.trim().parse() {
        Ok(Pin::Cpus(cpus)) => Some(cpus),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpus;

    #[test]
    fn who_is_parked_is_told_from_who_is_not() {
        let first = cpus::in_order_of_use()[0];
        let members = Members::find(Some(3), Some(Pin::Cpus(vec![first])), Some(2), false).unwrap();
        assert_eq!((members.awake(), members.parked()), (0..2, 2..3));
        assert_eq!(members.on(first), State::Bound(vec![0, 1]));
        assert_eq!(members.on(70_000), State::Free);
        assert!(members.unbound().is_empty() && members.warnings.is_empty(), "{:?}", members.warnings);
    }

    #[test]
    fn members_without_a_place_are_told() {
        let members = Members::find(Some(2), Some(Pin::None), None, false).unwrap();
        assert_eq!((members.unbound(), members.parked()), (vec![0, 1], 2..2));
    }

    #[test]
    fn a_hive_shrinks_to_what_it_has() {
        for wrong in [0, 3] {
            let error = Members::find(Some(2), None, Some(wrong), false).unwrap_err();
            assert!(error.contains(&format!("--shrink-to {wrong}")) && error.contains("1 to 2"), "{error}");
        }
    }
}
