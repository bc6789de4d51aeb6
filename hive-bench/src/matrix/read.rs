//! Matrix Market files, as they are or compressed by gzip.
//!
//! A file is a header, a line with the numbers of rows, columns and entries, and a line for each entry, counted from
//! one. Comments and blank lines may stand anywhere after the header. Entries of one place are added up, also those of
//! a pattern.

use std::fs::File;
use std::io::{BufRead, BufReader};
#[cfg(any(test, feature = "mpi"))]
use std::ops::Range;
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use super::header::{Field, Header};
use super::lines::{Fault, Lines, Wrong, shown};
use super::{Csr, Entry, Symmetry, memory};

/// A matrix and what its file says of it.
#[derive(Debug, PartialEq)]
pub(crate) struct Loaded {
    pub(crate) matrix: Csr,
    pub(crate) symmetry: Symmetry,
}

/// Some rows of a matrix, numbered from zero, and what its file says of the whole.
#[derive(Debug, PartialEq)]
#[cfg(any(test, feature = "mpi"))]
pub(crate) struct SomeRows {
    /// Has all columns of the whole.
    pub(crate) matrix: Csr,
    pub(crate) rows_of_whole: usize,
    pub(crate) symmetry: Symmetry,
}

/// Reads a file. Its first bytes, not its name, say whether it is compressed. An error names the file and the line,
/// what is there and what should be there.
pub(crate) fn file(path: &Path) -> Result<Loaded, String> {
    read_by(path, |source| text(source, memory::available()))
}

/// Reads a file and keeps some of the rows: those that `wanted` returns for the number of rows.
#[cfg(feature = "mpi")]
pub(crate) fn rows_of_file(path: &Path, wanted: impl FnOnce(usize) -> Range<usize>) -> Result<SomeRows, String> {
    read_by(path, |source| rows_of_text(source, wanted, memory::available()))
}

/// Opens a file, and has `text` read what is in it.
fn read_by<T>(path: &Path, text: impl FnOnce(Box<dyn BufRead>) -> Result<T, Fault>) -> Result<T, String> {
    let name = path.display();
    let file = File::open(path).map_err(|error| format!("{name}: cannot be opened: {error}"))?;
    let mut source = BufReader::new(file);
    let begin = source.fill_buf().map_err(|error| format!("{name}: cannot be read: {error}"))?;
    let compressed = begin.starts_with(&[0x1f, 0x8b]);
    let source: Box<dyn BufRead> =
        if compressed { Box::new(BufReader::new(MultiGzDecoder::new(source))) } else { Box::new(source) };
    text(source).map_err(|fault| format!("{name}, {fault}"))
}

/// Reads a text with no more than `memory` bytes.
fn text(source: impl BufRead, memory: u64) -> Result<Loaded, Fault> {
    let mut lines = Lines::new(source);
    let (header, size) = head(&mut lines)?;
    size.fits_into(header.symmetry, memory).map_err(|wrong| lines.fault(&wrong))?;
    let entries = all_entries(&mut lines, header, size)?;
    Ok(Loaded {
        matrix: Csr::from_entries(size.rows, size.columns, header.symmetry, &entries),
        symmetry: header.symmetry,
    })
}

/// Reads a text and keeps some of the rows. How much memory their entries take is not known before.
#[cfg(any(test, feature = "mpi"))]
fn rows_of_text(
    source: impl BufRead,
    wanted: impl FnOnce(usize) -> Range<usize>,
    memory: u64,
) -> Result<SomeRows, Fault> {
    let mut lines = Lines::new(source);
    let (header, size) = head(&mut lines)?;
    let rows = wanted(size.rows);
    let least = Size { rows: rows.len(), columns: 0, entries: 0 };
    least.fits_into(header.symmetry, memory).map_err(|wrong| lines.fault(&wrong))?;
    let mut kept = Vec::new();
    each_entry(&mut lines, header, size, |entry| {
        // In the order in which the whole matrix would have them, so that those of one place are added up in the same
        // order.
        let both = [Some(entry), header.symmetry.image(entry)];
        let own = both.into_iter().flatten().filter(|entry| rows.contains(&(entry.row as usize)));
        kept.extend(own.map(|entry| Entry { row: entry.row - rows.start as u32, ..entry }));
    })?;
    let matrix = Csr::from_entries(rows.len(), size.columns, Symmetry::General, &kept);
    Ok(SomeRows { matrix, rows_of_whole: size.rows, symmetry: header.symmetry })
}

/// The header, and the line with the size.
fn head(lines: &mut Lines<impl BufRead>) -> Result<(Header, Size), Fault> {
    let header = match lines.next()? {
        Some(line) => Header::parse(line),
        None => Err(Wrong::new("an empty file", Header::FORM)),
    };
    let header = header.map_err(|wrong| Fault::at(1, &wrong))?;
    let size = match lines.next_of_content()? {
        Some(line) => Size::parse(line, header.symmetry),
        None => Err(Wrong::new("the end of the file", SIZE_FORM)),
    };
    Ok((header, size.map_err(|wrong| lines.fault(&wrong))?))
}

/// What the line after the header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Size {
    rows: usize,
    columns: usize,
    entries: usize,
}

const SIZE_FORM: &str = "three numbers: how many rows, columns and entries";

impl Size {
    fn parse(line: &[u8], symmetry: Symmetry) -> Result<Self, Wrong> {
        let Some([rows, columns, entries]) = words(line) else {
            return Err(Wrong::new(shown(line), SIZE_FORM));
        };
        let dimension = |word, what: &str| whole(word, 1, u32::MAX.into(), what);
        let size = Self {
            rows: dimension(rows, "a number of rows")?,
            columns: dimension(columns, "a number of columns")?,
            entries: whole(entries, 0, u64::MAX, "a number of entries")?,
        };
        if symmetry != Symmetry::General && size.rows != size.columns {
            let found = format!("{} rows and {} columns", size.rows, size.columns);
            return Err(Wrong::new(found, format!("as many columns as rows in a {} matrix", symmetry.name())));
        }
        Ok(size)
    }

    fn fits_into(self, symmetry: Symmetry, memory: u64) -> Result<(), Wrong> {
        let needed = self.memory(symmetry);
        if needed <= u128::from(memory) {
            return Ok(());
        }
        let needed = memory::amount(u64::try_from(needed).unwrap_or(u64::MAX));
        let found = format!("{} rows and {} entries, which take {needed} to work with", self.rows, self.entries);
        Err(Wrong::new(found, format!("no more than fits into the {} that can be had", memory::amount(memory))))
    }

    /// Bytes for the entries, the matrix, the copy that a team works on, and a kernel's vectors.
    fn memory(self, symmetry: Symmetry) -> u128 {
        let of = |count: usize, bytes: usize| count as u128 * bytes as u128;
        let images = if symmetry == Symmetry::General { 1 } else { 2 };
        let matrix = of(self.entries, 12 * images) + of(self.rows, 8);
        of(self.entries, size_of::<Entry>()) + 2 * matrix + of(self.rows.max(self.columns), 6 * 8)
    }
}

fn all_entries(lines: &mut Lines<impl BufRead>, header: Header, size: Size) -> Result<Vec<Entry>, Fault> {
    let mut entries = Vec::new();
    let reserved = entries.try_reserve_exact(size.entries);
    reserved.map_err(|_| {
        lines.fault(&Wrong::new(format!("{} entries", size.entries), "fewer: memory for them cannot be had"))
    })?;
    each_entry(lines, header, size, |entry| entries.push(entry))?;
    Ok(entries)
}

/// Hands all entries to `take`, as many as the size says.
fn each_entry(
    lines: &mut Lines<impl BufRead>,
    header: Header,
    size: Size,
    mut take: impl FnMut(Entry),
) -> Result<(), Fault> {
    let announced_on = lines.number();
    let announced = || format!("the {} that line {announced_on} announces", size.entries);
    let mut count = 0;
    while let Some(line) = lines.next_of_content()? {
        if count == size.entries {
            let found = format!("{} after the last entry", shown(line));
            return Err(lines.fault(&Wrong::new(found, format!("no more than {}", announced()))));
        }
        match entry(line, header, size) {
            Ok(entry) => take(entry),
            Err(wrong) => return Err(lines.fault(&wrong)),
        }
        count += 1;
    }
    if count < size.entries {
        let found = format!("the end of the file after {count} entries");
        return Err(lines.fault(&Wrong::new(found, announced())));
    }
    Ok(())
}

fn entry(line: &[u8], header: Header, size: Size) -> Result<Entry, Wrong> {
    let words = match header.field {
        Field::Pattern => words(line).map(|[row, column]| (row, column, &b"1"[..])),
        Field::Real | Field::Integer => words(line).map(|[row, column, value]| (row, column, value)),
    };
    let (row, column, value) = words.ok_or_else(|| Wrong::new(shown(line), header.entry_form()))?;
    let row = index(row, size.rows, "a row")?;
    let column = index(column, size.columns, "a column")?;
    let value = if header.field == Field::Integer { integer(value)? } else { real(value)? };
    let lies_right = match header.symmetry {
        Symmetry::General => true,
        Symmetry::Symmetric => column <= row,
        Symmetry::SkewSymmetric => column < row,
    };
    if lies_right {
        return Ok(Entry { row, column, value });
    }
    let where_it_is = if row == column { "on" } else { "above" };
    let found = format!("an entry {where_it_is} the diagonal, at row {}, column {}", row + 1, column + 1);
    Err(Wrong::new(
        found,
        match header.symmetry {
            Symmetry::SkewSymmetric => "only entries below it in a skew-symmetric matrix",
            _ => "only entries on it and below in a symmetric matrix",
        },
    ))
}

/// The words of a line, when there are so many.
fn words<const COUNT: usize>(line: &[u8]) -> Option<[&[u8]; COUNT]> {
    let mut rest = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let words = std::array::from_fn(|_| rest.next().unwrap_or_default());
    let as_many = words.iter().all(|word: &&[u8]| !word.is_empty()) && rest.next().is_none();
    as_many.then_some(words)
}

fn number<T: std::str::FromStr>(word: &[u8]) -> Option<T> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

fn whole(word: &[u8], least: u64, most: u64, what: &str) -> Result<usize, Wrong> {
    let fits = number::<u64>(word).filter(|number| (least..=most).contains(number));
    let fits = fits.and_then(|number| usize::try_from(number).ok());
    fits.ok_or_else(|| Wrong::new(shown(word), format!("{what} from {least} to {most}")))
}

/// Counted from one in the file, from zero here.
fn index(word: &[u8], most: usize, what: &str) -> Result<u32, Wrong> {
    let index = whole(word, 1, most as u64, what)?;
    Ok(u32::try_from(index - 1).expect("`Size::parse` allows no more rows and columns"))
}

fn real(word: &[u8]) -> Result<f64, Wrong> {
    number(word).filter(|value: &f64| value.is_finite()).ok_or_else(|| Wrong::new(shown(word), "a finite real number"))
}

/// As the nearest double.
fn integer(word: &[u8]) -> Result<f64, Wrong> {
    number(word).map(|value: i64| value as f64).ok_or_else(|| Wrong::new(shown(word), "a whole number of 64 bits"))
}

#[cfg(test)]
mod tests;
