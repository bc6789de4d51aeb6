//! The first line of a Matrix Market file: which numbers follow, and which of them stand for others.

use super::entry::Symmetry;
use super::lines::{Wrong, shown};

/// What the numbers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Real,
    Integer,
    /// Only places, no numbers; each number is a one.
    Pattern,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) field: Field,
    pub(crate) symmetry: Symmetry,
}

impl Header {
    /// What the line should be, for messages.
    pub(super) const FORM: &str =
        "`%%MatrixMarket matrix coordinate`, then real, integer or pattern, then general, symmetric or skew-symmetric";

    /// Upper and lower case are the same.
    pub(crate) fn parse(line: &[u8]) -> Result<Self, Wrong> {
        let lower = line.to_ascii_lowercase();
        let words: Vec<&[u8]> = lower.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
        let [b"%%matrixmarket", object, format, field, symmetry] = words[..] else {
            return Err(Wrong::new(shown(line), Self::FORM));
        };
        match (object, format) {
            (b"matrix", b"coordinate") => {}
            (b"matrix", b"array") => {
                return Err(Wrong::new("`array`", "`coordinate`: a dense matrix is nothing for sparse kernels"));
            }
            (b"matrix", _) => return Err(Wrong::new(shown(format), "`coordinate`")),
            _ => return Err(Wrong::new(shown(object), "`matrix`")),
        }
        let header = Self { field: field_of(field)?, symmetry: symmetry_of(symmetry)? };
        if header == (Self { field: Field::Pattern, symmetry: Symmetry::SkewSymmetric }) {
            let why = "`general` or `symmetric`: a pattern has no signs";
            return Err(Wrong::new("`pattern skew-symmetric`", why));
        }
        Ok(header)
    }

    /// What a line of one entry holds, for messages.
    pub(crate) const fn entry_form(self) -> &'static str {
        match self.field {
            Field::Real => "three numbers: row, column and value",
            Field::Integer => "three numbers: row, column and a whole number",
            Field::Pattern => "two numbers: row and column of a pattern",
        }
    }
}

fn field_of(word: &[u8]) -> Result<Field, Wrong> {
    match word {
        b"real" => Ok(Field::Real),
        b"integer" => Ok(Field::Integer),
        b"pattern" => Ok(Field::Pattern),
        b"complex" => {
            Err(Wrong::new("`complex`", "`real`, `integer` or `pattern`: the kernels compute with real numbers"))
        }
        _ => Err(Wrong::new(shown(word), "`real`, `integer` or `pattern`")),
    }
}

fn symmetry_of(word: &[u8]) -> Result<Symmetry, Wrong> {
    let known = [Symmetry::General, Symmetry::Symmetric, Symmetry::SkewSymmetric];
    match known.into_iter().find(|symmetry| symmetry.name().as_bytes() == word) {
        Some(symmetry) => Ok(symmetry),
        None if word == b"hermitian" => {
            Err(Wrong::new("`hermitian`", "`symmetric`, which is what a Hermitian matrix of real numbers is"))
        }
        None => Err(Wrong::new(shown(word), "`general`, `symmetric` or `skew-symmetric`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(line: &str) -> String {
        let Wrong { found, expected } = Header::parse(line.as_bytes()).unwrap_err();
        format!("{found}, not {expected}")
    }

    #[test]
    fn headers_in_any_case() {
        let header = |field, symmetry| Ok(Header { field, symmetry });
        let parse = |line: &str| Header::parse(line.as_bytes());
        assert_eq!(parse("%%MatrixMarket matrix coordinate real general"), header(Field::Real, Symmetry::General));
        assert_eq!(
            parse("%%matrixmarket MATRIX Coordinate Pattern\tSymmetric"),
            header(Field::Pattern, Symmetry::Symmetric)
        );
        assert_eq!(
            parse("%%MatrixMarket matrix  coordinate integer skew-symmetric"),
            header(Field::Integer, Symmetry::SkewSymmetric)
        );
    }

    #[test]
    fn the_error_for_a_wrong_header_says_what_is_wrong() {
        for line in
            ["", "3 3 1", "%MatrixMarket matrix coordinate real general", "%%MatrixMarket matrix coordinate real"]
        {
            assert!(wrong(line).contains("not `%%MatrixMarket matrix coordinate`"), "{}", wrong(line));
        }
        let refused = |words: &str, parts: &[&str]| {
            let text = wrong(&format!("%%MatrixMarket {words}"));
            assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        };
        refused("vector coordinate real general", &["`vector`, not `matrix`"]);
        refused("matrix array real general", &["`array`, not `coordinate`", "dense"]);
        refused("matrix list real general", &["`list`, not `coordinate`"]);
        refused("matrix coordinate complex general", &["`complex`, not `real`", "real numbers"]);
        refused("matrix coordinate double general", &["`double`, not `real`"]);
        refused("matrix coordinate real hermitian", &["`hermitian`, not `symmetric`"]);
        refused("matrix coordinate real upper", &["`upper`, not `general`"]);
        refused("matrix coordinate pattern skew-symmetric", &["signs"]);
    }
}
