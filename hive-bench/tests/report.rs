//! Reports of earlier runs, from their files.

mod common;

use common::{hive_bench, refused, stderr, stdout};

const FILED: [&str; 4] = [
    "2026-11-20-2-cpus.json.gz",
    "2026-11-20-2-cpus-tasks.json.gz",
    "2026-11-21-2-cpus-kernels.json.gz",
    "2026-11-29-2-cpus-xeon.json.gz",
];

fn filed(name: &str) -> String {
    format!("{}/../docs/runs/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn filed_runs_can_be_read() {
    for name in FILED {
        let output = hive_bench(&["report", "--full", &filed(name)]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let text = stdout(&output);
        for part in
            ["region of 2: an empty region", "what hive promises", "ranking: hive against the best rival", "forkunion"]
        {
            assert!(text.contains(part), "{part} is missing: {text}");
        }
    }
}

#[test]
fn a_filed_run_fits_one_screen() {
    for (name, parts) in [
        (
            FILED[0],
            [
                "region/2             136 ns forkunion       554 ns  0.24 0.23-0.27 ahead",
                "hive is ahead in 9,",
                "Behind in 2:",
            ],
        ),
        (
            FILED[1],
            [
                "wake-200ms/2         174 us rayon-outside  0.99 0.74-1.59 inconclusive   3/5",
                "Targets: 25 met",
                "idle-use-1ms/2 19.5",
            ],
        ),
        (
            FILED[2],
            [
                "region/2            61.7 ns forkunion       0.30 0.28-0.31 ahead          2/2",
                "missed  region/2 vs round trip: 1.19",
                "7/11",
            ],
        ),
    ] {
        let path = filed(name);
        let output = hive_bench(&["report", &path]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let text = stdout(&output).replace(&path, name);
        for part in parts {
            assert!(text.contains(part), "{part} is missing: {text}");
        }
        assert!(text.contains(&format!("Raw samples: {name}")), "{text}");
        assert!(text.lines().count() <= 50 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}

#[test]
fn what_is_no_run_is_refused() {
    refused(&["report"], &["<RUN>"]);
    refused(&["report", "/nowhere/at/all.json"], &["/nowhere/at/all.json", "cannot be read"]);
    refused(&["report", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")], &["Cargo.toml", "is not a run"]);
}
