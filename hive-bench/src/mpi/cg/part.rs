//! A rank's rows of a matrix, with only the columns that occur in them.

use std::ops::Range;

use crate::matrix::Csr;

/// Own columns first, then those of other ranks. Numbers of a row stay in the order of the whole matrix, so that they
/// are added up in the same.
#[derive(Debug, PartialEq)]
pub(super) struct Local {
    pub(super) matrix: Csr,
    /// The other ranks' columns, ascending.
    pub(super) needed: Vec<usize>,
    /// Neighbouring rows that need none of them.
    pub(super) inner: Vec<Range<usize>>,
    /// Neighbouring rows that need some.
    pub(super) border: Vec<Range<usize>>,
}

impl Local {
    /// `matrix` has the rows `own`, and all columns.
    pub(super) fn new(matrix: &Csr, own: &Range<usize>) -> Self {
        let is_own = |column: &u32| own.contains(&(*column as usize));
        let mut needed: Vec<usize> =
            matrix.indices().iter().filter(|column| !is_own(column)).map(|column| *column as usize).collect();
        needed.sort_unstable();
        needed.dedup();
        let number = |column: &u32| match *column as usize {
            column if own.contains(&column) => (column - own.start) as u32,
            column => (own.len() + needed.partition_point(|needed| *needed < column)) as u32,
        };
        let indices: Vec<u32> = matrix.indices().iter().map(number).collect();
        let starts = matrix.starts().to_vec();
        let is_inner = |row: usize| matrix.indices()[starts[row]..starts[row + 1]].iter().all(is_own);
        Self {
            inner: runs(own.len(), is_inner),
            border: runs(own.len(), |row| !is_inner(row)),
            matrix: Csr::from_arrays(own.len() + needed.len(), starts.clone(), indices, matrix.values().to_vec()),
            needed,
        }
    }
}

/// The rows for which the condition holds, in ranges of neighbours.
fn runs(rows: usize, is_so: impl Fn(usize) -> bool) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for row in (0..rows).filter(|row| is_so(*row)) {
        match runs.last_mut() {
            Some(run) if run.end == row => run.end += 1,
            _ => runs.push(row..row + 1),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Laplacian;

    fn ends(runs: &[Range<usize>]) -> Vec<(usize, usize)> {
        runs.iter().map(|run| (run.start, run.end)).collect()
    }

    #[test]
    fn the_middle_of_a_grid_needs_nobody() {
        // Rows 3 to 8 of a grid of four by four: its second row and a half.
        let local = Local::new(&Laplacian::new(4).some_rows(3..9), &(3..9));
        assert_eq!(local.needed, [0, 1, 2, 9, 10, 11, 12]);
        assert_eq!((local.matrix.rows(), local.matrix.columns()), (6, 13));
        assert_eq!((ends(&local.inner), ends(&local.border)), (vec![], vec![(0, 6)]));
        let local = Local::new(&Laplacian::new(4).some_rows(4..16), &(4..16));
        assert_eq!((ends(&local.inner), ends(&local.border)), (vec![(4, 12)], vec![(0, 4)]));
        let local = Local::new(&Laplacian::new(3).some_rows(2..9), &(2..9));
        assert_eq!((ends(&local.inner), ends(&local.border)), (vec![(3, 7)], vec![(0, 3)]));
    }

    #[test]
    fn numbers_stay_in_their_order() {
        let local = Local::new(&Laplacian::new(3).some_rows(3..6), &(3..6));
        // Row 4 of the whole has columns 1, 3, 4, 5 and 7.
        let starts = local.matrix.starts();
        assert_eq!(local.matrix.indices()[starts[1]..starts[2]], [4, 0, 1, 2, 7]);
        assert_eq!(local.matrix.values()[starts[1]..starts[2]], [-1.0, -1.0, 4.0, -1.0, -1.0]);
    }

    #[test]
    fn a_rank_without_rows_needs_nothing() {
        let local = Local::new(&Laplacian::new(2).some_rows(2..2), &(2..2));
        assert_eq!((local.matrix.rows(), local.needed.len(), local.inner.len(), local.border.len()), (0, 0, 0, 0));
    }
}
