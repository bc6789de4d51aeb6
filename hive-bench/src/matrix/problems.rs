//! A made-up matrix: symmetric and positive definite, so that conjugate gradients converge. It consists of the diagonal
//! and the entries below it, in the order of rows.

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
        let largest = Self::LARGEST_SIDE;
        assert!((1..=largest).contains(&side), "a grid has a side from 1 to {largest}, not {side}");
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
}
