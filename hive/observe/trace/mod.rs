//! A timeline of what each bee does: logs that the bees keep, and the file that they end up in. See `docs/tracing.md`.

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
use crate::sys::stderr::write_stderr;

/// What writes one hive's timeline.
pub(crate) struct Tracer {
    path: PathBuf,
    /// Held while the file is written.
    write_lock: Mutex<()>,
}

impl Tracer {
    /// For a file of this name, or, where another hive of the process has that, of one with a number in it.
    ///
    /// # Errors
    /// In words, if the file cannot be made.
    pub(crate) fn open(wanted: &Path) -> Result<Self, String> {
        let path = traced_hives::claim_file_name(wanted);
        match output_file::open_for_writing(&path) {
            Ok(_) => Ok(Self { path, write_lock: Mutex::new(()) }),
            Err(error) => Err(format!("nothing is traced: the file {} cannot be written: {error}", path.display())),
        }
    }

    /// Has the hive's timeline written when the process ends, if the hive lives until then.
    pub(crate) fn write_at_exit(shared: &Arc<Shared>) {
        traced_hives::write_at_exit(Arc::downgrade(shared));
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes what has been logged so far, in place of what was written before. Bees may go on meanwhile.
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

    /// Writes the trace for the last time, if there is one. There is nobody to return an error to.
    pub(crate) fn write_final_trace(&self) {
        if let Some(tracer) = self.tracer().filter(|_| !self.is_forked())
            && let Err(error) = tracer.write(self)
        {
            let (name, file) = (&self.config.thread_name, tracer.path().display());
            write_stderr(&format!("{name}: the trace {file} cannot be written: {error}\n"));
        }
    }
}

const NOT_TRACED_MESSAGE: &str = "this hive is not traced: ask for that with Hive::builder().trace(FILE) or HIVE_TRACE=FILE; its report says \
                          whether the file could be made";
