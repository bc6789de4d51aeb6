//! The short files in which Linux describes the machine and the processes, under `/proc` and `/sys`.
//!
//! These files have no size that could be asked for before reading, and the kernel makes their text while it is read.
//! So they are read into a buffer that holds most of them at once; the standard library would ask for the size and
//! then read in small pieces, which takes half as long again. Building a hive reads some twenty of them.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::str::FromStr;

/// The room for the first read. The kernel writes no more than a page at a time into most of these files.
const PAGE: usize = 4 << 10;

/// The contents of a file.
pub(crate) fn read(file: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(PAGE);
    // `Take` keeps the standard library from asking for the size.
    File::open(file)?.take(u64::MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text of a file. None: it cannot be read, or is no text.
pub(crate) fn text(file: impl AsRef<Path>) -> Option<String> {
    String::from_utf8(read(file).ok()?).ok()
}

/// The text of a file that has one line, without the line's end. None: it cannot be read, or is no text.
pub(crate) fn line(file: impl AsRef<Path>) -> Option<String> {
    let mut line = String::new();
    // The end of the line is the end of the file. To read on until nothing comes takes half as long again with some
    // files.
    BufReader::with_capacity(PAGE, File::open(file).ok()?).read_line(&mut line).ok()?;
    Some(line.trim().to_owned())
}

/// What the one line of a file says, such as a number or a list. None: it cannot be read, or says something else.
pub(crate) fn value<T: FromStr>(file: impl AsRef<Path>) -> Option<T> {
    line(file)?.parse().ok()
}

/// The value of the line `name` in the text of a file such as `/proc/self/status`: 3 for `Threads:\t3`.
pub(crate) fn status_field<'s>(status: &'s str, name: &str) -> Option<&'s str> {
    status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

/// How many threads of the machine run or wait for a CPU, and how many there are, by a text of `/proc/loadavg` such as
/// `0.20 0.18 0.12 1/80 11206`.
pub(crate) fn threads_in_loadavg(text: &str) -> Option<(u64, u64)> {
    let (runnable, all) = text.split_whitespace().nth(3)?.split_once('/')?;
    runnable.parse().ok().zip(all.parse().ok())
}

#[cfg(all(test, any(target_os = "linux", target_os = "android")))]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn threads_are_counted() {
        assert_eq!(threads_in_loadavg("0.20 0.18 0.12 1/80 11206\n"), Some((1, 80)));
        assert_eq!(threads_in_loadavg("0.20 0.18 0.12 3/80 11206\n"), Some((3, 80)));
        assert_eq!(threads_in_loadavg(""), None);
    }

    #[test]
    fn files_of_any_length_are_read_whole() {
        let directory = tempfile::tempdir().unwrap();
        for length in [0, 1, PAGE - 1, PAGE, PAGE + 1, 5 * PAGE] {
            let file = directory.path().join(length.to_string());
            fs::write(&file, "x".repeat(length)).unwrap();
            assert_eq!((text(&file).unwrap().len(), line(&file).unwrap().len()), (length, length));
        }
        assert_eq!((text(directory.path().join("none")), line(directory.path().join("none"))), (None, None));
        let version = fs::read_to_string("/proc/version").unwrap();
        assert_eq!(line("/proc/version").as_deref(), Some(version.trim()));
        assert_eq!(text("/proc/version"), Some(version));
    }

    #[test]
    fn a_field_is_the_line_with_exactly_its_name() {
        let status = "Name:\tThreads: 7\nThreadsMax:\t9\nThreads:\t3\n";
        assert_eq!(status_field(status, "Threads"), Some("3"));
        assert_eq!(status_field(status, "Thread"), None);
        let own = text("/proc/self/status").unwrap();
        assert_eq!(status_field(&own, "Tgid"), Some(&*std::process::id().to_string()));
    }
}
