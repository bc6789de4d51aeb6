//! What a check has to say: where, what is wrong, and what to do about it.

use std::fmt;

/// One thing that is out of order, at one place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    file: String,
    line: usize,
    message: String,
}

impl Finding {
    /// `message` says what is wrong and what to do; `line` counts from 1, and 0 stands for the whole file.
    pub(crate) fn new(file: &str, line: usize, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, message: message.into() }
    }

    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    pub(crate) fn line(&self) -> usize {
        self.line
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.message),
            line => write!(f, "{}:{line}: {}", self.file, self.message),
        }
    }
}

/// Fails with all findings, if there are any.
#[track_caller]
pub(crate) fn expect_none(check: &str, findings: &[Finding]) {
    let lines: Vec<_> = findings.iter().map(ToString::to_string).collect();
    assert!(
        findings.is_empty(),
        "{check}: {} to put right (docs/house-rules.md says how):\n{}",
        findings.len(),
        lines.join("\n")
    );
}

#[test]
fn a_finding_says_file_line_and_what_to_do() {
    let finding = Finding::new("a/b.rs", 7, "too long; split it");
    assert_eq!(finding.to_string(), "a/b.rs:7: too long; split it");
    assert_eq!(Finding::new("a/b.rs", 0, "is missing").to_string(), "a/b.rs: is missing");
}

#[test]
#[should_panic(expected = "lengths: 1 to put right")]
fn a_finding_fails_the_check() {
    expect_none("lengths", &[Finding::new("a.rs", 1, "too long")]);
}
