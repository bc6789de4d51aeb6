//! How hive ends the process where it cannot go on, such as after a panic of its own at a place from where nothing may
//! unwind.

use std::fmt;
use std::io::Write;
use std::process::abort;

use crate::sys::stderr::write_message;

/// Ends the process, after one line on standard error.
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
