//! The file that a timeline is written to: opened so that nobody waits for who might read it.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

/// Opens the file of this name, which is empty then; makes one if there is none.
///
/// # Errors
/// If that fails, or if it is neither a file nor a device such as `/dev/null`. A named pipe is neither: whoever opens
/// it waits until somebody reads it, and so would a hive when it is built, and the process when it ends.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // Not truncated before it is known what it is.
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK | libc::O_NOCTTY);
    // A pipe that nobody reads is not even opened.
    let opened =
        options.open(path).map_err(|error| std::fs::metadata(path).ok().and_then(|about| refusal(&about)).unwrap_or(error));
    let file = opened?;
    let about = file.metadata()?;
    if let Some(refusal) = refusal(&about) {
        return Err(refusal);
    }
    if about.is_file() {
        file.set_len(0)?;
    }
    // What it is has been seen; a terminal is to be waited for.
    wait_when_writing(&file)?;
    Ok(file)
}

fn refusal(about: &Metadata) -> Option<io::Error> {
    (!about.is_file() && !is_device(about)).then(|| {
        let is = if about.is_dir() { "a directory" } else { kind(about) };
        io::Error::other(format!("it is {is}, and a timeline needs a regular file, or a device such as /dev/null"))
    })
}

#[cfg(unix)]
fn is_device(about: &Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_char_device(&about.file_type())
}

#[cfg(unix)]
fn kind(about: &Metadata) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    let kind = about.file_type();
    match () {
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () => "a block device",
    }
}

#[cfg(unix)]
fn wait_when_writing(file: &File) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    #[expect(unsafe_code, reason = "a C call")]
    // SAFETY: it takes numbers, and the file is open.
    let failed = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, 0) } != 0;
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(not(unix))]
fn is_device(_: &Metadata) -> bool {
    true
}

#[cfg(not(unix))]
fn kind(_: &Metadata) -> &'static str {
    "something else"
}

#[cfg(not(unix))]
fn wait_when_writing(_: &File) -> io::Result<()> {
    Ok(())
}
