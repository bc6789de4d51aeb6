//! Timelines of what each bee does: the logs that the bees keep, and the file that they are written to. See
//! `docs/tracing.md`.
//!
//! A hive that is built with [`Builder::trace`](crate::pool::config::Builder::trace) or `HIVE_TRACE` has a [`Tracer`].
//! The bees add events (`event.rs`) to their logs (`log.rs`) as they run. The file is written when the hive is dropped,
//! when the process ends (`traced_hives.rs`) and whenever the program asks for it; `chrome_json.rs` has its format,
//! `file_names.rs` and `output_file.rs` its name and how it is opened.

pub(crate) mod chrome_json;
pub(crate) mod event;
pub(crate) mod file_names;
pub(crate) mod log;
pub(crate) mod output_file;
pub(crate) mod traced_hives;

use std::io;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::observe::build_info::build_info;
use crate::observe::trace::chrome_json::TraceHeader;
use crate::pool::shared::Shared;
use crate::sys::stderr::write_message;

/// The file of one hive's timeline.
pub(crate) struct Tracer {
    /// The file's absolute name, which no other hive of the process writes to.
    path: PathBuf,
    /// Held while the file is written, so that two threads do not write it at the same time.
    write_lock: Mutex<()>,
}

impl Tracer {
    /// Creates the file with this name or, if another hive of the process has taken that name, with a number in the
    /// name.
    ///
    /// # Errors
    /// If the file cannot be made. The error is a warning for the report.
    pub(crate) fn open(wanted: &Path) -> Result<Self, String> {
        let path = traced_hives::claim_file_name(wanted);
        match output_file::open_for_writing(&path) {
            // The file is closed again: each writing opens it anew and replaces its contents.
            Ok(_) => Ok(Self { path, write_lock: Mutex::new(()) }),
            Err(error) => Err(format!("nothing is traced: the file {} cannot be written: {error}", path.display())),
        }
    }

    /// Arranges that the hive's timeline is written when the process ends, if the hive still exists then.
    pub(crate) fn write_at_exit(shared: &Arc<Shared>) {
        traced_hives::write_at_exit(Arc::downgrade(shared));
    }

    /// The name of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes everything that has been logged so far, replacing what was written before. The bees may go on meanwhile.
    pub(crate) fn write(&self, shared: &Shared) -> io::Result<()> {
        let _lock = self.write_lock.lock().unwrap_or_else(PoisonError::into_inner);
        let mut out = BufWriter::new(output_file::open_for_writing(&self.path)?);
        let logs: Vec<_> = shared.team.logs().collect();
        let header = TraceHeader { name: &shared.config.thread_name, build: &build_info().to_string() };
        chrome_json::write_json(&mut out, &header, &shared.team.sizes(), &logs)?;
        out.flush()
    }
}

impl Shared {
    /// Writes the trace: see [`crate::pool::handle::Hive::write_trace`].
    pub(crate) fn write_trace(&self) -> io::Result<PathBuf> {
        let tracer = self.tracer().ok_or_else(|| io::Error::other(NOT_TRACED_MESSAGE))?;
        if self.is_forked() {
            return Err(io::Error::other("this process is a forked child: the trace is its parent's"));
        }
        tracer.write(self)?;
        Ok(tracer.path().to_owned())
    }

    /// Writes the trace when the hive or the process ends, if the hive is traced. An error goes to standard error,
    /// because no caller is left to return it to.
    pub(crate) fn write_final_trace(&self) {
        if let Some(tracer) = self.tracer().filter(|_| !self.is_forked())
            && let Err(error) = tracer.write(self)
        {
            let (name, file) = (&self.config.thread_name, tracer.path().display());
            write_message(&format!("{name}: the trace {file} cannot be written: {error}\n"));
        }
    }
}

const NOT_TRACED_MESSAGE: &str = "this hive is not traced: ask for that with Hive::builder().trace(FILE) or \
                                  HIVE_TRACE=FILE; its report says whether the file could be made";
