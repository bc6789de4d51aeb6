//! `hive-bench model` as its users run it.

mod common;

use common::{hive_bench, refused, stderr, stdout};

const MACHINE: &str = "pack:2 [numa(memory=1GB)] l3:2 core:4 pu:1";
const LATENCY: &str = "cluster=40,node=110,far=230";

#[test]
fn a_machine_is_predicted_the_same_each_time() {
    let directory = std::env::temp_dir().join(format!("hive-bench-model-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let path = |name: &str| directory.join(name).to_str().expect("a plain name").to_owned();
    let json = path("model.json");
    let arguments = ["model", "--machine", MACHINE, "--latency", LATENCY, "--cores", "4,16", "--json", json.as_str()];
    let output = hive_bench(&arguments);
    let text = stdout(&output);
    // Without hwloc there is nothing to read the machine with.
    if stderr(&output).contains("without hwloc") {
        assert_eq!(output.status.code(), Some(2));
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    assert!(text.contains("cold wake") && text.contains("cluster is ahead of flat"), "{text}");
    assert_eq!(stdout(&hive_bench(&arguments)), text);
    let figures: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&json).expect("the file")).expect("JSON");
    assert_eq!(figures["predictions"].as_array().map(Vec::len), Some(10));
    std::fs::remove_dir_all(&directory).expect("the directory can be removed");
}

/// What was measured with the round trips counts, and what is typed counts more.
#[test]
fn steps_come_with_the_round_trips() {
    let directory = std::env::temp_dir().join(format!("hive-bench-steps-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let file = directory.join("latency.json").to_str().expect("a plain name").to_owned();
    let matrix = r#"{"cpus": [0, 1], "round_trip_ns": [[0, 50], [50, 0]], "steps_ns": {"call": 3, "part": 9}}"#;
    std::fs::write(&file, matrix).expect("the file can be written");
    let region = |latency: &str, costs: &str| {
        let output = hive_bench(&[
            "model",
            "--machine",
            "l3:1 core:2 pu:1",
            "--latency",
            latency,
            "--shape",
            "flat",
            "--costs",
            costs,
        ]);
        let without = stderr(&output).contains("without hwloc");
        assert!(without || output.status.code() == Some(0), "{}", stderr(&output));
        (!without).then(|| stdout(&output))
    };
    if let Some(measured) = region(&file, "") {
        assert!(
            measured.contains("3.0 ns of the queen, 9.0 ns of a bee (measured with the round trips)"),
            "{measured}"
        );
        assert!(region(&file, "call=1").is_some_and(|text| text.contains("1.0 ns of the queen, 9.0 ns of a bee")));
        assert!(region("cluster=50", "").is_some_and(|text| text.contains("(by default")));
    }
    std::fs::remove_dir_all(&directory).expect("the directory can be removed");
}

#[test]
fn mistakes_are_named() {
    refused(&["model", "--latency", LATENCY], &["--machine"]);
    refused(&["model", "--machine", MACHINE, "--latency", LATENCY, "--shape", "round"], &["round", "cluster"]);
    refused(&["model", "--machine", MACHINE, "--latency", LATENCY, "--costs", "call=x"], &["call=x"]);
    refused(&["model", "--machine", "/nowhere.xml", "--latency", LATENCY], &["--machine /nowhere.xml"]);
    refused(&["model", "--check", "--machine", MACHINE], &["--check", "--machine"]);
}
