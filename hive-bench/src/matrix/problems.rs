//! Made-up matrices: symmetric and positive definite, so that conjugate gradients converge. They consist of the
//! diagonal and the entries below it, in the order of rows.

use std::collections::HashSet;

use super::{Csr, Entry, Symmetry};

/// The 5-point Laplacian of a square grid: four on the diagonal, minus one for each neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Laplacian {
    side: u32,
}

impl Laplacian {
    /// The largest whose points can be counted in 32 bits.
    pub(crate) const LARGEST_SIDE: u32 = u16::MAX as u32;

    /// # Panics
    /// When `side` is zero or more than the largest.
    pub(crate) fn new(side: u32) -> Self {
        assert!(
            (1..=Self::LARGEST_SIDE).contains(&side),
            "a grid has a side from 1 to {}, not {side}",
            Self::LARGEST_SIDE
        );
        Self { side }
    }

    pub(crate) const fn rows(self) -> u32 {
        self.side * self.side
    }

    /// How many entries there are.
    pub(crate) const fn count(self) -> u64 {
        let side = self.side as u64;
        side * side + 2 * side * (side - 1)
    }

    pub(crate) fn entries(self) -> impl Iterator<Item = Entry> {
        let side = self.side;
        (0..self.rows()).flat_map(move |row| {
            let neighbour = |there: bool, distance| there.then(|| Entry { row, column: row - distance, value: -1.0 });
            let before = [neighbour(row >= side, side), neighbour(row % side > 0, 1)];
            before.into_iter().flatten().chain([Entry { row, column: row, value: 4.0 }])
        })
    }

    pub(crate) fn matrix(self) -> Csr {
        let entries: Vec<Entry> = self.entries().collect();
        let rows = self.rows() as usize;
        Csr::from_entries(rows, rows, Symmetry::Symmetric, &entries)
    }
}

/// The Laplacian of a random graph, plus the identity: a vertex's degree and one on the diagonal, minus one for each
/// edge.
pub(crate) struct RandomGraph {
    degrees: Vec<u32>,
    /// By the larger end, then by the smaller.
    edges: Vec<(u32, u32)>,
}

impl RandomGraph {
    /// A graph with so many different edges, every such graph as likely as any other; the same for the same seed.
    pub(crate) fn new(vertices: u32, edges: u64, seed: u64) -> Result<Self, String> {
        let possible = u64::from(vertices) * u64::from(vertices.saturating_sub(1)) / 2;
        if edges > possible {
            return Err(format!("{vertices} vertices have at most {possible} edges, and {edges} are wanted"));
        }
        let mut degrees = vec![0; vertices as usize];
        let edges: Vec<_> = distinct(edges, possible, seed).into_iter().map(ends_of).collect();
        for &(larger, smaller) in &edges {
            degrees[larger as usize] += 1;
            degrees[smaller as usize] += 1;
        }
        Ok(Self { degrees, edges })
    }

    /// How many entries there are.
    pub(crate) const fn count(&self) -> u64 {
        self.degrees.len() as u64 + self.edges.len() as u64
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry> {
        let mut rest = self.edges.as_slice();
        (0..).zip(&self.degrees).flat_map(move |(row, &degree)| {
            let (of_row, others) = rest.split_at(rest.partition_point(|(larger, _)| *larger == row));
            rest = others;
            let edges = of_row.iter().map(move |&(_, column)| Entry { row, column, value: -1.0 });
            edges.chain([Entry { row, column: row, value: f64::from(degree) + 1.0 }])
        })
    }
}

/// So many different numbers less than `bound`, in ascending order (by Floyd's algorithm: a number that is taken
/// already is replaced by the largest that may be drawn, so no draw is in vain).
fn distinct(count: u64, bound: u64, seed: u64) -> Vec<u64> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut taken = HashSet::new();
    for largest in bound - count..bound {
        if !taken.insert(random.u64(0..=largest)) {
            taken.insert(largest);
        }
    }
    let mut numbers: Vec<u64> = taken.into_iter().collect();
    numbers.sort_unstable();
    numbers
}

/// The ends of an edge, the larger first. Edges are numbered by these: 1-0, 2-0, 2-1, 3-0 and so on.
fn ends_of(edge: u64) -> (u32, u32) {
    let edge = u128::from(edge);
    let larger = u128::midpoint((8 * edge + 1).isqrt(), 1);
    let end = |number: u128| u32::try_from(number).expect("edges are numbered up to those of 32-bit vertices");
    (end(larger), end(edge - larger * (larger - 1) / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_of_two_by_two() {
        let laplacian = Laplacian::new(2);
        let lower: Vec<_> = laplacian.entries().map(|Entry { row, column, value }| (row, column, value)).collect();
        let expected = [
            (0, 0, 4.0),
            (1, 0, -1.0),
            (1, 1, 4.0),
            (2, 0, -1.0),
            (2, 2, 4.0),
            (3, 1, -1.0),
            (3, 2, -1.0),
            (3, 3, 4.0),
        ];
        assert_eq!(lower, expected);
        for side in [1, 2, 3, 10] {
            let laplacian = Laplacian::new(side);
            assert_eq!(laplacian.entries().count() as u64, laplacian.count());
            assert_eq!(laplacian.matrix().nonzeros() as u32, 5 * side * side - 4 * side);
        }
        assert_eq!(Laplacian::new(Laplacian::LARGEST_SIDE).rows(), 0xfffe_0001);
    }

    #[test]
    fn rows_of_a_graph_add_up_to_one() {
        let graph = RandomGraph::new(40, 100, 7).unwrap();
        let entries: Vec<_> = graph.entries().collect();
        assert_eq!((entries.len() as u64, graph.count()), (140, 140));
        assert!(entries.is_sorted_by_key(|entry| (entry.row, entry.column)));
        let matrix = Csr::from_entries(40, 40, Symmetry::Symmetric, &entries);
        assert_eq!(matrix.nonzeros(), 240);
        let mut sums = [0.0; 40];
        matrix.entries().for_each(|entry| sums[entry.row as usize] += entry.value);
        assert_eq!(sums, [1.0; 40]);
    }

    #[test]
    fn a_graph_depends_on_its_seed_alone() {
        let entries = |seed| RandomGraph::new(30, 50, seed).unwrap().entries().collect::<Vec<_>>();
        assert_eq!(entries(1), entries(1));
        assert_ne!(entries(1), entries(2));
    }

    #[test]
    fn all_edges_and_none_too_many() {
        let complete = RandomGraph::new(5, 10, 1).unwrap();
        assert!(complete.degrees.iter().all(|degree| *degree == 4));
        assert_eq!(RandomGraph::new(1, 0, 1).unwrap().count(), 1);
        let error = RandomGraph::new(5, 11, 1).err().unwrap();
        assert!(error.contains("5 vertices have at most 10 edges") && error.contains("11"), "{error}");
    }

    #[test]
    fn edges_are_numbered_without_gaps() {
        let ends: Vec<_> = (0..6).map(ends_of).collect();
        assert_eq!(ends, [(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2)]);
        let vertices = u64::from(u32::MAX);
        assert_eq!(ends_of(vertices * (vertices - 1) / 2 - 1), (u32::MAX - 1, u32::MAX - 2));
    }
}
