//! The modules of a crate: which file each is in, and what it defines, imports and names.

use std::collections::BTreeSet;

use super::collect;

/// `use path::name` or, without a name, `use path::*`.
#[derive(Debug)]
pub(crate) struct Import {
    pub(crate) name: Option<String>,
    pub(crate) path: Vec<String>,
    /// It has a visibility: others can import the name from here.
    pub(crate) is_shared: bool,
    pub(crate) line: usize,
}

/// A path of two or more parts in code.
#[derive(Debug)]
pub(crate) struct Mention {
    pub(crate) path: Vec<String>,
    pub(crate) line: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Module {
    pub(crate) file: usize,
    pub(crate) parent: Option<usize>,
    pub(crate) name: String,
    pub(crate) children: Vec<(String, usize)>,
    /// The names of what it defines, child modules excepted.
    pub(crate) items: BTreeSet<String>,
    pub(crate) imports: Vec<Import>,
    pub(crate) mentions: Vec<Mention>,
    /// Names that stand alone or first in a path of its code.
    pub(crate) names: BTreeSet<String>,
}

/// A crate without its tests.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) files: Vec<String>,
    /// The root is the first one.
    pub(crate) modules: Vec<Module>,
}

/// `mod name;`, whose file is yet to be read.
pub(crate) struct Declared {
    pub(crate) parent: usize,
    pub(crate) name: String,
    /// Where the file may be, the usual place first.
    pub(crate) candidates: Vec<String>,
}

impl Tree {
    /// Reads the crate whose root file is `root`.
    pub(crate) fn load(root: &str, read: &dyn Fn(&str) -> Option<String>) -> Self {
        let mut tree = Self::default();
        let mut declared = vec![Declared { parent: 0, name: String::new(), candidates: vec![root.to_owned()] }];
        while let Some(next) = declared.pop() {
            let found = next.candidates.iter().find_map(|path| Some((path.clone(), read(path)?)));
            let (path, text) = found.unwrap_or_else(|| panic!("{}: no such file", next.candidates.join(" or ")));
            let file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
            let index = tree.files.len();
            let parent = (index > 0).then_some(next.parent);
            tree.files.push(path.clone());
            let module = tree.add(parent, &next.name, index);
            let folder = folder_of_children(&path, index == 0);
            declared.extend(collect::module(&mut tree, module, &path, &folder, &file.items));
        }
        tree
    }

    /// Adds a module that is in the file with this index.
    pub(crate) fn add(&mut self, parent: Option<usize>, name: &str, file: usize) -> usize {
        let index = self.modules.len();
        self.modules.push(Module { file, parent, name: name.to_owned(), ..Module::default() });
        if let Some(parent) = parent {
            self.modules[parent].children.push((name.to_owned(), index));
        }
        index
    }

    /// The modules around a module, from the nearest to the root.
    pub(crate) fn around(&self, module: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(self.modules[module].parent, |&module| self.modules[module].parent)
    }

    /// The name of the top module that a module is in, or `None` for the root.
    pub(crate) fn room(&self, module: usize) -> Option<&str> {
        let top = std::iter::once(module).chain(self.around(module)).find(|&it| self.modules[it].parent == Some(0));
        top.map(|top| self.modules[top].name.as_str())
    }
}

/// The folder in which the files of a file's modules are.
fn folder_of_children(path: &str, is_root: bool) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    match name {
        _ if is_root => folder.to_owned(),
        "mod.rs" => folder.to_owned(),
        _ => path.trim_end_matches(".rs").to_owned(),
    }
}

#[test]
fn children_are_beside_mod_rs_and_below_other_files() {
    assert_eq!(folder_of_children("hive/lib.rs", true), "hive");
    assert_eq!(folder_of_children("hive/x/mod.rs", false), "hive/x");
    assert_eq!(folder_of_children("hive/x.rs", false), "hive/x");
}
