//! Opens the file that a timeline is written to, so that neither opening nor writing waits for a reader.
//!
//! `Tracer` opens the file once when a hive is built, to see whether that is possible, and again each time it writes.
//! A file that the process has open already, as that behind its standard output, is not the timeline's alone.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

/// Opens the file with this name, and makes it empty. Creates it if it does not exist. A file that the program itself
/// writes to (see [`own_descriptor`]) keeps what is in it, and the timeline comes after that.
///
/// The rules are those of `docs/tracing.md`, "When it is written".
///
/// # Errors
/// If it cannot be opened, or if it is neither a regular file nor a character device such as `/dev/null`. A named pipe
/// is neither of these: opening it waits until somebody reads it, which would make the building of a hive and the end
/// of the process wait.
pub(crate) fn open_for_writing(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // Not truncated yet: first the kind of file must be known.
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    // O_NONBLOCK: opening does not wait for a pipe's reader. O_NOCTTY: a terminal does not become this process's own.
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK | libc::O_NOCTTY);
    // A pipe without a reader cannot even be opened this way. The error then says that it is a pipe, not what the
    // system call has said.
    let opened = options
        .open(path)
        .map_err(|error| std::fs::metadata(path).ok().and_then(|metadata| unsuitable(&metadata)).unwrap_or(error));
    let file = opened?;
    let metadata = file.metadata()?;
    if let Some(error) = unsuitable(&metadata) {
        return Err(error);
    }
    if metadata.is_file() {
        #[cfg(unix)]
        if let Some(descriptor) = own_descriptor(path, &file, &metadata) {
            return Ok(descriptor);
        }
        file.set_len(0)?;
    }
    // O_NONBLOCK was needed for opening only. A write to a terminal may have to wait for it.
    #[cfg(unix)]
    if fcntl(&file, libc::F_SETFL, 0) == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(file)
}

/// The descriptor by which the process has this file open already: as its standard output or standard error, under
/// whatever name, or as the descriptor that `path` names by its number. It is a copy, which shares the place in the
/// file with the original, so neither writes over what the other has written. A descriptor that is open for reading
/// only is of no use for that, and neither is `opened` itself, which has the number of standard output if the program
/// has closed that.
#[cfg(unix)]
fn own_descriptor(path: &Path, opened: &File, metadata: &Metadata) -> Option<File> {
    use std::os::fd::{AsRawFd, BorrowedFd};
    use std::os::unix::fs::MetadataExt;
    let number = ["/dev/fd", "/proc/self/fd"].iter().find_map(|directory| path.strip_prefix(directory).ok());
    let number = number.and_then(|number| number.to_str()?.parse().ok()).filter(|number| *number >= 0);
    let numbers = [libc::STDOUT_FILENO, libc::STDERR_FILENO].into_iter().chain(number);
    numbers.filter(|number| *number != opened.as_raw_fd()).find_map(|number| {
        #[expect(unsafe_code, reason = "std has no safe way to a descriptor by its number")]
        // SAFETY: the number is not negative. It is only copied; if no file is open there, that is an error.
        let copy = unsafe { BorrowedFd::borrow_raw(number) }.try_clone_to_owned().ok()?;
        let copy = File::from(copy);
        let copied = copy.metadata().ok()?;
        let is_same = (copied.dev(), copied.ino()) == (metadata.dev(), metadata.ino());
        // If the call fails, the result is neither of the two.
        let is_writable = matches!(fcntl(&copy, libc::F_GETFL, 0) & libc::O_ACCMODE, libc::O_WRONLY | libc::O_RDWR);
        (is_same && is_writable).then_some(copy)
    })
}

/// A call of `fcntl` that takes a number. -1: it has failed.
#[cfg(unix)]
#[expect(unsafe_code, reason = "a C call")]
fn fcntl(file: &File, command: libc::c_int, number: libc::c_int) -> libc::c_int {
    use std::os::fd::AsRawFd;
    // SAFETY: the call takes numbers only, and the file descriptor is open as long as `file` lives.
    unsafe { libc::fcntl(file.as_raw_fd(), command, number) }
}

/// Why a file of this kind cannot hold a timeline; None if it can.
#[cfg(unix)]
fn unsuitable(metadata: &Metadata) -> Option<io::Error> {
    use std::os::unix::fs::FileTypeExt;
    let kind = metadata.file_type();
    let is = match () {
        () if kind.is_file() || kind.is_char_device() => return None,
        () if kind.is_dir() => "a directory",
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () => "a block device",
    };
    let problem = format!("it is {is}, and a timeline needs a regular file, or a device such as /dev/null");
    Some(io::Error::other(problem))
}

/// Kinds of files are not told apart on these systems: anything that can be opened is accepted.
#[cfg(not(unix))]
fn unsuitable(_: &Metadata) -> Option<io::Error> {
    None
}
