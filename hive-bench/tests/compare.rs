//! `hive-bench compare` as a gate uses it: by its exit code.

mod common;
#[path = "common/files.rs"]
mod files;

use common::{hive_bench, refused, stderr, stdout};
use files::Files;
use serde_json::Value;

fn write(files: &Files, name: &str, run: &Value) -> String {
    std::fs::write(files.path(name), run.to_string()).expect("the file can be written");
    files.path(name)
}

/// A real run, in which every runner of a kind is then made to have measured the same.
fn steady_run(files: &Files) -> Value {
    let path = files.path("measured.json");
    let arguments = [
        "--quick",
        "--case",
        "region",
        "--runtime",
        "hive,std-scope",
        "--threads",
        "1",
        "--rounds",
        "3",
        "--json",
        &path,
    ];
    let output = hive_bench(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let mut run: Value = serde_json::from_str(&files.read("measured.json")).expect("JSON");
    for record in records(&mut run) {
        let measured = &mut record["outcome"]["measured"];
        measured["samples"] = serde_json::json!([100.0]);
        measured["references"]["mutex"] = serde_json::json!([20.0]);
    }
    run
}

fn records(run: &mut Value) -> &mut Vec<Value> {
    run["records"].as_array_mut().expect("records")
}

/// Makes the samples of one runtime so many times as long.
fn stretched(run: &Value, runtime: &str, factor: f64) -> Value {
    let mut run = run.clone();
    for record in records(&mut run).iter_mut().filter(|record| record["runtime"] == runtime) {
        record["outcome"]["measured"]["samples"] = serde_json::json!([100.0 * factor]);
    }
    run
}

fn compare(old: &str, new: &str, more: &[&str], code: i32) -> String {
    let output = hive_bench(&[&["compare", old, new], more].concat());
    assert_eq!(output.status.code(), Some(code), "{}{}", stdout(&output), stderr(&output));
    stdout(&output)
}

#[test]
fn the_exit_code_says_whether_hive_got_slower() {
    let files = Files::new("compare");
    let run = steady_run(&files);
    let old = write(&files, "old.json", &run);
    assert!(compare(&old, &old, &[], 0).contains("inconclusive"));

    let slower = write(&files, "slower.json", &stretched(&run, "hive", 1.2));
    let text = compare(&old, &slower, &[], 1);
    assert!(text.contains("hive region of 1: +20.0 %") && text.contains("mutex"), "{text}");
    compare(&old, &slower, &["--threshold", "25"], 0);
    assert!(compare(&slower, &old, &[], 0).contains("faster"));

    let rival = write(&files, "rival.json", &stretched(&run, "std-scope", 3.0));
    assert!(compare(&old, &rival, &[], 0).contains("the others: slower in 1"));
}

#[test]
fn files_that_cannot_be_compared_are_bad_usage() {
    let files = Files::new("compare-refused");
    let run = steady_run(&files);
    let old = write(&files, "old.json", &run);
    let mut other = run.clone();
    records(&mut other).iter_mut().for_each(|record| record["threads"] = 7.into());
    let other = write(&files, "other.json", &other);
    refused(&["compare", &old, &other], &["no case in common"]);
    refused(&["compare", &old, "/nowhere/at/all.json"], &["/nowhere/at/all.json", "cannot be read"]);
    let words = write(&files, "words.json", &"words".into());
    refused(&["compare", &words, &old], &["words.json", "is not a run"]);
    refused(&["compare", &old], &["<NEW>"]);
    refused(&["compare", &old, &old, "--threshold", "much"], &["--threshold", "percent"]);
}
