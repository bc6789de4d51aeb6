use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

use super::*;
use crate::matrix::coordinates;

const GENERAL: &str = "%%MatrixMarket matrix coordinate real general\n";
const SYMMETRIC: &str = "%%MatrixMarket matrix coordinate real symmetric\n";

fn read(text: &str) -> Result<Vec<(u32, u32, f64)>, String> {
    let (matrix, _) = super::text(text.as_bytes())?;
    Ok(matrix.entries().map(|Entry { row, column, value }| (row, column, value)).collect())
}

/// The message has all these parts.
fn wrong(text: &str, parts: &[&str]) {
    let error = read(text).expect_err(text);
    for part in parts {
        assert!(error.contains(part), "{part} is missing: {error}");
    }
}

/// A file for one test, deleted at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, content: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("hive-bench-{}-{name}", std::process::id()));
        std::fs::write(&path, content).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A file that stays behind does no harm.
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn comments_blank_lines_and_windows_line_ends() {
    let text = "%%MatrixMarket MATRIX coordinate Real general\r\n% a comment\r\n\r\n  2 3   2 \r\n1 3 0.5\r\n%\r\n\
                \r\n2\t1\t-1e3";
    assert_eq!(read(text), Ok(vec![(0, 2, 0.5), (1, 0, -1000.0)]));
}

#[test]
fn numbers_of_every_kind() {
    let entries = "2 2 2\n1 1 7\n2 1 -3\n";
    let of = |kind: &str| read(&format!("%%MatrixMarket matrix coordinate {kind}\n{entries}"));
    assert_eq!(of("integer general"), Ok(vec![(0, 0, 7.0), (1, 0, -3.0)]));
    assert_eq!(of("real symmetric"), Ok(vec![(0, 0, 7.0), (0, 1, -3.0), (1, 0, -3.0)]));
    let pattern = "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n";
    assert_eq!(read(pattern), Ok(vec![(0, 0, 1.0), (0, 1, 1.0), (1, 0, 1.0)]));
}

#[test]
fn numbers_of_one_place_are_added_up() {
    assert_eq!(read(&format!("{GENERAL}1 1 3\n1 1 1\n1 1 2\n1 1 4\n")), Ok(vec![(0, 0, 7.0)]));
    assert_eq!(read(&format!("{SYMMETRIC}2 2 2\n2 1 1\n2 1 2\n")), Ok(vec![(0, 1, 3.0), (1, 0, 3.0)]));
}

#[test]
fn a_matrix_without_entries_is_one() {
    assert_eq!(read(&format!("{GENERAL}3 4 0\n")), Ok(vec![]));
}

#[test]
fn what_does_not_begin_as_it_should() {
    wrong("", &["line 1", "found ``", "%%MatrixMarket"]);
    wrong("\n%%MatrixMarket matrix coordinate real general\n1 1 0\n", &["line 1", "expected `%%MatrixMarket"]);
    for kind in
        ["array real general", "coordinate complex general", "coordinate real skew-symmetric", "coordinate real"]
    {
        wrong(&format!("%%MatrixMarket matrix {kind}\n1 1 0\n"), &["line 1", "found `%%MatrixMarket matrix "]);
    }
}

#[test]
fn what_is_wrong_with_the_sizes() {
    wrong(GENERAL, &["line 2", "how many rows, columns and entries"]);
    wrong(&format!("{GENERAL}3 3\n"), &["line 2", "found `3 3`", "three numbers"]);
    wrong(&format!("{GENERAL}3 3 1 1\n"), &["line 2", "found `3 3 1 1`"]);
    for size in ["0 3 1", "3 4294967296 1", "3 3 -1", "3 3 many"] {
        wrong(&format!("{GENERAL}{size}\n"), &["line 2", &format!("found `{size}`"), "from 1 to 4294967295"]);
    }
    wrong(&format!("{SYMMETRIC}2 3 1\n"), &["line 2", "as many columns as rows in a symmetric matrix"]);
}

#[test]
fn what_is_wrong_with_an_entry() {
    let first = |entry: &str| format!("{GENERAL}2 3 1\n{entry}\n");
    wrong(&first("0 1 1.0"), &["line 3", "found `0 1 1.0`", "expected a row from 1 to 2"]);
    wrong(&first("3 1 1.0"), &["found `3 1 1.0`", "a row from 1 to 2"]);
    wrong(&first("1 4 1.0"), &["found `1 4 1.0`", "a column from 1 to 3"]);
    wrong(&first("1.5 1 1.0"), &["found `1.5 1 1.0`", "a row"]);
    wrong(&first("1 99999999999999999999 1"), &["found `1 99999999999999999999 1`", "a column"]);
    wrong(&first("1 1"), &["found `1 1`", "three numbers"]);
    wrong(&first("1 1 1 1"), &["found `1 1 1 1`", "three numbers"]);
    for none in ["one", "nan", "inf", "1e999", "1,5", "0x10"] {
        wrong(&first(&format!("1 1 {none}")), &["line 3", &format!("found `1 1 {none}`"), "a finite real number"]);
    }
    wrong("%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1 1\n", &["found `1 1 1`", "two numbers"]);
}

#[test]
fn an_entry_on_the_wrong_side() {
    wrong(&format!("{SYMMETRIC}3 3 1\n2 3 1\n"), &["line 3", "found `2 3 1`", "no entry above the diagonal"]);
}

#[test]
fn too_few_and_too_many_entries() {
    wrong(&format!("{GENERAL}% two\n2 2 2\n1 1 1\n\n"), &["end of the file after 1 entries", "expected 2"]);
    wrong(&format!("{GENERAL}2 2 1\n1 1 1\n2 2 2\n"), &["line 4", "found `2 2 2`", "no more than 1 entries"]);
}

#[test]
fn files_plain_and_compressed() {
    let content = format!("{SYMMETRIC}2 2 1\n2 1 1.5\n");
    let plain = Scratch::new("plain.mtx", content.as_bytes());
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content.as_bytes()).unwrap();
    let bytes = encoder.finish().unwrap();
    let compressed = Scratch::new("compressed.mtx.gz", &bytes);
    let loaded = file(&plain.0).unwrap();
    assert_eq!((loaded.0.nonzeros(), loaded.1), (2, Symmetry::Symmetric));
    assert_eq!(file(&compressed.0).unwrap(), loaded);

    let cut = Scratch::new("cut.mtx.gz", &bytes[..bytes.len() - 12]);
    let error = file(&cut.0).unwrap_err();
    assert!(error.contains("cut.mtx.gz, line ") && error.contains("cannot be read"), "{error}");
}

#[test]
fn an_error_names_the_file() {
    let error = file(Path::new("/nowhere/at/all.mtx")).unwrap_err();
    assert!(error.starts_with("/nowhere/at/all.mtx: cannot be opened: "), "{error}");
    let error = file(Path::new("/")).unwrap_err();
    assert!(error.starts_with("/: cannot be read: "), "{error}");
    let broken = Scratch::new("broken.mtx", b"%%MatrixMarket matrix coordinate real general\n1 1 1\n2 1 1\n");
    let error = file(&broken.0).unwrap_err();
    assert!(error.contains("broken.mtx, line 3: found `2 1 1`, expected a row from 1 to 1"), "{error}");
}

/// Places and values of a matrix with few of each, so that places are met twice.
fn some_entries() -> impl Strategy<Value = (u32, u32, Vec<Entry>)> {
    (1_u32..9, 1_u32..9).prop_flat_map(|(rows, columns)| {
        let value = prop_oneof![any::<f64>().prop_filter("a number", |value| value.is_finite()), -4.0..4.0];
        let entry = (0..rows, 0..columns, value).prop_map(|(row, column, value)| Entry { row, column, value });
        (Just(rows), Just(columns), proptest::collection::vec(entry, 0..40))
    })
}

fn written(rows: u32, columns: u32, symmetry: Symmetry, entries: &[Entry]) -> Vec<u8> {
    let mut text = Vec::new();
    let sizes = [rows.into(), columns.into(), entries.len() as u64];
    coordinates(&mut text, "a test", sizes, symmetry, entries.iter().copied()).unwrap();
    text
}

/// What is read, by place; the bits, so that -0 is not 0.
fn by_place(matrix: &Csr) -> BTreeMap<(u32, u32), u64> {
    matrix.entries().map(|entry| ((entry.row, entry.column), entry.value.to_bits())).collect()
}

/// The sums that are expected at each place, in the order of the entries.
fn sums(entries: impl IntoIterator<Item = Entry>) -> BTreeMap<(u32, u32), u64> {
    let mut sums: BTreeMap<(u32, u32), f64> = BTreeMap::new();
    for Entry { row, column, value } in entries {
        sums.entry((row, column)).and_modify(|sum| *sum += value).or_insert(value);
    }
    sums.into_iter().map(|(place, sum)| (place, sum.to_bits())).collect()
}

proptest! {
    #[test]
    fn what_is_written_is_read((rows, columns, entries) in some_entries()) {
        let loaded = super::text(&written(rows, columns, Symmetry::General, &entries)[..]).unwrap();
        prop_assert_eq!((loaded.0.rows(), loaded.0.columns()), (rows as usize, columns as usize));
        prop_assert_eq!(by_place(&loaded.0), sums(entries));
    }

    #[test]
    fn images_are_read_too((side, _, mut entries) in some_entries()) {
        let symmetry = Symmetry::Symmetric;
        entries.retain(|entry| entry.row < side && entry.column < side);
        for entry in &mut entries {
            *entry = Entry { row: entry.row.max(entry.column), column: entry.row.min(entry.column), ..*entry };
        }
        let loaded = super::text(&written(side, side, symmetry, &entries)[..]).unwrap();
        let both = entries.iter().flat_map(|&entry| [Some(entry), symmetry.image(entry)]).flatten();
        prop_assert_eq!(by_place(&loaded.0), sums(both));
    }

    #[test]
    fn garbage_is_refused_or_read_but_never_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = super::text(&bytes[..]);
    }

    #[test]
    fn garbage_after_a_header_neither(rest in "([0-9 .%e\n+-]|nan|\r\n|[a-z]){0,80}", symmetric: bool) {
        let header = if symmetric { SYMMETRIC } else { GENERAL };
        let _ = super::text(format!("{header}{rest}").as_bytes());
        let _ = super::text(format!("{header}3 3 2\n{rest}").as_bytes());
    }

    #[test]
    fn a_damaged_file_is_refused_or_read(
        (rows, columns, entries) in some_entries(),
        place: prop::sample::Index,
        byte: u8,
    ) {
        let mut text = written(rows, columns, Symmetry::General, &entries);
        let place = place.index(text.len());
        text[place] = byte;
        let _ = super::text(&text[..]);
    }
}
