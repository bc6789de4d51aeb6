//! `hive-bench topo` and `numa` as their users run them. Nothing here looks at how long anything took.
#![cfg(feature = "hwloc")]

mod common;
#[path = "common/files.rs"]
mod files;

use std::process::{Command, Output};

use common::{hive_bench, refused, stderr, stdout};
use files::Files;

/// On a machine that hwloc makes up.
fn elsewhere(machine: &str, arguments: &[&str]) -> Output {
    described("HWLOC_SYNTHETIC", machine, arguments)
}

/// On a machine of the library's tests.
fn on_file(machine: &str, arguments: &[&str]) -> Output {
    let file = format!("{}/../tests/topologies/{machine}.xml", env!("CARGO_MANIFEST_DIR"));
    described("HWLOC_XMLFILE", &file, arguments)
}

fn described(by: &str, machine: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hive-bench"));
    command.args(arguments).env(by, machine).env("HWLOC_THISSYSTEM", "0");
    for name in ["HIVE_PIN", "HIVE_PLACES", "HIVE_PROC_BIND", "HIVE_SHRINK", "HIVE_NUM_BEES"] {
        command.env_remove(name);
    }
    command.output().expect("hive-bench starts")
}

/// All of these are lines of the text that a run has printed.
fn has_lines(output: &Output, lines: &[&str]) {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    let text = stdout(output);
    for line in lines {
        assert!(text.lines().any(|found| found.trim() == *line), "{line:?} is missing: {text}");
    }
}

#[test]
fn this_machine_is_shown() {
    // By default its bees are not bound if another program's are.
    let output = hive_bench(&["topo", "--pin", "core"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("bee 0") && text.contains("package 0") && text.contains("NUMA node 0: "), "{text}");
    assert!(!text.contains("another machine"), "{text}");
}

#[test]
fn a_made_up_machine_has_who_is_where_and_who_is_parked() {
    let arguments = ["topo", "--bees", "6", "--pin", "core", "--shrink-to", "4"];
    let output = elsewhere("pack:2 [numa(memory=2GB)] l3:2 core:2 pu:1(indexes=0,4,1,5,2,6,3,7)", &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(
        text.starts_with(
            "2 packages, 2 NUMA nodes, 4 third-level caches, 8 cores, 8 hardware threads; another machine"
        ),
        "{text}"
    );
    for line in ["core 1: CPU 4 bee 1", "core 4: CPU 2 parked 4", "core 7: CPU 7 free", "bees: 0-3", "parked: 4-5"] {
        assert!(text.lines().any(|found| found.trim() == line), "{line:?} is missing: {text}");
    }
}

#[test]
fn units_have_several_bees() {
    let output = elsewhere("pack:2 core:4 pu:1", &["topo", "--bees", "8", "--pin", "package"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("core 3: CPU 3 bees 0-3"), "{}", stdout(&output));
}

#[test]
fn places_and_policy_say_who_is_where() {
    let machine = "pack:2 [numa(memory=2GB)] l3:2 core:2 pu:1";
    let arguments = ["topo", "--bees", "4", "--places", "cores", "--proc-bind", "spread", "--size", "3"];
    let lines =
        ["bound to: places cores, bound by spread", "core 4: CPU 4 bee 2", "core 6: CPU 6 parked 3", "parked: 3"];
    has_lines(&elsewhere(machine, &arguments), &lines);
    let grown = ["topo", "--bees", "2", "--places", "cores", "--proc-bind", "spread", "--size", "3"];
    has_lines(&elsewhere(machine, &grown), &["core 4: CPU 4 bee 1", "core 1: CPU 1 bee 2", "bees: 0-2"]);
    let spread = ["topo", "--bees", "8", "--pin", "core", "--shrink", "spread", "--size", "2"];
    has_lines(&elsewhere(machine, &spread), &["core 0: CPU 0 bee 0", "core 4: CPU 4 bee 1", "core 2: CPU 2 parked 2"]);
}

#[test]
fn what_is_switched_off_and_what_has_no_cpus_is_shown() {
    has_lines(&on_file("offline_cpus", &["topo"]), &["switched off: 2,5"]);
    has_lines(&on_file("memory_only_node", &["topo"]), &["NUMA node 1: 32 GiB", "NUMA node 2: 128 GiB"]);
}

#[test]
fn a_machine_of_one_node_has_its_own_figures() {
    let files = Files::new("numa");
    let output = hive_bench(&["numa", "--size", "2", "--rounds", "1", "--bees", "1", "--json", &files.path("n.json")]);
    let findings: serde_json::Value =
        serde_json::from_str(&files.read("n.json")).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    let refused = |row: &serde_json::Value| row["refused"].is_string();
    let triads = findings["triad"].as_array().expect("triads");
    // A sandbox may forbid binding memory: then the exit code is 1 and the reason is in the table.
    assert_eq!(output.status.code(), Some(i32::from(triads.iter().any(refused))), "{}", stderr(&output));
    for triad in triads.iter().filter(|row| !refused(row)) {
        assert!(triad["median"].as_f64().is_some_and(|figure| figure > 0.0), "{triad}");
        let pages: u64 =
            triad["pages"].as_object().expect("pages").values().filter_map(serde_json::Value::as_u64).sum();
        assert!(pages > 0, "{triad}");
    }
    let costs = findings["constructs"].as_array().expect("constructs");
    let hives: Vec<_> =
        costs.iter().map(|cost| ["order", "shape"].map(|of| cost[of].as_str().unwrap_or_default())).collect();
    let [auto, shapes] = [
        ["compact", "spread", "keep_nodes"].map(|order| [order, "auto"]),
        ["flat", "cluster", "node"].map(|shape| ["compact", shape]),
    ];
    assert_eq!(hives, [auto, shapes].concat());
    for cost in costs {
        assert!(cost["region_ns"].as_f64() > Some(0.0) && cost["nodes"].as_u64() <= Some(1), "{cost}");
        assert_eq!(cost["bees"], 1, "{cost}");
        // With one CPU there is nothing to give away.
        assert!(cost["resize"].is_null() || cost["resize"]["first_region_ns"].as_f64() > Some(0.0), "{cost}");
    }
    if findings["memory_nodes"].as_array().expect("nodes").len() == 1 {
        assert!(stdout(&output).contains("there is nothing remote"), "{}", stdout(&output));
    }
}

#[test]
fn bad_usage_says_what_is_possible() {
    refused(&["topo", "--bees", "0"], &["0 bees"]);
    refused(&["topo", "--bees", "2", "--size", "0"], &["--size 0", "at least 1 bee"]);
    refused(&["topo", "--places", "{0:4"], &["--places", "at character 5"]);
    refused(&["topo", "--proc-bind", "wide"], &["--proc-bind", "one of false"]);
    refused(&["topo", "--shrink", "most"], &["--shrink", "keep_nodes"]);
    refused(&["topo", "--pin", "core", "--places", "cores"], &["no such hive", "pin", "places"]);
    refused(&["topo", "--pin", "socket"], &["--pin", "package"]);
    refused(&["numa", "--bees", "100000"], &["--bees 100000", "1 to"]);
    refused(&["numa", "--size", "0"], &["--size"]);
    refused(&["numa", "--json", "/nowhere/at/all"], &["--json /nowhere/at/all"]);
    let output = elsewhere("pack:2 core:2 pu:1", &["numa"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("unset HWLOC_SYNTHETIC"), "{}", stderr(&output));
}
