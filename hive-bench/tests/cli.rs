//! The program as its users run it. Nothing here looks at how long anything took.

mod common;

use std::process::Command;

use common::{hive_bench, refused, stderr, stdout};

#[test]
fn list_names_cases_and_runtimes() {
    let output = hive_bench(&["--list"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    let cases = [
        "region",
        "idle-200ms",
        "jacobi-barrier",
        "stream-add",
        "nbody-static",
        "dynamic-1m",
        "join-fib",
        "spawn-outside",
        "tree-search",
        "wake-10us",
        "idle-use-2s",
        "idle-asleep",
        "cold-for-500us-200ms",
        "callers-two-queens",
    ];
    let runtimes = [
        "hive-spin",
        "hive-default",
        "hive-unpinned",
        "hive-c",
        "rayon-unpinned",
        "hive-tickle",
        "hive-notify",
        "chili",
        "forkunion",
        "forte",
        "libfork",
        "tbb",
        "citor",
        "libomp-active",
        "sequential-c",
    ];
    for name in cases.iter().chain(&runtimes) {
        assert!(text.contains(name), "{name} is missing: {text}");
    }
}

#[test]
fn a_reader_that_is_gone_ends_the_program_quietly() {
    let (reader, writer) = std::io::pipe().expect("there are pipes");
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_hive-bench"));
    let output = command.arg("--list").stdout(writer).output().expect("hive-bench starts");
    assert!(!output.status.success());
    assert_eq!(stderr(&output), "");
}

#[test]
fn bad_usage_names_the_flag_and_what_is_possible() {
    refused(&["--case", "regoin"], &["--case", "regoin", "region"]);
    refused(&["--case", "wake-"], &["--case", "wake-10us"]);
    refused(&["--poll", "soon"], &["--poll", "soon"]);
    refused(&["--poll", "0s"], &["--poll 0s"]);
    refused(&["--runtime", "tokio"], &["--runtime", "rayon-worker"]);
    refused(&["--threads", "100000"], &["--threads 100000", "1 to"]);
    refused(&["--threads", "many"], &["--threads", "many"]);
    refused(&["--rounds", "0"], &["--rounds", "1.."]);
    refused(&["--json", "/nowhere/at/all.json"], &["--json /nowhere/at/all.json"]);
    refused(&["--case", "resize-shrink", "--runtime", "libgomp"], &["--case resize-shrink", "--runtime"]);
    refused(&["--fast"], &["--fast"]);
}

#[test]
fn a_smoke_run_leaves_a_table_and_a_file() {
    let file = std::env::temp_dir().join(format!("hive-bench-{}.json.gz", std::process::id()));
    let path = file.to_str().expect("a temporary directory with a plain name");
    let cases = "region,reduce,barrier,idle-2ms,triad-4k";
    let output = hive_bench(&["--quick", "--rounds", "1", "--case", cases, "--json", path]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    assert!(text.contains("region/1") && text.contains(&format!("Raw samples: {path}")), "{text}");
    assert!(text.lines().count() <= 50, "{text}");

    let packed = std::fs::File::open(&file).expect("the file is there");
    let run: serde_json::Value =
        serde_json::from_reader(flate2::read::GzDecoder::new(packed)).expect("the file is packed JSON");
    let records = run["records"].as_array().expect("records");
    assert!(!records.is_empty());
    for record in records {
        let samples = record["outcome"]["measured"]["samples"].as_array();
        assert!(samples.is_some_and(|samples| !samples.is_empty()), "{record}");
    }
    for key in ["date", "command_line", "machine", "build"] {
        assert!(!run[key].is_null(), "{key} is missing");
    }

    let output = hive_bench(&["merge", path, path, "--markdown"]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(text.starts_with("- A: ") && text.contains("\n- B: ") && text.contains("| region/all "), "{text}");
    refused(&["merge"], &["<RUNS>"]);
    std::fs::remove_file(&file).expect("the file can be removed");
}

#[test]
fn tasks_come_out_right() {
    let output =
        hive_bench(&["--quick", "--rounds", "1", "--case", "join,tree-search,spawn", "--full", "--json", "none"]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    assert!(text.contains("join-tree of 1") && text.contains("x sequential") && text.contains("chili"), "{text}");
}

#[test]
fn sleep_protocols_end_in_a_table() {
    let cases = "wake-10us,wake-1ms,idle-use-1ms,idle-use-2s";
    // CPU use is that of a team of all CPUs, however many there are.
    let output = hive_bench(&[
        "--quick",
        "--rounds",
        "1",
        "--runtime",
        "hive,hive-notify,rayon-outside",
        "--poll",
        "2ms",
        "--case",
        cases,
        "--full",
        "--json",
        "none",
    ]);
    let text = stdout(&output);
    // A machine with one CPU has nobody to wake.
    if output.status.code() == Some(2) {
        assert!(stderr(&output).contains("--threads"), "{}", stderr(&output));
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    assert!(text.contains("latency against CPU use, of ") && text.contains(" hive-notify"), "{text}");
    assert!(text.contains("of hive-notify: "), "{text}");
}

#[test]
fn loops_after_idleness_are_shown_beside_a_post() {
    let output = hive_bench(&[
        "--quick",
        "--rounds",
        "1",
        "--case",
        "cold-for-5us-2ms,cold-for-50us-20ms",
        "--full",
        "--json",
        "none",
    ]);
    let text = stdout(&output);
    // A machine with one CPU has nobody to wake.
    if output.status.code() == Some(2) {
        assert!(stderr(&output).contains("--threads"), "{}", stderr(&output));
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    for part in ["hive-unpinned", "rayon-unpinned", "(post ", "x sequential", "x post over sequential"] {
        assert!(text.contains(part), "{part} is missing: {text}");
    }
}

#[test]
fn callers_get_right_sums() {
    let output = hive_bench(&["--quick", "--rounds", "1", "--case", "callers", "--full", "--json", "none"]);
    let text = stdout(&output);
    // A team of one has no callers that wait for others.
    if output.status.code() == Some(2) {
        assert!(stderr(&output).contains("--threads"), "{}", stderr(&output));
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    let cases = ["callers-light-p99 of", "callers-saturated-time of", "callers-two-queens of"];
    for part in cases.iter().chain(&["rayon-outside", "sequential"]) {
        assert!(text.contains(part), "{part} is missing: {text}");
    }
}

#[test]
fn the_heat_kernel_comes_out_right() {
    let runtimes = "hive,rayon-worker,libgomp,sequential";
    let cases = "jacobi,jacobi-barrier";
    let output = hive_bench(&["--quick", "--rounds", "1", "--case", cases, "--runtime", runtimes, "--json", "none"]);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
}

#[test]
fn kernels_of_loops_come_out_right() {
    let runtimes = "hive,hive-c,rayon-worker,rayon-outside,libgomp,sequential,sequential-c";
    let output = hive_bench(&[
        "--quick",
        "--rounds",
        "1",
        "--case",
        "nbody-dynamic,dynamic-1m,cg",
        "--runtime",
        runtimes,
        "--full",
        "--json",
        "none",
    ]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    assert!(text.contains("dynamic-1m of 1") && text.contains("x sequential"), "{text}");
}

#[test]
fn a_trace_is_a_file_of_what_bees_did() {
    let file = std::env::temp_dir().join(format!("hive-bench-{}.trace.json", std::process::id()));
    let path = file.to_str().expect("a temporary directory with a plain name");
    let output = hive_bench(&["trace", "region,jacobi-barrier,join-fib,tree-search", "--out", path]);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).contains(path) && stdout(&output).contains("regions"), "{}", stdout(&output));

    let json = std::fs::read_to_string(&file).expect("the file is there");
    let trace: serde_json::Value = serde_json::from_str(&json).expect("the file is JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    let count = |kind: &str| events.iter().filter(|event| event["ph"] == kind).count();
    assert_eq!(count("B"), count("E"));
    assert!(events.iter().any(|event| event["name"] == "queen's place"));
    // A machine with one CPU has teams of one, which meet nobody.
    if trace["otherData"]["bees"] != "1" {
        let has = |name: &str| events.iter().any(|event| event["name"] == name);
        assert!(["region", "barrier", "end of region", "search"].iter().all(|name| has(name)));
    }
    std::fs::remove_file(&file).expect("the file can be removed");
    refused(&["trace", "regoin"], &["regoin", "region"]);
    refused(&["trace", "region", "--bees", "100000"], &["--bees 100000", "1 to"]);
    refused(&["trace", "region", "--out", "/nowhere/at/all.json"], &["--out /nowhere/at/all.json"]);
}

#[test]
fn a_runner_that_cannot_work_says_so() {
    let output = hive_bench(&["runner", "nonsense"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("job"), "{}", stderr(&output));
}
