//! Tests of what is read from the system's files: on this machine, where hwloc has to read the same, and on trees of
//! files made for the purpose. `described_machines` holds both readers against each other on its machines.

use std::collections::BTreeMap;
use std::fs;

use super::*;
use crate::topology::machine::PlaceUnit;
#[cfg(feature = "hwloc")]
use crate::topology::numa_nodes;

/// Files in a directory of their own, by name.
#[derive(Default)]
pub(crate) struct Tree(BTreeMap<String, String>);

impl Tree {
    /// Adds a file under `devices`.
    pub(crate) fn add(&mut self, name: impl Into<String>, text: impl ToString) {
        self.0.insert(name.into(), text.to_string());
    }

    /// Adds a CPU with its core and its package.
    fn add_cpu(&mut self, cpu: usize, core: &str, package: &str) {
        self.add(format!("system/cpu/cpu{cpu}/topology/core_cpus_list"), core);
        self.add(format!("system/cpu/cpu{cpu}/topology/package_cpus_list"), package);
    }

    /// Adds a cache to a CPU.
    pub(crate) fn add_cache(&mut self, cpu: usize, index: usize, (level, kind, cpus): (u64, &str, &str)) {
        let directory = format!("system/cpu/cpu{cpu}/cache/index{index}");
        self.add(format!("{directory}/level"), level);
        self.add(format!("{directory}/type"), kind);
        self.add(format!("{directory}/shared_cpu_list"), cpus);
    }

    /// Writes the files and reads them, without a warning.
    pub(crate) fn read(&self, allowed: Option<&CpuMask>) -> Result<Machine, String> {
        let (machine, warnings) = self.read_with_warnings(allowed)?;
        assert_eq!(warnings, Vec::<String>::new());
        Ok(machine)
    }

    fn read_with_warnings(&self, allowed: Option<&CpuMask>) -> Result<(Machine, Vec<String>), String> {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in &self.0 {
            let file = directory.path().join("devices").join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, format!("{text}\n")).unwrap();
        }
        read(directory.path(), &NumaNodes::read(directory.path(), || None), allowed)
    }
}

fn mask(text: &str) -> CpuMask {
    text.parse().unwrap()
}

fn order(machine: &Machine) -> Vec<usize> {
    machine.cpus.iter().map(|cpu| cpu.os_index).collect()
}

fn counts(machine: &Machine) -> [usize; 4] {
    [PlaceUnit::Cores, PlaceUnit::LlCaches, PlaceUnit::NumaDomains, PlaceUnit::Sockets]
        .map(|unit| machine.unit_count(unit))
}

/// Both read the same machine, all of it and without any one of its CPUs: the same CPUs in the same order, in the same
/// units, and the same nodes. `tests/numa/run` runs this on machines with several nodes.
#[test]
#[cfg(feature = "hwloc")]
fn this_machine_is_what_hwloc_says() {
    use crate::topology::hwloc::{self, nearest_node};
    use hwlocality::object::types::ObjectType;
    use std::mem::ManuallyDrop;

    let (whole, _) = hwloc::read(None).unwrap();
    let nodes = NumaNodes::read(Path::new(ROOT), numa_nodes::allowed);
    let by_files = |allowed: &CpuMask| read(Path::new(ROOT), &nodes, Some(allowed)).unwrap().0;
    assert_eq!(by_files(&whole.mask()).cpus, whole.cpus);
    for left_out in whole.cpus.iter().filter(|_| whole.cpus.len() > 1) {
        let mask = whole.mask().difference(&CpuMask::from_iter([left_out.os_index]));
        assert_eq!(by_files(&mask).cpus, hwloc::read(Some(&mask)).unwrap().0.cpus, "within {mask}");
    }
    let topology = ManuallyDrop::into_inner(hwloc::read_topology().unwrap());
    assert!(nodes.0.keys().copied().eq(topology.allowed_nodeset().iter_set().map(usize::from)));
    let hwloc_nodes: Vec<_> = topology.objects_with_type(ObjectType::NUMANode).collect();
    for cpu in whole.cpus.iter().map(|cpu| cpu.os_index) {
        let by_hwloc = nearest_node(&hwloc_nodes, cpu).and_then(|node| node.os_index());
        assert_eq!(nodes.nearest(cpu).map(|(&number, _)| number), by_hwloc, "CPU {cpu}");
    }
}

/// Two packages of two cores with two hardware threads each, which Linux numbers one thread of each core after another.
#[test]
fn neighbours_come_one_after_another() {
    let mut tree = Tree::default();
    tree.add("system/cpu/online", "0-7");
    tree.add("system/node/online", "0-1");
    tree.add("system/node/node0/cpulist", "0,2,4,6");
    tree.add("system/node/node1/cpulist", "1,3,5,7");
    for cpu in 0..8 {
        let package = if cpu % 2 == 0 { "0,2,4,6" } else { "1,3,5,7" };
        tree.add_cpu(cpu, &format!("{},{}", cpu % 4, cpu % 4 + 4), package);
        tree.add_cache(cpu, 0, (1, "Data", &format!("{},{}", cpu % 4, cpu % 4 + 4)));
        tree.add_cache(cpu, 1, (1, "Instruction", "0-7"));
        tree.add_cache(cpu, 2, (3, "Unified", package));
    }
    let machine = tree.read(None).unwrap();
    assert_eq!((order(&machine), counts(&machine)), (vec![0, 4, 2, 6, 1, 5, 3, 7], [4, 2, 2, 2]));
    // Within a mask, and with a CPU that has been switched off: Linux removes its files, and takes it from masks.
    tree.add("system/cpu/online", "0-5,7");
    let machine = tree.read(Some(&mask("1-5,7"))).unwrap();
    assert_eq!((order(&machine), counts(&machine)), (vec![4, 2, 1, 5, 3, 7], [4, 2, 2, 2]));
}

/// Four cores that share a third level, of which two and two share a second level, each in a die of its own.
#[test]
fn what_several_cpus_share_is_read_for_the_first_of_them() {
    let mut tree = Tree::default();
    tree.add("system/cpu/online", "0-3");
    for cpu in 0..4 {
        let pair = if cpu % 2 == 0 { "0,2" } else { "1,3" };
        tree.add_cpu(cpu, &cpu.to_string(), "0-3");
        tree.add(format!("system/cpu/cpu{cpu}/topology/die_cpus_list"), pair);
        tree.add_cache(cpu, 0, (1, "Data", &cpu.to_string()));
        tree.add_cache(cpu, 1, (1, "Instruction", &cpu.to_string()));
        tree.add_cache(cpu, 2, (2, "Unified", pair));
        tree.add_cache(cpu, 3, (3, "Unified", "0-3"));
    }
    let machine = tree.read(None).unwrap();
    assert_eq!((order(&machine), counts(&machine)), (vec![0, 2, 1, 3], [4, 1, 1, 1]));
    for cpu in 1..4 {
        let name = |name: &str| format!("system/cpu/cpu{cpu}/{name}");
        assert!(tree.0.remove(&name("topology/package_cpus_list")).is_some());
        assert!(tree.0.remove(&name("cache/index3/shared_cpu_list")).is_some());
        for index in 0..4 {
            assert!(tree.0.remove(&name(&format!("cache/index{index}/type"))).is_some());
            assert!(tree.0.remove(&name(&format!("cache/index{index}/level"))).is_some());
        }
        if cpu > 1 {
            assert!(tree.0.remove(&name("topology/die_cpus_list")).is_some());
            assert!(tree.0.remove(&name("cache/index2/shared_cpu_list")).is_some());
        }
    }
    assert_eq!(tree.read(None).unwrap().cpus, machine.cpus);
}

/// Two cores in a package, with and without a cache that both share.
#[test]
fn small_packages_need_few_files() {
    let mut tree = Tree::default();
    tree.add("system/cpu/online", "0-3");
    for cpu in 0..4 {
        tree.add_cpu(cpu, &cpu.to_string(), if cpu < 2 { "0-1" } else { "2-3" });
        let cpus = if cpu < 2 { "0-1" } else { &cpu.to_string() };
        tree.add(format!("system/cpu/cpu{cpu}/cache/index3/shared_cpu_list"), cpus);
    }
    // Of which level the caches of CPUs 2 and 3 are is not said, so they make no cluster.
    assert_eq!(counts(&tree.read(None).unwrap()), [4, 2, 2, 2]);
    (2..4).for_each(|cpu| tree.add_cache(cpu, 3, (3, "Unified", &cpu.to_string())));
    assert_eq!(counts(&tree.read(None).unwrap()), [4, 3, 2, 2]);
}

#[test]
fn kernels_that_say_little_are_believed() {
    let mut tree = Tree::default();
    tree.add("system/cpu/online", "0-3");
    let machine = tree.read(None).unwrap();
    assert_eq!((order(&machine), counts(&machine)), (vec![0, 1, 2, 3], [4, 1, 1, 1]));
    // Names before Linux 5.3.
    for cpu in 0..4 {
        tree.add(format!("system/cpu/cpu{cpu}/topology/thread_siblings_list"), if cpu < 2 { "0-1" } else { "2-3" });
        tree.add(format!("system/cpu/cpu{cpu}/topology/core_siblings_list"), "0-3");
    }
    assert_eq!(counts(&tree.read(None).unwrap()), [2, 1, 1, 1]);
    // A second level that both cores share makes a cluster, a private one does not.
    (0..4).for_each(|cpu| tree.add_cache(cpu, 0, (2, "Unified", if cpu < 2 { "0-1" } else { "2-3" })));
    assert_eq!(counts(&tree.read(None).unwrap()), [2, 1, 1, 1]);
    (0..4).for_each(|cpu| tree.add(format!("system/cpu/cpu{cpu}/topology/thread_siblings_list"), cpu));
    assert_eq!(counts(&tree.read(None).unwrap()), [4, 2, 1, 1]);
}

#[test]
fn kinds_of_cores_are_told_apart_by_their_lists_or_their_capacities() {
    let slowness = |tree: &Tree| tree.read(None).unwrap().cpus.iter().map(|cpu| cpu.slowness).collect::<Vec<_>>();
    let mut tree = Tree::default();
    tree.add("system/cpu/online", "0-3");
    assert_eq!(slowness(&tree), [0; 4]);
    [446, 1024, 446, 871].iter().enumerate().for_each(|(cpu, capacity)| {
        tree.add(format!("system/cpu/cpu{cpu}/cpu_capacity"), capacity);
    });
    assert_eq!(slowness(&tree), [2, 0, 2, 1]);
    tree.add("cpu_core/cpus", "0-1");
    tree.add("cpu_atom/cpus", "2-3");
    assert_eq!(slowness(&tree), [0, 0, 1, 1]);
}

#[test]
fn nodes_with_memory_only_are_near_no_cpu() {
    let mut tree = Tree::default();
    tree.add("system/cpu/online", "0-1");
    tree.add("system/node/online", "0,2");
    tree.add("system/node/node0/cpulist", "0-1");
    tree.add("system/node/node2/cpulist", "");
    assert_eq!(counts(&tree.read(None).unwrap()), [2, 1, 1, 1]);
    let directory = tempfile::tempdir().unwrap();
    let node = directory.path().join("devices/system/node");
    fs::create_dir_all(&node).unwrap();
    fs::write(node.join("online"), "0,2\n").unwrap();
    let numbers =
        |allowed: Option<CpuMask>| NumaNodes::read(directory.path(), || allowed).0.into_keys().collect::<Vec<_>>();
    assert_eq!((numbers(None), numbers(Some(mask("1-2")))), (vec![0, 2], vec![2]));
}

#[test]
fn what_cannot_be_read_is_an_error_that_says_so() {
    assert!(Tree::default().read(None).unwrap_err().ends_with("devices/system/cpu/online cannot be read"));
    let mut tree = Tree::default();
    tree.add("system/cpu/online", "0-1,x");
    assert!(tree.read(None).is_err());
    tree.add("system/cpu/online", "");
    assert!(tree.read(None).unwrap_err().ends_with("devices/system/cpu/online has no CPU"));
}

/// Two packages of two cores with two hardware threads each, in a container that says of the first four CPUs, or of
/// none that the process may use, that they are online.
#[test]
fn the_mask_is_believed_where_other_cpus_are_said_to_be_online() {
    let mut tree = Tree::default();
    for cpu in 0..8 {
        tree.add_cpu(cpu, &format!("{}-{}", cpu / 2 * 2, cpu / 2 * 2 + 1), if cpu < 4 { "0-3" } else { "4-7" });
    }
    for (online, allowed, unlisted) in [("0-3", "2-7", "4-7"), ("0-1", "2-7", "2-7"), ("0", "2-7", "2-7")] {
        tree.add("system/cpu/online", online);
        let (machine, warnings) = tree.read_with_warnings(Some(&mask(allowed))).unwrap();
        assert_eq!((order(&machine), counts(&machine)), ((2..8).collect(), [3, 2, 2, 2]), "{online}");
        let [warning] = &warnings[..] else { panic!("{warnings:?}") };
        let expected = format!("CPUs {unlisted} are not in ");
        assert!(warning.starts_with(&expected) && warning.ends_with("the mask is believed"), "{warning}");
    }
    // What is online is all that there is where the system tells no mask.
    assert_eq!(order(&tree.read(None).unwrap()), [0]);
}
