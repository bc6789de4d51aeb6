//! Files that flags name.

use std::fs::{self, OpenOptions};
use std::path::Path;

/// Whether the file can be written, found before anything is measured: a run may take an hour.
pub(crate) fn writable(flag: &str, path: &Path) -> Result<(), String> {
    let opened = OpenOptions::new().create(true).append(true).open(path);
    opened.map(drop).map_err(|error| format!("{flag} {}: cannot be written: {error}", path.display()))
}

/// Writes the file. An error names the flag.
pub(crate) fn write(flag: &str, path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{flag} {}: cannot be written: {error}", path.display()))
}
