//! The prose of a file: its comments, or all of it.

use crate::repository::{File, Kind};

/// The lines of prose with their numbers. Of code only the comments are prose; of Markdown everything is.
pub(crate) fn prose(file: &File) -> impl Iterator<Item = (usize, &str)> {
    let kind = file.kind();
    let lines = file.text.lines().enumerate();
    lines.filter_map(move |(index, line)| Some((index + 1, comment(kind, line)?)))
}

fn comment(kind: Kind, line: &str) -> Option<&str> {
    match kind {
        Kind::Markdown => Some(line),
        Kind::Rust if line.trim_start().starts_with("//") => Some(line),
        Kind::Rust => line.find(" // ").map(|start| &line[start..]),
        Kind::Hash if line.trim_start().starts_with('#') => Some(line),
        Kind::Hash | Kind::Other => None,
    }
}

/// Whether a line of Rust is a comment and nothing else.
pub(crate) fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

#[test]
fn comments_are_prose_and_code_is_not() {
    assert_eq!(comment(Kind::Rust, "    /// A word."), Some("    /// A word."));
    assert_eq!(comment(Kind::Rust, "let x = 1; // One."), Some(" // One."));
    assert_eq!(comment(Kind::Rust, "let x = 1;"), None);
    assert_eq!(comment(Kind::Hash, "# A word."), Some("# A word."));
    assert_eq!(comment(Kind::Hash, "run x"), None);
    assert_eq!(comment(Kind::Markdown, "run x"), Some("run x"));
}
