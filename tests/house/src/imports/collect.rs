//! Reads the items of a file into modules: what they define, import and name. Tests are left out.

use proc_macro2::{TokenStream, TokenTree};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Ident, Item, Meta, Token, UseTree, Visibility};

use super::tree::{Declared, Import, Mention, Tree};

/// Adds what `items` define, import and name to a module; answers with the modules that have files of their own.
pub(crate) fn module(tree: &mut Tree, module: usize, path: &str, folder: &str, items: &[Item]) -> Vec<Declared> {
    let mut collector = Collector { tree, module, path, folder: folder.to_owned(), declared: Vec::new() };
    for item in items {
        collector.visit_item(item);
    }
    collector.declared
}

struct Collector<'a> {
    tree: &'a mut Tree,
    module: usize,
    /// The file, and the folder in which the files of its modules are.
    path: &'a str,
    folder: String,
    declared: Vec<Declared>,
}

impl Collector<'_> {
    fn define(&mut self, name: &Ident) {
        self.tree.modules[self.module].items.insert(name.to_string());
    }

    fn mention(&mut self, path: Vec<String>, line: usize) {
        let module = &mut self.tree.modules[self.module];
        module.names.insert(path[0].clone());
        if path.len() > 1 {
            module.mentions.push(Mention { path, line });
        }
    }

    fn import(&mut self, tree: &UseTree, before: &[String], is_shared: bool) {
        let line = tree.span().start().line;
        let mut add = |name: Option<String>, path: Vec<String>| {
            self.tree.modules[self.module].imports.push(Import { name, path, is_shared, line });
        };
        let with = |ident: &Ident| [before, &[ident.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.import(&path.tree, &with(&path.ident), is_shared),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.import(tree, before, is_shared)),
            UseTree::Glob(_) => add(None, before.to_vec()),
            UseTree::Name(name) if name.ident == "self" => add(before.last().cloned(), before.to_vec()),
            UseTree::Name(name) => add(Some(name.ident.to_string()), with(&name.ident)),
            UseTree::Rename(name) if name.ident == "self" => add(Some(name.rename.to_string()), before.to_vec()),
            UseTree::Rename(name) => add(Some(name.rename.to_string()), with(&name.ident)),
        }
    }

    /// Paths in what a macro is given are not parsed: names with `::` between are taken for paths.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let (mut line, mut colons) = (0, 0);
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.flush(&mut path, line);
                        line = ident.span().start().line;
                    }
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' && !path.is_empty() => colons += 1,
                other => {
                    self.flush(&mut path, line);
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.tokens(group.stream());
                    }
                }
            }
        }
        self.flush(&mut path, line);
    }

    fn flush(&mut self, path: &mut Vec<String>, line: usize) {
        if !path.is_empty() {
            self.mention(std::mem::take(path), line);
        }
    }

    fn declare(&mut self, item: &syn::ItemMod) {
        let name = item.ident.to_string();
        let candidates = match given_path(&item.attrs) {
            Some(path) => {
                let folder = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
                vec![join(folder, &path)]
            }
            None => ["{}.rs", "{}/mod.rs"].map(|file| join(&self.folder, &file.replace("{}", &name))).to_vec(),
        };
        self.declared.push(Declared { parent: self.module, name, candidates });
    }
}

impl<'ast> Visit<'ast> for Collector<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if is_for_tests(attributes(item)) {
            return;
        }
        match item {
            Item::Const(item) => self.define(&item.ident),
            Item::Enum(item) => self.define(&item.ident),
            Item::Fn(item) => self.define(&item.sig.ident),
            Item::Static(item) => self.define(&item.ident),
            Item::Struct(item) => self.define(&item.ident),
            Item::Trait(item) => self.define(&item.ident),
            Item::Type(item) => self.define(&item.ident),
            Item::Union(item) => self.define(&item.ident),
            Item::Macro(item) => item.ident.iter().for_each(|name| self.define(name)),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let Some((_, items)) = &item.content else {
            self.declare(item);
            return;
        };
        let name = item.ident.to_string();
        let inner = self.tree.add(Some(self.module), &name, self.tree.modules[self.module].file);
        let outer = std::mem::replace(&mut self.module, inner);
        let folder = self.folder.clone();
        self.folder = join(&folder, &name);
        for item in items {
            self.visit_item(item);
        }
        self.module = outer;
        self.folder = folder;
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if item.leading_colon.is_none() {
            self.import(&item.tree, &[], !matches!(item.vis, Visibility::Inherited));
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_for_tests(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            let parts = path.segments.iter().map(|part| part.ident.to_string()).collect();
            self.mention(parts, path.span().start().line);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        self.visit_path(&mac.path);
        self.tokens(mac.tokens.clone());
    }

    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

fn given_path(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(path), .. }) => Some(path.value()),
            _ => None,
        },
        _ => None,
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Whether something is there only when tests are built.
pub(crate) fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && attribute.parse_args::<Meta>().is_ok_and(|condition| without_tests(&condition) == Some(false))
    })
}

/// What a condition is when no tests are built, or `None` if that depends on something else.
fn without_tests(condition: &Meta) -> Option<bool> {
    if condition.path().is_ident("test") {
        return Some(false);
    }
    let Meta::List(list) = condition else { return None };
    let inner = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).ok()?;
    let mut inner = inner.iter().map(without_tests);
    if condition.path().is_ident("not") {
        inner.next()?.map(|is_true| !is_true)
    } else if condition.path().is_ident("all") {
        inner.any(|it| it == Some(false)).then_some(false)
    } else if condition.path().is_ident("any") {
        inner.all(|it| it == Some(false)).then_some(false)
    } else {
        None
    }
}

#[test]
fn conditions_that_only_tests_meet_are_known() {
    let is = |attribute: Attribute| is_for_tests(&[attribute]);
    assert!(is(syn::parse_quote!(#[cfg(test)])));
    assert!(is(syn::parse_quote!(#[cfg(all(test, unix))])));
    assert!(is(syn::parse_quote!(#[test])));
    assert!(!is(syn::parse_quote!(#[cfg(any(test, unix))])));
    assert!(!is(syn::parse_quote!(#[cfg(not(test))])));
    assert!(!is(syn::parse_quote!(#[cfg(feature = "test")])));
}
