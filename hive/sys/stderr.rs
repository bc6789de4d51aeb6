//! All that hive says on standard error. It may be that nobody listens: a closed pipe, a full disk. That must not end a
//! thread of hive's, so nothing here panics, and what cannot be said is left out.
//!
//! `eprintln` and its like panic there, so they are not used in the library; a test looks through the source for them.

use std::collections::BTreeSet;

use crate::sys::process::ProcessLock;

/// Says a warning once in a process, although each of its hives may give it.
pub(crate) fn warn_once(warning: &str) {
    static GIVEN_WARNINGS: ProcessLock<BTreeSet<String>> = ProcessLock::new(BTreeSet::new());
    if GIVEN_WARNINGS.with(|given| given.insert(warning.to_owned())) {
        write_stderr(&format!("hive: {warning}\n"));
    }
}

/// Says a text, whole if the system takes it whole.
///
/// It does not allocate, and goes past the standard library's lock, which in a forked child a thread of the parent's
/// may have for ever.
#[cfg(unix)]
pub(crate) fn write_stderr(text: &str) {
    let mut remaining = text.as_bytes();
    while !remaining.is_empty() {
        #[expect(unsafe_code, reason = "the standard library's handle has a lock")]
        // SAFETY: the bytes are there, and so many.
        let written = unsafe { libc::write(libc::STDERR_FILENO, remaining.as_ptr().cast(), remaining.len()) };
        match usize::try_from(written) {
            Ok(0) => return,
            Ok(written) => remaining = remaining.get(written..).unwrap_or_default(),
            Err(_) if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Says a text, whole if the system takes it whole.
#[cfg(not(unix))]
pub(crate) fn write_stderr(text: &str) {
    use std::io::{Write, stderr};
    let _ = stderr().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    /// What writes to standard error or output, and panics where that is closed, or takes a lock. In two parts, so that
    /// this list is not found.
    const FORBIDDEN_CALLS: [[&str; 2]; 6] =
        [["eprint", "!"], ["eprintln", "!"], [" print", "!"], ["println", "!"], ["dbg", "!"], ["std", "err("]];

    #[test]
    fn nothing_else_in_the_library_writes_to_standard_error() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("hive");
        let mut found = Vec::new();
        collect_calls(&source, &mut found);
        assert!(found.is_empty(), "these may panic where nobody listens; use `write_stderr`: {found:#?}");
    }

    fn collect_calls(directory: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let is_for_users = path.ends_with("examples");
            if path.is_dir() && !is_for_users {
                collect_calls(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs")
                && !path.ends_with("stderr.rs")
                && !is_test_file(&path)
            {
                let text = fs::read_to_string(&path).unwrap();
                let library = text.split("#[cfg(test)]").next().unwrap_or_default();
                found.extend(forbidden_lines(library).map(|line| format!("{}: {line}", path.display())));
            }
        }
    }

    /// Files that are built for tests alone.
    fn is_test_file(path: &Path) -> bool {
        ["tests.rs", "described.rs"].iter().any(|name| path.ends_with(name))
    }

    fn forbidden_lines(text: &str) -> impl Iterator<Item = &str> {
        let lines = text.lines().map(str::trim).filter(|line| !line.starts_with("//"));
        lines.filter(|line| FORBIDDEN_CALLS.iter().any(|call| line.contains(&call.concat())))
    }

    #[test]
    fn each_forbidden_call_is_found_and_comments_are_not() {
        let text = "/// eprintln!(\"for users\");\neprintln!(\"ours\");\nlet _ = writeln!(io::stderr(), \"ours\");\nlet x = 3;";
        assert_eq!(forbidden_lines(text).count(), 2);
    }
}
