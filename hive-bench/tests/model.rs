//! `hive-bench model` as its users run it.

mod common;

use common::{hive_bench, refused, stderr, stdout};

const MACHINE: &str = "pack:2 [numa(memory=1GB)] l3:2 core:4 pu:1";
const LATENCY: &str = "cluster=40,node=110,far=230";

#[test]
fn a_machine_is_predicted_the_same_each_time() {
    let arguments = ["model", "--machine", MACHINE, "--latency", LATENCY, "--cores", "4,16"];
    let output = hive_bench(&arguments);
    let text = stdout(&output);
    // Without hwloc there is nothing to read the machine with.
    if stderr(&output).contains("without hwloc") {
        assert_eq!(output.status.code(), Some(2));
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    assert!(text.contains("barrier") && text.contains("cluster is ahead of flat"), "{text}");
    assert_eq!(stdout(&hive_bench(&arguments)), text);
}

/// A matrix that was measured, also one of a build that wrote more into it.
#[test]
fn a_measured_matrix_is_read() {
    let file = std::env::temp_dir().join(format!("hive-bench-matrix-{}.json", std::process::id()));
    let matrix = r#"{"cpus": [0, 1], "round_trip_ns": [[0, 50], [50, 0]], "steps_ns": {"call": 3, "part": 9}}"#;
    std::fs::write(&file, matrix).expect("the file can be written");
    let latency = file.to_str().expect("a plain name");
    let output = hive_bench(&["model", "--machine", "l3:1 core:2 pu:1", "--latency", latency, "--costs", "call=1"]);
    let without = stderr(&output).contains("without hwloc");
    assert!(without || stdout(&output).contains("1.0 ns of the queen, 9.0 ns of a bee"), "{}", stderr(&output));
    std::fs::remove_file(&file).expect("the file can be removed");
}

#[test]
fn mistakes_are_named() {
    refused(&["model", "--latency", LATENCY], &["--machine"]);
    refused(&["model", "--machine", MACHINE, "--latency", LATENCY, "--costs", "call=x"], &["call=x"]);
    refused(&["model", "--machine", "/nowhere.xml", "--latency", LATENCY], &["--machine /nowhere.xml"]);
}
