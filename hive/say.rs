//! All that hive says on standard error. It may be that nobody listens: a closed pipe, a full disk. That must not end a
//! thread of hive's, so nothing here panics, and what cannot be said is left out.
//!
//! `eprintln` and its like panic there, so they are not used in the library; a test looks through the source for them.

use std::collections::BTreeSet;

use crate::process::ProcessLock;

/// Says a warning once in a process, although each of its hives may give it.
pub(crate) fn once(warning: &str) {
    static SAID: ProcessLock<BTreeSet<String>> = ProcessLock::new(BTreeSet::new());
    if SAID.with(|said| said.insert(warning.to_owned())) {
        say(&format!("hive: {warning}\n"));
    }
}

/// Says a text, whole if the system takes it whole.
///
/// It does not allocate, and goes past the standard library's lock, which in a forked child a thread of the parent's
/// may have for ever.
#[cfg(unix)]
pub(crate) fn say(text: &str) {
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        #[expect(unsafe_code, reason = "the standard library's handle has a lock")]
        // SAFETY: the bytes are there, and so many.
        let written = unsafe { libc::write(libc::STDERR_FILENO, rest.as_ptr().cast(), rest.len()) };
        match usize::try_from(written) {
            Ok(0) => return,
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(_) if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Says a text, whole if the system takes it whole.
#[cfg(not(unix))]
pub(crate) fn say(text: &str) {
    use std::io::{Write, stderr};
    let _ = stderr().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    /// What writes to standard error or output, and panics where that is closed, or takes a lock. In two parts, so that
    /// this list is not found.
    const WAYS: [[&str; 2]; 6] =
        [["eprint", "!"], ["eprintln", "!"], [" print", "!"], ["println", "!"], ["dbg", "!"], ["std", "err("]];

    #[test]
    fn nothing_else_in_the_library_writes_to_standard_error() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("hive");
        let mut found = Vec::new();
        look_through(&source, &mut found);
        assert!(found.is_empty(), "these may panic where nobody listens; say it with `say`: {found:#?}");
    }

    fn look_through(directory: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let is_for_users = path.ends_with("examples");
            if path.is_dir() && !is_for_users {
                look_through(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs")
                && !path.ends_with("say.rs")
                && !is_a_test(&path)
            {
                let text = fs::read_to_string(&path).unwrap();
                let library = text.split("#[cfg(test)]").next().unwrap_or_default();
                found.extend(suspects(library).map(|line| format!("{}: {line}", path.display())));
            }
        }
    }

    /// Files that are built for tests alone.
    fn is_a_test(path: &Path) -> bool {
        ["tests.rs", "described.rs"].iter().any(|name| path.ends_with(name))
    }

    fn suspects(text: &str) -> impl Iterator<Item = &str> {
        let lines = text.lines().map(str::trim).filter(|line| !line.starts_with("//"));
        lines.filter(|line| WAYS.iter().any(|way| line.contains(&way.concat())))
    }

    #[test]
    fn each_way_is_found_and_comments_are_not() {
        let text = "/// eprintln!(\"for users\");\neprintln!(\"ours\");\nlet _ = writeln!(io::stderr(), \"ours\");\nlet x = 3;";
        assert_eq!(suspects(text).count(), 2);
    }
}
