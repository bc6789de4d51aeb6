//! Tests of what hwloc reads, on this machine and on described ones. hwloc takes descriptions of machines from
//! environment variables, so each description is read in a process of its own: this test program again, with `child` as
//! its only test.

use std::ffi::OsString;
use std::process::Command;

use super::*;
use crate::sys::affinity;
use crate::sys::cpu_mask::CpuMask;
use crate::topology;
use crate::topology::machine::PlaceUnit;

/// The variable that makes the test `child` print a report, for the CPUs that it names.
const MASK_VARIABLE: &str = "HIVE_TEST_CHILD_MASK";

/// The line that the child prints for its parent: what it has read of the machine.
fn report() -> String {
    let mask = env::var(MASK_VARIABLE).unwrap().parse().unwrap();
    let (machine, warnings) = topology::read_machine(Some(&mask));
    let counts = &PlaceUnit::ALL.map(|unit| machine.unit_count(unit))[1..];
    let foreign = machine.is_foreign;
    format!(
        "{} foreign={foreign} cpus={} counts={counts:?} {:?} {warnings:?}",
        machine.source,
        machine.mask(),
        machine.cpus.last()
    )
}

/// Does nothing in an ordinary run; in a process that [`run_child`] has started, prints the report.
#[test]
fn child() {
    if env::var_os(MASK_VARIABLE).is_some() {
        println!("report: {}", report());
    }
}

/// The child's report with these variables set, within the mask of this thread.
fn read_with(variables: &[(&str, &str)]) -> String {
    read_within(&affinity::query().unwrap(), variables)
}

/// The child's report with these variables set, within `mask`.
fn read_within(mask: &CpuMask, variables: &[(&str, &str)]) -> String {
    let mask = mask.to_string();
    let variables: Vec<_> =
        variables.iter().map(|&(name, value)| (name, value.into())).chain([(MASK_VARIABLE, mask.into())]).collect();
    run_child(module_path!(), &variables)
}

/// Runs the test `child` of a module in a process of its own, with these variables set and no other description of a
/// machine. Returns the rest of the line after "report: ".
pub(crate) fn run_child(module: &str, variables: &[(&str, OsString)]) -> String {
    let test = format!("{}::child", module.split_once("::").map_or(module, |(_, path)| path));
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", &test, "--nocapture", "--test-threads=1"]);
    for name in OVERRIDE_VARIABLES.iter().chain(&["HWLOC_THISSYSTEM"]) {
        command.env_remove(name);
    }
    let output = command.envs(variables.iter().map(|(name, value)| (name, value))).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let report = text.split_once("report: ").unwrap_or_else(|| panic!("no report from {test} in {text}")).1;
    report.lines().next().unwrap_or_default().to_owned()
}

/// The child's report of a machine in hwloc's own short notation.
fn synthetic(description: &str) -> String {
    read_with(&[("HWLOC_SYNTHETIC", description)])
}

/// Checks that the report contains each of the parts.
fn assert_has(report: &str, parts: &[&str]) {
    for part in parts {
        assert!(report.contains(part), "{part} is missing in {report}");
    }
}

#[test]
fn this_machine_is_read_within_the_mask() {
    let (whole, warnings) = read(None).unwrap();
    assert_eq!(warnings, Vec::<String>::new());
    assert!(!whole.is_foreign);
    let first: CpuMask = whole.mask().iter().take(1).collect();
    let (part, warnings) = read(Some(&first)).unwrap();
    assert_eq!((part.mask(), warnings.len()), (first, 0));
    assert!(part.source.starts_with("read by hwloc 2."), "{part:?}");
}

#[test]
fn the_mask_is_believed_where_hwloc_does_not_know_some_of_its_cpus() {
    let known = read(None).unwrap().0.mask();
    let mask = known.iter().chain([60_000]).collect();
    assert_has(&read(Some(&mask)).unwrap_err(), &["hwloc does not know the allowed CPUs 60000"]);
    let (machine, warnings) = topology::read_machine(Some(&mask));
    assert_eq!(machine.mask(), mask);
    assert_has(&warnings.concat(), &["know the allowed CPUs 60000; the machine is read", "the mask is believed"]);
    let error = read(Some(&[60_000].into_iter().collect())).unwrap_err();
    assert_has(&error, &["knows none of the CPUs that this process may use (60000)"]);
}

#[test]
fn another_machine_is_read_in_full_with_a_warning() {
    let report = synthetic("pack:2 [numa(memory=2GB)] l3:4 core:4 pu:2");
    let last = "Cpu { os_index: 63, units: [63, 31, 7, 1, 1], slowness: 0 }";
    assert_has(
        &report,
        &["read by hwloc", "foreign=true cpus=0-63 counts=[32, 8, 2, 2]", last, "binding has no effect"],
    );
}

#[test]
fn another_machine_taken_for_this_one_is_read_within_the_mask() {
    let description = ("HWLOC_SYNTHETIC", "pack:2 [numa] l3:4 core:4 pu:2");
    let report = read_within(&"3-4".parse().unwrap(), &[description, ("HWLOC_THISSYSTEM", "1")]);
    assert_has(&report, &["read by hwloc", "foreign=false cpus=3-4 counts=[2, 1, 1, 1]"]);
    assert!(report.ends_with(" []"), "{report}");
}

#[test]
fn clusters_without_a_third_level() {
    // A second level that several cores share makes a cluster. A private one does not; the cluster is the package then.
    assert_has(&synthetic("pack:2 [numa] l2:4 core:2 pu:2"), &["counts=[16, 8, 2, 2]"]);
    assert_has(&synthetic("pack:2 [numa] core:4 l2:1 pu:1"), &["counts=[8, 2, 2, 2]"]);
    assert_has(&synthetic("pack:2 [numa] l2:4 core:1 pu:2"), &["counts=[8, 2, 2, 2]"]);
    assert_has(&synthetic("pack:2 [numa] core:4 pu:2"), &["counts=[8, 2, 2, 2]"]);
    assert_has(&synthetic("pack:2 [numa] l3:4 core:1 pu:1"), &["counts=[8, 8, 2, 2]"]);
}

#[test]
fn nodes_of_all_kinds() {
    // In turn: fast memory beside the ordinary one, memory above the packages, and one node for all.
    assert_has(&synthetic("pack:2 [numa] [numa] l3:1 core:2 pu:1"), &["counts=[4, 2, 2, 2]"]);
    assert_has(&synthetic("[numa] pack:2 [numa] l3:1 core:2 pu:1"), &["counts=[4, 2, 2, 2]"]);
    assert_has(&synthetic("[numa] pack:2 l3:2 core:2 pu:1"), &["counts=[8, 4, 1, 2]"]);
    assert_has(&synthetic("pack:1 [numa] die:1 l3:2 [numa] core:2 pu:1"), &["counts=[4, 2, 2, 1]"]);
}

#[test]
fn numbering_and_size_are_free() {
    let report = synthetic("pack:1 [numa] l3:1 core:2 pu:2(indexes=0,4,1,5)");
    assert_has(&report, &["cpus=0-1,4-5", "Cpu { os_index: 5, units: [3, 1,"]);
    assert_has(&synthetic("pack:4 [numa] l3:8 core:32 pu:2"), &["cpus=0-2047 counts=[1024, 32, 4, 4]"]);
    assert_has(&synthetic("pu:4"), &["cpus=0-3 counts=[4, 1, 1, 1]"]);
}

#[test]
fn descriptions_with_mistakes_are_warnings() {
    let file = env::temp_dir().join(format!("hive-bad-{}.xml", std::process::id()));
    std::fs::write(&file, "<topology version=\"2.0\"> this is no machine").unwrap();
    let given = ("HWLOC_XMLFILE", file.to_str().unwrap());
    // hwloc has two readers of XML. Its own reader accepts the beginning of the file and then ends up without a
    // machine. libxml, a plugin that may be installed, checks the whole file first, so hwloc falls back to this
    // machine.
    let (own, any) = (read_with(&[given, ("HWLOC_LIBXML_IMPORT", "0")]), read_with(&[given]));
    std::fs::remove_file(&file).unwrap();
    assert_has(
        &own,
        &[
            "read from /sys foreign=false",
            "hwloc could not read the machine (HWLOC_XMLFILE=",
            "from the system's files",
        ],
    );
    assert_has(&any, &["foreign=false", "hwloc could not", given.1]);
    for variable in [("HWLOC_XMLFILE", "/nonexistent.xml"), ("HWLOC_SYNTHETIC", "pack:2 nonsense:3")] {
        let report = read_with(&[variable]);
        assert_has(&report, &["read by hwloc", "foreign=false", "hwloc could not use what it was given", variable.1]);
    }
}
