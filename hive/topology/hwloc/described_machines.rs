//! Places on machines that hwloc is told to describe. Each is a file of `tests/topologies`: the machine, and lines of what is asked and what
//! the answer is, written by hand. Each is read in a process of its own: this test program again, with `child` as its only test.

use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::protocol::region::shape::{BarrierShape, Shape};
use crate::sys::cpu_mask::CpuMask;
use crate::topology;
use crate::topology::hwloc::tests::run_child;
use crate::topology::machine::{Machine, Unit};
use crate::topology::pin_policy::Pin;
use crate::topology::place_assignment::PlaceAssignment;
use crate::topology::place_list::PlaceList;
use crate::topology::place_map::address_of;
use crate::topology::place_policy::PlacePolicy;
use crate::topology::proc_bind::ProcBind;
use crate::topology::shrink::Shrink;

/// The file that the child answers.
const FILE_VARIABLE: &str = "HIVE_TEST_TOPOLOGY";

#[test]
fn child() {
    if let Some(file) = env::var_os(FILE_VARIABLE) {
        let description = Description::read(Path::new(&file));
        let (machine, warnings) = topology::read_machine(description.mask.as_ref());
        assert!(description.mask.is_some() || warnings.len() == 1, "{warnings:?}");
        for (question, expected) in &description.answers {
            let found = answer_to(&machine, question);
            assert_eq!(normalized(&found), normalized(expected), "{question:?} of {}", file.display());
        }
        println!("report: {} answers", description.answers.len());
    }
}

/// The tests, each named after its file, and one that no file is without.
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

fn topologies_directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/topologies")
}

fn check_file(name: &str) {
    let file = topologies_directory().join(format!("{name}.txt"));
    let Description { machine, mask, answers } = Description::read(&file);
    assert!(!answers.is_empty(), "{name} asks for nothing");
    let description = if machine.ends_with(".xml") {
        ("HWLOC_XMLFILE", topologies_directory().join(machine).into_os_string())
    } else {
        ("HWLOC_SYNTHETIC", machine.into())
    };
    // Only this machine has a mask.
    let is_this_system = if mask.is_some() { "1" } else { "0" };
    let variables = [description, ("HWLOC_THISSYSTEM", is_this_system.into()), (FILE_VARIABLE, file.into_os_string())];
    let report = run_child(module_path!(), &variables);
    assert_eq!(report, format!("{} answers", answers.len()));
}

/// A file of lines `question = answer`; the questions `machine` and `mask` say what is described.
struct Description {
    machine: String,
    mask: Option<CpuMask>,
    answers: Vec<(String, String)>,
}

impl Description {
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

/// - `units`: the numbers of cores, clusters, nodes and packages.
/// - a list of places such as `by_core`: all of them.
/// - `compact 8`: what the first 8 bees that are pinned to cores have.
/// - `compact 8 on ll_caches`: what the first 8 have of these places.
/// - `spread 8 over cores`: the same by a policy of OpenMP's, for a hive of 8.
/// - `core_kinds`: the CPUs of faster and slower cores.
/// - `groups cluster compact 8`: the groups in which the first 8 bees that are pinned to cores start and meet, by head, of one head the widest first.
fn answer_to(machine: &Machine, question: &str) -> String {
    match question.split_whitespace().collect::<Vec<_>>()[..] {
        ["units"] => [Unit::Core, Unit::Cluster, Unit::Node, Unit::Package]
            .map(|unit| machine.unit_count(unit).to_string())
            .join(" "),
        ["kinds"] => machine.core_kinds().iter().map(CpuMask::to_string).collect::<Vec<_>>().join(" "),
        [shrink, bees] => {
            let places = PlaceAssignment::new(machine, &Pin::Core, shrink.parse().unwrap(), &CpuMask::new()).unwrap();
            first_places(&places, bees.parse().unwrap())
        }
        ["groups", shape, shrink, bees] => {
            let places = PlaceAssignment::new(machine, &Pin::Core, shrink.parse().unwrap(), &CpuMask::new()).unwrap();
            group_bees(&places, shape.parse().unwrap(), bees.parse().unwrap())
        }
        [shrink, bees, "on", list] => bees_on_list(machine, list, ProcBind::True, shrink.parse().unwrap(), bees),
        [bind, bees, "over", list] => bees_on_list(machine, list, bind.parse().unwrap(), Shrink::Compact, bees),
        [list] => {
            let sharing = PlacePolicy { bind: ProcBind::Close, shrink: Shrink::Compact, bees: 1 };
            let (places, _) =
                PlaceAssignment::from_list(machine, &list.parse().unwrap(), &sharing, &CpuMask::new()).unwrap();
            as_place_list(places.places.iter().map(|place| place.mask()))
        }
        _ => panic!("{question:?} is no question"),
    }
}

fn bees_on_list(machine: &Machine, list: &str, bind: ProcBind, shrink: Shrink, bees: &str) -> String {
    let bees = bees.parse().unwrap();
    let sharing = PlacePolicy { bind, shrink, bees };
    let (places, warning) =
        PlaceAssignment::from_list(machine, &list.parse().unwrap(), &sharing, &CpuMask::new()).unwrap();
    assert_eq!(warning, None);
    first_places(&places, bees)
}

fn first_places(places: &PlaceAssignment, bees: usize) -> String {
    as_place_list((0..bees).map(|bee| places.place_of(bee).unwrap().mask()))
}

/// As lists of bees' numbers, which are written like CPUs.
fn group_bees(places: &PlaceAssignment, shape: BarrierShape, bees: u32) -> String {
    let addresses: Vec<_> = (0..bees as usize).map_while(|bee| places.place_of(bee)).map(address_of).collect();
    let shape = Shape::new(shape, &addresses, bees);
    as_place_list(
        (0..shape.group_count() as u32).map(|group| shape.bees_of(group).iter().map(|&bee| bee as usize).collect()),
    )
}

/// There are several ways to write a list of places.
fn normalized(text: &str) -> String {
    text.parse::<PlaceList>().map_or_else(|_| text.to_owned(), |list| list.to_string())
}

/// In the grammar of lists of places, in short.
fn as_place_list(places: impl Iterator<Item = CpuMask>) -> String {
    PlaceList::Listed(places.map(|cpus| cpus.iter().collect()).collect()).to_string()
}
