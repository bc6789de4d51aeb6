//! Matrix Market files, as they are or compressed by gzip.
//!
//! A file is a header, a line with the numbers of rows, columns and entries, and a line for each entry, counted from
//! one. Comments and blank lines may stand anywhere after the header. Entries of one place are added up, also those of
//! a pattern.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::str::FromStr;

use super::{Csr, Entry, Symmetry};
use crate::system::files;

/// Reads a file: the matrix, and what the file says of it. Its first bytes, not its name, say whether it is compressed.
/// An error names the file and the line, and says what is there and what should be there.
pub(crate) fn file(path: &Path) -> Result<(Csr, Symmetry), String> {
    let name = path.display();
    let file = File::open(path).map_err(|error| format!("{name}: cannot be opened: {error}"))?;
    let source = files::unpacked(BufReader::new(file)).map_err(|error| format!("{name}: cannot be read: {error}"))?;
    text(source).map_err(|fault| format!("{name}, {fault}"))
}

/// What is wrong with a line.
fn wrong(line: usize, found: &str, expected: &str) -> String {
    let begin: String = found.chars().take(40).collect();
    format!("line {line}: found `{}`, expected {expected}", begin.escape_debug())
}

fn text(source: impl BufRead) -> Result<(Csr, Symmetry), String> {
    let mut lines = (1..).zip(source.lines());
    let (number, header) = next(&mut lines)?.unwrap_or((1, String::new()));
    let header = Header::parse(&header)
        .ok_or_else(|| wrong(number, &header, "`%%MatrixMarket matrix coordinate`, a kind of number, a symmetry"))?;
    let says_nothing = |line: &str| line.is_empty() || line.starts_with('%');
    let mut content = lines.filter(|(_, line)| !line.as_ref().is_ok_and(|line| says_nothing(line.trim_ascii())));
    let (number, size) = next(&mut content)?.unwrap_or((2, String::new()));
    let [rows, columns, count] =
        words(&size).ok_or_else(|| wrong(number, &size, "three numbers: how many rows, columns and entries"))?;
    let dimension = |word| whole(word, u32::MAX as usize);
    let expected = "numbers of rows and columns from 1 to 4294967295";
    let size_is_right = dimension(rows).zip(dimension(columns)).zip(count.parse::<usize>().ok());
    let ((rows, columns), count) = size_is_right.ok_or_else(|| wrong(number, &size, expected))?;
    if header.symmetry == Symmetry::Symmetric && rows != columns {
        return Err(wrong(number, &size, "as many columns as rows in a symmetric matrix"));
    }
    let mut entries = Vec::new();
    while let Some((number, line)) = next(&mut content)? {
        if entries.len() == count {
            return Err(wrong(number, &line, &format!("no more than {count} entries")));
        }
        entries.push(header.entry(&line, [rows, columns]).map_err(|expected| wrong(number, &line, &expected))?);
    }
    if entries.len() < count {
        return Err(format!("the end of the file after {} entries, expected {count}", entries.len()));
    }
    Ok((Csr::from_entries(rows, columns, header.symmetry, &entries), header.symmetry))
}

fn next(lines: &mut impl Iterator<Item = (usize, io::Result<String>)>) -> Result<Option<(usize, String)>, String> {
    let line = |(number, line): (usize, io::Result<String>)| match line {
        Ok(line) => Ok((number, line)),
        Err(error) => Err(format!("line {number}: cannot be read: {error}")),
    };
    lines.next().map(line).transpose()
}

/// What the first line says: which numbers follow, and which of them stand for others.
struct Header {
    /// Only places, no numbers; each number is a one.
    is_pattern: bool,
    symmetry: Symmetry,
}

impl Header {
    /// Upper and lower case are the same.
    fn parse(line: &str) -> Option<Self> {
        let lower = line.to_ascii_lowercase();
        let ["%%matrixmarket", "matrix", "coordinate", field, symmetry] = words(&lower)? else { return None };
        let is_pattern = match field {
            "real" | "integer" => false,
            "pattern" => true,
            _ => return None,
        };
        let symmetry = Symmetry::ALL.iter().copied().find(|known| known.name() == symmetry)?;
        Some(Self { is_pattern, symmetry })
    }

    /// An error says what is expected instead.
    fn entry(&self, line: &str, [rows, columns]: [usize; 2]) -> Result<Entry, String> {
        let [row, column, value] = if self.is_pattern {
            words(line).map(|[row, column]| [row, column, "1"]).ok_or("two numbers: row and column of a pattern")?
        } else {
            words(line).ok_or("three numbers: row, column and value")?
        };
        let index = |word, most, what| {
            let index = whole(word, most).ok_or_else(|| format!("a {what} from 1 to {most}"))?;
            Ok::<_, String>(u32::try_from(index - 1).expect("the size allows no more rows and columns"))
        };
        let (row, column) = (index(row, rows, "row")?, index(column, columns, "column")?);
        let value = f64::from_str(value).ok().filter(|value| value.is_finite()).ok_or("a finite real number")?;
        if self.symmetry == Symmetry::Symmetric && column > row {
            return Err("no entry above the diagonal in a symmetric matrix".to_owned());
        }
        Ok(Entry { row, column, value })
    }
}

/// The words of a line, when there are so many.
fn words<const COUNT: usize>(line: &str) -> Option<[&str; COUNT]> {
    line.split_ascii_whitespace().collect::<Vec<_>>().try_into().ok()
}

/// A number from 1 on.
fn whole(word: &str, most: usize) -> Option<usize> {
    word.parse().ok().filter(|number| (1..=most).contains(number))
}

#[cfg(test)]
mod tests;
