//! Which files the traced hives of the process write, and that those do which are there when it ends.

use std::collections::BTreeSet;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf, absolute};
use std::sync::Weak;

use super::log::now;
use crate::colony::Colony;
use crate::process::ProcessLock;
use crate::say::say;

static FILES: ProcessLock<Files> = ProcessLock::new(Files { names: BTreeSet::new(), hives: Vec::new(), is_awaited: false });

/// What is kept of traced hives.
struct Files {
    /// Taken, for good: a second hive must not write over what the first has left.
    names: BTreeSet<PathBuf>,
    hives: Vec<Weak<Colony>>,
    /// Whether the end of the process has a handler that has those write.
    is_awaited: bool,
}

/// The name of a file for one hive. It stays the same when the process changes its directory.
pub(super) fn claim(wanted: &Path) -> PathBuf {
    let wanted = absolute(wanted).unwrap_or_else(|_| wanted.to_owned());
    FILES.with(|Files { names, .. }| {
        // The clock begins here, and not while another thread forks.
        now();
        let free = (1..).map(|number| numbered(&wanted, number)).find(|name| !names.contains(name));
        let free = free.unwrap_or_else(|| unreachable!("numbers do not end"));
        names.insert(free.clone());
        free
    })
}

/// The name that the hive of this number gets, from 1, of those that want the same.
fn numbered(wanted: &Path, number: usize) -> PathBuf {
    if number == 1 {
        return wanted.to_owned();
    }
    match wanted.extension() {
        Some(extension) => wanted.with_extension(format!("{number}.{}", extension.display())),
        None => wanted.with_extension(number.to_string()),
    }
}

/// Has a hive's timeline written when the process ends, if the hive is still there.
pub(super) fn write_at_exit(colony: Weak<Colony>) {
    extern "C" fn write_all() {
        // Unwinding must not leave a C function; the message of the panic has been printed.
        let _ = catch_unwind(|| {
            let hives = FILES.with(|files| std::mem::take(&mut files.hives));
            hives.iter().filter_map(Weak::upgrade).for_each(|colony| colony.finish_trace());
        });
    }

    let status = FILES.with(|files| {
        files.hives.retain(|hive| hive.strong_count() > 0);
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
    fn later_hives_get_a_number_before_the_extension() {
        let name = |wanted: &str, number| numbered(Path::new(wanted), number).to_str().unwrap().to_owned();
        assert_eq!(name("/a/trace.json", 1), "/a/trace.json");
        assert_eq!(name("/a/trace.json", 2), "/a/trace.2.json");
        assert_eq!(name("/a.b/trace", 3), "/a.b/trace.3");
    }

    #[test]
    fn a_name_is_given_once() {
        let wanted = Path::new("nowhere-else.json");
        let names = [claim(wanted), claim(wanted), claim(wanted)];
        let ends = names.each_ref().map(|name| name.file_name().unwrap().to_str().unwrap());
        assert_eq!(ends, ["nowhere-else.json", "nowhere-else.2.json", "nowhere-else.3.json"]);
        assert!(names.iter().all(|name| name.is_absolute()));
    }
}
