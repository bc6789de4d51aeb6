use super::{Graph, of_texts};

/// All arrows as `from -> to: names`.
fn arrows(files: &[(&str, &str)]) -> Vec<String> {
    let graph: Graph = of_texts(files);
    let name = |file: usize| graph.files[file].trim_end_matches(".rs");
    let show = |arrow: super::Arrow| format!("{} -> {}: {}", name(arrow.from), name(arrow.to), graph.names(arrow));
    let mut arrows: Vec<_> = graph.arrows().map(show).collect();
    arrows.sort();
    arrows
}

#[test]
fn imports_by_crate_super_and_self_are_arrows() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "use crate::b::B; pub struct A; pub(crate) mod inner { use super::super::b::C; }"),
        ("b.rs", "pub struct B; pub struct C; fn f() { let _ = crate::a::A; }"),
    ];
    assert_eq!(arrows(&files), ["a -> b: B, C", "b -> a: a::A"]);
}

#[test]
fn an_import_through_a_folder_leads_to_the_file_that_defines_the_name() {
    let files = [
        ("lib.rs", "mod x; mod z;"),
        ("x/mod.rs", "mod y; mod w; pub(crate) use y::Name; pub(crate) use w::*; pub struct Own;"),
        ("x/y.rs", "pub struct Name;"),
        ("x/w.rs", "pub struct Other;"),
        ("z.rs", "use crate::x::{Name as Renamed, Other, Own};"),
    ];
    assert_eq!(arrows(&files), ["z -> x/mod: Own", "z -> x/w: Other", "z -> x/y: Name"]);
}

#[test]
fn a_module_is_an_arrow_where_something_of_it_is_used() {
    let files = [
        ("lib.rs", "mod x; mod z;"),
        ("x/mod.rs", "mod y; pub(crate) use y::f; pub(crate) fn g() {}"),
        ("x/y.rs", "pub(crate) fn f() {}"),
        ("z.rs", "use crate::x; fn z() { x::f(); }"),
    ];
    assert_eq!(arrows(&files), ["z -> x/y: x::f"]);
}

#[test]
fn paths_in_what_a_macro_is_given_are_arrows() {
    let files = [
        ("lib.rs", "mod x; mod z;"),
        ("x.rs", "pub(crate) fn f() -> u32 { 1 }"),
        ("z.rs", "fn z() { assert!(crate::x::f() == 1, \"{}\", 1); }"),
    ];
    assert_eq!(arrows(&files), ["z -> x: x::f"]);
}

#[test]
fn tests_and_other_crates_are_left_out() {
    let files = [
        ("lib.rs", "mod x; mod z;"),
        ("x.rs", "pub(crate) struct X; use std::mem::swap;"),
        (
            "z.rs",
            "use ::std::fmt; #[cfg(test)] use crate::x::X; #[cfg(all(test, unix))] mod t { use crate::x::X; } \
             struct Z; impl Z { #[cfg(test)] fn z() { crate::x::X; } }",
        ),
    ];
    assert_eq!(arrows(&files), [] as [&str; 0]);
}

#[test]
fn what_comes_from_another_crate_belongs_to_the_file_that_passes_it_on() {
    let files = [
        ("lib.rs", "mod sync; mod z;"),
        ("sync.rs", "pub(crate) use std::sync::Mutex;"),
        ("z.rs", "use crate::sync::Mutex;"),
    ];
    assert_eq!(arrows(&files), ["z -> sync: Mutex"]);
}

#[test]
fn a_module_may_have_the_name_of_a_function() {
    let files = [
        ("lib.rs", "mod stats; mod global; mod y; mod z; pub use global::stats;"),
        ("stats.rs", "pub struct Stats;"),
        ("global.rs", "pub fn stats() {}"),
        ("y.rs", "use crate::stats::Stats;"),
        ("z.rs", "use crate::stats; fn z() { stats(); }"),
    ];
    assert_eq!(arrows(&files), ["y -> stats: Stats", "z -> global: stats"]);
}

#[test]
fn a_function_can_be_passed_on_from_a_module_of_its_name() {
    let files = [
        ("lib.rs", "mod info; mod z; pub use info::info;"),
        ("info.rs", "pub fn info() {}"),
        ("z.rs", "use crate::info; fn z() { info(); }"),
    ];
    assert_eq!(arrows(&files), ["z -> info: info"]);
}

#[test]
fn a_file_can_be_named_by_a_path_and_chosen_by_a_condition() {
    let files = [
        ("lib.rs", "mod sys; mod z;"),
        ("sys/mod.rs", "#[cfg(unix)] #[path = \"posix.rs\"] mod it; #[cfg(not(unix))] mod it; pub(crate) use it::f;"),
        ("sys/posix.rs", "pub(crate) fn f() {}"),
        ("sys/it.rs", "pub(crate) fn f() {}"),
        ("z.rs", "use crate::sys::f;"),
    ];
    assert_eq!(arrows(&files), ["z -> sys/it: f", "z -> sys/posix: f"]);
}

#[test]
fn a_folder_that_uses_what_it_passes_on_has_an_arrow() {
    let files = [
        ("lib.rs", "mod x;"),
        ("x/mod.rs", "mod y; pub(crate) use y::f; fn g() { f(); }"),
        ("x/y.rs", "pub fn f() {}"),
    ];
    assert_eq!(arrows(&files), ["x/mod -> x/y: f"]);
}

#[test]
fn arrows_to_the_own_folder_make_no_circle() {
    let graph = of_texts(&[
        ("lib.rs", "mod x;"),
        ("x/mod.rs", "mod y; use y::Y; pub struct X(Y);"),
        ("x/y.rs", "use super::X; pub struct Y;"),
    ]);
    assert_eq!(graph.circles(), [] as [Vec<usize>; 0]);
    assert_eq!(graph.arrows().filter(|&arrow| graph.is_to_own_folder(arrow)).count(), 1);
}

#[test]
fn imports_that_name_each_other_come_to_an_end() {
    let files = [("lib.rs", "mod x;"), ("x.rs", "use a as b; use b as a; use self::a::c; fn f() { a::d(); }")];
    assert_eq!(arrows(&files), [] as [&str; 0]);
}
