//! No line is longer than 120 columns.

use crate::finding::Finding;
use crate::list::{self, Found};
use crate::repository::{self, File, Kind};

const MOST: usize = 120;
/// How many longer lines are still allowed: a top folder, a tab and their number.
const LIST: &str = "lines.txt";

pub(crate) fn check() -> Vec<Finding> {
    let mut found = Found::new();
    for finding in repository::files().iter().flat_map(too_long) {
        found.entry(repository::folder(finding.file()).to_owned()).or_default().push(finding);
    }
    list::compare_counts(LIST, &found)
}

/// All lines that are too long, allowed or not.
pub(crate) fn all() -> Vec<Finding> {
    repository::files().iter().flat_map(too_long).collect()
}

fn too_long(file: &File) -> Vec<Finding> {
    if file.kind() == Kind::Other {
        return Vec::new();
    }
    let mut findings = Vec::new();
    // Inside a block of code: whether it shows what a program prints.
    let mut block: Option<bool> = None;
    for (index, line) in file.text.lines().enumerate() {
        let text = without_marks(line);
        if let Some(language) = text.strip_prefix("```") {
            let is_output =
                matches!(language, "text" | "console") || language.is_empty() && file.kind() == Kind::Markdown;
            block = block.is_none().then_some(is_output);
        }
        let columns = line.chars().count();
        if columns > MOST && block != Some(true) && !is_table(file.kind(), line) && !is_unbreakable(text) {
            let what = format!("{columns} columns; break the line at {MOST}");
            findings.push(Finding::new(&file.path, index + 1, what));
        }
    }
    findings
}

/// A line without indentation and the signs of comments, quotations and lists.
fn without_marks(line: &str) -> &str {
    line.trim_start_matches([' ', '\t', '/', '!', '#', '>', '-', '*'])
}

fn is_table(kind: Kind, line: &str) -> bool {
    let is_prose = kind == Kind::Markdown || line.trim_start().starts_with("//");
    is_prose && without_marks(line).starts_with('|')
}

/// A line that is a single word, such as a link, cannot be broken; nor the address of a Markdown reference.
fn is_unbreakable(text: &str) -> bool {
    let reference = text.strip_prefix('[').and_then(|text| text.split_once("]: "));
    let text = reference.map_or(text, |(_, address)| address);
    !text.contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let file = File { path: path.to_owned(), text: text.to_owned() };
        too_long(&file).iter().map(Finding::line).collect()
    }

    #[test]
    fn a_line_of_121_columns_is_too_long_in_code_prose_and_scripts() {
        let long = format!("a {}", "x".repeat(119));
        for path in ["a.rs", "a.md", "a.sh", "Cargo.toml", ".ci/run"] {
            assert_eq!(lines(path, &format!("short\n{long}\n")), [2], "{path}");
            assert_eq!(lines(path, &long[..120]), [] as [usize; 0], "{path}");
        }
        assert_eq!(lines("a.xml", &long), [] as [usize; 0]);
    }

    #[test]
    fn columns_are_characters() {
        assert_eq!(lines("a.md", &format!("ä {}", "ä".repeat(118))), [] as [usize; 0]);
    }

    #[test]
    fn tables_links_and_output_may_be_longer() {
        let long = "x".repeat(120);
        assert_eq!(lines("a.md", &format!("| a | {long} |")), [] as [usize; 0]);
        assert_eq!(lines("a.rs", &format!("/// | a | {long} |")), [] as [usize; 0]);
        assert_eq!(lines("a.md", &format!("- [text](https://{long})")), [] as [usize; 0]);
        assert_eq!(lines("a.rs", &format!("    /// [text]: https://{long}")), [] as [usize; 0]);
        assert_eq!(lines("a.md", &format!("```text\na {long}\n```\na {long}\n")), [4]);
        assert_eq!(lines("a.md", &format!("```rust\na {long}\n```\n")), [2]);
    }
}
