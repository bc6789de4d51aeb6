//! Everything that hive writes to standard error, also before it ends the process where it cannot go on.
//!
//! Standard error may be a closed pipe or on a full disk. That must not end one of hive's threads, so nothing here
//! panics, and text that cannot be written is lost. `eprintln` and similar macros panic in that case, so the library
//! does not use them; a test below looks through the source for them.

use std::fmt;
use std::io::Write;
use std::process::abort;

/// Writes a text, all of it if the system accepts all of it.
///
/// It does not allocate, and does not take the standard library's lock: in a forked child that may be held for ever, by
/// a thread of the parent.
#[cfg(unix)]
pub(crate) fn write_message(text: &str) {
    use std::fs::File;
    use std::mem::ManuallyDrop;
    use std::os::fd::FromRawFd;
    #[expect(unsafe_code, reason = "the standard library's handle has a lock")]
    // SAFETY: the file is never dropped, so it closes nothing.
    let mut stderr = ManuallyDrop::new(unsafe { File::from_raw_fd(libc::STDERR_FILENO) });
    let _ = stderr.write_all(text.as_bytes());
}

/// Writes a text, all of it if the system accepts all of it.
#[cfg(not(unix))]
pub(crate) fn write_message(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Ends the process where hive cannot go on, such as after a panic of its own at a place from where nothing may unwind,
/// after one line on standard error.
///
/// It does not panic, allocate, or wait for a lock that another thread may hold, so it may be called anywhere.
#[cold]
pub(crate) fn abort_with_message(why: fmt::Arguments<'_>) -> ! {
    let mut line = [0; 256];
    let mut remaining = &mut line[..];
    // A message that is too long for the buffer is cut off.
    let _ = writeln!(remaining, "hive: {why}; the process is aborted");
    let unwritten = remaining.len();
    // If the cut is inside a character of several bytes, that character is left out as well.
    let line = &line[..line.len() - unwritten];
    write_message(line.utf8_chunks().next().map_or("", |chunk| chunk.valid()));
    abort()
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
            if path.is_dir() {
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
        path.ends_with("tests.rs")
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
