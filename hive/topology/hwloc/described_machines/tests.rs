//! Tests of places on described machines. Each file of `tests/topologies` describes a machine to hwloc, and has
//! questions about its places with the expected answers, which were written by hand. Each file is checked in a process
//! of its own: this test program again, with `child` as its only test.

use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::protocol::region::shape::{BarrierShape, Shape};
use crate::sys::cpu_mask::CpuMask;
use crate::topology;
use crate::topology::hwloc::tests::run_child;
use crate::topology::hwloc::{CpuSet, ObjectType, Topology, TopologyObject, read_topology};
use crate::topology::machine::{Machine, PlaceUnit};
use crate::topology::pin_policy::Pin;
use crate::topology::place_assignment::PlaceAssignment;
use crate::topology::place_assignment::tests::places_of_pin;
use crate::topology::place_list::PlaceList;
use crate::topology::place_map::address_of;
use crate::topology::proc_bind::ProcBind;
use crate::topology::shrink::Shrink;
use crate::topology::sysfs::tests::Tree;

/// The variable with the path of the file that the test `child` checks.
const FILE_VARIABLE: &str = "HIVE_TEST_TOPOLOGY";

/// Does nothing in an ordinary run; in a process that `run_child` has started, checks all answers of the file.
#[test]
fn child() {
    if let Some(file) = env::var_os(FILE_VARIABLE) {
        let description = Description::read(Path::new(&file));
        let (machine, warnings) = topology::read_machine(description.mask.as_ref());
        // A machine without a mask is another machine than this one, which is the one warning.
        assert!(description.mask.is_some() || warnings.len() == 1, "{warnings:?}");
        for (question, expected) in &description.answers {
            let found = answer_to(&machine, question);
            assert_eq!(normalized(&found), normalized(expected), "{question:?} of {}", file.display());
        }
        // The system's files would say the same of such a machine.
        let topology = ManuallyDrop::into_inner(read_topology().unwrap());
        let by_files = as_files(&topology).read(Some(&machine.mask())).unwrap();
        assert_eq!(by_files.cpus, machine.cpus, "{}", file.display());
        println!("report: {} answers", description.answers.len());
    }
}

/// The machine that hwloc describes, as Linux would describe it in files.
fn as_files(topology: &Topology) -> Tree {
    let mut tree = Tree::default();
    let cpus = |set: &CpuSet| set.iter_set().map(usize::from).collect::<CpuMask>().to_string();
    let list = |object: &TopologyObject| object.cpuset().map(|set| cpus(&set)).unwrap_or_default();
    tree.add("system/cpu/online", cpus(&topology.cpuset()));
    for cpu in topology.objects_with_type(ObjectType::PU) {
        let os_index = cpu.os_index().unwrap();
        let units =
            [("core_cpus", ObjectType::Core), ("package_cpus", ObjectType::Package), ("die_cpus", ObjectType::Die)];
        for (name, unit) in units {
            if let Some(unit) = cpu.first_ancestor_with_type(unit) {
                tree.add(format!("system/cpu/cpu{os_index}/topology/{name}_list"), list(unit));
            }
        }
        let caches = cpu.ancestors().filter(|ancestor| ancestor.object_type().is_cpu_data_cache());
        for (index, cache) in caches.enumerate() {
            let levels = [ObjectType::L1Cache, ObjectType::L2Cache, ObjectType::L3Cache, ObjectType::L4Cache];
            let level = 1 + levels.iter().position(|level| *level == cache.object_type()).unwrap();
            tree.add_cache(os_index, index, (level as u64, "Unified", &list(cache)));
        }
    }
    let nodes: Vec<_> = topology.objects_with_type(ObjectType::NUMANode).collect();
    let numbers: CpuMask = nodes.iter().filter_map(|node| node.os_index()).collect();
    tree.add("system/node/online", numbers);
    nodes.iter().for_each(|node| tree.add(format!("system/node/node{}/cpulist", node.os_index().unwrap()), list(node)));
    for kind in topology.cpu_kinds().into_iter().flatten() {
        if let Some(efficiency) = kind.efficiency {
            kind.cpuset
                .iter_set()
                .for_each(|cpu| tree.add(format!("system/cpu/cpu{}/cpu_capacity", usize::from(cpu)), efficiency + 1));
        }
    }
    tree
}

/// Defines a test for each file, named like the file, and one test that checks that every file has a test.
macro_rules! topologies {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            check_file(stringify!($name));
        })*

        #[test]
        fn every_file_is_a_test() {
            let known = [$(stringify!($name)),*];
            let files = fs::read_dir(topologies_directory()).unwrap().map(|entry| entry.unwrap().path());
            let mut names: Vec<_> = files.filter(|file| file.extension().is_some_and(|end| end == "txt")).collect();
            names.sort();
            assert_eq!(names.iter().map(|file| file.file_stem().unwrap()).collect::<Vec<_>>(), known);
        }
    };
}

topologies! {
    big_little
    eight_sockets
    epyc_two_sockets
    hybrid_laptop
    interleaved
    mask_within_nodes
    memory_only_node
    more_than_1024
    no_third_level
    node_without_memory
    offline_cpus
    single_core
    smt_4
    sub_numa
    two_clusters
    two_small_sockets
}

/// The directory of the files.
fn topologies_directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/topologies")
}

/// Checks one file in a process of its own.
fn check_file(name: &str) {
    let file = topologies_directory().join(format!("{name}.txt"));
    let Description { machine, mask, answers } = Description::read(&file);
    assert!(!answers.is_empty(), "{name} asks for nothing");
    let description = if machine.ends_with(".xml") {
        ("HWLOC_XMLFILE", topologies_directory().join(machine).into_os_string())
    } else {
        ("HWLOC_SYNTHETIC", machine.into())
    };
    // A mask applies only to a machine that counts as this one.
    let is_this_system = if mask.is_some() { "1" } else { "0" };
    let variables = [description, ("HWLOC_THISSYSTEM", is_this_system.into()), (FILE_VARIABLE, file.into_os_string())];
    let report = run_child(module_path!(), &variables);
    assert_eq!(report, format!("{} answers", answers.len()));
}

/// The contents of a file: lines `question = answer`, of which `machine` and `mask` describe the machine.
struct Description {
    /// A description in hwloc's own short notation, or the name of an XML file.
    machine: String,
    /// The CPUs that the process may use; `None` for another machine than this one, all of whose CPUs are allowed.
    mask: Option<CpuMask>,
    /// The other lines: questions, and the expected answers.
    answers: Vec<(String, String)>,
}

impl Description {
    /// Reads a file, without blank lines and comments.
    fn read(file: &Path) -> Self {
        let text = fs::read_to_string(file).unwrap();
        let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
        let entry = |line: &str| {
            let (question, answer) = line.split_once(" = ").unwrap_or_else(|| panic!("{}: {line:?}", file.display()));
            (question.trim().to_owned(), answer.trim().to_owned())
        };
        let mut answers: Vec<_> = lines.map(entry).collect();
        let mut remove =
            |name| answers.iter().position(|(question, _)| question == name).map(|at| answers.remove(at).1);
        let mask = remove("mask").map(|mask| mask.parse().unwrap());
        Self { machine: remove("machine").unwrap(), mask, answers }
    }
}

/// The answer to a question. The questions are:
///
/// - `units`: the numbers of cores, clusters, nodes and packages.
/// - a list of places such as `cores`: all of its places.
/// - `compact 8`: the places of the first 8 bees that are pinned to cores.
/// - `compact 8 on ll_caches`: those of the first 8 bees on these places.
/// - `spread 8 over cores`: the same by a policy of OpenMP's, for a hive of 8 bees.
/// - `kinds`: the CPUs of each kind of core, the fastest first.
/// - `groups cluster compact 8`: the groups in which the first 8 bees that are pinned to cores start and meet, sorted
///   by leader; of groups with the same leader the widest comes first.
fn answer_to(machine: &Machine, question: &str) -> String {
    match question.split_whitespace().collect::<Vec<_>>()[..] {
        ["units"] => PlaceUnit::ALL.map(|unit| machine.unit_count(unit).to_string())[1..].join(" "),
        ["kinds"] => machine.core_kinds().iter().map(CpuMask::to_string).collect::<Vec<_>>().join(" "),
        [shrink, bees] => {
            let places = places_of_pin(machine, &Pin::Core, shrink.parse().unwrap(), &CpuMask::new()).unwrap();
            first_places(&places, bees.parse().unwrap())
        }
        ["groups", shape, shrink, bees] => {
            let places = places_of_pin(machine, &Pin::Core, shrink.parse().unwrap(), &CpuMask::new()).unwrap();
            group_bees(&places, shape.parse().unwrap(), bees.parse().unwrap())
        }
        [shrink, bees, "on", list] => bees_on_list(machine, list, ProcBind::True, shrink.parse().unwrap(), bees),
        [bind, bees, "over", list] => bees_on_list(machine, list, bind.parse().unwrap(), Shrink::Compact, bees),
        [list] => {
            let (list, taken) = (list.parse().unwrap(), CpuMask::new());
            let places = PlaceAssignment::from_list(machine, &list, ProcBind::Close, Shrink::Compact, 1, &taken);
            let (places, _) = places.unwrap();
            as_place_list(places.places.iter().map(|place| place.mask()))
        }
        _ => panic!("{question:?} is no question"),
    }
}

/// The places of the first `bees` bees on a list of places.
fn bees_on_list(machine: &Machine, list: &str, bind: ProcBind, shrink: Shrink, bees: &str) -> String {
    let (list, bees, taken) = (list.parse().unwrap(), bees.parse().unwrap(), CpuMask::new());
    let (places, warning) = PlaceAssignment::from_list(machine, &list, bind, shrink, bees, &taken).unwrap();
    assert_eq!(warning, None);
    first_places(&places, bees)
}

/// The places of the first `bees` bees.
fn first_places(places: &PlaceAssignment, bees: usize) -> String {
    as_place_list((0..bees).map(|bee| places.place_of(bee).unwrap().mask()))
}

/// The groups in which the bees meet, as lists of the bees' numbers, which are written like CPUs.
fn group_bees(places: &PlaceAssignment, shape: BarrierShape, bees: u32) -> String {
    let addresses: Vec<_> = (0..bees as usize).map_while(|bee| places.place_of(bee)).map(address_of).collect();
    let shape = Shape::new(shape, &addresses, bees);
    as_place_list(
        (0..shape.group_count() as u32).map(|group| shape.bees_of(group).iter().map(|&bee| bee as usize).collect()),
    )
}

/// The text in its shortest form if it is a list of places, which can be written in several ways.
fn normalized(text: &str) -> String {
    text.parse::<PlaceList>().map_or_else(|_| text.to_owned(), |list| list.to_string())
}

/// The places as a list in OpenMP's grammar, in its short form.
fn as_place_list(places: impl Iterator<Item = CpuMask>) -> String {
    PlaceList::Listed(places.map(|cpus| cpus.iter().collect()).collect()).to_string()
}
