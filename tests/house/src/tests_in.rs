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
    syn::parse_file(text).map_or(Vec::new(), |file| modules_of_tests(&file.items))
}

fn modules_of_tests(items: &[Item]) -> Vec<RangeInclusive<usize>> {
    let modules = items.iter().filter_map(|item| if let Item::Mod(module) = item { Some(module) } else { None });
    let of_tests = modules.flat_map(|module| match &module.content {
        _ if is_for_tests(&module.attrs) => vec![module.span().start().line..=module.span().end().line],
        Some((_, items)) => modules_of_tests(items),
        None => Vec::new(),
    });
    of_tests.collect()
}

#[test]
fn modules_of_tests_are_found_with_their_attributes() {
    assert_eq!(lines("fn f() {}\n#[cfg(test)]\nmod tests {\n}\nmod other {}\n"), [2..=4]);
    assert_eq!(lines("mod linux {\n    #[cfg(test)]\n    mod tests {\n    }\n}\nmod other;\n"), [2..=4]);
}
