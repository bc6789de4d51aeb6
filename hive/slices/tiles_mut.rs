//! A loop over the tiles of a matrix that the bees write to: `Hive::par_tiles_mut`. That no cell is given out twice
//! relies on the proof in `docs/loops.md` that a loop runs each index at most once, and on tiles that do not overlap.

#![expect(unsafe_code, reason = "hands out tiles of a slice, which a loop deals out once each")]

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut, Range};
use std::slice::{from_raw_parts, from_raw_parts_mut};

use crate::loops::slice_schedule::SliceSchedule;
use crate::loops::tiles::Tiles;
use crate::pool::handle::Hive;
use crate::region::bee::Bee;
use crate::region::no_double_panic::NoDoublePanic;
use crate::slices::count_rows;
use crate::slices::par_mut::RowsPtr;

/// A rectangle of a matrix, to write to: its cells lie in the rows of a slice, and are named by their rows and columns
/// in the matrix. [`par_tiles_mut`](Hive::par_tiles_mut) gives it out.
///
/// ```
/// let mut matrix = vec![0; 6 * 8];
/// hive::par_tiles_mut(&mut matrix, 8, [2, 4], hive::Schedule::Static, |mut tile, _| {
///     assert_eq!((tile.rows().len(), tile.columns().len()), (2, 4));
///     for row in tile.rows() {
///         tile.row_mut(row).fill(row); // a slice
///     }
///     let corner = (tile.rows().start, tile.columns().start);
///     tile[corner] += 100;
/// });
/// assert_eq!(matrix[2 * 8..][..8], [102, 2, 2, 2, 102, 2, 2, 2]);
/// ```
pub struct TileMut<'t, T> {
    /// The first cell.
    first: *mut T,
    /// The distance from one row to the next.
    width: usize,
    rows: Range<usize>,
    columns: Range<usize>,
    cells: PhantomData<&'t mut [T]>,
}

// SAFETY: it stands for a `&mut [T]`, which is `Send` if `T` is.
unsafe impl<T: Send> Send for TileMut<'_, T> {}
// SAFETY: as above, for `Sync`.
unsafe impl<T: Sync> Sync for TileMut<'_, T> {}

impl<T> TileMut<'_, T> {
    /// The rows of the matrix in which the tile has cells.
    pub fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// The columns of the matrix in which the tile has cells.
    pub fn columns(&self) -> Range<usize> {
        self.columns.clone()
    }

    /// The tile's cells in row `row` of the matrix.
    ///
    /// # Panics
    /// If the tile has none there.
    #[inline]
    #[track_caller]
    pub fn row(&self, row: usize) -> &[T] {
        // SAFETY: the cells of that row lie in the tile, which is nobody else's for 't.
        unsafe { from_raw_parts(self.start_of(row), self.columns.len()) }
    }

    /// The same, to write to.
    ///
    /// # Panics
    /// If the tile has none there.
    #[inline]
    #[track_caller]
    pub fn row_mut(&mut self, row: usize) -> &mut [T] {
        // SAFETY: as in `row`, and `self` is borrowed mutably.
        unsafe { from_raw_parts_mut(self.start_of(row), self.columns.len()) }
    }

    /// All rows of the tile, from the first to the last, to write to.
    ///
    /// ```
    /// let mut matrix = vec![1.0; 100 * 70];
    /// hive::par_tiles_mut(&mut matrix, 70, [32, 32], hive::Schedule::Dynamic(1), |mut tile, _| {
    ///     let columns = tile.columns();
    ///     for (i, row) in tile.rows().zip(tile.rows_mut()) {
    ///         row.iter_mut().zip(columns.clone()).for_each(|(cell, j)| *cell *= (i * j) as f64);
    ///     }
    /// });
    /// assert_eq!(matrix[99 * 70 + 69], 99.0 * 69.0);
    /// ```
    pub fn rows_mut(&mut self) -> impl ExactSizeIterator<Item = &mut [T]> {
        let (first, width, columns) = (self.first, self.width, self.columns.len());
        (0..self.rows.len()).map(move |row| {
            // SAFETY: as in `row_mut`, and each row is given out once.
            unsafe { from_raw_parts_mut(first.wrapping_add(row * width), columns) }
        })
    }

    /// The first cell of the tile in row `row` of the matrix.
    #[inline(always)]
    #[track_caller]
    fn start_of(&self, row: usize) -> *mut T {
        assert!(self.rows.contains(&row), "row {row} is none of the tile's, {:?}", self.rows);
        self.first.wrapping_add((row - self.rows.start) * self.width)
    }

    #[inline(always)]
    #[track_caller]
    fn place_in_row(&self, column: usize) -> usize {
        assert!(self.columns.contains(&column), "column {column} is none of the tile's, {:?}", self.columns);
        column - self.columns.start
    }
}

/// The cell in that row and column of the matrix.
impl<T> Index<(usize, usize)> for TileMut<'_, T> {
    type Output = T;

    #[inline]
    #[track_caller]
    fn index(&self, (row, column): (usize, usize)) -> &T {
        &self.row(row)[self.place_in_row(column)]
    }
}

impl<T> IndexMut<(usize, usize)> for TileMut<'_, T> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, (row, column): (usize, usize)) -> &mut T {
        let place = self.place_in_row(column);
        &mut self.row_mut(row)[place]
    }
}

impl<T> fmt::Debug for TileMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TileMut {{ rows: {:?}, columns: {:?} }}", self.rows, self.columns)
    }
}

impl Hive {
    /// Runs `body` once for each tile of a matrix, whose rows of `width` cells lie in `data` one after another. A tile
    /// has `tile` = `[rows, columns]` cells, and fewer at the last row or column; `schedule` divides the tiles among
    /// all bees of the hive, row of tiles by row of tiles. `body` gets the tile to write to, and the bee that it runs
    /// on.
    ///
    /// ```
    /// // A transpose: each tile reads from a part of the other matrix that fits into a cache.
    /// let (rows, columns) = (300, 200);
    /// let a: Vec<usize> = (0..rows * columns).collect();
    /// let mut b = vec![0; a.len()];
    /// hive::par_tiles_mut(&mut b, rows, [32, 32], hive::Schedule::Static, |mut tile, _| {
    ///     for i in tile.rows() {
    ///         for j in tile.columns() {
    ///             tile[(i, j)] = a[j * columns + i];
    ///         }
    ///     }
    /// });
    /// assert_eq!(b[7 * rows + 5], a[5 * columns + 7]);
    /// ```
    ///
    /// # Panics
    /// As [`par_for`](Self::par_for); and if `width` is 0, the last row is incomplete, a tile has no rows or no
    /// columns, or a plan or a loop has tiles that there are not.
    #[track_caller]
    #[doc(alias("collapse", "cache blocking", "axis_chunks_iter_mut"))]
    pub fn par_tiles_mut<T: Send, F>(
        &self,
        data: &mut [T],
        width: usize,
        tile: [usize; 2],
        schedule: impl SliceSchedule,
        body: F,
    ) where
        F: Fn(TileMut<'_, T>, &Bee<'_>) + Sync,
    {
        let body = NoDoublePanic::new(body);
        let tiles = Tiles::new(0..count_rows(data.len(), width), 0..width, tile);
        let work = schedule.loop_over(tiles.count());
        let cells = RowsPtr::new(data, width);
        self.run_weighted(work, tile[0].saturating_mul(tile[1]), move |numbers, bee| {
            for (rows, columns) in tiles.of(numbers) {
                let first = cells.at(rows.start * width + columns.start);
                // The loop passes numbers of tiles only, so the tile lies in the matrix, which stays borrowed until all
                // bees are done. The loop runs each number at most once, and tiles do not overlap.
                body(TileMut { first, width, rows, columns, cells: PhantomData }, bee);
            }
        });
    }
}
