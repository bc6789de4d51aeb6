//! How hive ends the process where it cannot go on.

use std::fmt;
use std::io::Write;
use std::process::abort;

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
    say(&line[..line.len() - left]);
    abort()
}

#[cfg(unix)]
fn say(line: &[u8]) {
    #[expect(unsafe_code, reason = "the standard library's handle has a lock")]
    // SAFETY: the bytes are there, and so many.
    let _ = unsafe { libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len()) };
}

#[cfg(not(unix))]
fn say(line: &[u8]) {
    let _ = std::io::stderr().write_all(line);
}
