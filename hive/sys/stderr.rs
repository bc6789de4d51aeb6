//! Everything that hive writes to standard error.
//!
//! Standard error may be a closed pipe or on a full disk. That must not end one of hive's threads, so nothing here
//! panics, and text that cannot be written is lost. `eprintln` and similar macros panic in that case, so the library
//! does not use them; a test below looks through the source for them.

/// Writes a text, all of it if the system accepts all of it.
///
/// It does not allocate, and does not take the standard library's lock: in a forked child that may be held for ever, by
/// a thread of the parent.
#[cfg(unix)]
pub(crate) fn write_message(text: &str) {
    let mut remaining = text.as_bytes();
    while !remaining.is_empty() {
        #[expect(unsafe_code, reason = "the standard library's handle has a lock")]
        // SAFETY: the pointer and the length are those of a slice.
        let written = unsafe { libc::write(libc::STDERR_FILENO, remaining.as_ptr().cast(), remaining.len()) };
        match usize::try_from(written) {
            // Nothing is accepted any more.
            Ok(0) => return,
            Ok(written) => remaining = remaining.get(written..).unwrap_or_default(),
            // A signal has interrupted the call: try again.
            Err(_) if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Writes a text, all of it if the system accepts all of it.
#[cfg(not(unix))]
pub(crate) fn write_message(text: &str) {
    use std::io::{Write, stderr};
    let _ = stderr().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    /// Macros and functions that write to standard error or output, and that panic if it is closed or take a lock. Each
    /// is split into two parts, so that the search does not find this list.
    const FORBIDDEN_CALLS: [[&str; 2]; 6] =
        [["eprint", "!"], ["eprintln", "!"], [" print", "!"], ["println", "!"], ["dbg", "!"], ["std", "err("]];

    #[test]
    fn nothing_else_in_the_library_writes_to_standard_error() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("hive");
        let mut found = Vec::new();
        collect_calls(&source, &mut found);
        assert!(found.is_empty(), "these may panic where nobody listens; use `write_message`: {found:#?}");
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

    /// Files that are compiled for tests only.
    fn is_test_file(path: &Path) -> bool {
        ["tests.rs", "described_machines.rs"].iter().any(|name| path.ends_with(name))
    }

    fn forbidden_lines(text: &str) -> impl Iterator<Item = &str> {
        let lines = text.lines().map(str::trim).filter(|line| !line.starts_with("//"));
        lines.filter(|line| FORBIDDEN_CALLS.iter().any(|call| line.contains(&call.concat())))
    }

    #[test]
    fn each_forbidden_call_is_found_and_comments_are_not() {
        let text = "/// eprintln!(\"for users\");\neprintln!(\"ours\");\n\
                    let _ = writeln!(io::stderr(), \"ours\");\nlet x = 3;";
        assert_eq!(forbidden_lines(text).count(), 2);
    }
}
