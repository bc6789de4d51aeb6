//! Paths and files that prose names.

use std::sync::OnceLock;

use regex::Regex;

use super::targets::Targets;
use crate::comments;
use crate::finding::Finding;
use crate::repository::File;

/// What the prose of a file names and is not there.
pub(crate) fn check(file: &File, targets: &Targets) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, text) in comments::prose(file) {
        for name in paths(text, targets).chain(files(text)) {
            if !is_there(&name, targets) {
                let what = format!("names {name}, which is not there; name what has taken its place");
                findings.push(Finding::new(&file.path, line, what));
            }
        }
    }
    findings.dedup();
    findings
}

/// A path of the repository, or the end of one, or with a name of something inside the file after it.
fn is_there(name: &str, targets: &Targets) -> bool {
    targets.has(name) || targets.has_end(name)
}

/// Words that begin with a top folder and a slash, in backticks or not.
fn paths(text: &str, targets: &Targets) -> impl Iterator<Item = String> {
    static PATH: OnceLock<Regex> = OnceLock::new();
    let path = PATH.get_or_init(|| Regex::new(r"(?:^|[\s`(\x22'])([\w.-]+/[\w./*-]*[\w/*])").expect("a regex"));
    let is_ours = |path: &str| targets.top_folders().any(|folder| path.split('/').next() == Some(folder));
    let found: Vec<_> =
        path.captures_iter(text).map(|found| found[1].to_owned()).filter(|path| is_ours(path)).collect();
    found.into_iter()
}

/// Names of source files and pages in backticks, with folders before them or without.
fn files(text: &str) -> impl Iterator<Item = String> {
    static FILE: OnceLock<Regex> = OnceLock::new();
    let file = FILE.get_or_init(|| Regex::new(r"`((?:[\w-]+/)*[\w-]+\.(?:rs|md|pml|patch))`").expect("a regex"));
    file.captures_iter(text).map(|found| found[1].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(path: &str, text: &str) -> usize {
        let targets = Targets::new(["docs/a.md", "hive/pool/mod.rs", "hive/x.rs"].map(str::to_owned).into_iter());
        check(&File { path: path.to_owned(), text: text.to_owned() }, &targets).len()
    }

    #[test]
    fn what_is_there_may_be_named_by_the_end_of_its_path() {
        let text =
            "See `hive/x.rs`, `x.rs`, `pool/mod.rs`, (docs/a.md), hive/pool/ and hive/*.rs. Or `other/z`, and/or.";
        assert_eq!(problems("README.md", text), 0);
    }

    #[test]
    fn what_is_not_there_fails_in_pages_and_comments() {
        assert_eq!(problems("README.md", "See `hive/y.rs`.\n"), 1);
        assert_eq!(problems("README.md", "See docs/b.md.\n"), 1);
        assert_eq!(problems("a.rs", "// See `y.rs`.\nfn f() { \"`z.rs`\"; }\n"), 1);
        assert_eq!(problems("run.sh", "# By hive/z.\nhive/z\n"), 1);
    }
}
