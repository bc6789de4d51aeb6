//! `Type::part` in prose, where the type is one of the repository's.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use regex::Regex;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, Fields, Ident, ImplItem, ItemEnum, ItemImpl, ItemStruct, ItemTrait};
use syn::{Path, Token, TraitItem, Type};

use crate::comments;
use crate::finding::Finding;
use crate::repository::{File, Kind};

/// What the types of the repository have: methods, fields, variants, constants and types, by the type's name.
#[derive(Default)]
pub(crate) struct TypeParts {
    of: BTreeMap<String, BTreeSet<String>>,
    /// The types and traits that are defined here. A type that is not may have parts that nothing here says.
    defined: BTreeSet<String>,
    /// The traits that a type implements, by its name.
    traits: BTreeMap<String, BTreeSet<String>>,
}

impl TypeParts {
    /// Those of the types in these files. A helper of the tests counts only if nothing else has its name.
    pub(crate) fn new<'a>(files: impl Iterator<Item = &'a File> + Clone) -> Self {
        let is_rust = |file: &&File| file.kind() == Kind::Rust;
        let mut parts = Self::default();
        let in_tests = |file: &&File| file.path.starts_with("tests/") || file.path.contains("/tests/");
        files.clone().filter(is_rust).filter(|file| !in_tests(file)).for_each(|file| parts.read(file));
        let mut of_tests = Self::default();
        files.filter(is_rust).filter(in_tests).for_each(|file| of_tests.read(file));
        for name in of_tests.defined.iter().filter(|name| !parts.defined.contains(*name)).cloned().collect::<Vec<_>>() {
            parts.of.insert(name.clone(), of_tests.of.remove(&name).unwrap_or_default());
            parts.traits.insert(name.clone(), of_tests.traits.remove(&name).unwrap_or_default());
            parts.defined.insert(name);
        }
        parts
    }

    fn read(&mut self, file: &File) {
        if let Ok(syntax) = syn::parse_file(&file.text) {
            self.visit_file(&syntax);
        }
    }

    fn add(&mut self, type_name: &str, part: &Ident) {
        self.of.entry(type_name.to_owned()).or_default().insert(part.to_string());
    }

    fn define(&mut self, name: &Ident, attributes: &[Attribute]) {
        self.defined.insert(name.to_string());
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("derive")) {
            let derived =
                attribute.parse_args_with(Punctuated::<Path, Token![,]>::parse_terminated).unwrap_or_default();
            self.traits.entry(name.to_string()).or_default().extend(derived.iter().filter_map(last));
        }
    }

    fn add_fields(&mut self, type_name: &Ident, fields: &Fields) {
        fields
            .iter()
            .filter_map(|field| field.ident.as_ref())
            .for_each(|field| self.add(&type_name.to_string(), field));
    }

    /// Whether a type of the repository lacks this.
    fn lacks(&self, type_name: &str, part: &str) -> bool {
        self.defined.contains(type_name) && !self.has(type_name, part)
    }

    fn has(&self, type_name: &str, part: &str) -> bool {
        let of_trait = |name: &String| match name.as_str() {
            "Default" => part == "default",
            "Clone" => part == "clone",
            "Debug" | "Display" => part == "fmt" || part == "to_string",
            "PartialEq" => part == "eq",
            _ => self.of.get(name).is_some_and(|parts| parts.contains(part)),
        };
        self.of.get(type_name).is_some_and(|parts| parts.contains(part))
            || self.traits.get(type_name).is_some_and(|traits| traits.iter().any(of_trait))
    }
}

fn last(path: &Path) -> Option<String> {
    path.segments.last().map(|segment| segment.ident.to_string())
}

impl<'ast> Visit<'ast> for TypeParts {
    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        self.define(&item.ident, &item.attrs);
        self.add_fields(&item.ident, &item.fields);
    }

    fn visit_item_enum(&mut self, item: &'ast ItemEnum) {
        self.define(&item.ident, &item.attrs);
        for variant in &item.variants {
            self.add(&item.ident.to_string(), &variant.ident);
        }
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        self.define(&item.ident, &item.attrs);
        for part in &item.items {
            match part {
                TraitItem::Fn(part) => self.add(&item.ident.to_string(), &part.sig.ident),
                TraitItem::Const(part) => self.add(&item.ident.to_string(), &part.ident),
                TraitItem::Type(part) => self.add(&item.ident.to_string(), &part.ident),
                _ => {}
            }
        }
        visit::visit_item_trait(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        if let Type::Path(path) = &*item.self_ty
            && let Some(name) = last(&path.path)
        {
            if let Some((_, implemented, _)) = &item.trait_ {
                self.traits.entry(name.clone()).or_default().extend(last(implemented));
            }
            for part in &item.items {
                match part {
                    ImplItem::Fn(part) => self.add(&name, &part.sig.ident),
                    ImplItem::Const(part) => self.add(&name, &part.ident),
                    ImplItem::Type(part) => self.add(&name, &part.ident),
                    _ => {}
                }
            }
        }
        visit::visit_item_impl(self, item);
    }
}

/// What the prose of a file says that types of the repository have, and they have not.
pub(crate) fn check(file: &File, parts: &TypeParts) -> Vec<Finding> {
    static NAME: OnceLock<Regex> = OnceLock::new();
    // A path that begins with `std` matches as a whole, without groups: its type has only the name of one of ours.
    let name = NAME.get_or_init(|| Regex::new(r"\bstd(?:::\w+)+|\b([A-Z]\w*)(?:<[^`>]*>)?::(\w+)").expect("a regex"));
    let mut findings = Vec::new();
    for (line, text) in comments::prose(file) {
        for found in name.captures_iter(text) {
            let Some((owner, part)) = found.get(1).zip(found.get(2)) else { continue };
            let (owner, part) = (owner.as_str(), part.as_str());
            if parts.lacks(owner, part) {
                let what = format!("names {owner}::{part}, which is not there; name what has taken its place");
                findings.push(Finding::new(&file.path, line, what));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "
        #[derive(Clone)] pub struct Team { slots: u32 }
        enum State { Awake, Asleep(u32) }
        trait Sleep { const LIMIT: u32; fn fall_asleep(&self); }
        impl Team { pub fn resize(&self) { struct Inner; impl Inner { fn deep() {} } } }
        impl Sleep for Team { fn fall_asleep(&self) {} }";

    fn problems(text: &str) -> Vec<String> {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let files = [
            file("hive/a.rs", SOURCE),
            file("tests/b.rs", "struct Team; impl Team { fn of_tests() {} } struct Helper { part: u32 }"),
        ];
        let parts = TypeParts::new(files.iter());
        check(&file("docs/a.md", text), &parts).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_types_have_may_be_named() {
        let text = "`Team::resize`, Team::slots, `Team::clone`, `State::Asleep(3)`, `Team::LIMIT`, `Inner::deep()`, \
            `Helper::part`, and of others `Mutex::lock`, std::x::Team::y.";
        assert_eq!(problems(text), [] as [&str; 0]);
    }

    #[test]
    fn what_no_type_has_fails() {
        let found = problems("One.\n`Team::grow` and `State::Parked`\n`Team::of_tests`, `Helper::other`");
        assert_eq!(found.len(), 4, "{found:?}");
        assert_eq!(found[0], "docs/a.md:2: names Team::grow, which is not there; name what has taken its place");
    }
}
