//! Places on machines that hwloc is told to describe. Each is a file of `tests/topologies`: the machine, and lines of what is asked and what
//! the answer is, written by hand. Each is read in a process of its own: this test program again, with `child` as its only test.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use super::super::mask::CpuMask;
use super::super::{Machine, Pin, PlaceList, Places, ProcBind, Sharing, Shrink, Unit};
use super::tests::run_child;
use crate::crew::{BarrierShape, Shape};
use crate::housing::address;

/// The file that the child answers.
const CHILD: &str = "HIVE_TEST_TOPOLOGY";

#[test]
fn child() {
    if let Some(file) = env::var_os(CHILD) {
        let description = Description::read(Path::new(&file));
        let (machine, warnings) = super::super::read(description.mask.as_ref());
        assert!(description.mask.is_some() || warnings.len() == 1, "{warnings:?}");
        for (question, expected) in &description.answers {
            let found = answer(&machine, question);
            assert_eq!(same_form(&found), same_form(expected), "{question:?} of {}", file.display());
        }
        println!("report: {} answers", description.answers.len());
    }
}

/// The tests, each named after its file, and one that no file is without.
macro_rules! topologies {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            answers(stringify!($name));
        })*

        #[test]
        fn every_file_is_a_test() {
            let known = [$(stringify!($name)),*];
            let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
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

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/topologies")
}

fn answers(name: &str) {
    let file = folder().join(format!("{name}.txt"));
    let Description { machine, mask, answers } = Description::read(&file);
    assert!(!answers.is_empty(), "{name} asks for nothing");
    let description = if machine.ends_with(".xml") {
        ("HWLOC_XMLFILE", folder().join(machine).into_os_string())
    } else {
        ("HWLOC_SYNTHETIC", machine.into())
    };
    // Only this machine has a mask.
    let is_ours = if mask.is_some() { "1" } else { "0" };
    let variables = [description, ("HWLOC_THISSYSTEM", is_ours.into()), (CHILD, file.into_os_string())];
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
        let mut take = |name| answers.iter().position(|(question, _)| question == name).map(|at| answers.remove(at).1);
        let mask = take("mask").map(|mask| mask.parse().unwrap());
        Self { machine: take("machine").unwrap(), mask, answers }
    }
}

/// - `units`: the numbers of cores, clusters, nodes and packages.
/// - a list of places such as `cores`: all of them.
/// - `compact 8`: what the first 8 members that are pinned to cores have.
/// - `compact 8 on ll_caches`: what the first 8 have of these places.
/// - `spread 8 over cores`: the same by a policy of OpenMP's, for a hive of 8.
/// - `kinds`: the CPUs of faster and slower cores.
/// - `groups cluster compact 8`: the groups in which the first 8 members that are pinned to cores start and meet, by head, of one head the widest first.
fn answer(machine: &Machine, question: &str) -> String {
    match question.split_whitespace().collect::<Vec<_>>()[..] {
        ["units"] => [Unit::Core, Unit::Cluster, Unit::Node, Unit::Package].map(|unit| machine.count(unit).to_string()).join(" "),
        ["kinds"] => machine.kinds().iter().map(CpuMask::to_string).collect::<Vec<_>>().join(" "),
        [shrink, members] => {
            let places = Places::new(machine, &Pin::Core, shrink.parse().unwrap(), &CpuMask::new()).unwrap();
            first(&places, members.parse().unwrap())
        }
        ["groups", shape, shrink, members] => {
            let places = Places::new(machine, &Pin::Core, shrink.parse().unwrap(), &CpuMask::new()).unwrap();
            groups(&places, shape.parse().unwrap(), members.parse().unwrap())
        }
        [shrink, members, "on", list] => shared(machine, list, ProcBind::True, shrink.parse().unwrap(), members),
        [bind, members, "over", list] => shared(machine, list, bind.parse().unwrap(), Shrink::Compact, members),
        [list] => {
            let sharing = Sharing { bind: ProcBind::Close, shrink: Shrink::Compact, members: 1 };
            let (places, _) = Places::of_list(machine, &list.parse().unwrap(), &sharing, &CpuMask::new()).unwrap();
            shown(places.places.iter().map(|place| place.mask()))
        }
        _ => panic!("{question:?} is no question"),
    }
}

fn shared(machine: &Machine, list: &str, bind: ProcBind, shrink: Shrink, members: &str) -> String {
    let members = members.parse().unwrap();
    let sharing = Sharing { bind, shrink, members };
    let (places, warning) = Places::of_list(machine, &list.parse().unwrap(), &sharing, &CpuMask::new()).unwrap();
    assert_eq!(warning, None);
    first(&places, members)
}

fn first(places: &Places, members: usize) -> String {
    shown((0..members).map(|member| places.of(member).unwrap().mask()))
}

/// As lists of members' numbers, which are written like CPUs.
fn groups(places: &Places, shape: BarrierShape, members: u32) -> String {
    let addresses: Vec<_> = (0..members as usize).map_while(|member| places.of(member)).map(address).collect();
    let shape = Shape::new(shape, &addresses, members);
    shown((0..shape.count() as u32).map(|group| shape.members(group).iter().map(|&member| member as usize).collect()))
}

/// There are several ways to write a list of places.
fn same_form(text: &str) -> String {
    text.parse::<PlaceList>().map_or_else(|_| text.to_owned(), |list| list.to_string())
}

/// In the grammar of lists of places, in short.
fn shown(places: impl Iterator<Item = CpuMask>) -> String {
    PlaceList::Listed(places.map(|cpus| cpus.iter().collect()).collect()).to_string()
}
