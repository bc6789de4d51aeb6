//! No word is on the list of common misspellings that the crate `typos-dict` keeps.

use std::collections::BTreeSet;

use unicase::UniCase;

use crate::finding::Finding;
use crate::list;
use crate::repository::{self, File, Kind};
use crate::words;

/// Words of our own that look like misspellings, one a line.
const OWN: &str = "spelling.txt";

pub(crate) fn check() -> Vec<Finding> {
    let text = list::read(OWN);
    let own = list::entries(&text).map(|(_, word)| word).collect();
    let is_text = |file: &&File| file.kind() != Kind::Other || file.path.ends_with(".pml");
    repository::files().iter().filter(is_text).flat_map(|file| misspelt(file, &own)).collect()
}

fn misspelt(file: &File, own: &BTreeSet<&str>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (word, line) in words::split(&file.text) {
        if own.contains(word.as_str()) {
            continue;
        }
        if let Some(corrections) = typos_dict::WORD.find(&UniCase::new(&word)) {
            let (instead, list) = (corrections.join(" or "), list::path(OWN));
            let message = format!("{word} is misspelt; write {instead}, or add the word to {list}");
            findings.push(Finding::new(&file.path, line, message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(own: &str, text: &str) -> Vec<String> {
        let file = File { path: "a.rs".to_owned(), text: text.to_owned() };
        misspelt(&file, &list::entries(own).map(|(_, word)| word).collect()).iter().map(ToString::to_string).collect()
    }

    // The misspelt words are put together here, so that the check of this file passes.
    #[test]
    fn a_misspelt_word_is_found_in_prose_and_names() {
        let wrong = ["rec", "ieve"].concat();
        let found = found("", &format!("// Fine.\nfn {wrong}_all() {{}}"));
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with(&format!("a.rs:2: {wrong} is misspelt; write receive")), "{found:?}");
    }

    #[test]
    fn our_own_words_pass() {
        let wrong = ["rec", "ieve"].concat();
        assert_eq!(found(&format!("# Ours.\n{wrong}\n"), &wrong), [] as [&str; 0]);
    }
}
