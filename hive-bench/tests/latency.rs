//! `hive-bench latency` as its users run it. Nothing here looks at how long anything took.

mod common;
#[path = "common/files.rs"]
mod files;

use common::{hive_bench, refused, stderr, stdout};
use files::Files;

#[test]
fn a_matrix_is_whole_and_symmetric() {
    let files = Files::new("latency");
    let output = hive_bench(&["latency", "--passes", "2", "--json", &files.path("m.json")]);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));

    let matrix: serde_json::Value = serde_json::from_str(&files.read("m.json")).expect("the file is JSON");
    assert!(matrix["machine"].is_string());
    let cpus = matrix["cpus"].as_array().expect("CPUs").len();
    for name in ["round_trip_ns", "least_ns"] {
        let rows = matrix[name].as_array().expect("rows");
        assert_eq!(rows.len(), cpus);
        for (i, row) in rows.iter().enumerate() {
            assert_eq!(row.as_array().expect("columns").len(), cpus);
            for (j, value) in row.as_array().expect("columns").iter().enumerate() {
                let value = value.as_f64().expect("a number that is finite: JSON has no others");
                assert!(if i == j { value == 0.0 } else { value > 0.0 }, "{name}[{i}][{j}] is {value}");
                assert_eq!(Some(value), rows[j][i].as_f64(), "{name}[{i}][{j}]");
            }
        }
    }
}

#[test]
fn alone_there_is_nothing_to_measure() {
    let files = Files::new("latency-alone");
    let all = hive_bench(&["latency", "--passes", "1", "--json", &files.path("all.json")]);
    assert_eq!(all.status.code(), Some(0), "{}", stderr(&all));
    let matrix: serde_json::Value = serde_json::from_str(&files.read("all.json")).expect("the file is JSON");
    let first = matrix["cpus"][0].to_string();

    let output = hive_bench(&["latency", "--cpus", &first, "--json", &files.path("m.json")]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains(&format!("CPU {first} is the only one")), "{}", stdout(&output));
    let matrix: serde_json::Value = serde_json::from_str(&files.read("m.json")).expect("the file is JSON");
    assert_eq!(matrix["round_trip_ns"].to_string(), "[[0.0]]");
}

#[test]
fn bad_usage_says_what_is_possible() {
    refused(&["latency", "--cpus", "first"], &["--cpus", "0,2,4-7"]);
    refused(&["latency", "--cpus", "60000"], &["--cpus", "60000", "may use"]);
    refused(&["latency", "--passes", "0"], &["--passes", "1.."]);
    refused(&["latency", "--json", "/nowhere/at/all"], &["--json /nowhere/at/all"]);
}
