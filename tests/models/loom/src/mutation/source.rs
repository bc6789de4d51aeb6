//! Finds the atomic operations in the text of the protocol files.
//!
//! An operation is known by its file, its name and its number, so the name of a mutant survives an edit elsewhere in
//! the file.

use std::fs;
use std::panic::Location;
use std::path::{Path, PathBuf};

/// The folders of the protocol files, below `hive/`.
const FOLDERS: [&str; 2] = ["protocol", "loops"];

/// The operations of the atomics and fences in `crate::sync`.
const OPERATIONS: [&str; 12] = [
    "load",
    "store",
    "swap",
    "fetch_add",
    "fetch_sub",
    "fetch_and",
    "fetch_or",
    "fetch_update",
    "compare_exchange",
    "fence",
    "light_fence",
    "try_heavy_fence",
];

/// An atomic operation in the source.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub(crate) file: String,
    pub(crate) operation: &'static str,
    /// From 1, among the operations of this name in this file.
    pub(crate) number: usize,
    /// As written in the source: one, or two for an operation that may fail. None for the fences of a pair.
    pub(crate) orderings: Vec<String>,
    line: u32,
    column: u32,
}

impl Site {
    pub(crate) fn is_at(&self, location: &Location<'_>) -> bool {
        location.line() == self.line
            && location.column() == self.column
            && Path::new(location.file()).file_name().is_some_and(|name| name == self.file.as_str())
    }
}

/// Returns all atomic operations in the protocol files.
pub(crate) fn sites() -> Vec<Site> {
    let library = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../hive"));
    let mut files: Vec<_> = FOLDERS.iter().flat_map(|folder| files_under(&library.join(folder))).collect();
    files.sort();
    files
        .iter()
        .filter(|file| file.extension().is_some_and(|extension| extension == "rs"))
        .flat_map(|file| in_file(file))
        .collect()
}

fn files_under(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("a directory entry").path());
    paths.flat_map(|path| if path.is_dir() { files_under(&path) } else { vec![path] }).collect()
}

fn in_file(path: &Path) -> Vec<Site> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let file = path.file_name().expect("a file has a name").to_string_lossy().into_owned();
    let text = without_comments(text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default());
    let mut counts = [0; OPERATIONS.len()];
    let mut sites = Vec::new();
    for (start, _) in text.match_indices(|c: char| c.is_ascii_lowercase()) {
        let is_word_start = !text[..start].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let Some(index) = OPERATIONS.iter().position(|operation| is_word_start && is_call(&text[start..], operation))
        else {
            continue;
        };
        let orderings = orderings(arguments(&text[start + OPERATIONS[index].len()..]));
        // A call without an ordering is a call of another function of the same name. The two fences of a pair take no
        // ordering; their imports are not calls and so do not get here.
        if orderings.is_empty() && !is_of_fence_pair(OPERATIONS[index]) {
            continue;
        }
        counts[index] += 1;
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        sites.push(Site {
            file: file.clone(),
            operation: OPERATIONS[index],
            number: counts[index],
            orderings,
            line: text[..start].matches('\n').count() as u32 + 1,
            column: text[line_start..start].chars().count() as u32 + 1,
        });
    }
    sites
}

pub(super) fn is_of_fence_pair(operation: &str) -> bool {
    operation.ends_with("_fence")
}

/// Blanks out the comments. Lines and columns of the code stay the same.
fn without_comments(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

fn is_call(text: &str, operation: &str) -> bool {
    text.strip_prefix(operation).is_some_and(|rest| rest.starts_with('('))
}

/// Returns the text between the parenthesis that `text` starts with and its partner.
fn arguments(text: &str) -> &str {
    let mut depth = 0;
    for (index, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 1 => return &text[1..index],
            ')' => depth -= 1,
            _ => {}
        }
    }
    ""
}

fn orderings(arguments: &str) -> Vec<String> {
    let after = arguments.split("Ordering::").skip(1);
    after.map(|text| text.chars().take_while(char::is_ascii_alphanumeric).collect()).collect()
}
