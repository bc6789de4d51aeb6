//! How hive ends the process where it cannot go on.

use std::fmt;
use std::io::Write;
use std::process::abort;

use crate::say::say;

/// Ends the process, with one line on standard error.
///
/// Nothing here panics, allocates, or waits for a lock that another thread may hold.
#[cold]
pub(crate) fn abort_saying(why: fmt::Arguments<'_>) -> ! {
    let mut line = [0; 256];
    let mut rest = &mut line[..];
    // What does not fit is left out.
    let _ = writeln!(rest, "hive: {why}; the process is aborted");
    let left = rest.len();
    // A letter of several bytes that is cut at the end is left out, too.
    let line = &line[..line.len() - left];
    say(line.utf8_chunks().next().map_or("", |chunk| chunk.valid()));
    abort()
}
