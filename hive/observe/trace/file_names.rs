//! The names of the files that the traced hives of the process have taken, each of which is used once.
//!
//! `Tracer` calls these functions when a traced hive is built.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf, absolute};

use crate::observe::trace::log::nanos_since_start;
use crate::sys::process::ProcessLock;

/// Shared by all hives of the process. A `ProcessLock`, so that a forked child does not find it locked.
pub(crate) static FILE_NAMES: ProcessLock<FileNames> = ProcessLock::new(FileNames::new());

/// Takes a file name for one hive. The name is absolute, so it stays the same if the process changes its current
/// directory.
pub(crate) fn claim_file_name(wanted: &Path) -> PathBuf {
    let wanted = absolute(wanted).unwrap_or_else(|_| wanted.to_owned());
    FILE_NAMES.with(|names| {
        // Starts the clock of all logs. Its `OnceLock` is filled here because no thread forks while this lock is held.
        nanos_since_start();
        names.claim(&wanted)
    })
}

/// The names that hives have been given. A name stays taken when its hive has ended: a second hive must not overwrite
/// the file of the first. Only a hive that could not be built gives its name back.
pub(crate) struct FileNames(
    /// Each name that has been given, with the lowest number that has not been tried with it. The lower ones are all
    /// taken.
    BTreeMap<PathBuf, usize>,
);

impl FileNames {
    pub(crate) const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// The name asked for or, if that is taken, one with a number in it. Each number is tried once, however often the
    /// same name is asked for.
    pub(crate) fn claim(&mut self, wanted: &Path) -> PathBuf {
        let mut number = self.0.get(wanted).copied().unwrap_or(1);
        let mut name = numbered(wanted, number);
        // The name may be taken even so: another hive may have asked for exactly this name, number included.
        while self.0.contains_key(&name) {
            number += 1;
            name = numbered(wanted, number);
        }
        // Number 1 is the name itself.
        self.0.insert(name.clone(), 2);
        self.0.insert(wanted.to_owned(), number + 1);
        name
    }

    /// Takes back a name that a hive has been given.
    pub(crate) fn give_back(&mut self, name: &Path) {
        self.0.remove(name);
        // Whichever name it was made from, the numbers are tried again from the first one.
        self.0.values_mut().for_each(|number| *number = 2);
    }
}

/// The name for the hive with this number among those that ask for the same name. The first hive, number 1, gets the
/// name itself.
fn numbered(wanted: &Path, number: usize) -> PathBuf {
    if number == 1 {
        return wanted.to_owned();
    }
    match wanted.extension() {
        Some(extension) => wanted.with_extension(format!("{number}.{}", extension.to_string_lossy())),
        None => wanted.with_extension(number.to_string()),
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
    fn a_name_is_given_once_also_where_another_was_wanted_that_has_its_number() {
        let mut names = FileNames::new();
        let mut claim = |wanted: &str| names.claim(Path::new(wanted)).to_str().unwrap().to_owned();
        assert_eq!(claim("/a/t.3.json"), "/a/t.3.json");
        assert_eq!([0; 4].map(|_| claim("/a/t.json")), ["/a/t.json", "/a/t.2.json", "/a/t.4.json", "/a/t.5.json"]);
        assert_eq!(claim("/a/t.2.json"), "/a/t.2.2.json");
    }

    #[test]
    fn a_name_that_was_given_back_is_given_again() {
        let mut names = FileNames::new();
        let wanted = Path::new("/a/t.json");
        let claimed = [0; 3].map(|_| names.claim(wanted));
        names.give_back(&claimed[1]);
        assert_eq!(names.claim(wanted), claimed[1]);
        assert_eq!(names.claim(wanted), Path::new("/a/t.4.json"));
    }

    #[test]
    fn no_name_is_tried_twice_however_many_want_it() {
        const CLAIMS: usize = 1_000;
        let (mut names, wanted) = (FileNames::new(), Path::new("/a/t.json"));
        for _ in 0..CLAIMS {
            names.claim(wanted);
        }
        // Each try takes the next number, and none begins with number 1 again.
        let tried = names.0[wanted] - 1;
        assert_eq!((names.0.len(), tried), (CLAIMS, CLAIMS));
    }

    #[test]
    fn a_name_is_given_once() {
        let wanted = Path::new("nowhere-else.json");
        let names = [claim_file_name(wanted), claim_file_name(wanted), claim_file_name(wanted)];
        let ends = names.each_ref().map(|name| name.file_name().unwrap().to_str().unwrap());
        assert_eq!(ends, ["nowhere-else.json", "nowhere-else.2.json", "nowhere-else.3.json"]);
        assert!(names.iter().all(|name| name.is_absolute()));
    }
}
