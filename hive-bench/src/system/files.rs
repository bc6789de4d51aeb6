//! Files that flags name.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

/// Whether the file can be written, found before anything is measured: a run may take an hour. A file that was not
/// there is not there afterwards, either.
pub(crate) fn writable(flag: &str, path: &Path) -> Result<(), String> {
    let is_new = !path.exists();
    let opened = OpenOptions::new().create(true).append(true).open(path);
    let removed = opened.and_then(|_| if is_new { fs::remove_file(path) } else { Ok(()) });
    removed.map_err(|error| format!("{flag} {}: cannot be written: {error}", path.display()))
}

/// Writes the file, packed if its name ends in `.gz`. An error names the flag.
pub(crate) fn write(flag: &str, path: &Path, text: &str) -> Result<(), String> {
    let pack = || {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text.as_bytes())?;
        encoder.finish()
    };
    let is_packed = path.extension().is_some_and(|extension| extension == "gz");
    let bytes = if is_packed { pack() } else { Ok(text.as_bytes().to_vec()) };
    let written = bytes.and_then(|bytes| fs::write(path, bytes));
    written.map_err(|error| format!("{flag} {}: cannot be written: {error}", path.display()))
}
