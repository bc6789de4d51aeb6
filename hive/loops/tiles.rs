//! A rectangle of cells cut into tiles, so that a one-dimensional loop over the tiles' numbers covers a two-dimensional
//! range. For users' loop bodies; nothing else in the library depends on it.

use std::ops::Range;

use crate::loops::chunks::Chunks;

/// A two-dimensional range of cells cut into tiles. The tiles are numbered row by row, so that a
/// [`Loop`](crate::loops::shared_loop::Loop) over the numbers divides them among the bees.
///
/// ```
/// use hive::{Loop, Schedule, Tiles};
///
/// let tiles = Tiles::new(0..100, 0..70, [32, 32]);
/// let shared = Loop::new(tiles.numbers(), Schedule::Dynamic(1));
/// let cells = hive::spmd_map(3, |bee| {
///     let mut cells = 0;
///     bee.for_each(&shared, |numbers| {
///         for (rows, columns) in tiles.of(numbers) {
///             cells += rows.len() * columns.len();
///         }
///     });
///     cells
/// });
/// assert_eq!(cells.iter().sum::<usize>(), 7000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(alias("collapse", "cache blocking"))]
pub struct Tiles {
    rows: Chunks,
    columns: Chunks,
}

impl Tiles {
    /// The cells in `rows` and `columns`, cut into tiles of `tile` = `[rows, columns]` cells. Tiles at the last row or
    /// column may be smaller.
    ///
    /// ```
    /// // The inner cells of a grid.
    /// let tiles = hive::Tiles::new(1..1023, 1..1023, [64, 64]);
    /// assert_eq!(tiles.tile(0), (1..65, 1..65));
    /// assert_eq!(tiles.tile(tiles.count() - 1), (961..1023, 961..1023));
    /// ```
    ///
    /// # Panics
    /// If a tile has no rows or no columns, or there are more tiles than `usize::MAX`.
    #[track_caller]
    pub fn new(rows: Range<usize>, columns: Range<usize>, tile: [usize; 2]) -> Self {
        let [tile_rows, tile_columns] = tile;
        assert!(tile_rows > 0 && tile_columns > 0, "a tile of {tile_rows} x {tile_columns} cells has none");
        let tiles = Self { rows: Chunks::new(&rows, tile_rows, 1), columns: Chunks::new(&columns, tile_columns, 1) };
        assert!(tiles.rows.count().checked_mul(tiles.columns.count()).is_some(), "more tiles than can be counted");
        tiles
    }

    /// The number of tiles.
    ///
    /// ```
    /// assert_eq!(hive::Tiles::new(0..100, 0..70, [16, 16]).count(), 7 * 5);
    /// ```
    pub fn count(&self) -> usize {
        self.rows.count() * self.columns.count()
    }

    /// The numbers of all tiles.
    ///
    /// ```
    /// use hive::{Reduction, Schedule, Tiles};
    ///
    /// let tiles = Tiles::new(0..100, 0..70, [16, 16]);
    /// let sum = Reduction::unordered(0, |a, b| a + b);
    /// let cells = hive::par_reduce((tiles.numbers(), Schedule::Dynamic(1)), &sum, |numbers| {
    ///     tiles.of(numbers).map(|(rows, columns)| rows.len() * columns.len()).sum()
    /// });
    /// assert_eq!(cells, 7000);
    /// ```
    pub fn numbers(&self) -> Range<usize> {
        0..self.count()
    }

    /// The rows and the columns of the cells in tile `number`.
    ///
    /// ```
    /// let tiles = hive::Tiles::new(0..100, 0..70, [16, 16]);
    /// assert_eq!(tiles.tile(1), (0..16, 16..32)); // along a row of tiles first
    /// assert_eq!(tiles.tile(5), (16..32, 0..16));
    /// ```
    ///
    /// # Panics
    /// If there is no tile of that number.
    #[inline]
    #[track_caller]
    pub fn tile(&self, number: usize) -> (Range<usize>, Range<usize>) {
        assert!(number < self.count(), "there is no tile {number} of {}", self.count());
        let tiles_per_row = self.columns.count();
        let (row, column) = (number / tiles_per_row, number % tiles_per_row);
        (self.rows.indices(row..row + 1), self.columns.indices(column..column + 1))
    }

    /// The rows and the columns of the tiles with these numbers, one tile after another.
    ///
    /// ```
    /// let tiles = hive::Tiles::new(0..100, 0..70, [16, 16]);
    /// for (rows, columns) in tiles.of(0..5) {
    ///     assert_eq!(rows, 0..16);
    ///     assert!(columns.len() == 16 || columns == (64..70));
    /// }
    /// ```
    ///
    /// # Panics
    /// When the iterator reaches a number of which there is no tile.
    pub fn of(&self, numbers: Range<usize>) -> impl Iterator<Item = (Range<usize>, Range<usize>)> + use<> {
        let tiles = *self;
        numbers.map(move |number| tiles.tile(number))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_last_ones_are_smaller() {
        let tiles = Tiles::new(10..15, 0..7, [4, 4]);
        assert_eq!(
            tiles.of(tiles.numbers()).collect::<Vec<_>>(),
            [(10..14, 0..4), (10..14, 4..7), (14..15, 0..4), (14..15, 4..7)]
        );
        assert_eq!(Tiles::new(3..3, 0..7, [4, 4]).count(), 0);
    }

    proptest! {
        #[test]
        fn each_cell_is_in_one_tile(rows in 0usize..40, columns in 0usize..40, tile in [1usize..20, 1usize..20]) {
            let mut hits = vec![0; rows * columns];
            let tiles = Tiles::new(0..rows, 0..columns, tile);
            for (rows, columns_of_tile) in tiles.of(tiles.numbers()) {
                rows.for_each(|row| columns_of_tile.clone().for_each(|column| hits[row * columns + column] += 1));
            }
            prop_assert!(hits.iter().all(|count| *count == 1));
        }
    }
}
