//! The glossary has at most forty words, a line each, and the code says each of them.

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::list::{self, Found};
use crate::repository::{self, Kind};
use crate::words;

const PAGE: &str = "docs/glossary.md";
const MOST: usize = 40;
/// Words of the glossary that the code does not say yet: the word, a tab and 1.
const LIST: &str = "glossary.txt";

/// The words that are explained, with their lines: those of list items that begin with a word in bold.
fn entries(page: &str) -> Vec<(usize, &str)> {
    let lines = page.lines().enumerate();
    lines.filter_map(|(index, line)| Some((index + 1, line.strip_prefix("- **")?.split_once("**")?.0))).collect()
}

pub(crate) fn check() -> Vec<Finding> {
    let Some(page) = repository::files().iter().find(|file| file.path == PAGE) else {
        return vec![Finding::new(PAGE, 0, "is missing; it says what the code's words mean")];
    };
    let code = repository::files_of(Kind::Rust).filter(|file| !file.path.starts_with("tests/house/"));
    let mut problems = form(&page.text);
    problems.extend(list::compare_counts(LIST, &missing(&page.text, code.map(|file| file.text.as_str()))));
    problems
}

/// What is wrong with the page itself.
fn form(page: &str) -> Vec<Finding> {
    let mut problems = Vec::new();
    let mut seen = BTreeSet::new();
    let entries = entries(page);
    if entries.len() > MOST {
        let what = format!("{} words, {MOST} are the most; leave out what everybody knows", entries.len());
        problems.push(Finding::new(PAGE, entries[MOST].0, what));
    }
    for (line, word) in entries {
        if !seen.insert(word.to_lowercase()) {
            problems.push(Finding::new(PAGE, line, format!("{word} is explained twice; leave one")));
        }
        // A line of prose right below belongs to the item.
        let next = page.lines().nth(line).unwrap_or_default();
        if next.starts_with(' ') || next.starts_with(char::is_alphanumeric) {
            problems.push(Finding::new(PAGE, line + 1, format!("{word} takes more than one line; make it shorter")));
        }
    }
    problems
}

/// The words that no source says.
fn missing<'a>(page: &str, sources: impl Iterator<Item = &'a str>) -> Found {
    let of_text = |text: &str| {
        let words = words::split(text).into_iter().map(|(word, _)| word);
        words.fold(String::from(" "), |text, word| text + &word + " ")
    };
    let said: String = sources.map(of_text).collect();
    let entries = entries(page).into_iter();
    let is_said = |word: &str| said.contains(&of_text(word)) || said.contains(&of_text(&format!("{word}s")));
    let missing = entries.filter(|(_, word)| !is_said(word));
    let finding = |(line, word): (usize, &str)| {
        let message = format!("no code says {word}; explain the word that it says");
        (word.to_owned(), vec![Finding::new(PAGE, line, message)])
    };
    missing.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_one_line_a_word_passes() {
        assert_eq!(form("# Words\n\n- **bee**: one of a team.\n- **start line**: a word.\n"), []);
    }

    #[test]
    fn more_than_forty_words_fail() {
        let page: String = (0..41).map(|number| format!("- **word {number}**: one.\n")).collect();
        assert_eq!(form(&page).len(), 1);
        assert!(form(&page)[0].to_string().starts_with("docs/glossary.md:41: 41 words"));
    }

    #[test]
    fn a_second_line_and_a_second_entry_fail() {
        assert!(form("- **bee**: one\n  of a team.\n")[0].to_string().contains("more than one line"));
        assert!(form("- **bee**: one.\n- **bee**: two.\n")[0].to_string().contains("explained twice"));
    }

    #[test]
    fn a_word_that_no_code_says_fails_and_names_are_words() {
        let page = "- **start line**: a word.\n- **gizmo**: a thing.\n";
        let found = missing(page, ["struct StartLine;", "// The gizmology."].into_iter());
        assert_eq!(found.keys().collect::<Vec<_>>(), ["gizmo"]);
    }
}
