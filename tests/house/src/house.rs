//! Checks of the repository's own order: docs/house-rules.md says which, and how to shrink their lists.
//!
//! Each check is a test, and has tests of its own beside it which show that it can fail.

mod circles;
mod comments;
mod finding;
mod glossary;
mod imports;
mod layers;
mod lines;
mod links;
mod list;
mod promises;
mod repository;
mod sizes;
mod statistics;
mod steps;
mod tests_in;
mod words;

use finding::expect_none;

#[test]
fn no_files_import_each_other_in_a_circle() {
    expect_none("circles of imports", &circles::check());
}

#[test]
fn imports_run_down_the_layers() {
    expect_none("layers", &layers::check());
}

#[test]
fn no_forbidden_word_is_said() {
    expect_none("words", &words::check());
}

#[test]
fn the_glossary_is_short_and_says_what_the_code_says() {
    expect_none("glossary", &glossary::check());
}

#[test]
fn each_page_has_letters_of_its_own_for_its_steps() {
    expect_none("letters of steps", &steps::check());
}

#[test]
fn no_line_is_too_long() {
    expect_none("lengths of lines", &lines::check());
}

#[test]
fn no_file_and_no_function_is_too_long() {
    expect_none("lengths of files and functions", &sizes::check());
}

#[test]
fn what_pages_and_comments_refer_to_is_there() {
    expect_none("links", &links::check());
}

#[test]
fn each_promise_of_the_readme_has_a_test() {
    expect_none("promises", &promises::check());
}

/// Run it by `cargo test --test house -- --ignored --nocapture statistics`.
#[test]
#[ignore = "prints figures and checks nothing"]
fn statistics() {
    println!("\n{}", statistics::table());
}
