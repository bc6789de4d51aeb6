//! Kinds of cores, where a machine has several and hwloc knows which is faster.

use hwlocality::Topology;

/// The kinds, the fastest first. Empty if there is only one kind, or if nothing is known about them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kinds(Vec<Vec<usize>>);

impl Kinds {
    pub(super) fn read(topology: &Topology) -> Self {
        // hwloc lists the slowest kind first.
        let known = topology.cpu_kinds().into_iter().flatten().filter(|kind| kind.efficiency.is_some());
        let mut kinds: Vec<Vec<usize>> = known.map(|kind| kind.cpuset.iter_set().map(usize::from).collect()).collect();
        kinds.reverse();
        Self(if kinds.len() > 1 { kinds } else { Vec::new() })
    }

    /// What the kind of a CPU's core is called.
    pub(super) fn of(&self, cpu: usize) -> Option<&'static str> {
        self.0.iter().position(|kind| kind.contains(&cpu)).map(|place| self.name(place))
    }

    /// Name and CPUs of each.
    pub(super) fn all(&self) -> impl Iterator<Item = (&'static str, &[usize])> {
        self.0.iter().enumerate().map(|(place, cpus)| (self.name(place), &cpus[..]))
    }

    fn name(&self, place: usize) -> &'static str {
        match place {
            0 => "performance",
            _ if place + 1 == self.0.len() => "efficiency",
            _ => "middle",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_called_by_their_speed() {
        let kinds = Kinds(vec![vec![6], vec![2, 3], vec![0, 1]]);
        assert_eq!(
            [6, 3, 0, 9].map(|cpu| kinds.of(cpu)),
            [Some("performance"), Some("middle"), Some("efficiency"), None]
        );
        assert!(kinds.all().map(|(_, cpus)| cpus.len()).eq([1, 2, 2]));
    }

    #[test]
    fn a_machine_of_equal_cores_has_no_kinds() {
        let topology = Topology::builder().from_synthetic("pack:1 core:4 pu:1").unwrap().build().unwrap();
        assert_eq!(Kinds::read(&topology), Kinds::default());
    }
}
