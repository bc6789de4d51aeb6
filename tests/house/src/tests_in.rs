//! Where the tests of a source file are.

use std::ops::RangeInclusive;

use syn::Item;
use syn::spanned::Spanned;

use crate::imports::is_for_tests;

/// The lines of the modules that are there only when tests are built. A file that cannot be read has none.
pub(crate) fn lines(text: &str) -> Vec<RangeInclusive<usize>> {
    if !text.contains("cfg(") {
        return Vec::new();
    }
    let items = syn::parse_file(text).map_or(Vec::new(), |file| file.items);
    let of_tests = items.iter().filter(|item| matches!(item, Item::Mod(module) if is_for_tests(&module.attrs)));
    of_tests.map(|item| item.span().start().line..=item.span().end().line).collect()
}

#[test]
fn modules_of_tests_are_found_with_their_attributes() {
    assert_eq!(lines("fn f() {}\n#[cfg(test)]\nmod tests {\n}\nmod other {}\n"), [2..=4]);
}
