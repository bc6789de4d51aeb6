//! Reports of earlier runs, from their files.

mod common;

use common::{hive_bench, refused, stderr, stdout};

const FILED: [&str; 2] = ["2026-11-20-2-cpus.json.gz", "2026-11-20-2-cpus-tasks.json.gz"];

fn filed(name: &str) -> String {
    format!("{}/../docs/runs/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn filed_runs_can_be_read() {
    for name in FILED {
        let output = hive_bench(&["report", &filed(name)]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let text = stdout(&output);
        for part in
            ["region of 2: an empty region", "what hive promises", "verdict: hive against the best rival", "forkunion"]
        {
            assert!(text.contains(part), "{part} is missing: {text}");
        }
        assert!(!text.contains("left out"), "{text}");
    }
}

#[test]
fn the_verdict_is_had_as_markdown() {
    let output = hive_bench(&["report", &filed(FILED[0]), "--markdown"]);
    let text = stdout(&output);
    assert!(text.starts_with("hive is ahead in ") && text.contains("| region "), "{text}{}", stderr(&output));
    let lines = text.lines().filter(|line| line.starts_with('|'));
    let widths: std::collections::HashSet<_> = lines.map(|line| line.matches('|').count()).collect();
    assert_eq!(widths.len(), 1, "{text}");
}

#[test]
fn what_is_no_run_is_refused() {
    refused(&["report"], &["<RUN>"]);
    refused(&["report", "/nowhere/at/all.json"], &["/nowhere/at/all.json", "cannot be read"]);
    refused(&["report", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")], &["Cargo.toml", "is not a run"]);
}
