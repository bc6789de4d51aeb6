//! Which file of a crate names what of which other file.

mod collect;
mod graph;
mod resolve;
#[cfg(test)]
mod tests;
mod tree;

use std::sync::OnceLock;

pub(crate) use collect::is_for_tests;
pub(crate) use graph::{Arrow, Graph};

use crate::repository;

/// The root files of the crates whose imports are looked at: the library, hive-bench and the drop-ins.
const ROOTS: [&str; 5] =
    ["hive/lib.rs", "hive-bench/src/main.rs", "rayon-core/src/lib.rs", "spindle/src/lib.rs", "thread-tree/src/lib.rs"];

/// The imports of these crates, in this order.
pub(crate) fn of_the_repository() -> &'static [Graph; ROOTS.len()] {
    static GRAPHS: OnceLock<[Graph; ROOTS.len()]> = OnceLock::new();
    GRAPHS.get_or_init(|| {
        let read = |path: &str| {
            let files = repository::files();
            let index = files.binary_search_by(|file| file.path.as_str().cmp(path)).ok()?;
            Some(files[index].text.clone())
        };
        ROOTS.map(|root| Graph::new(&tree::Tree::load(root, &read)))
    })
}

/// The imports of a crate that is given as text: pairs of path and content, the root first.
#[cfg(test)]
pub(crate) fn of_texts(files: &[(&str, &str)]) -> Graph {
    let read = |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned());
    Graph::new(&tree::Tree::load(files[0].0, &read))
}
