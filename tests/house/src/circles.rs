//! No files of a crate import each other in a circle.

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::imports::{self, Graph};
use crate::list;

/// The circles that are still allowed: a line for each, its files with spaces between. A circle may lose files.
const LIST: &str = "circles.txt";

pub(crate) fn check() -> Vec<Finding> {
    let graphs = imports::of_the_repository();
    let lines =
        graphs.iter().flat_map(|graph| graph.circles().into_iter().map(|circle| paths(graph, &circle).join(" ")));
    if list::is_recorded(LIST, lines) {
        return Vec::new();
    }
    compare(&list::path(LIST), &list::read(LIST), graphs)
}

fn paths<'a>(graph: &'a Graph, circle: &[usize]) -> Vec<&'a str> {
    circle.iter().map(|&file| graph.files[file].as_str()).collect()
}

fn compare(list: &str, text: &str, graphs: &[Graph]) -> Vec<Finding> {
    let mut problems = Vec::new();
    let allowed: Vec<(usize, BTreeSet<&str>)> =
        list::entries(text).map(|(line, entry)| (line, entry.split_whitespace().collect())).collect();
    let mut still_there = BTreeSet::new();
    for graph in graphs {
        for circle in graph.circles() {
            let files: BTreeSet<_> = paths(graph, &circle).into_iter().collect();
            let nearest = allowed.iter().max_by_key(|(_, allowed)| files.intersection(allowed).count());
            let new: Vec<_> = match nearest {
                Some((_, allowed)) => files.difference(allowed).copied().collect(),
                None => files.iter().copied().collect(),
            };
            // Of many new ones all ties would be pages.
            if new.len() > 4 || new.len() == files.len() {
                problems.push(describe(graph, &circle));
            } else if !new.is_empty() {
                problems.push(describe_new(graph, &circle, &new));
            }
            still_there.extend(files);
        }
    }
    for (line, files) in allowed {
        let gone: Vec<_> = files.difference(&still_there).copied().collect();
        if gone.len() == files.len() {
            problems.push(Finding::new(list, line, "this circle is gone; remove the line"));
        } else if !gone.is_empty() {
            let gone = gone.join(", ");
            problems.push(Finding::new(
                list,
                line,
                format!("in no circle any more: {gone}; remove them from the line"),
            ));
        }
    }
    problems
}

/// What ties files to a circle that is allowed without them.
fn describe_new(graph: &Graph, circle: &[usize], new: &[&str]) -> Finding {
    let mut message = format!("new in a circle of imports, {} in all: {}.", circle.len(), new.join(", "));
    message += " Move what they share with the others to a file below, or hand it in as a value:";
    let is_new = |file: usize| new.contains(&graph.files[file].as_str());
    for arrow in graph.ties(circle).into_iter().filter(|arrow| is_new(arrow.from) || is_new(arrow.to)) {
        message += &format!("\n    {}", graph.show(arrow));
    }
    Finding::new(new[0], 0, message)
}

fn describe(graph: &Graph, circle: &[usize]) -> Finding {
    let count = circle.len();
    let mut message = format!(
        "{count} files import each other in a circle; move what they share to a file below them, or hand it in as a \
         value."
    );
    // Of a large circle all imports would be pages.
    let arrows = if count > 4 {
        message += " Without these imports, for example, there is none:";
        graph.cuts(circle)
    } else {
        graph.ties(circle)
    };
    for arrow in arrows {
        message += &format!("\n    {}", graph.show(arrow));
    }
    Finding::new(&graph.files[circle[0]], 0, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Graph {
        imports::of_texts(&[
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::b::B; pub struct A;"),
            ("b.rs", "use crate::a::A; pub struct B; use crate::c::C;"),
            ("c.rs", "pub struct C;"),
        ])
    }

    #[test]
    fn a_circle_fails_with_the_names_that_tie_it() {
        let problems = compare("list", "", &[three()]);
        assert_eq!(problems.len(), 1);
        let message = problems[0].to_string();
        assert!(message.starts_with("a.rs: 2 files import each other in a circle"), "{message}");
        assert!(message.contains("a.rs:1 -> b.rs: B") && message.contains("b.rs:1 -> a.rs: A"), "{message}");
    }

    #[test]
    fn of_a_large_circle_only_what_could_be_cut_is_named() {
        let graph = imports::of_texts(&[
            ("lib.rs", "mod a; mod b; mod c; mod d; mod e;"),
            ("a.rs", "use crate::b::B; use crate::c::C; use crate::d::D; use crate::e::E; pub struct A;"),
            ("b.rs", "use crate::c::C; pub struct B;"),
            ("c.rs", "use crate::d::D; pub struct C;"),
            ("d.rs", "use crate::e::E; pub struct D;"),
            ("e.rs", "use crate::a::A; pub struct E;"),
        ]);
        let message = compare("list", "", &[graph])[0].to_string();
        assert!(message.contains("5 files import") && message.contains("e.rs:1 -> a.rs: A"), "{message}");
        assert_eq!(message.matches("->").count(), 1, "{message}");
    }

    #[test]
    fn a_listed_circle_passes() {
        assert_eq!(compare("list", "# why\na.rs b.rs\n", &[three()]), []);
    }

    #[test]
    fn a_file_that_is_new_in_a_listed_circle_fails_with_what_ties_it() {
        let graph = imports::of_texts(&[
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::b::B; pub struct A;"),
            ("b.rs", "use crate::a::A; use crate::c::C; pub struct B;"),
            ("c.rs", "use crate::b::B; pub struct C;"),
        ]);
        let problems = compare("list", "a.rs b.rs\n", &[graph]);
        assert_eq!(problems.len(), 1);
        let message = problems[0].to_string();
        assert!(message.starts_with("c.rs: new in a circle of imports, 3 in all: c.rs."), "{message}");
        assert!(message.contains("c.rs:1 -> b.rs: B") && !message.contains("-> a.rs"), "{message}");
    }

    #[test]
    fn a_circle_that_has_become_smaller_must_become_so_in_the_list() {
        let problems = compare("list", "a.rs b.rs c.rs\n", &[three()]);
        assert_eq!(problems, [Finding::new("list", 1, "in no circle any more: c.rs; remove them from the line")]);
    }

    #[test]
    fn a_circle_that_is_gone_must_go_from_the_list() {
        let problems = compare("list", "a.rs b.rs\nc.rs d.rs\n", &[three()]);
        assert_eq!(problems, [Finding::new("list", 2, "this circle is gone; remove the line")]);
    }
}
