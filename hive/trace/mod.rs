//! A timeline of what each member does: logs that the members keep, and the file that they end up in. See `docs/tracing.md`.

mod event;
mod file;
mod files;
mod log;
mod names;
mod target;

pub(crate) use event::Event;
pub(crate) use log::{Log, MOST as MOST_ENTRIES};

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::build_info;
use crate::colony::Colony;
use crate::doing::Activity;
use crate::say::say;
use file::About;

/// What writes one hive's timeline.
pub(crate) struct Tracer {
    path: PathBuf,
    /// Held while the file is written.
    writing: Mutex<()>,
}

impl Tracer {
    /// For a file of this name, or, where another hive of the process has that, of one with a number in it.
    ///
    /// # Errors
    /// In words, if the file cannot be made.
    pub(crate) fn open(wanted: &Path) -> Result<Self, String> {
        let path = files::claim(wanted);
        match target::open(&path) {
            Ok(_) => Ok(Self { path, writing: Mutex::new(()) }),
            Err(error) => Err(format!("nothing is traced: the file {} cannot be written: {error}", path.display())),
        }
    }

    /// Has the hive's timeline written when the process ends, if the hive lives until then.
    pub(crate) fn write_at_exit(colony: &Arc<Colony>) {
        files::write_at_exit(Arc::downgrade(colony));
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes what has been logged so far, in place of what was written before. Members may go on meanwhile.
    pub(crate) fn write(&self, colony: &Colony) -> io::Result<()> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut out = BufWriter::new(target::open(&self.path)?);
        let logs: Vec<_> = colony.crew.logs().collect();
        let about = About { name: &colony.config.thread_name, build: &build_info().to_string() };
        file::write(&mut out, &about, &colony.crew.sizes(), &logs)?;
        out.flush()
    }
}

impl Colony {
    /// Writes the trace: see [`crate::Hive::write_trace`].
    pub(crate) fn write_trace(&self) -> io::Result<PathBuf> {
        let tracer = self.tracer().ok_or_else(|| io::Error::other(NOT_TRACED))?;
        if self.is_forked() {
            return Err(io::Error::other("this process is a forked child: the trace is its parent's"));
        }
        tracer.write(self)?;
        Ok(tracer.path().to_owned())
    }

    /// Writes the trace for the last time, if there is one. There is nobody to return an error to.
    pub(crate) fn finish_trace(&self) {
        if let Some(tracer) = self.tracer().filter(|_| !self.is_forked())
            && let Err(error) = tracer.write(self)
        {
            let (name, file) = (&self.config.thread_name, tracer.path().display());
            say(&format!("{name}: the trace {file} cannot be written: {error}\n"));
        }
    }
}

const NOT_TRACED: &str = "this hive is not traced: ask for that with Hive::builder().trace(FILE) or HIVE_TRACE=FILE; its report says \
                          whether the file could be made";
