//! The file that a timeline is written to: opened so that nobody waits for who might read it.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

/// Opens the file of this name, which is empty then; makes one if there is none.
///
/// # Errors
/// If that fails, or if it is neither a file nor a device such as `/dev/null`. A named pipe is neither: whoever opens
/// it waits until somebody reads it, and so would a hive when it is built, and the process when it ends.
pub(crate) fn open_for_writing(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // Not truncated before it is known what it is.
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK | libc::O_NOCTTY);
    // A pipe that nobody reads is not even opened.
    let opened = options
        .open(path)
        .map_err(|error| std::fs::metadata(path).ok().and_then(|metadata| unsuitable(&metadata)).unwrap_or(error));
    let file = opened?;
    let metadata = file.metadata()?;
    if let Some(error) = unsuitable(&metadata) {
        return Err(error);
    }
    if metadata.is_file() {
        file.set_len(0)?;
    }
    // What it is has been seen; a terminal is to be waited for.
    set_blocking(&file)?;
    Ok(file)
}

fn unsuitable(metadata: &Metadata) -> Option<io::Error> {
    (!metadata.is_file() && !is_device(metadata)).then(|| {
        let is = if metadata.is_dir() { "a directory" } else { kind_name(metadata) };
        io::Error::other(format!("it is {is}, and a timeline needs a regular file, or a device such as /dev/null"))
    })
}

#[cfg(unix)]
fn is_device(metadata: &Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_char_device(&metadata.file_type())
}

#[cfg(unix)]
fn kind_name(metadata: &Metadata) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    let kind = metadata.file_type();
    match () {
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () => "a block device",
    }
}

#[cfg(unix)]
fn set_blocking(file: &File) -> io::Result<()> {
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
fn kind_name(_: &Metadata) -> &'static str {
    "something else"
}

#[cfg(not(unix))]
fn set_blocking(_: &File) -> io::Result<()> {
    Ok(())
}
