//! The files of a crate and the arrows between them.

use std::collections::{BTreeMap, BTreeSet};

use petgraph::algo::{greedy_feedback_arc_set, tarjan_scc};
use petgraph::graph::DiGraph;
use petgraph::visit::EdgeRef;

use super::resolve::Target;
use super::tree::{Import, Tree};

/// One file names something of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Arrow {
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// Which file names what of which other file.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) files: Vec<String>,
    /// The top module that each file belongs to.
    rooms: Vec<String>,
    /// The names that tie two files, with the line where each is first named.
    arrows: BTreeMap<Arrow, BTreeMap<String, usize>>,
    /// The files of the modules around each file.
    around: Vec<BTreeSet<usize>>,
}

impl Graph {
    pub(crate) fn new(tree: &Tree) -> Self {
        let mut graph = Self {
            files: tree.files.clone(),
            rooms: vec!["lib".to_owned(); tree.files.len()],
            arrows: BTreeMap::new(),
            around: vec![BTreeSet::new(); tree.files.len()],
        };
        for (index, module) in tree.modules.iter().enumerate() {
            graph.around[module.file].extend(tree.around(index).map(|outer| tree.modules[outer].file));
            // A module in the root file is there too: its room is that of the file.
            if module.file != tree.modules[0].file {
                graph.rooms[module.file] = tree.room(index).unwrap_or("lib").to_owned();
            }
            for import in &module.imports {
                graph.add_import(tree, index, import);
            }
            for mention in &module.mentions {
                graph.add_mention(tree, index, &mention.path, mention.line);
            }
        }
        graph
    }

    fn add_import(&mut self, tree: &Tree, index: usize, import: &Import) {
        let module = &tree.modules[index];
        let targets = tree.resolve(index, &import.path);
        let is_named = import.name.as_ref().is_some_and(|name| module.names.contains(name));
        let has_module = targets.iter().any(|target| matches!(target, Target::Module(_)));
        for target in targets {
            let file = match target {
                // A module is imported for what it has: that is named where it is used.
                Target::Module(_) if import.name.is_some() => continue,
                Target::Module(source) => tree.modules[source].file,
                // A function with the name of its module, which may be all that is meant.
                Target::Item(_) if has_module && !is_named => continue,
                Target::Item(file) => file,
            };
            // What is passed on from below is not used here.
            let is_below = tree
                .modules
                .iter()
                .enumerate()
                .any(|(below, it)| it.file == file && tree.around(below).any(|outer| outer == index));
            if import.is_shared && is_below && !is_named {
                continue;
            }
            let name = import.path.last().map_or("*", String::as_str);
            self.add(module.file, file, name, import.line);
        }
    }

    fn add_mention(&mut self, tree: &Tree, index: usize, path: &[String], line: usize) {
        let targets = tree.resolve(index, path);
        let items = targets.iter().filter(|target| matches!(target, Target::Item(_))).count();
        for target in targets {
            let file = match target {
                Target::Item(file) => file,
                Target::Module(_) if items > 0 => continue,
                Target::Module(module) => tree.modules[module].file,
            };
            self.add(tree.modules[index].file, file, &path[path.len().saturating_sub(2)..].join("::"), line);
        }
    }

    fn add(&mut self, from: usize, to: usize, name: &str, line: usize) {
        if from != to {
            let names = self.arrows.entry(Arrow { from, to }).or_default();
            let first = names.entry(name.to_owned()).or_insert(line);
            *first = line.min(*first);
        }
    }

    /// Whether an arrow leads to the file of a module around it, whose types it may know.
    pub(crate) fn is_to_own_folder(&self, arrow: Arrow) -> bool {
        self.around[arrow.from].contains(&arrow.to)
    }

    pub(crate) fn arrows(&self) -> impl Iterator<Item = Arrow> {
        self.arrows.keys().copied()
    }

    /// The line of the first name that makes an arrow.
    pub(crate) fn line(&self, arrow: Arrow) -> usize {
        self.arrows[&arrow].values().copied().min().unwrap_or(0)
    }

    /// The names that make an arrow, without what is named inside one of them.
    pub(crate) fn names(&self, arrow: Arrow) -> String {
        let names = &self.arrows[&arrow];
        let is_inside = |name: &str| name.split_once("::").is_some_and(|(outer, _)| names.contains_key(outer));
        names.keys().map(String::as_str).filter(|name| !is_inside(name)).collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn room(&self, file: usize) -> &str {
        &self.rooms[file]
    }

    /// All rooms, the root's excepted.
    pub(crate) fn rooms(&self) -> BTreeSet<&str> {
        self.rooms.iter().map(String::as_str).filter(|&room| room != "lib").collect()
    }

    /// The arrows that count for circles, among files that are meant.
    fn counted(&self, is_meant: impl Fn(usize) -> bool) -> DiGraph<(), ()> {
        let arrows = self.arrows().filter(|&arrow| !self.is_to_own_folder(arrow));
        let arrows = arrows.filter(|arrow| is_meant(arrow.from) && is_meant(arrow.to));
        let number = |file: usize| u32::try_from(file).expect("a crate has fewer files");
        DiGraph::from_edges(arrows.map(|arrow| (number(arrow.from), number(arrow.to))))
    }

    /// The sets of files that import each other in a circle, by path.
    pub(crate) fn circles(&self) -> Vec<Vec<usize>> {
        let sets = tarjan_scc(&self.counted(|_| true)).into_iter().filter(|files| files.len() > 1);
        let mut circles: Vec<Vec<_>> = sets.map(|files| files.iter().map(|file| file.index()).collect()).collect();
        for circle in &mut circles {
            circle.sort_by_key(|&file| &self.files[file]);
        }
        circles.sort_by_key(|circle| &self.files[circle[0]]);
        circles
    }

    /// All arrows of a circle.
    pub(crate) fn ties(&self, circle: &[usize]) -> Vec<Arrow> {
        let is_tie = |arrow: &Arrow| circle.contains(&arrow.from) && circle.contains(&arrow.to);
        self.arrows().filter(|arrow| is_tie(arrow) && !self.is_to_own_folder(*arrow)).collect()
    }

    /// Some arrows of a circle without which there is none: few, but perhaps not the fewest.
    pub(crate) fn cuts(&self, circle: &[usize]) -> Vec<Arrow> {
        let graph = self.counted(|file| circle.contains(&file));
        let cuts = greedy_feedback_arc_set(&graph);
        let mut cuts: Vec<_> =
            cuts.map(|edge| Arrow { from: edge.source().index(), to: edge.target().index() }).collect();
        cuts.sort_by_key(|arrow| (&self.files[arrow.from], &self.files[arrow.to]));
        cuts
    }

    /// An arrow in words, with the line of its first name.
    pub(crate) fn show(&self, arrow: Arrow) -> String {
        let (from, to) = (&self.files[arrow.from], &self.files[arrow.to]);
        format!("{from}:{} -> {to}: {}", self.line(arrow), self.names(arrow))
    }
}
