//! Breadth-first search: how far each node of a graph is from the first. Each level is a loop over the nodes found
//! last; whoever is first to find a node lists it, each bee in a list of its own.
//!
//!     cargo run --release --example bfs [-- --compare]

mod compare;

use std::sync::atomic::{AtomicU32, Ordering};

use hive::{Loop, PerBee, Schedule};
use rayon::prelude::*;

const NODES: usize = if cfg!(debug_assertions) { 30_000 } else { 300_000 };
const EDGES: usize = 8;
const FAR: u32 = u32::MAX;

/// The neighbours of each node, side by side: the next one, and random others.
struct Graph(Vec<[u32; EDGES]>);

impl Graph {
    fn new() -> Self {
        let random = |i: usize| (compare::random(i as u64) * NODES as f64) as u32;
        let edge = |node: usize, i: usize| if i == 0 { ((node + 1) % NODES) as u32 } else { random(node * EDGES + i) };
        Self((0..NODES).map(|node| std::array::from_fn(|i| edge(node, i))).collect())
    }

    /// Lists those neighbours of `node` that nobody has found before.
    fn visit(&self, node: u32, level: u32, distances: &[AtomicU32], found: &mut Vec<u32>) {
        for next in self.0[node as usize] {
            let distance = &distances[next as usize];
            // The load saves the exchange for the many that are known. Relaxed: only the number itself matters here,
            // and what follows from it is read after the loop.
            if distance.load(Ordering::Relaxed) == FAR
                && distance.compare_exchange(FAR, level, Ordering::Relaxed, Ordering::Relaxed).is_ok()
            {
                found.push(next);
            }
        }
    }

    /// All levels. `expand` replaces the nodes of a level by those of the next one.
    fn search(&self, distances: &[AtomicU32], mut expand: impl FnMut(&mut Vec<u32>, u32)) {
        distances.iter().for_each(|distance| distance.store(FAR, Ordering::Relaxed));
        distances[0].store(0, Ordering::Relaxed);
        let mut frontier = vec![0];
        let mut level = 0;
        while !frontier.is_empty() {
            level += 1;
            expand(&mut frontier, level);
        }
    }

    fn alone(&self, distances: &[AtomicU32]) {
        let mut found = Vec::new();
        self.search(distances, |frontier, level| {
            frontier.drain(..).for_each(|node| self.visit(node, level, distances, &mut found));
            std::mem::swap(frontier, &mut found);
        });
    }

    fn by_hive(&self, distances: &[AtomicU32]) {
        let mut lists = PerBee::new(hive::global().max_bees(), |_| Vec::new());
        self.search(distances, |frontier, level| {
            // A level of few nodes is not worth a team: the caller does it.
            let nodes = Loop::new(0..frontier.len(), Schedule::Dynamic(64)).min_work(256);
            hive::par_for(nodes, |range, bee| {
                let mut found = lists.get(bee);
                frontier[range].iter().for_each(|node| self.visit(*node, level, distances, &mut found));
            });
            frontier.clear();
            lists.iter_mut().for_each(|found| frontier.append(found));
        });
    }

    fn by_rayon(&self, distances: &[AtomicU32]) {
        self.search(distances, |frontier, level| {
            let nodes = frontier.par_iter().with_min_len(64);
            let lists = nodes.fold(Vec::new, |mut found, node| {
                self.visit(*node, level, distances, &mut found);
                found
            });
            let found = lists.reduce(Vec::new, |mut a, mut b| {
                a.append(&mut b);
                a
            });
            *frontier = found;
        });
    }
}

fn main() {
    let (graph, distances) = (Graph::new(), (0..NODES).map(|_| AtomicU32::new(FAR)).collect::<Vec<_>>());
    let result = |search: fn(&Graph, &[AtomicU32])| {
        search(&graph, &distances);
        distances.iter().map(|distance| distance.load(Ordering::Relaxed)).collect::<Vec<_>>()
    };
    let expected = result(Graph::alone);
    assert!(result(Graph::by_hive) == expected && result(Graph::by_rayon) == expected);
    // Each node is one further than its nearest predecessor, at most.
    let far = expected.iter().max().expect("a node");
    assert!(
        graph.0.iter().zip(&expected).all(|(edges, own)| edges.iter().all(|next| expected[*next as usize] <= own + 1))
    );
    println!("{NODES} nodes searched by {} bees: all are within {far} edges", hive::bees());
    if compare::wanted() {
        compare::compare(
            "breadth-first search",
            &mut [
                ("one thread", &mut || graph.alone(&distances)),
                ("Rayon", &mut || graph.by_rayon(&distances)),
                ("hive", &mut || graph.by_hive(&distances)),
            ],
        );
    }
}
