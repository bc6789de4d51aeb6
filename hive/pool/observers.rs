//! What watches a hive from outside: the start of the watchdog, and the writing of the timeline.
//!
//! The watchdog and the tracer are in `hive/observe/` and know no hive. This file hands them what they need of one.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::observe::trace::Tracer;
use crate::observe::trace::traced_hives::{TracedHive, write_at_exit};
use crate::pool::shared::Shared;
use crate::sys::stderr::write_message;

impl Shared {
    /// Starts the watchdog, and registers the timeline to be written when the process ends, as far as the configuration
    /// asks for them. Neither keeps a hive alive that nobody uses any more, since each has a weak reference only.
    pub(crate) fn start_observers(self: &Arc<Self>) -> io::Result<()> {
        if self.tracer.is_some() {
            write_at_exit(Arc::<Self>::downgrade(self));
        }
        let Some(limit) = self.config.watchdog_limit else { return Ok(()) };
        let watched = Arc::downgrade(self);
        let take_snapshot = move || watched.upgrade().map(|shared| shared.team.snapshot());
        self.watchdog.start(&self.config.thread_name, limit, take_snapshot)
    }

    /// What writes the timeline; None if the hive is not traced.
    pub(crate) fn tracer(&self) -> Option<&Tracer> {
        self.tracer.as_ref()
    }

    /// Writes the trace: see [`Hive::write_trace`](crate::pool::handle::Hive::write_trace).
    pub(crate) fn write_trace(&self) -> io::Result<PathBuf> {
        let tracer = self.tracer().ok_or_else(|| io::Error::other(NOT_TRACED_MESSAGE))?;
        if self.is_forked() {
            return Err(io::Error::other("this process is a forked child: the trace is its parent's"));
        }
        self.write_with(tracer)?;
        Ok(tracer.path().to_owned())
    }

    fn write_with(&self, tracer: &Tracer) -> io::Result<()> {
        tracer.write(&self.config.thread_name, || (self.team.logs().collect(), self.team.sizes()))
    }
}

impl TracedHive for Shared {
    /// Writes the trace when the hive or the process ends, if the hive is traced. An error goes to standard error,
    /// because no caller is left to return it to.
    fn write_final_trace(&self) {
        let Some(tracer) = self.tracer().filter(|_| !self.is_forked()) else { return };
        if let Err(error) = self.write_with(tracer) {
            let (name, file) = (&self.config.thread_name, tracer.path().display());
            write_message(&format!("{name}: the trace {file} cannot be written: {error}\n"));
        }
    }
}

const NOT_TRACED_MESSAGE: &str = "this hive is not traced: ask for that with Hive::builder().trace(FILE) or \
                                  HIVE_TRACE=FILE; its report says whether the file could be made";
