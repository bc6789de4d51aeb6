//! The top modules of the library are in layers; imports run down only.

use std::collections::BTreeMap;

use crate::finding::Finding;
use crate::imports::{self, Arrow, Graph};
use crate::list::{self, Found};

/// The layers from top to bottom: a line each, with the names of the modules in it. Those of one line are level.
const LAYERS: &str = "layers.txt";
/// How many imports that run up are still allowed: `lower -> upper`, a tab and their number.
const UPWARD: &str = "upward.txt";

/// The layer that each top module is in, 0 for the top.
pub(crate) struct Layers(BTreeMap<String, usize>);

impl Layers {
    pub(crate) fn of_the_repository() -> Self {
        Self::read(&list::read(LAYERS))
    }

    fn read(text: &str) -> Self {
        let rooms = list::entries(text)
            .enumerate()
            .flat_map(|(layer, (_, line))| line.split_whitespace().map(move |room| (room.to_owned(), layer)));
        Self(rooms.collect())
    }

    /// Whether both ends of an arrow have a layer and it runs up.
    pub(crate) fn is_upward(&self, graph: &Graph, arrow: Arrow) -> bool {
        let layer = |file: usize| self.0.get(graph.room(file));
        layer(arrow.from).zip(layer(arrow.to)).is_some_and(|(from, to)| from > to)
    }
}

pub(crate) fn check() -> Vec<Finding> {
    let layers = Layers::of_the_repository();
    let [library, ..] = imports::of_the_repository();
    let mut problems = without_layer(&layers, library);
    problems.extend(list::compare_counts(UPWARD, &upward(&layers, library)));
    problems
}

fn without_layer(layers: &Layers, graph: &Graph) -> Vec<Finding> {
    let unknown = graph.rooms().into_iter().filter(|&room| !layers.0.contains_key(room));
    let problem =
        |room| Finding::new(&list::path(LAYERS), 0, format!("the module {room} has no layer; write it into one"));
    unknown.map(problem).collect()
}

fn upward(layers: &Layers, graph: &Graph) -> Found {
    let mut found = Found::new();
    for arrow in graph.arrows().filter(|&arrow| layers.is_upward(graph, arrow)) {
        let (from, to) = (graph.room(arrow.from), graph.room(arrow.to));
        let message = format!(
            "this import runs up, from {from} to {to} ({} of {}); move it below, or hand it in as a value or a trait",
            graph.names(arrow),
            graph.files[arrow.to]
        );
        let finding = Finding::new(&graph.files[arrow.from], graph.line(arrow), message);
        found.entry(format!("{from} -> {to}")).or_default().push(finding);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph() -> Graph {
        imports::of_texts(&[
            ("lib.rs", "mod pool; mod sys; mod tasks;"),
            ("pool.rs", "use crate::sys::wait; pub struct Hive;"),
            ("sys.rs", "use crate::pool::Hive;\npub fn wait() {}"),
            ("tasks.rs", "use crate::pool::Hive;"),
        ])
    }

    #[test]
    fn an_import_that_runs_up_is_found_and_one_that_runs_down_is_not() {
        let found = upward(&Layers::read("# top to bottom\nlib\npool tasks\nsys\n"), &graph());
        assert_eq!(found.keys().collect::<Vec<_>>(), ["sys -> pool"]);
        let message = found["sys -> pool"][0].to_string();
        assert!(message.starts_with("sys.rs:1: this import runs up, from sys to pool (Hive of pool.rs)"), "{message}");
    }

    #[test]
    fn modules_of_one_line_are_level() {
        assert_eq!(upward(&Layers::read("pool sys tasks\n"), &graph()), Found::new());
        assert_eq!(upward(&Layers::read("tasks\nsys\npool\n"), &graph()).keys().count(), 1);
    }

    #[test]
    fn a_module_without_a_layer_fails() {
        let problems = without_layer(&Layers::read("lib\npool\nsys\n"), &graph());
        assert_eq!(problems.len(), 1);
        assert!(problems[0].to_string().contains("the module tasks has no layer"));
    }
}
