//! Which file a path leads to.

use super::tree::{Import, Tree};

/// What a path leads to inside the crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Module(usize),
    /// Something in the file with this index.
    Item(usize),
}

/// The names that are being looked up, so that imports which name each other come to an end.
type Pending<'a> = Vec<(usize, &'a str)>;

impl Tree {
    /// What a path in a module's code leads to; nothing, if that is in another crate. There can be several: a module
    /// and a function may have one name, and conditions may choose between two files.
    pub(crate) fn resolve(&self, module: usize, path: &[String]) -> Vec<Target> {
        self.walk(module, path, &mut Pending::new())
    }

    fn walk<'a>(&'a self, module: usize, path: &'a [String], pending: &mut Pending<'a>) -> Vec<Target> {
        let Some((first, rest)) = path.split_first() else { return Vec::new() };
        let mut targets = match first.as_str() {
            "crate" => vec![Target::Module(0)],
            "self" => vec![Target::Module(module)],
            "super" => self.modules[module].parent.map(Target::Module).into_iter().collect(),
            name => self.look_up(module, name, pending),
        };
        for part in rest {
            targets = self.step(&targets, part, pending);
        }
        targets
    }

    /// What `part` is in any of the targets. What is inside an item is in its file.
    fn step<'a>(&'a self, targets: &[Target], part: &'a str, pending: &mut Pending<'a>) -> Vec<Target> {
        let mut found = Vec::new();
        let mut fallback = Vec::new();
        for &target in targets {
            match target {
                Target::Item(_) => fallback.push(target),
                Target::Module(module) if part == "super" => {
                    found.extend(self.modules[module].parent.map(Target::Module));
                }
                Target::Module(module) if part == "self" => found.push(Target::Module(module)),
                Target::Module(module) => {
                    let inside = self.look_up(module, part, pending);
                    // A name that only a macro makes is in the module's own file.
                    fallback.extend(inside.is_empty().then_some(Target::Item(self.modules[module].file)));
                    found.extend(inside);
                }
            }
        }
        if found.is_empty() { fallback } else { found }
    }

    fn look_up<'a>(&'a self, module: usize, name: &'a str, pending: &mut Pending<'a>) -> Vec<Target> {
        let here = &self.modules[module];
        let children = here.children.iter().filter(|(child, _)| child == name);
        let mut found: Vec<_> = children.map(|&(_, child)| Target::Module(child)).collect();
        // In `use name::name` the first is the module: the import does not name itself.
        if pending.contains(&(module, name)) {
            return found;
        }
        pending.push((module, name));
        if here.items.contains(name) {
            found.push(Target::Item(here.file));
        }
        for import in here.imports.iter().filter(|import| import.name.as_deref() == Some(name)) {
            let targets = self.walk(module, &import.path, pending);
            // What comes from another crate is supplied by the file that imports it.
            found.extend(targets.is_empty().then_some(Target::Item(here.file)));
            found.extend(targets);
        }
        if found.is_empty() {
            let globs = here.imports.iter().filter(|import| import.name.is_none());
            found = globs.flat_map(|glob| self.through(module, glob, name, pending)).collect();
        }
        pending.pop();
        found
    }

    fn through<'a>(&'a self, module: usize, glob: &'a Import, name: &'a str, pending: &mut Pending<'a>) -> Vec<Target> {
        let mut found = Vec::new();
        for target in self.walk(module, &glob.path, pending) {
            if let Target::Module(source) = target {
                found.extend(self.look_up(source, name, pending));
            }
        }
        found
    }
}
