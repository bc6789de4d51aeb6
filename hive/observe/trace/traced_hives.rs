//! The traced hives of the process: the file names that they have taken, and the hives to write when the process ends.
//!
//! `Tracer` calls these functions when a traced hive is built.

use std::panic::catch_unwind;
use std::path::{Path, PathBuf, absolute};
use std::sync::Weak;

use crate::observe::trace::file_names::FileNames;
use crate::observe::trace::log::nanos_since_start;
use crate::sys::process::ProcessLock;
use crate::sys::stderr::write_message;

/// Shared by all hives of the process. A `ProcessLock`, so that a forked child does not find it locked.
static TRACED_HIVES: ProcessLock<TracedHives> =
    ProcessLock::new(TracedHives { file_names: FileNames::new(), live: LiveHives::new(), has_exit_handler: false });

/// What the process knows of its traced hives.
struct TracedHives {
    /// The file names that have been given out.
    file_names: FileNames,
    /// The hives whose timeline is to be written when the process ends.
    live: LiveHives<dyn TracedHive>,
    /// Whether the exit handler that writes them has been registered.
    has_exit_handler: bool,
}

/// A traced hive, as far as the end of the process is concerned.
pub(crate) trait TracedHive: Send + Sync {
    /// Writes the hive's timeline, for the last time.
    fn write_final_trace(&self);
}

/// Takes a file name for one hive. The name is absolute, so it stays the same if the process changes its current
/// directory.
pub(crate) fn claim_file_name(wanted: &Path) -> PathBuf {
    let wanted = absolute(wanted).unwrap_or_else(|_| wanted.to_owned());
    TRACED_HIVES.with(|TracedHives { file_names: names, .. }| {
        // Starts the clock of all logs. Its `OnceLock` is filled here because no thread forks while this lock is held.
        nanos_since_start();
        names.claim(&wanted)
    })
}

/// Takes back the file name of a hive that could not be built, for the next one.
pub(crate) fn give_back_file_name(name: &Path) {
    TRACED_HIVES.with(|hives| hives.file_names.give_back(name));
}

/// The hives that may still exist. Those that are gone are removed only when there is no room for another, so that the
/// list is not searched every time.
struct LiveHives<T: ?Sized>(Vec<Weak<T>>);

impl<T: ?Sized> LiveHives<T> {
    const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a hive.
    fn push(&mut self, one: Weak<T>) {
        if self.0.len() == self.0.capacity() {
            self.0.retain(|one| one.strong_count() > 0);
            // Room for as many again as are left, so that the next search is far off.
            self.0.reserve(self.0.len() + 1);
        }
        self.0.push(one);
    }
}

/// Arranges that a hive's timeline is written when the process ends, if the hive still exists then.
pub(crate) fn write_at_exit(hive: Weak<dyn TracedHive>) {
    extern "C" fn write_all() {
        // Unwinding must not leave a C function. If there is a panic, its message has been printed.
        let _ = catch_unwind(|| {
            // The list is taken out, so that the lock is not held while files are written.
            let live = TRACED_HIVES.with(|files| std::mem::replace(&mut files.live, LiveHives::new()));
            live.0.iter().filter_map(Weak::upgrade).for_each(|hive| hive.write_final_trace());
        });
    }

    let status = TRACED_HIVES.with(|files| {
        files.live.push(hive);
        #[expect(unsafe_code, reason = "atexit takes a C function")]
        // SAFETY: the function does not unwind, and what it uses, a static, is never dropped.
        let register = || unsafe { libc::atexit(write_all) };
        // One handler writes the timelines of all hives, so it is registered only once.
        if std::mem::replace(&mut files.has_exit_handler, true) { 0 } else { register() }
    });
    if status != 0 {
        write_message("hive: no room for another exit handler; only hives that are dropped write their traces\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_given_once() {
        let wanted = Path::new("nowhere-else.json");
        let names = [claim_file_name(wanted), claim_file_name(wanted), claim_file_name(wanted)];
        let ends = names.each_ref().map(|name| name.file_name().unwrap().to_str().unwrap());
        assert_eq!(ends, ["nowhere-else.json", "nowhere-else.2.json", "nowhere-else.3.json"]);
        assert!(names.iter().all(|name| name.is_absolute()));
    }

    #[test]
    fn dropped_hives_are_removed_from_the_list() {
        let (alive, mut live) = (std::sync::Arc::new(0), LiveHives::new());
        live.push(std::sync::Arc::downgrade(&alive));
        (0..1_000).for_each(|_| live.push(Weak::new()));
        assert!(live.0.len() < 32, "{}", live.0.len());
        assert_eq!(live.0.iter().filter_map(Weak::upgrade).count(), 1);
    }
}
