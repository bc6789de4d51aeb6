//! A number of a matrix, and what it says of the number on the other side of the diagonal.

use std::io::{self, Write};

use crate::catalog::names;

/// One number of a matrix; the first row and the first column are 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) row: u32,
    pub(crate) column: u32,
    pub(crate) value: f64,
}

names! {
    /// What the entries below the diagonal say of those above.
    Symmetry {
        General "general";
        Symmetric "symmetric";
    }
}

impl Symmetry {
    /// The entry on the other side of the diagonal that `entry` stands for.
    pub(crate) fn image(self, entry: Entry) -> Option<Entry> {
        let Entry { row, column, value } = entry;
        match self {
            Self::General => None,
            Self::Symmetric if row == column => None,
            Self::Symmetric => Some(Entry { row: column, column: row, value }),
        }
    }
}

/// Writes `entries`, whose number has to be said beforehand, in a form from which the same numbers are read. Of a
/// symmetric matrix only those on the diagonal and below.
pub(crate) fn coordinates(
    out: &mut (impl Write + ?Sized),
    comment: &str,
    [rows, columns, count]: [u64; 3],
    symmetry: Symmetry,
    entries: impl Iterator<Item = Entry>,
) -> io::Result<()> {
    writeln!(out, "%%MatrixMarket matrix coordinate real {}", symmetry.name())?;
    comment.lines().try_for_each(|line| writeln!(out, "% {line}"))?;
    writeln!(out, "{rows} {columns} {count}")?;
    let mut written = 0;
    for Entry { row, column, value } in entries {
        // Debug: the shortest form that reads back the same, with an exponent where that is shorter.
        writeln!(out, "{} {} {value:?}", u64::from(row) + 1, u64::from(column) + 1)?;
        written += 1;
    }
    assert_eq!(written, count, "the entries are as many as was said");
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_as_others_write_it() {
        let entries = [Entry { row: 0, column: 0, value: 2.5 }, Entry { row: 1, column: 0, value: -1e-300 }];
        let mut text = Vec::new();
        coordinates(&mut text, "made up\nby hand", [2, 2, 2], Symmetry::Symmetric, entries.into_iter()).unwrap();
        let expected =
            "%%MatrixMarket matrix coordinate real symmetric\n% made up\n% by hand\n2 2 2\n1 1 2.5\n2 1 -1e-300\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
