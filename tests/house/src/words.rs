//! Words that the project does not use, because another word says the same more plainly.

use std::collections::BTreeMap;

use crate::finding::Finding;
use crate::list;
use crate::repository::{self, File, Kind};

/// A line each: the word or words, a tab, what to say instead, and, after another tab if need be, the beginnings of
/// paths where it is allowed. A line that begins with `#` and has a tab is not yet in force.
const WORDS: &str = "words.txt";
/// Files that name forbidden words because they are about them.
const ABOUT_WORDS: [&str; 1] = ["tests/house/words.txt"];

pub(crate) struct Word {
    parts: Vec<String>,
    instead: String,
    allowed_in: Vec<String>,
    is_in_force: bool,
}

impl Word {
    fn read(line: &str) -> Option<Self> {
        let is_in_force = !line.starts_with('#');
        let mut columns = line.trim_start_matches('#').split('\t').map(str::trim);
        let parts: Vec<String> = split(columns.next()?).into_iter().map(|(part, _)| part).collect();
        let instead = columns.next()?.to_owned();
        let allowed_in = columns.next().unwrap_or_default().split_whitespace().map(str::to_owned).collect();
        (!parts.is_empty()).then_some(Self { parts, instead, allowed_in, is_in_force })
    }

    /// Whether the parts of a text begin with this word, in the singular or with an `s`.
    fn begins(&self, parts: &[(String, usize)]) -> bool {
        let Some((last, first)) = self.parts.split_last() else { return false };
        let is_last = |part: &str| part.strip_prefix(last.as_str()).is_some_and(|end| matches!(end, "" | "s"));
        parts.len() >= self.parts.len()
            && first.iter().zip(parts).all(|(own, (part, _))| own == part)
            && is_last(&parts[first.len()].0)
    }
}

pub(crate) fn check() -> Vec<Finding> {
    let words = words(&list::read(WORDS));
    let in_force: Vec<_> = words.iter().filter(|word| word.is_in_force).collect();
    repository::files().iter().filter(|file| is_checked(file)).flat_map(|file| find(&in_force, file)).collect()
}

/// How often each word that is not yet in force occurs.
pub(crate) fn waiting() -> BTreeMap<String, usize> {
    let words = words(&list::read(WORDS));
    let waiting: Vec<_> = words.iter().filter(|word| !word.is_in_force).collect();
    let mut counts: BTreeMap<_, _> = waiting.iter().map(|word| (word.parts.join(" "), 0)).collect();
    for file in repository::files().iter().filter(|file| is_checked(file)) {
        for (word, _) in hits(&waiting, file) {
            *counts.entry(word.parts.join(" ")).or_default() += 1;
        }
    }
    counts
}

fn words(text: &str) -> Vec<Word> {
    text.lines().filter_map(Word::read).collect()
}

fn is_checked(file: &File) -> bool {
    let is_source =
        ["patch", "pml", "c", "h"].iter().any(|kind| file.path.rsplit_once('.').is_some_and(|it| it.1 == *kind));
    (file.kind() != Kind::Other || is_source) && !ABOUT_WORDS.contains(&file.path.as_str())
}

fn find(words: &[&Word], file: &File) -> Vec<Finding> {
    let finding = |(word, line): (&Word, usize)| {
        let place = if line == 0 { "the file's name" } else { "this line" };
        let message = format!("{place} says \"{}\"; say {}", word.parts.join(" "), word.instead);
        Finding::new(&file.path, line, message)
    };
    hits(words, file).into_iter().map(finding).collect()
}

/// Where words occur in a file: line 0 is its name.
fn hits<'a>(words: &[&'a Word], file: &File) -> Vec<(&'a Word, usize)> {
    let is_allowed = |word: &Word| word.allowed_in.iter().any(|path| file.path.starts_with(path));
    let words: Vec<_> = words.iter().copied().filter(|word| !is_allowed(word)).collect();
    let name = split(&file.path).into_iter().map(|(part, _)| (part, 0)).collect();
    let mut hits = Vec::new();
    for parts in [name, split(&file.text)] {
        for start in 0..parts.len() {
            let here = words.iter().filter(|word| word.begins(&parts[start..]));
            hits.extend(here.map(|&word| (word, parts[start].1)));
        }
    }
    hits
}

/// The words of a text in lower case with their lines; an identifier is as many words as it is made of.
pub(crate) fn split(text: &str) -> Vec<(String, usize)> {
    let mut words = Vec::new();
    let mut word = String::new();
    for (index, line) in text.lines().enumerate() {
        let mut letters = line.chars().peekable();
        let mut before = ' ';
        while let Some(letter) = letters.next() {
            let next_is_small = letters.peek().is_some_and(|next| next.is_lowercase());
            // `myWord` and `ABCWord` begin a word at the W.
            let begins = letter.is_uppercase() && (before.is_lowercase() || before.is_uppercase() && next_is_small);
            if (begins || !letter.is_alphabetic()) && !word.is_empty() {
                words.push((std::mem::take(&mut word), index + 1));
            }
            if letter.is_alphabetic() {
                word.extend(letter.to_lowercase());
            }
            before = letter;
        }
        if !word.is_empty() {
            words.push((std::mem::take(&mut word), index + 1));
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(list: &str, path: &str, text: &str) -> Vec<String> {
        let words = words(list);
        let in_force: Vec<_> = words.iter().filter(|word| word.is_in_force).collect();
        let file = File { path: path.to_owned(), text: text.to_owned() };
        find(&in_force, &file).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_word_is_found_alone_and_as_a_part_of_names() {
        for text in
            ["a gizmo.", "let my_gizmo = 1;", "MyGizmo::new()", "GIZMO_COUNT", "two gizmos", "HTTPGizmo", "GIZMOS"]
        {
            assert_eq!(
                found("gizmo\tdevice", "a.rs", text),
                ["a.rs:1: this line says \"gizmo\"; say device"],
                "{text}"
            );
        }
    }

    #[test]
    fn a_part_of_another_word_is_not_found() {
        assert_eq!(found("gizmo\tdevice", "a.rs", "gizmology, agizmo"), [] as [&str; 0]);
    }

    #[test]
    fn lines_are_counted_and_names_of_files_read() {
        let found = found("gizmo\tdevice", "a/gizmo.rs", "// One.\n// A gizmo.\n");
        assert_eq!(found[0], "a/gizmo.rs: the file's name says \"gizmo\"; say device");
        assert!(found[1].starts_with("a/gizmo.rs:2:"));
    }

    #[test]
    fn several_words_are_found_in_a_row() {
        assert_eq!(found("wind up\tstart", "a.rs", "to wind up the clock, wind_up()").len(), 2);
        assert_eq!(found("wind up\tstart", "a.rs", "the wind is up").len(), 0);
    }

    #[test]
    fn a_word_may_be_allowed_in_some_files() {
        assert_eq!(found("gizmo\tdevice\tb/ a.rs", "a.rs", "gizmo"), [] as [&str; 0]);
        assert_eq!(found("gizmo\tdevice\tb/ a.rs", "c.rs", "gizmo").len(), 1);
    }

    #[test]
    fn a_line_with_a_hash_is_not_in_force() {
        assert_eq!(found("#gizmo\tdevice\n# A remark: gizmo.", "a.rs", "gizmo"), [] as [&str; 0]);
    }
}
