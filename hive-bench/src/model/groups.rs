//! Which bees meet each other: bees are in groups by what their CPUs share, and the leaders of the groups are in groups
//! again.

use super::machine::Cpu;

/// Bees that meet in one cache line. The first is the leader, and the only one that is in a group above as well.
pub(super) type Group = Vec<usize>;

/// What the bees of the lowest groups share, and then what their leaders share.
type Key = fn(&Cpu) -> (u64, u64);

/// All in one group.
pub(super) const TOGETHER: &[Key] = &[];
/// Groups by cluster, groups of leaders by node, and a group of the leaders of those. As in hive, two nodes that share
/// a cache are separate.
pub(super) const BY_CLUSTER: &[Key] = &[|cpu| (cpu.node, cpu.cluster), |cpu| (cpu.node, 0)];
/// Groups by node, and a group of their leaders.
pub(super) const BY_NODE: &[Key] = &[|cpu| (cpu.node, 0)];

/// All groups, from the lowest level to the top. A group of one is left out, because its bee meets no other.
pub(super) fn tree(cpus: &[Cpu], keys: &[Key]) -> Vec<Group> {
    let mut groups = Vec::new();
    let mut bees: Group = (0..cpus.len()).collect();
    for key in keys {
        let level = split(&bees, cpus, *key);
        bees = level.iter().map(|group| group[0]).collect();
        groups.extend(level);
    }
    groups.push(bees);
    groups.retain(|group| group.len() > 1);
    groups
}

/// In the order of their first bees.
fn split(bees: &[usize], cpus: &[Cpu], key: Key) -> Vec<Group> {
    let mut groups: Vec<((u64, u64), Group)> = Vec::new();
    for bee in bees {
        let of = key(&cpus[*bee]);
        match groups.iter_mut().find(|(key, _)| *key == of) {
            Some((_, group)) => group.push(*bee),
            None => groups.push((of, vec![*bee])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// The place of a bee: the groups that it leads, from the lowest up, and the one in which it is led.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) leads: Vec<usize>,
    pub(super) led_in: Option<usize>,
}

pub(super) fn place(bee: usize, groups: &[Group]) -> Place {
    let of = |leads: bool| {
        let mine = move |group: &Group| group.contains(&bee) && (group[0] == bee) == leads;
        (0..groups.len()).filter(move |place| mine(&groups[*place]))
    };
    Place { leads: of(true).collect(), led_in: of(false).next() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bees on clusters of two, of which each node has two.
    fn cpus(count: usize) -> Vec<Cpu> {
        let cpu = |k: usize| Cpu {
            os_index: k,
            core: k as u64,
            cluster: k as u64 / 2,
            node: k as u64 / 4,
            package: k as u64 / 4,
        };
        (0..count).map(cpu).collect()
    }

    #[test]
    fn heads_meet_heads() {
        let groups = tree(&cpus(8), BY_CLUSTER);
        assert_eq!(groups, [vec![0, 1], vec![2, 3], vec![4, 5], vec![6, 7], vec![0, 2], vec![4, 6], vec![0, 4]]);
        assert_eq!(place(0, &groups), Place { leads: vec![0, 4, 6], led_in: None });
        assert_eq!(place(4, &groups), Place { leads: vec![2, 5], led_in: Some(6) });
        assert_eq!(place(3, &groups), Place { leads: vec![], led_in: Some(1) });
        assert_eq!(tree(&cpus(8), BY_NODE), [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![0, 4]]);
    }

    #[test]
    fn a_cache_of_two_nodes_is_two_clusters() {
        let cpus: Vec<Cpu> = cpus(8).into_iter().map(|cpu| Cpu { cluster: 0, ..cpu }).collect();
        assert_eq!(tree(&cpus, BY_CLUSTER), [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![0, 4]]);
        assert_eq!(tree(&cpus, TOGETHER), [(0..8).collect::<Vec<_>>()]);
    }

    #[test]
    fn nobody_meets_alone() {
        assert_eq!(tree(&cpus(3), BY_CLUSTER), [vec![0, 1], vec![0, 2]]);
        assert_eq!(tree(&cpus(2), BY_NODE), [vec![0, 1]]);
    }

    /// Every worker is led in exactly one group.
    #[test]
    fn everybody_has_a_head() {
        for count in 2..40 {
            for keys in [BY_CLUSTER, BY_NODE] {
                let groups = tree(&cpus(count), keys);
                assert!((1..count).all(|bee| place(bee, &groups).led_in.is_some()), "{count}");
                assert_eq!(groups.iter().map(|group| group.len() - 1).sum::<usize>(), count - 1);
            }
        }
    }
}
