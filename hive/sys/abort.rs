//! How hive ends the process where it cannot go on.

use std::fmt;
use std::io::Write;
use std::process::abort;

use crate::sys::stderr::write_stderr;

/// Ends the process, with one line on standard error.
///
/// Nothing here panics, allocates, or waits for a lock that another thread may hold.
#[cold]
pub(crate) fn abort_with_message(why: fmt::Arguments<'_>) -> ! {
    let mut line = [0; 256];
    let mut remaining = &mut line[..];
    // What does not fit is left out.
    let _ = writeln!(remaining, "hive: {why}; the process is aborted");
    let unwritten = remaining.len();
    // A letter of several bytes that is cut at the end is left out, too.
    let line = &line[..line.len() - unwritten];
    write_stderr(line.utf8_chunks().next().map_or("", |chunk| chunk.valid()));
    abort()
}
