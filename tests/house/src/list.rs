//! Lists of what is still allowed, which only shrink: more than the list allows is a failure, and so is less, until
//! the list says so.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::{env, fs};

use crate::finding::Finding;
use crate::repository;

/// With this in the environment the lists are written from what is found, instead of compared with it.
const RECORD: &str = "HOUSE_RECORD";

/// What has been found, by the key that a list counts it under.
pub(crate) type Found = BTreeMap<String, Vec<Finding>>;

/// The lines of a list, with their numbers, without comments.
pub(crate) fn entries(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim_end()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

pub(crate) fn path(name: &str) -> String {
    format!("tests/house/{name}")
}

fn on_disk(name: &str) -> PathBuf {
    repository::root().join(path(name))
}

/// The text of a list; a list that is not there is empty.
pub(crate) fn read(name: &str) -> String {
    fs::read_to_string(on_disk(name)).unwrap_or_default()
}

/// Whether lists are to be written; if so, writes `lines` below the comments that the list begins with.
pub(crate) fn is_recorded(name: &str, lines: impl Iterator<Item = String>) -> bool {
    if env::var_os(RECORD).is_none() {
        return false;
    }
    fs::write(on_disk(name), recorded(&read(name), lines)).expect("a list can be written");
    true
}

/// The comments at the head of a list, and new lines below.
fn recorded(old: &str, lines: impl Iterator<Item = String>) -> String {
    let comments = old.lines().take_while(|line| line.starts_with('#')).map(str::to_owned);
    comments.chain(lines).map(|line| line + "\n").collect()
}

/// Compares what has been found with a list whose lines are a key, a tab and the number of findings that are allowed.
pub(crate) fn compare_counts(name: &str, found: &Found) -> Vec<Finding> {
    let lines = found.iter().filter(|(_, findings)| !findings.is_empty());
    if is_recorded(name, lines.map(|(key, findings)| format!("{key}\t{}", findings.len()))) {
        return Vec::new();
    }
    compare(&path(name), &read(name), found)
}

fn compare(list: &str, text: &str, found: &Found) -> Vec<Finding> {
    let mut problems = Vec::new();
    let mut listed = BTreeMap::new();
    for (line, entry) in entries(text) {
        let Some((key, Ok(allowed))) = entry.split_once('\t').map(|(key, count)| (key, count.parse::<usize>())) else {
            problems.push(Finding::new(list, line, "cannot be read; write a key, a tab and a number"));
            continue;
        };
        listed.insert(key, allowed);
        let count = found.get(key).map_or(0, Vec::len);
        if count < allowed {
            let what = match count {
                0 => "none is left; remove this line".to_owned(),
                _ => format!("{allowed} are allowed and {count} are left; write {count}"),
            };
            problems.push(Finding::new(list, line, format!("{key}: {what}")));
        }
    }
    for (key, findings) in found {
        let allowed = listed.get(key.as_str()).copied().unwrap_or(0);
        if findings.len() > allowed {
            problems.extend(findings.iter().cloned());
            let count = findings.len();
            let hint = if allowed > 0 { ", which git diff shows" } else { "" };
            let what = format!("{key}: {allowed} are allowed and {count} are there; put the new ones right{hint}");
            problems.push(Finding::new(list, 0, what));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(key: &str, count: usize) -> Found {
        Found::from([(key.to_owned(), (0..count).map(|line| Finding::new("x.rs", line + 1, "long")).collect())])
    }

    #[test]
    fn what_the_list_allows_passes() {
        assert_eq!(compare("list", "# why\nhive\t2\n", &found("hive", 2)), []);
    }

    #[test]
    fn more_than_the_list_allows_fails_and_all_are_named() {
        let problems = compare("list", "hive\t2\n", &found("hive", 3));
        assert_eq!(problems.len(), 4);
        assert!(problems[3].to_string().contains("2 are allowed and 3 are there"));
    }

    #[test]
    fn less_than_the_list_allows_fails_at_its_line() {
        let problems = compare("list", "# why\nhive\t2\n", &found("hive", 1));
        assert_eq!(problems, [Finding::new("list", 2, "hive: 2 are allowed and 1 are left; write 1")]);
        let problems = compare("list", "hive\t2\n", &Found::new());
        assert!(problems[0].to_string().contains("remove this line"));
    }

    #[test]
    fn what_the_list_does_not_name_is_not_allowed() {
        assert_eq!(compare("list", "", &found("hive", 1)).len(), 2);
    }

    #[test]
    fn a_recorded_list_keeps_the_comments_at_its_head() {
        let text = recorded("# why\nhive\t2\n", ["docs\t1".to_owned()].into_iter());
        assert_eq!(text, "# why\ndocs\t1\n");
    }

    #[test]
    fn a_line_that_cannot_be_read_fails() {
        assert!(compare("list", "hive two\n", &Found::new())[0].to_string().contains("list:1: cannot be read"));
    }
}
