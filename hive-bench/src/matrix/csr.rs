//! A sparse matrix by rows (CSR).

use std::ops::Range;

use super::Symmetry;

/// One number of a matrix; the first row and the first column are 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) row: u32,
    pub(crate) column: u32,
    pub(crate) value: f64,
}

/// A sparse matrix by rows: columns ascend in each row, each once. Column indices of 32 bits, as numeric libraries have them: what is
/// measured is mostly memory traffic.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Csr {
    columns: usize,
    /// Where each row begins in the other two, and where the last one ends.
    starts: Vec<usize>,
    /// Each less than `columns`.
    indices: Vec<u32>,
    values: Vec<f64>,
}

impl Csr {
    /// A matrix of these entries, those of one place added up in their order. Unless it is general, each entry off the diagonal stands
    /// for its mirror image too.
    ///
    /// # Panics
    /// When an entry lies outside.
    pub(crate) fn from_entries(rows: usize, columns: usize, symmetry: Symmetry, entries: &[Entry]) -> Self {
        let starts = starts_of_rows(rows, symmetry, entries);
        let stored = starts[rows];
        let mut matrix = Self { columns, indices: vec![0; stored], values: vec![0.0; stored], starts };
        matrix.scatter(symmetry, entries);
        matrix.sort_and_add_up();
        matrix
    }

    pub(crate) const fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    pub(crate) const fn columns(&self) -> usize {
        self.columns
    }

    /// Numbers stored; some may be zero.
    pub(crate) const fn nonzeros(&self) -> usize {
        self.values.len()
    }

    pub(crate) fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// The column of each number.
    pub(crate) fn indices(&self) -> &[u32] {
        &self.indices
    }

    pub(crate) fn values(&self) -> &[f64] {
        &self.values
    }

    /// Row by row, columns ascending.
    #[cfg(test)]
    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry> {
        let row_of = |row: usize| {
            let range = self.row(row);
            let row = u32::try_from(row).expect("rows are counted in 32 bits");
            self.indices[range.clone()].iter().zip(&self.values[range]).map(move |(&column, &value)| Entry { row, column, value })
        };
        (0..self.rows()).flat_map(row_of)
    }

    fn row(&self, row: usize) -> Range<usize> {
        self.starts[row]..self.starts[row + 1]
    }

    /// Puts each entry, and its mirror image, into its row.
    fn scatter(&mut self, symmetry: Symmetry, entries: &[Entry]) {
        let mut next = self.starts.clone();
        let mut put = |entry: Entry| {
            assert!((entry.column as usize) < self.columns, "{entry:?} lies outside of {} columns", self.columns);
            let place = &mut next[entry.row as usize];
            self.indices[*place] = entry.column;
            self.values[*place] = entry.value;
            *place += 1;
        };
        for &entry in entries {
            put(entry);
            if let Some(image) = symmetry.image(entry) {
                put(image);
            }
        }
    }

    /// Brings each row into order, and closes the gaps that numbers of one place leave.
    fn sort_and_add_up(&mut self) {
        let mut row: Vec<(u32, f64)> = Vec::new();
        let mut kept = 0;
        for number in 0..self.rows() {
            let range = self.row(number);
            row.clear();
            row.extend(self.indices[range.clone()].iter().copied().zip(self.values[range].iter().copied()));
            // Stable: an entry and its image are added up in the same order.
            row.sort_by_key(|(column, _)| *column);
            self.starts[number] = kept;
            for same in row.chunk_by(|(a, _), (b, _)| a == b) {
                self.indices[kept] = same[0].0;
                self.values[kept] = same[1..].iter().fold(same[0].1, |sum, (_, value)| sum + value);
                kept += 1;
            }
        }
        let rows = self.rows();
        self.starts[rows] = kept;
        self.indices.truncate(kept);
        self.values.truncate(kept);
    }
}

/// Where each row begins, before numbers of one place are added up.
fn starts_of_rows(rows: usize, symmetry: Symmetry, entries: &[Entry]) -> Vec<usize> {
    let mut starts = vec![0; rows + 1];
    for entry in entries {
        starts[entry.row as usize + 1] += 1;
        if let Some(image) = symmetry.image(*entry) {
            starts[image.row as usize + 1] += 1;
        }
    }
    for row in 0..rows {
        starts[row + 1] += starts[row];
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(row: u32, column: u32, value: f64) -> Entry {
        Entry { row, column, value }
    }

    #[test]
    fn rows_are_in_order_and_numbers_of_one_place_are_added_up() {
        let entries = [entry(2, 1, 5.0), entry(0, 2, 1.0), entry(0, 0, 2.0), entry(2, 1, 0.5), entry(0, 2, -1.0)];
        let matrix = Csr::from_entries(3, 4, Symmetry::General, &entries);
        assert_eq!((matrix.rows(), matrix.columns(), matrix.nonzeros()), (3, 4, 3));
        assert_eq!(matrix.starts(), [0, 2, 2, 3]);
        assert!(matrix.entries().eq([entry(0, 0, 2.0), entry(0, 2, 0.0), entry(2, 1, 5.5)]));
    }

    #[test]
    fn images_are_filled_in() {
        let lower = [entry(1, 0, 3.0), entry(1, 1, 4.0)];
        let symmetric = Csr::from_entries(2, 2, Symmetry::Symmetric, &lower);
        assert!(symmetric.entries().eq([entry(0, 1, 3.0), entry(1, 0, 3.0), entry(1, 1, 4.0)]));
        let skew = Csr::from_entries(2, 2, Symmetry::SkewSymmetric, &lower[..1]);
        assert!(skew.entries().eq([entry(0, 1, -3.0), entry(1, 0, 3.0)]));
    }

    #[test]
    #[should_panic(expected = "outside of 2 columns")]
    fn an_entry_outside_is_refused() {
        Csr::from_entries(2, 2, Symmetry::General, &[entry(0, 2, 1.0)]);
    }
}
