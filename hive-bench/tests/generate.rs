//! `hive-bench generate` as its users run it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Where one test's files are.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let directory = std::env::temp_dir().join(format!("hive-bench-{}-{name}", std::process::id()));
        fs::create_dir_all(&directory).expect("a directory for temporary files");
        Self(directory)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("a temporary directory with a plain name").to_owned()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A file that stays behind does no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The exit code and what it complains about.
fn generate(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_hive-bench")).arg("generate").args(arguments).output();
    let output = output.expect("hive-bench starts");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn refused(arguments: &[&str], mentions: &[&str]) {
    let (code, text) = generate(arguments);
    assert_eq!(code, Some(2), "{arguments:?}: {text}");
    for mention in mentions {
        assert!(text.contains(mention), "{arguments:?} should mention {mention}: {text}");
    }
}

#[test]
fn a_laplacian_by_the_line() {
    let scratch = Scratch::new("laplacian");
    let file = scratch.file("grid.mtx");
    assert_eq!(generate(&["laplacian", "--side", "2", &file]), (Some(0), String::new()));
    let lines = [
        "%%MatrixMarket matrix coordinate real symmetric",
        "% hive-bench generate laplacian --side 2",
        "4 4 8",
        "1 1 4.0",
        "2 1 -1.0",
        "2 2 4.0",
        "3 1 -1.0",
        "3 3 4.0",
        "4 2 -1.0",
        "4 3 -1.0",
        "4 4 4.0",
    ];
    assert!(fs::read_to_string(&file).expect("the file is there").lines().eq(lines));
}

#[test]
fn a_name_that_ends_in_gz_gets_what_it_says() {
    let scratch = Scratch::new("gz");
    let file = scratch.file("grid.mtx.gz");
    assert_eq!(generate(&["laplacian", "--side", "9", &file]), (Some(0), String::new()));
    assert!(fs::read(&file).expect("the file is there").starts_with(&[0x1f, 0x8b]));
}

#[test]
fn a_file_is_overwritten_only_on_request() {
    let scratch = Scratch::new("force");
    let file = scratch.file("mine.mtx");
    fs::write(&file, "mine").expect("a file");
    refused(&["laplacian", "--side", "3", &file], &["mine.mtx", "exists already", "--force"]);
    assert_eq!(fs::read_to_string(&file).expect("the file is there"), "mine");
    assert_eq!(generate(&["laplacian", "--side", "3", "--force", &file]), (Some(0), String::new()));
    assert!(fs::read_to_string(&file).expect("the file is there").contains("\n9 9 21\n"));
}

#[test]
fn what_cannot_be_made_or_written() {
    let scratch = Scratch::new("refused");
    let file = scratch.file("never.mtx");
    refused(&["laplacian", &file], &["--side"]);
    refused(&["laplacian", "--side", "0", &file], &["--side", "1..="]);
    refused(&["laplacian", "--side", "65536", &file], &["--side", "65535"]);
    refused(&["laplacian", "--side", "3"], &["FILE"]);
    refused(&["laplacian", "--side", "3", "/nowhere/at/all.mtx"], &["/nowhere/at/all.mtx", "cannot be written"]);
    assert!(!fs::exists(&file).expect("one can look"));
}
