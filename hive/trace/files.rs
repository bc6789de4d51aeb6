//! Which files the traced hives of the process write, and that those do which are there when it ends.

use std::panic::catch_unwind;
use std::path::{Path, PathBuf, absolute};
use std::sync::Weak;

use super::log::now;
use super::names::Names;
use crate::colony::Colony;
use crate::process::ProcessLock;
use crate::say::say;

static FILES: ProcessLock<Files> = ProcessLock::new(Files { names: Names::new(), hives: Living::new(), is_awaited: false });

/// What is kept of traced hives.
struct Files {
    names: Names,
    hives: Living<Colony>,
    /// Whether the end of the process has a handler that has those write.
    is_awaited: bool,
}

/// The name of a file for one hive. It stays the same when the process changes its directory.
pub(super) fn claim(wanted: &Path) -> PathBuf {
    let wanted = absolute(wanted).unwrap_or_else(|_| wanted.to_owned());
    FILES.with(|Files { names, .. }| {
        // The clock begins here, and not while another thread forks.
        now();
        names.claim(&wanted)
    })
}

/// Those that may still be there. Who has gone is left out when there is no room for another, so that all of them are
/// looked at once in a while only.
struct Living<T>(Vec<Weak<T>>);

impl<T> Living<T> {
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
pub(super) fn write_at_exit(colony: Weak<Colony>) {
    extern "C" fn write_all() {
        // Unwinding must not leave a C function; the message of the panic has been printed.
        let _ = catch_unwind(|| {
            let hives = FILES.with(|files| std::mem::replace(&mut files.hives, Living::new()));
            hives.0.iter().filter_map(Weak::upgrade).for_each(|colony| colony.finish_trace());
        });
    }

    let status = FILES.with(|files| {
        files.hives.push(colony);
        #[expect(unsafe_code, reason = "atexit takes a C function")]
        // SAFETY: the function does not unwind, and needs nothing that ends before it is called.
        let register = || unsafe { libc::atexit(write_all) };
        if std::mem::replace(&mut files.is_awaited, true) { 0 } else { register() }
    });
    if status != 0 {
        say("hive: no room for another exit handler; only hives that are dropped write their traces\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_given_once() {
        let wanted = Path::new("nowhere-else.json");
        let names = [claim(wanted), claim(wanted), claim(wanted)];
        let ends = names.each_ref().map(|name| name.file_name().unwrap().to_str().unwrap());
        assert_eq!(ends, ["nowhere-else.json", "nowhere-else.2.json", "nowhere-else.3.json"]);
        assert!(names.iter().all(|name| name.is_absolute()));
    }

    #[test]
    fn who_has_gone_takes_no_room_for_long() {
        let (alive, mut living) = (std::sync::Arc::new(0), Living::new());
        living.push(std::sync::Arc::downgrade(&alive));
        (0..1_000).for_each(|_| living.push(Weak::new()));
        assert!(living.0.len() < 32, "{}", living.0.len());
        assert_eq!(living.0.iter().filter_map(Weak::upgrade).count(), 1);
    }
}
