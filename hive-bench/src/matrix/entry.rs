//! A number of a matrix, and what it says of the number on the other side of the diagonal.

/// One number of a matrix; the first row and the first column are 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) row: u32,
    pub(crate) column: u32,
    pub(crate) value: f64,
}

/// What the entries below the diagonal say of those above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Symmetry {
    General,
    Symmetric,
}

impl Symmetry {
    /// As a header has it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::General => "general",
            Self::Symmetric => "symmetric",
        }
    }

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
