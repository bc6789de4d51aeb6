//! Connected components by label propagation: every vertex takes the least label around it, in rounds, until no label
//! changes. A test of many short loops one after the other, with a sum each (after the idea of ForkUnion's benchmark of
//! that name). A round reads the labels of the round before, so labels and number of rounds are the same for all.

use std::ops::Range;

use fastrand::Rng;

use crate::kernels::check_all;
use crate::kernels::disjoint::{Disjoint, placed};
use crate::kernels::kernel::{Kernel, checksum};
use crate::runtimes::{Runtime, loops::Loops};

/// A graph that fits into a core's cache, and so many rounds at least: the label 0 goes a vertex a round along the
/// chain.
const SCALE: u32 = 14;
const EDGE_FACTOR: usize = 8;
const CHAIN: usize = 250;

pub(crate) struct Labels {
    graph: Graph,
    /// What a round reads.
    from: Vec<u32>,
    /// What it writes.
    to: Vec<u32>,
    /// Whether labels changed in the last round.
    rounds: u64,
}

impl Labels {
    pub(crate) fn new(runtime: &mut impl Runtime) -> Self {
        Self::of(runtime, &Graph::rmat_with_chain(SCALE, EDGE_FACTOR, CHAIN))
    }

    fn of(runtime: &mut impl Runtime, graph: &Graph) -> Self {
        let are_vertices = graph.neighbours.iter().all(|neighbour| (*neighbour as usize) < graph.vertices());
        assert!(are_vertices, "a neighbour is no vertex");
        let starts = placed(runtime, graph.starts.len(), |i| graph.starts[i]);
        let neighbours = placed(runtime, graph.neighbours.len(), |i| graph.neighbours[i]);
        let mut labels = || placed(runtime, graph.vertices(), |_| u32::MAX);
        Self { from: labels(), to: labels(), graph: Graph { starts, neighbours }, rounds: 0 }
    }

    /// Whether the labels still changed.
    fn round<L: Loops>(&mut self, by: &mut L) -> bool {
        let (graph, from, to) = (&self.graph, &self.from[..], Disjoint::new(&mut self.to));
        let changed = by.sum(from.len(), |vertices| {
            if L::IN_C {
                let (starts, neighbours) = (graph.starts.as_ptr(), graph.neighbours.as_ptr());
                let (begin, end) = (vertices.start, vertices.end);
                // SAFETY: labels for as many vertices as there are starts but the last, which are those of the
                // neighbours; a loop hands out each vertex once.
                let changed = unsafe { hb_relabel_part(to.pointer(), from.as_ptr(), starts, neighbours, begin, end) };
                return changed as f64;
            }
            // SAFETY: a loop hands out each vertex once.
            let to = unsafe { to.part(vertices.clone()) };
            relabel(to, from, graph, vertices) as f64
        });
        std::mem::swap(&mut self.from, &mut self.to);
        changed > 0.0
    }
}

/// How many labels changed.
fn relabel(to: &mut [u32], from: &[u32], graph: &Graph, vertices: Range<usize>) -> u64 {
    let ends = graph.starts[vertices.start..=vertices.end].windows(2);
    let mut changed = 0;
    for ((to, ends), old) in to.iter_mut().zip(ends).zip(&from[vertices]) {
        let neighbours = &graph.neighbours[ends[0] as usize..ends[1] as usize];
        *to = neighbours.iter().fold(*old, |least, neighbour| {
            // C does not check the bounds either; with a check a round takes a sixth longer.
            // SAFETY: `Labels::of` has checked that every neighbour is a vertex, and there is a label for each.
            let label = unsafe { from.get_unchecked(*neighbour as usize) };
            least.min(*label)
        });
        changed += u64::from(to != old);
    }
    changed
}

unsafe extern "C" {
    fn hb_relabel_part(
        to: *mut u32,
        from: *const u32,
        starts: *const u32,
        neighbours: *const u32,
        begin: usize,
        end: usize,
    ) -> u64;
}

impl Kernel for Labels {
    fn step<L: Loops>(&mut self, by: &mut L) {
        let vertices = self.from.len();
        let labels = Disjoint::new(&mut self.from);
        by.blocks(vertices, |vertices| {
            // SAFETY: a loop hands out each vertex once.
            let part = unsafe { labels.part(vertices.clone()) };
            part.iter_mut().zip(vertices).for_each(|(label, vertex)| *label = vertex as u32);
        });
        self.rounds = 1;
        while self.round(by) {
            self.rounds += 1;
        }
    }

    /// Rounds.
    fn units(&self) -> u64 {
        self.rounds
    }

    /// After the last round both arrays hold the same labels.
    fn answer(&self) -> Result<u64, String> {
        let expected = self.graph.least_reachable();
        check_all("the label of vertex", &self.from, |vertex| expected[vertex])?;
        Ok(checksum(self.to.iter().map(|label| u64::from(*label))) ^ self.rounds)
    }
}

/// A graph with a few vertices of very many edges, like those of networks, and a long tail: by the recipe R-MAT, with a
/// chain. Neighbours by vertex, in one array; every edge is there from both its ends.
struct Graph {
    /// Where each vertex's neighbours begin, and where the last one's end.
    starts: Vec<u32>,
    neighbours: Vec<u32>,
}

impl Graph {
    /// `2^scale` vertices with `edge_factor` times as many random edges, and `chain` more vertices in a row behind
    /// vertex 0's part of the graph.
    fn rmat_with_chain(scale: u32, edge_factor: usize, chain: usize) -> Self {
        let mut random = Rng::with_seed(scale.into());
        let mut edges = rmat(scale, edge_factor, &mut random);
        let vertices = 1 << scale;
        // The vertex with the most edges has the number 0, and is in the largest component.
        let before = |vertex| if vertex == vertices { 0 } else { vertex - 1 };
        edges.extend((vertices..vertices + as_u32(chain)).map(|vertex| (before(vertex), vertex)));
        Self::of(as_u32(chain) + vertices, &edges)
    }

    fn of(vertices: u32, edges: &[(u32, u32)]) -> Self {
        let mut both_ways: Vec<(u32, u32)> =
            edges.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).filter(|(a, b)| a != b).collect();
        both_ways.sort_unstable();
        both_ways.dedup();
        let starts = (0..=vertices).map(|vertex| as_u32(both_ways.partition_point(|(from, _)| *from < vertex)));
        Self { starts: starts.collect(), neighbours: both_ways.iter().map(|(_, to)| *to).collect() }
    }

    fn vertices(&self) -> usize {
        self.starts.len() - 1
    }

    fn neighbours_of(&self, vertex: usize) -> &[u32] {
        &self.neighbours[self.starts[vertex] as usize..self.starts[vertex + 1] as usize]
    }

    /// For each vertex the least that can be reached from it. Computed by union and find: the right answer of label
    /// propagation.
    fn least_reachable(&self) -> Vec<u32> {
        let mut parents: Vec<u32> = (0..as_u32(self.vertices())).collect();
        for vertex in 0..self.vertices() {
            for &neighbour in self.neighbours_of(vertex) {
                let (a, b) = (root_of(&mut parents, as_u32(vertex)), root_of(&mut parents, neighbour));
                // The smaller one becomes the root.
                parents[a.max(b) as usize] = a.min(b);
            }
        }
        (0..as_u32(self.vertices())).map(|vertex| root_of(&mut parents, vertex)).collect()
    }
}

fn as_u32(number: usize) -> u32 {
    u32::try_from(number).expect("a graph that fits into caches")
}

/// Finds the root, and halves the path on the way.
fn root_of(parents: &mut [u32], mut vertex: u32) -> u32 {
    while parents[vertex as usize] != vertex {
        let grandparent = parents[parents[vertex as usize] as usize];
        parents[vertex as usize] = grandparent;
        vertex = grandparent;
    }
    vertex
}

/// Each edge falls into a quarter of the matrix, then into a quarter of that, and so on: 57 %, 19 %, 19 % and 5 %
/// (Graph500's). Then the vertices change names, all but 0, so that blocks of them have about as many edges each.
fn rmat(scale: u32, edge_factor: usize, random: &mut Rng) -> Vec<(u32, u32)> {
    let mut names: Vec<u32> = (0..1 << scale).collect();
    random.shuffle(&mut names[1..]);
    let mut end = || {
        let (mut from, mut to) = (0_usize, 0_usize);
        for _ in 0..scale {
            let (down, right) = match random.u32(0..100) {
                0..57 => (0, 0),
                57..76 => (0, 1),
                76..95 => (1, 0),
                _ => (1, 1),
            };
            (from, to) = (2 * from + down, 2 * to + right);
        }
        (names[from], names[to])
    };
    (0..edge_factor << scale).map(|_| end()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::kernel::tests::answers_agree;
    use crate::runtimes::sequential::Sequential;

    #[test]
    fn everybody_comes_to_the_same_answer() {
        answers_agree(|| Labels::of(&mut Sequential::<false>, &Graph::rmat_with_chain(8, 4, 30)), 2);
    }

    #[test]
    fn rounds_are_as_many_as_the_chain_is_long() {
        let mut labels = Labels::new(&mut Sequential::<false>);
        labels.run(&mut Sequential::<false>, 1);
        // One more round finds that nothing changes.
        assert_eq!(labels.units(), CHAIN as u64 + 1);
        labels.answer().unwrap();
    }

    #[test]
    fn a_wrong_label_is_found() {
        let mut labels = Labels::of(&mut Sequential::<false>, &Graph::of(3, &[(0, 2)]));
        labels.run(&mut Sequential::<false>, 1);
        labels.from[1] = 0;
        assert!(labels.answer().unwrap_err().contains("vertex 1 is 0, not 1"), "{:?}", labels.answer());
    }

    #[test]
    fn edges_are_there_from_both_ends_and_once() {
        let graph = Graph::of(5, &[(0, 3), (3, 0), (2, 2), (3, 4)]);
        assert_eq!(graph.vertices(), 5);
        let neighbours: Vec<_> = (0..5).map(|vertex| graph.neighbours_of(vertex)).collect();
        assert_eq!(neighbours, [&[3][..], &[], &[], &[0, 4], &[3]]);
    }

    #[test]
    fn parts_are_found() {
        let graph = Graph::of(7, &[(6, 5), (5, 4), (1, 3), (3, 6)]);
        assert_eq!(graph.least_reachable(), [0, 1, 2, 1, 1, 1, 1]);
    }

    #[test]
    fn a_few_vertices_have_many_edges_and_the_chain_hangs_on() {
        let graph = Graph::rmat_with_chain(10, 8, 20);
        let mut degrees: Vec<_> = (0..1 << 10).map(|vertex| graph.neighbours_of(vertex).len()).collect();
        degrees.sort_unstable();
        assert!(degrees[1023] > 10 * degrees[512].max(1), "{degrees:?}");
        assert_eq!(graph.neighbours_of(1043), [1042]);
        assert_eq!(graph.neighbours_of(1042), [1041, 1043]);
        assert_eq!(graph.least_reachable()[1043], 0);
    }
}
