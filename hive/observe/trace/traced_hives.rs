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
    ProcessLock::new(TracedHives { file_names: FileNames::new(), live: Vec::new(), has_exit_handler: false });

/// What the process knows of its traced hives.
struct TracedHives {
    /// The file names that have been given out.
    file_names: FileNames,
    /// The hives whose timeline is to be written when the process ends.
    live: Vec<Weak<dyn TracedHive>>,
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

/// Adds a hive to those that may still exist. Those that are gone are removed only when there is no room for another,
/// so that the list is not searched every time.
fn add(live: &mut Vec<Weak<dyn TracedHive>>, hive: Weak<dyn TracedHive>) {
    if live.len() == live.capacity() {
        live.retain(|hive| hive.strong_count() > 0);
        // Room for as many again as are left, so that the next search is far off.
        live.reserve(live.len() + 1);
    }
    live.push(hive);
}

/// Arranges that a hive's timeline is written when the process ends, if the hive still exists then.
pub(crate) fn write_at_exit(hive: Weak<dyn TracedHive>) {
    extern "C" fn write_all() {
        // Unwinding must not leave a C function. If there is a panic, its message has been printed.
        let _ = catch_unwind(|| {
            // The list is taken out: no file is written under a `ProcessLock`, since forks wait for it. (A forked
            // child, which has this handler as well, writes nothing: see `write_final_trace`.)
            let live = TRACED_HIVES.with(|files| std::mem::take(&mut files.live));
            live.iter().filter_map(Weak::upgrade).for_each(|hive| hive.write_final_trace());
        });
    }

    let status = TRACED_HIVES.with(|files| {
        add(&mut files.live, hive);
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
        struct AnyHive;
        impl TracedHive for AnyHive {
            fn write_final_trace(&self) {}
        }
        let (alive, mut live) = (std::sync::Arc::new(AnyHive), Vec::new());
        add(&mut live, std::sync::Arc::<AnyHive>::downgrade(&alive));
        (0..1_000).for_each(|_| add(&mut live, Weak::<AnyHive>::new()));
        assert!(live.len() < 32, "{}", live.len());
        assert_eq!(live.iter().filter_map(Weak::upgrade).count(), 1);
    }
}
