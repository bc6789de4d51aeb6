//! Each promise of the README has a test that would fail if it were broken: the list names it.

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::list;
use crate::repository;

const PAGE: &str = "README.md";
const SECTION: &str = "## What it promises";
/// A promise, a colon, and what holds it: `file` or `file::function`, divided by commas.
const LIST: &str = "promises.txt";

pub(crate) fn check() -> Vec<Finding> {
    let page = repository::files().iter().find(|file| file.path == PAGE).map_or("", |file| &file.text);
    check_list(page, &list::read(LIST), |path| {
        repository::files().iter().find(|file| file.path == path).map(|file| file.text.as_str())
    })
}

/// The words in bold at the head of each item of the section.
fn promises(page: &str) -> BTreeSet<&str> {
    let section = page.split_once(SECTION).map_or("", |(_, rest)| rest.split("\n## ").next().unwrap_or(rest));
    section.lines().filter_map(|line| Some(line.strip_prefix("- **")?.split_once("**")?.0)).collect()
}

fn check_list<'a>(page: &str, text: &str, file: impl Fn(&str) -> Option<&'a str>) -> Vec<Finding> {
    let path = list::path(LIST);
    let promises = promises(page);
    let mut problems = Vec::new();
    let mut held = BTreeSet::new();
    for (line, entry) in list::entries(text) {
        let Some((promise, tests)) = entry.split_once(": ") else {
            problems.push(Finding::new(&path, line, "cannot be read; write a promise, a colon and what holds it"));
            continue;
        };
        if !promises.contains(promise) {
            let what = format!("{PAGE} does not promise \"{promise}\"; write its words, or remove this line");
            problems.push(Finding::new(&path, line, what));
        }
        held.insert(promise);
        for test in tests.split(", ").filter(|test| !is_there(test, &file)) {
            problems.push(Finding::new(&path, line, format!("{test} is not there; name what holds the promise")));
        }
    }
    for promise in promises.difference(&held) {
        let what = format!("nothing is said to hold \"{promise}\"; name a test in {path}, or do not promise it");
        problems.push(Finding::new(PAGE, 0, what));
    }
    problems
}

fn is_there<'a>(test: &str, file: impl Fn(&str) -> Option<&'a str>) -> bool {
    match test.split_once("::") {
        None => file(test).is_some(),
        Some((path, function)) => file(path).is_some_and(|text| text.contains(&format!("fn {function}("))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str =
        "# x\n## What it promises\n\n- **No stall**: never.\n- **Panics** come.\n\n## Where\n- **Other**";

    fn problems(text: &str) -> Vec<String> {
        let file = |path: &str| (path == "tests/a.rs").then_some("#[test]\nfn one() {}\n");
        check_list(PAGE, text, file).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_test_for_each_promise_passes() {
        assert!(problems("No stall: tests/a.rs::one\nPanics: tests/a.rs, tests/a.rs::one\n").is_empty());
    }

    #[test]
    fn a_promise_that_nothing_holds_fails() {
        let problems = problems("No stall: tests/a.rs\n");
        assert_eq!(problems.len(), 1);
        assert!(problems[0].contains("\"Panics\""));
    }

    #[test]
    fn a_test_or_a_promise_that_is_not_there_fails() {
        let problems = problems("No stall: tests/a.rs::two\nPanics: tests/b.rs\nOther: tests/a.rs\nPanics\n");
        assert_eq!(problems.len(), 4, "{problems:?}");
    }
}
