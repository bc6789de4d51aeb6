//! A graph with a few vertices of very many edges, like those of networks, and a long tail: by the recipe R-MAT, with a
//! chain.

use fastrand::Rng;

/// Neighbours by vertex, in one array; every edge is there from both its ends.
pub(crate) struct Graph {
    /// Where each vertex's neighbours begin, and where the last one's end.
    pub(crate) starts: Vec<u32>,
    pub(crate) neighbours: Vec<u32>,
}

impl Graph {
    /// `2^scale` vertices with `edge_factor` times as many random edges, and `chain` more vertices in a row behind
    /// vertex 0's part of the graph.
    pub(crate) fn rmat_with_chain(scale: u32, edge_factor: usize, chain: usize) -> Self {
        let mut random = Rng::with_seed(scale.into());
        let mut edges = rmat(scale, edge_factor, &mut random);
        let vertices = 1 << scale;
        // The vertex with the most edges has the number 0, and is in the largest component.
        let links = (vertices..vertices + as_u32(chain))
            .map(|vertex| if vertex == vertices { (0, vertex) } else { (vertex - 1, vertex) });
        edges.extend(links);
        Self::of(as_u32(chain) + vertices, &edges)
    }

    pub(crate) fn of(vertices: u32, edges: &[(u32, u32)]) -> Self {
        let mut both_ways: Vec<(u32, u32)> =
            edges.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).filter(|(a, b)| a != b).collect();
        both_ways.sort_unstable();
        both_ways.dedup();
        let starts = (0..=vertices).map(|vertex| as_u32(both_ways.partition_point(|(from, _)| *from < vertex)));
        Self { starts: starts.collect(), neighbours: both_ways.iter().map(|(_, to)| *to).collect() }
    }

    pub(crate) fn vertices(&self) -> usize {
        self.starts.len() - 1
    }

    pub(crate) fn neighbours_of(&self, vertex: usize) -> &[u32] {
        &self.neighbours[self.starts[vertex] as usize..self.starts[vertex + 1] as usize]
    }

    /// For each vertex the least that can be reached from it. Computed by union and find: the right answer of label
    /// propagation.
    pub(crate) fn least_reachable(&self) -> Vec<u32> {
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
