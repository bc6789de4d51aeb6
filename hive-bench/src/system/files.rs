//! Files that flags name.

use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use flate2::Compression;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;
use serde::Serialize;

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

/// Writes figures as JSON.
pub(crate) fn write_json(flag: &str, path: &Path, figures: &impl Serialize) -> Result<(), String> {
    let text = serde_json::to_string(figures).map_err(|error| format!("the figures are no JSON: {error}"))?;
    write(flag, path, &text)
}

/// What a file says that may be gzipped. Its first bytes, not its name, tell.
pub(crate) fn unpacked<'a>(mut source: impl BufRead + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    let is_packed = source.fill_buf()?.starts_with(&[0x1f, 0x8b]);
    Ok(if is_packed { Box::new(BufReader::new(MultiGzDecoder::new(source))) } else { Box::new(source) })
}
