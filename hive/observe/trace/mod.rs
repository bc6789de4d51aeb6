//! Timelines of what each bee does: the logs that the bees keep, and the file that they are written to. See
//! `docs/tracing.md`.
//!
//! A hive that is built with [`Builder::trace`](crate::pool::builder::Builder::trace) or `HIVE_TRACE` has a [`Tracer`].
//! The bees add events (`event.rs`) to their logs (`log.rs`) as they run. The file is written when the hive is dropped,
//! when the process ends and whenever the program asks for it; `chrome_json.rs` has its format, `file_names.rs` its
//! name, and `output_file.rs` how it is opened.

pub(crate) mod chrome_json;
pub(crate) mod event;
pub(crate) mod file_names;
pub(crate) mod log;
pub(crate) mod output_file;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::observe::trace::event::Event;
use crate::observe::trace::log::Log;

/// The file of one hive's timeline.
pub(crate) struct Tracer {
    /// The file's absolute name, which no other hive of the process writes to.
    pub(crate) path: PathBuf,
    /// Held while the file is written, so that two threads do not write it at the same time. Whether the name has been
    /// given back, so that nothing is written any more.
    is_given_back: Mutex<bool>,
}

impl Tracer {
    /// Creates the file with this name or, if another hive of the process has taken that name, with a number in the
    /// name.
    ///
    /// # Errors
    /// If the file cannot be made. The error is a warning for the report.
    pub(crate) fn open(wanted: &Path) -> Result<Self, String> {
        let path = file_names::claim_file_name(wanted);
        match output_file::open_for_writing(&path) {
            // The file is closed again: each writing opens it anew and replaces its contents.
            Ok(_) => Ok(Self { path, is_given_back: Mutex::new(false) }),
            Err(error) => Err(format!("nothing is traced: the file {} cannot be written: {error}", path.display())),
        }
    }

    /// Gives the file's name back for another hive, and writes nothing from now on: this one could not be built.
    pub(crate) fn give_back_name(&self) {
        *self.is_given_back.lock().unwrap_or_else(PoisonError::into_inner) = true;
        file_names::FILE_NAMES.with(|names| names.give_back(&self.path));
    }

    /// Writes everything that has been logged so far, replacing what was written before. The bees may go on meanwhile.
    ///
    /// `hive_name` is what the names of the hive's threads begin with. `read_logs` returns the bees' logs, in the order
    /// of the bees, and the sizes that the hive has had; it is called when no other thread writes the file.
    pub(crate) fn write<'l>(
        &self,
        hive_name: &str,
        read_logs: impl FnOnce() -> (Vec<&'l Log>, Vec<(u64, Event)>),
    ) -> io::Result<()> {
        let is_given_back = self.is_given_back.lock().unwrap_or_else(PoisonError::into_inner);
        if *is_given_back {
            return Ok(());
        }
        let mut out = BufWriter::new(output_file::open_for_writing(&self.path)?);
        let (logs, sizes) = read_logs();
        chrome_json::write_json(&mut out, hive_name, &sizes, &logs)?;
        out.flush()
    }
}
