//! Which files the traced hives of the process write, and that those do which are there when it ends.

use std::panic::catch_unwind;
use std::path::{Path, PathBuf, absolute};
use std::sync::Weak;

use crate::observe::trace::file_names::FileNames;
use crate::observe::trace::log::nanos_since_start;
use crate::pool::shared::Shared;
use crate::sys::process::ProcessLock;
use crate::sys::stderr::write_stderr;

static TRACED_HIVES: ProcessLock<TracedHives> =
    ProcessLock::new(TracedHives { file_names: FileNames::new(), live: LiveHives::new(), has_exit_handler: false });

/// What is kept of traced hives.
struct TracedHives {
    file_names: FileNames,
    live: LiveHives<Shared>,
    /// Whether the end of the process has a handler that has those write.
    has_exit_handler: bool,
}

/// The name of a file for one hive. It stays the same when the process changes its directory.
pub(crate) fn claim_file_name(wanted: &Path) -> PathBuf {
    let wanted = absolute(wanted).unwrap_or_else(|_| wanted.to_owned());
    TRACED_HIVES.with(|TracedHives { file_names: names, .. }| {
        // The clock begins here, and not while another thread forks.
        nanos_since_start();
        names.claim(&wanted)
    })
}

/// Those that may still be there. Who has gone is left out when there is no room for another, so that all of them are
/// looked at once in a while only.
struct LiveHives<T>(Vec<Weak<T>>);

impl<T> LiveHives<T> {
    const fn new() -> Self {
        Self(Vec::new())
    }

    fn push(&mut self, one: Weak<T>) {
        if self.0.len() == self.0.capacity() {
            self.0.retain(|one| one.strong_count() > 0);
            // As many again.
            self.0.reserve(self.0.len() + 1);
        }
        self.0.push(one);
    }
}

/// Has a hive's timeline written when the process ends, if the hive is still there.
pub(crate) fn write_at_exit(shared: Weak<Shared>) {
    extern "C" fn write_all() {
        // Unwinding must not leave a C function; the message of the panic has been printed.
        let _ = catch_unwind(|| {
            let live = TRACED_HIVES.with(|files| std::mem::replace(&mut files.live, LiveHives::new()));
            live.0.iter().filter_map(Weak::upgrade).for_each(|shared| shared.write_final_trace());
        });
    }

    let status = TRACED_HIVES.with(|files| {
        files.live.push(shared);
        #[expect(unsafe_code, reason = "atexit takes a C function")]
        // SAFETY: the function does not unwind, and needs nothing that ends before it is called.
        let register = || unsafe { libc::atexit(write_all) };
        if std::mem::replace(&mut files.has_exit_handler, true) { 0 } else { register() }
    });
    if status != 0 {
        write_stderr("hive: no room for another exit handler; only hives that are dropped write their traces\n");
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
