//! The program as its users run it.

use std::process::{Command, Output};

/// In a directory for what tests leave behind: a run that names no files has its results in the current one.
pub(crate) fn hive_bench(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hive-bench"));
    command.args(arguments).current_dir(env!("CARGO_TARGET_TMPDIR")).output().expect("hive-bench starts")
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub(crate) fn refused(arguments: &[&str], mentions: &[&str]) {
    let output = hive_bench(arguments);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
    for mention in mentions {
        assert!(text.contains(mention), "{arguments:?} should mention {mention}: {text}");
    }
}
