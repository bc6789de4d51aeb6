//! No file is longer than 450 lines, and no function longer than 60.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::finding::Finding;
use crate::list::{self, Found};
use crate::repository::{self, File, Kind};
use crate::tests_in;

const MOST_OF_A_FILE: usize = 450;
const MOST_OF_A_FUNCTION: usize = 60;
/// How many longer ones are still allowed: `files in FOLDER` or `functions in FOLDER`, a tab and their number.
const LIST: &str = "sizes.txt";

/// A file or function with the number of its lines.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Length {
    pub(crate) lines: usize,
    pub(crate) path: String,
    /// 0 for a file.
    pub(crate) line: usize,
    /// Empty for a file.
    pub(crate) name: String,
}

pub(crate) fn check() -> Vec<Finding> {
    let mut found = Found::new();
    for file in repository::files_of(Kind::Rust) {
        for (key, finding) in too_long(file) {
            found.entry(key).or_default().push(finding);
        }
    }
    list::compare_counts(LIST, &found)
}

fn too_long(file: &File) -> Vec<(String, Finding)> {
    let folder = repository::folder(&file.path);
    let mut found = Vec::new();
    // Only a file that is long with its tests needs to be looked at for them.
    let is_long = file.text.lines().count() > MOST_OF_A_FILE;
    let lines = if is_long { of_file(file).lines } else { 0 };
    if lines > MOST_OF_A_FILE {
        let what = format!("{lines} lines, {MOST_OF_A_FILE} are the most; give one of its ideas a file of its own");
        found.push((format!("files in {folder}"), Finding::new(&file.path, 0, what)));
    }
    for Length { lines, line, name, .. } in of_functions(file) {
        if lines > MOST_OF_A_FUNCTION {
            let what = format!("{name} has {lines} lines, {MOST_OF_A_FUNCTION} are the most; give a step of it a name");
            found.push((format!("functions in {folder}"), Finding::new(&file.path, line, what)));
        }
    }
    found
}

/// The lines of code and comment of a file, its module of tests left out.
pub(crate) fn of_file(file: &File) -> Length {
    let tests = tests_in::lines(&file.text);
    let is_counted = |(index, line): &(usize, &str)| {
        !line.trim().is_empty() && !tests.iter().any(|range| range.contains(&(index + 1)))
    };
    let lines = file.text.lines().enumerate().filter(is_counted).count();
    Length { lines, path: file.path.clone(), line: 0, name: String::new() }
}

/// The functions of a file with their lines, from `fn` to the closing brace. Those of a short file are not looked at.
pub(crate) fn of_functions(file: &File) -> Vec<Length> {
    if file.text.lines().count() <= MOST_OF_A_FUNCTION {
        return Vec::new();
    }
    let Ok(parsed) = syn::parse_file(&file.text) else { return Vec::new() };
    let mut functions = Functions { path: &file.path, lengths: Vec::new() };
    functions.visit_file(&parsed);
    functions.lengths
}

struct Functions<'a> {
    path: &'a str,
    lengths: Vec<Length>,
}

impl Functions<'_> {
    fn add(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let (start, end) = (signature.span().start().line, block.span().end().line);
        let (path, name) = (self.path.to_owned(), signature.ident.to_string());
        self.lengths.push(Length { lines: end + 1 - start, path, line: start, name });
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.add(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.add(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.add(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: String) -> Vec<String> {
        let file = File { path: "a/b.rs".to_owned(), text };
        too_long(&file).iter().map(|(key, finding)| format!("{key}: {finding}")).collect()
    }

    #[test]
    fn a_file_of_451_lines_is_too_long_and_blank_lines_and_tests_do_not_count() {
        let text = "// A line.\n\n".repeat(450);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "    // A test.\n".repeat(100));
        assert_eq!(found(text.clone() + &tests), [] as [&str; 0]);
        let found = found(text + "// One more.\n" + &tests);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("files in a: a/b.rs: 451 lines"), "{found:?}");
    }

    #[test]
    fn a_function_of_61_lines_is_too_long_wherever_it_is() {
        let body = |lines: usize| format!("{{\n{}}}\n", "let _ = 1;\n".repeat(lines - 2));
        let text = format!("/// Says so.\nfn short() {}", body(60));
        assert_eq!(found(text), [] as [&str; 0]);
        let text = format!("impl X {{ fn long() {} }}\n\ntrait Y {{ fn long() {} }}", body(61), body(61));
        let found = found(text);
        assert_eq!(found.len(), 2);
        assert!(found[0].starts_with("functions in a: a/b.rs:1: long has 61 lines"), "{found:?}");
    }
}
