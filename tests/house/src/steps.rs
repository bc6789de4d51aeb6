//! Each page of a protocol has letters of its own for its steps, so that a step's name says which page it is from. The
//! table in `docs/house-rules.md` says which letters are whose.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::Finding;
use crate::repository::{self, Kind};

const PAGE: &str = "docs/house-rules.md";
const HEADING: &str = "## The letters of steps";

/// The letters of each page that the table names, and the line that says so.
type Letters = BTreeMap<String, (usize, BTreeSet<String>)>;

pub(crate) fn check() -> Vec<Finding> {
    let Some(rules) = repository::files().iter().find(|file| file.path == PAGE) else {
        return vec![Finding::new(PAGE, 0, "is missing; it says which letters the steps of which page have")];
    };
    let letters = table(&rules.text);
    let mut problems = used_twice(&letters);
    for file in repository::files_of(Kind::Markdown).filter(|file| file.path.starts_with("docs/")) {
        problems.extend(of_page(&file.path, &file.text, &letters));
    }
    problems
}

/// Reads the table: its rows begin with a link to the page, and a letter is a word of one or two capitals.
fn table(rules: &str) -> Letters {
    let lines = rules.lines().enumerate().skip_while(|(_, line)| *line != HEADING).skip(1);
    let section = lines.take_while(|(_, line)| !line.starts_with("## "));
    let row = |(index, line): (usize, &str)| {
        let (page, letters) = line.strip_prefix("| [")?.split_once("](")?.1.split_once(") |")?;
        let letters = words(letters).filter(|word| is_letters(word)).map(str::to_owned).collect();
        Some((format!("docs/{page}"), (index + 1, letters)))
    };
    section.filter_map(row).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
}

fn is_letters(word: &str) -> bool {
    (1..=2).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// The letters of a step, if the word names one: capitals and a number, as in `PK2`.
fn letters_of_step(word: &str) -> Option<&str> {
    let (letters, number) = word.split_at_checked(word.find(|c: char| c.is_ascii_digit())?)?;
    (is_letters(letters) && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(letters)
}

fn used_twice(letters: &Letters) -> Vec<Finding> {
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    let mut problems = Vec::new();
    for (page, (line, own)) in letters {
        for letter in own {
            if let Some(other) = owners.insert(letter, page) {
                let message = format!("{letter} is a letter of {other} and of {page}; choose another for one of them");
                problems.push(Finding::new(PAGE, *line, message));
            }
        }
    }
    problems
}

/// The steps on a page that are not named by letters of its own. A page that is not in the table has no steps: no line
/// of a block begins with the name of a first step.
fn of_page(path: &str, text: &str, letters: &Letters) -> Vec<Finding> {
    let mut problems = Vec::new();
    let mut in_block = false;
    for (index, line) in text.lines().enumerate() {
        in_block ^= line.starts_with("```");
        let steps = || words(line).filter_map(|word| Some((word, letters_of_step(word)?)));
        match letters.get(path) {
            Some((_, own)) => {
                for (word, _) in steps().filter(|(_, letter)| !own.contains(*letter)) {
                    let message = format!("step {word} has no letter of this page; {PAGE} says which it has");
                    problems.push(Finding::new(path, index + 1, message));
                }
            }
            None if in_block && line.starts_with(' ') => {
                let first = words(line.trim_start()).next().unwrap_or_default();
                if letters_of_step(first).is_some() && first.ends_with('1') && line.trim_start().contains("  ") {
                    let message =
                        format!("the steps of this page, {first} and so on, have no row in the table of {PAGE}");
                    problems.push(Finding::new(path, index + 1, message));
                }
            }
            None => {}
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = "# Rules\n\n## The letters of steps\n\n| page | letters |\n|---|---|\n\
        | [start](start.md) | Q the queen, B a worker |\n| [resize](resize.md) | PK park |\n\n## Else\n\n\
        | [other](other.md) | Q |\n";

    fn said(problems: &[Finding]) -> Vec<String> {
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_table_is_read_and_no_other() {
        let letters = table(RULES);
        assert_eq!(letters.keys().collect::<Vec<_>>(), ["docs/resize.md", "docs/start.md"]);
        assert_eq!(letters["docs/start.md"].1.iter().collect::<Vec<_>>(), ["B", "Q"]);
        assert_eq!(used_twice(&letters), []);
    }

    #[test]
    fn a_letter_of_two_pages_fails() {
        let problems = used_twice(&table(&RULES.replace("PK park", "B begin")));
        assert!(said(&problems)[0].contains("B is a letter of docs/resize.md and of docs/start.md"));
    }

    #[test]
    fn a_step_with_a_letter_of_another_page_fails() {
        let letters = table(RULES);
        assert_eq!(of_page("docs/resize.md", "after PK2 and `LEVEL_3`, x86, 2^14\n", &letters), []);
        let problems = of_page("docs/resize.md", "first\nafter Q2.\n", &letters);
        assert!(said(&problems)[0].starts_with("docs/resize.md:2: step Q2 has no letter"));
    }

    #[test]
    fn a_page_with_steps_that_is_not_in_the_table_fails() {
        let block = "the L1 of a core\n```text\n L1  a step\n L2  another\n```\n";
        assert_eq!(of_page("docs/new.md", block, &table(RULES)).len(), 1);
        assert_eq!(of_page("docs/new.md", "the L1 of a core\n", &table(RULES)), []);
    }
}
