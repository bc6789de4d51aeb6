//! spmv and cg as their users run them. Nothing here looks at how long anything took.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output};

use flate2::Compression;
use flate2::write::GzEncoder;

fn hive_bench(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hive-bench")).args(arguments).output().expect("hive-bench starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A file for one test, deleted at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("hive-bench-{}-{name}", std::process::id())))
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("a temporary directory with a plain name")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A file that stays behind does no harm.
        let _ = fs::remove_file(&self.0);
    }
}

const NO_FILES: [&str; 2] = ["--json", "none"];

/// The program checks the answer of every runtime.
fn comes_out_right(arguments: &[&str]) {
    let suite = ["--quick", "--rounds", "1", "--case", "spmv,cg", "--full"];
    let output = hive_bench(&[&suite[..], &NO_FILES, arguments].concat());
    let (tables, errors) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{tables}{errors}");
    assert!(tables.contains("spmv of 1") && tables.contains("cg of 1") && tables.contains("x sequential"), "{tables}");
}

#[test]
fn all_runtimes_come_to_the_same() {
    comes_out_right(&[]);
}

#[test]
fn a_matrix_that_is_no_grid_s_is_solved_from_a_compressed_file() {
    let file = Scratch::new("diagonal.mtx.gz");
    let entries: String = (1..=500).map(|i| format!("{i} {i} {}\n", 1 + i % 7)).collect();
    let text = format!("%%MatrixMarket matrix coordinate real symmetric\n500 500 500\n{entries}");
    let mut packed = GzEncoder::new(fs::File::create(&file.0).expect("a file"), Compression::fast());
    packed.write_all(text.as_bytes()).expect("it is written");
    packed.finish().expect("it is written");
    comes_out_right(&["--matrix", file.path(), "--runtime", "hive,rayon-worker,libgomp,sequential"]);
}

#[test]
fn a_bad_matrix_is_found_before_anything_is_measured() {
    let file = Scratch::new("bad.mtx");
    let refused = |content: &str, case: &str, mentions: &[&str]| {
        fs::write(&file.0, content).expect("a file");
        let arguments = ["--quick", "--case", case, "--matrix", file.path()];
        let output = hive_bench(&[&arguments[..], &NO_FILES].concat());
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
        for mention in [&["--matrix", file.path()], mentions].concat() {
            assert!(errors.contains(mention), "{mention} is missing: {errors}");
        }
    };
    let header = "%%MatrixMarket matrix coordinate real symmetric\n";
    refused(&format!("{header}2 2 2\n1 1 1\n2 2\n"), "spmv", &["line 4", "found `2 2`", "three numbers"]);
    refused(&format!("{header}2 2 2\n1 1 1\n2 2 -1\n"), "cg", &["not positive definite"]);
    refused("%%MatrixMarket matrix coordinate real general\n1 2 1\n1 2 1\n", "cg", &["square"]);
    refused(&format!("{header}1 1 1\n1 1 1\n"), "region", &["none of the chosen cases"]);
}
