//! A sparse matrix by rows (CSR).

use std::ops::Range;

use super::entry::{Entry, Symmetry};

/// A sparse matrix by rows: columns ascend in each row, each once. Column indices of 32 bits, as numeric libraries have
/// them: what is measured is mostly memory traffic.
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
    /// A matrix of these entries, those of one place added up in their order. Unless it is general, each entry off the
    /// diagonal stands for its mirror image too.
    ///
    /// # Panics
    /// When an entry lies outside.
    pub(crate) fn from_entries(rows: usize, columns: usize, symmetry: Symmetry, entries: &[Entry]) -> Self {
        let with_images = entries.iter().flat_map(|&entry| [Some(entry), symmetry.image(entry)]).flatten();
        let mut all: Vec<Entry> = with_images.collect();
        // Stable: an entry and its image are added up in the same order.
        all.sort_by_key(|entry| (entry.row, entry.column));
        let mut matrix = Self { columns, starts: vec![0; rows + 1], indices: Vec::new(), values: Vec::new() };
        for same in all.chunk_by(|a, b| (a.row, a.column) == (b.row, b.column)) {
            let Entry { row, column, value } = same[0];
            assert!((column as usize) < columns, "{:?} lies outside of {columns} columns", same[0]);
            matrix.starts[row as usize + 1] += 1;
            matrix.indices.push(column);
            matrix.values.push(same[1..].iter().fold(value, |sum, entry| sum + entry.value));
        }
        (0..rows).for_each(|row| matrix.starts[row + 1] += matrix.starts[row]);
        matrix
    }

    /// A matrix of arrays that hold it already.
    ///
    /// # Panics
    /// When they are not those of a matrix.
    pub(crate) fn from_arrays(columns: usize, starts: Vec<usize>, indices: Vec<u32>, values: Vec<f64>) -> Self {
        assert!(starts.first() == Some(&0) && starts.is_sorted(), "rows begin where the ones before them end");
        let count = values.len();
        assert_eq!((starts.last(), indices.len()), (Some(&count), count), "a column for each number in a row");
        assert!(indices.iter().all(|index| (*index as usize) < columns), "no column is beyond the last");
        Self { columns, starts, indices, values }
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

    /// Some rows of the product with `x`, each added up in the order of its columns; `y` holds these only. Never
    /// inlined, so that all runtimes have the same machine code.
    ///
    /// # Panics
    /// When `x` has not a number for each column, or there are no such rows.
    #[inline(never)]
    pub(crate) fn multiply(&self, y: &mut [f64], x: &[f64], rows: Range<usize>) {
        self.multiply_and(y, x, rows, |_, _| ());
    }

    /// The same, and what the rows of `x` and `y` come to as a product of two vectors. The matrix is square.
    #[inline(never)]
    pub(crate) fn multiply_and_dot(&self, y: &mut [f64], x: &[f64], rows: Range<usize>) -> f64 {
        let mut dot = 0.0;
        self.multiply_and(y, x, rows, |row, sum| dot += x[row] * sum);
        dot
    }

    #[inline(always)]
    fn multiply_and(&self, y: &mut [f64], x: &[f64], rows: Range<usize>, mut each: impl FnMut(usize, f64)) {
        assert_eq!((x.len(), y.len()), (self.columns, rows.len()), "a number for each column and for each of the rows");
        // Both have the same length, so that there is one bounds check for each number.
        let (indices, values) = (&self.indices[..], &self.values[..self.indices.len()]);
        let product = |number: usize| {
            // The value comes first. The other way round the compiler vectorizes the products, and gathering them takes
            // longer than it saves. SAFETY: every index is less than the columns, and `x` has as many numbers.
            #[expect(unsafe_code, reason = "a check for each number would cost what C does not pay")]
            let product = values[number] * unsafe { *x.get_unchecked(indices[number] as usize) };
            product
        };
        let mut number = self.starts[rows.start];
        let ends = &self.starts[rows.start + 1..=rows.end];
        for ((row, y), end) in rows.zip(y).zip(ends) {
            let mut sum = 0.0;
            // Two at a time, as in C. A loop of single numbers takes up to a fifth longer, depending on where in the
            // program it happens to lie.
            while number + 1 < *end {
                sum += product(number);
                sum += product(number + 1);
                number += 2;
            }
            if number < *end {
                sum += product(number);
                number += 1;
            }
            *y = sum;
            each(row, sum);
        }
    }

    /// The product with `x`.
    pub(crate) fn product(&self, x: &[f64]) -> Vec<f64> {
        let mut y = vec![0.0; self.rows()];
        self.multiply(&mut y, x, 0..self.rows());
        y
    }

    /// The largest sum of the magnitudes of a row. A symmetric matrix makes no vector longer than by this factor.
    pub(crate) fn largest_row(&self) -> f64 {
        let sum = |row: &[usize]| self.values[row[0]..row[1]].iter().map(|value| value.abs()).sum::<f64>();
        self.starts.windows(2).map(sum).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    impl Csr {
        /// Row by row, columns ascending.
        pub(crate) fn entries(&self) -> impl Iterator<Item = Entry> {
            let row_of = |row: usize| {
                let range = self.starts[row]..self.starts[row + 1];
                let row = u32::try_from(row).expect("rows are counted in 32 bits");
                self.indices[range.clone()].iter().zip(&self.values[range]).map(move |(&column, &value)| Entry {
                    row,
                    column,
                    value,
                })
            };
            (0..self.rows()).flat_map(row_of)
        }
    }

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
    }

    #[test]
    fn a_product_by_hand() {
        let matrix =
            Csr::from_entries(3, 4, Symmetry::General, &[entry(0, 2, 2.0), entry(2, 0, -1.0), entry(2, 1, 0.5)]);
        let x = [1.0, 10.0, 100.0, 1000.0];
        assert_eq!(matrix.product(&x), [200.0, 0.0, 4.0]);
        let mut y = [7.0; 3];
        matrix.multiply(&mut y[..2], &x, 1..3);
        assert_eq!(y, [0.0, 4.0, 7.0]);
        matrix.multiply(&mut y[..0], &x, 3..3);
    }

    #[test]
    fn a_product_and_its_dot_by_hand() {
        let entries = [
            entry(0, 1, 2.0),
            entry(1, 0, -1.0),
            entry(1, 1, 0.5),
            entry(2, 0, 1.0),
            entry(2, 1, 1.0),
            entry(2, 2, 1.0),
        ];
        let matrix = Csr::from_entries(3, 3, Symmetry::General, &entries);
        let mut y = [7.0; 2];
        assert_eq!(matrix.multiply_and_dot(&mut y, &[1.0, 10.0, 100.0], 1..3), 40.0 + 11_100.0);
        assert_eq!(y, [4.0, 111.0]);
    }

    #[test]
    #[should_panic(expected = "outside of 2 columns")]
    fn an_entry_outside_is_refused() {
        Csr::from_entries(2, 2, Symmetry::General, &[entry(0, 2, 1.0)]);
    }
}
