//! Files that flags name.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
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

/// Writes into the file, packed if its name ends in `.gz`.
pub(crate) fn fill(file: File, path: &Path, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(file);
    if path.extension().is_some_and(|extension| extension == "gz") {
        let mut encoder = GzEncoder::new(out, Compression::default());
        content(&mut encoder)?;
        out = encoder.finish()?;
    } else {
        content(&mut out)?;
    }
    out.flush()
}

/// Writes figures as JSON, in which the user's own folder has no name. An error names the flag.
pub(crate) fn write_json(flag: &str, path: &Path, figures: &impl Serialize) -> Result<(), String> {
    let text = serde_json::to_string(figures).map_err(|error| format!("the figures are no JSON: {error}"))?;
    let text = without_home(text);
    let written = File::create(path).and_then(|file| fill(file, path, |out| out.write_all(text.as_bytes())));
    written.map_err(|error| format!("{flag} {}: cannot be written: {error}", path.display()))
}

fn without_home(text: String) -> String {
    let home = std::env::var("HOME").unwrap_or_default();
    if home.len() > 1 { text.replace(&home, "~") } else { text }
}

/// What a file says that may be gzipped. Its first bytes, not its name, tell.
pub(crate) fn unpacked<'a>(mut source: impl BufRead + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    let is_packed = source.fill_buf()?.starts_with(&[0x1f, 0x8b]);
    Ok(if is_packed { Box::new(BufReader::new(MultiGzDecoder::new(source))) } else { Box::new(source) })
}
