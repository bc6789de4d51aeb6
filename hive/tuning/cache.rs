//! A directory of small files that one process writes for later processes of the same user. `cached_times.rs` keeps the
//! measured times of barrier shapes there.
//!
//! The files' names can be guessed, and the directory may be one that others can write to, as `/tmp` is. So a file or a
//! directory that belongs to another user is refused, nothing is opened that the process could be made to wait for, and
//! no more is read than one of hive's own files can have. `docs/shape.md` ("Which shape") has the rules.

use std::ffi::OsStr;
use std::fs::{DirBuilder, Metadata, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use crate::sys::privileges;

/// The most bytes that a file may have. hive's own files have some dozens.
const MAX_BYTES: u64 = 4 << 10;

/// The directory of the files. It need not exist yet.
#[derive(Debug)]
pub(crate) struct CacheDir {
    directory: PathBuf,
    /// Whether the user has named the directory. If so, the user is told when it cannot be used.
    is_user_chosen: bool,
}

impl CacheDir {
    /// The directory that `HIVE_CACHE` names; by default `hive` in the user's cache directory. None: no files are
    /// wanted, the user's directory is not known, or the program has rights that the user does not have.
    // Deprecated before Rust 1.87, because of a mistake on Windows that was put right in 1.85.
    #[allow(deprecated)]
    pub(crate) fn from_environment() -> Option<Self> {
        if privileges::are_raised() {
            return None;
        }
        Self::from_variable(env::var_os("HIVE_CACHE").as_deref(), || {
            let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|cache| cache.is_absolute());
            cache.or_else(|| Some(env::home_dir()?.join(".cache")))
        })
    }

    /// As `from_environment`, for a given value of the variable. An empty value means "no directory"; in particular it
    /// does not mean the current one.
    fn from_variable(variable: Option<&OsStr>, user_cache_dir: impl FnOnce() -> Option<PathBuf>) -> Option<Self> {
        match variable {
            Some(name) if name.is_empty() || name == "off" => None,
            Some(name) => Some(Self::at(name)),
            None => Some(Self { directory: user_cache_dir()?.join("hive"), is_user_chosen: false }),
        }
    }

    /// This directory, as if the user had named it.
    pub(crate) fn at(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), is_user_chosen: true }
    }

    /// The text of a file; None if there is no such file. The error is that the file is there and is not used, and says
    /// why.
    pub(crate) fn read(&self, name: &str) -> Result<Option<String>, CacheUnused> {
        let path = self.directory.join(name);
        let read = || {
            check_directory(&self.directory)?;
            read_own_file(&path)
        };
        match read() {
            Ok(text) => Ok(Some(text)),
            Err(CacheError::Io(error)) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.unused_because(&path, &error)),
        }
    }

    /// Writes a file, whole or not at all, even if other processes write it at the same time. The error says why it was
    /// not written.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<(), CacheUnused> {
        let path = self.directory.join(name);
        let write = || {
            create_private(&self.directory)?;
            // Checked after it was created: the directory may have been there before, as somebody else's.
            check_directory(&self.directory)?;
            let mut unfinished = tempfile::Builder::new().prefix(name).tempfile_in(&self.directory)?;
            unfinished.write_all(text.as_bytes())?;
            unfinished.persist(&path).map_err(|error| error.error)?;
            Ok(())
        };
        write().map_err(|error| self.unused_because(&path, &error))
    }

    /// Decides what the user is told of a failure. A file or directory that was rejected is always reported. A lack of
    /// room or of permission is reported only if the user has named the directory, because a program may well run where
    /// the default one cannot be written to.
    fn unused_because(&self, path: &Path, error: &CacheError) -> CacheUnused {
        let message = match error {
            CacheError::Rejected(why) => Some(why.clone()),
            CacheError::Io(error) => self.is_user_chosen.then(|| error.to_string()),
        };
        CacheUnused(message.map(|why| format!("the cache of measured shapes, {}, is not used: {why}", path.display())))
    }
}

/// A file is not used. The text says why, if the user should be told.
#[derive(Debug)]
pub(crate) struct CacheUnused(pub(crate) Option<String>);

/// Why a file cannot be used.
enum CacheError {
    /// The file or the directory is not what it should be; the text says how.
    Rejected(String),
    /// The operating system has refused a call.
    Io(io::Error),
}

impl From<io::Error> for CacheError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Creates the directory and those above it, if they are missing, with access for the user alone. Nothing is made in a
/// directory of another user: under `sudo -E` the superuser's process has that user's home, and what it made there
/// would not be the user's.
fn create_private(directory: &Path) -> Result<(), CacheError> {
    let directory = std::path::absolute(directory)?;
    let existing = directory.ancestors().find_map(|above| Some((above, fs::metadata(above).ok()?)));
    if let Some((above, problem)) = existing.and_then(|(above, metadata)| Some((above, owner_problem(&metadata)?))) {
        return Err(CacheError::Rejected(format!(
            "{} {problem}; name a directory of your own with HIVE_CACHE, or set HIVE_CACHE=off",
            above.display()
        )));
    }
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    Ok(builder.create(directory)?)
}

/// Refuses a directory in which users other than this one and the superuser could replace files. Only the directory
/// itself is checked, not those above it.
fn check_directory(directory: &Path) -> Result<(), CacheError> {
    let metadata = fs::metadata(directory)?;
    if !metadata.is_dir() {
        return Err(CacheError::Rejected(format!("{} is no directory", directory.display())));
    }
    owner_problem(&metadata).or_else(|| writable_problem(&metadata)).map_or(Ok(()), |problem| {
        Err(CacheError::Rejected(format!(
            "the directory {}; name one of your own with HIVE_CACHE, or set HIVE_CACHE=off",
            problem
        )))
    })
}

/// The text of a regular file that belongs to the user or the superuser and is not larger than one of hive's. The file
/// itself must not be a symbolic link (checked on Unix only), and opening it never waits, even if it is a named pipe.
fn read_own_file(path: &Path) -> Result<String, CacheError> {
    let mut options = OpenOptions::new();
    options.read(true);
    // The standard library adds O_CLOEXEC.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY);
    let file = options
        .open(path)
        // O_NOFOLLOW fails on a symbolic link with an error that differs between systems, so the link is looked for.
        .map_err(|error| if is_link(path) { rejected("it is a symbolic link") } else { error.into() })?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(rejected("it is no regular file"));
    }
    if let Some(problem) = owner_problem(&metadata) {
        return Err(CacheError::Rejected(format!("it {problem}")));
    }
    let mut bytes = Vec::new();
    // The limit applies to what is read, not to a length asked for before: the file may grow meanwhile.
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(CacheError::Rejected(format!("it is larger than {MAX_BYTES} bytes, and so none of hive's")));
    }
    String::from_utf8(bytes).map_err(|_| rejected("it is no text"))
}

fn rejected(why: &str) -> CacheError {
    CacheError::Rejected(why.to_owned())
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink())
}

/// What is wrong with the owner: it is neither this user nor the superuser.
#[cfg(unix)]
fn owner_problem(metadata: &Metadata) -> Option<String> {
    let owner = std::os::unix::fs::MetadataExt::uid(metadata);
    #[expect(unsafe_code, reason = "a C call")]
    // SAFETY: the call takes no arguments and only returns a number.
    let current_user = unsafe { libc::geteuid() };
    (owner != current_user && owner != 0).then(|| format!("belongs to user {owner}, and this is user {current_user}"))
}

/// What is wrong with a directory's permissions: others can write to it and replace files. In a sticky directory, such
/// as `/tmp`, others can only add files of their own, which are refused one by one.
#[cfg(unix)]
fn writable_problem(metadata: &Metadata) -> Option<String> {
    const OTHERS_WRITE: u32 = 0o022;
    const STICKY: u32 = 0o1000;
    let mode = std::os::unix::fs::MetadataExt::mode(metadata);
    let is_writable_by_others = mode & OTHERS_WRITE != 0 && mode & STICKY == 0;
    is_writable_by_others.then(|| format!("can be written to by others (its mode is {:o})", mode & 0o7777))
}

/// Nothing is known of owners and permissions on these systems.
#[cfg(not(unix))]
fn owner_problem(_: &Metadata) -> Option<String> {
    None
}

#[cfg(not(unix))]
fn writable_problem(_: &Metadata) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_name_or_off_is_no_directory() {
        let from_variable = |variable: Option<&str>| {
            CacheDir::from_variable(variable.map(OsStr::new), || Some(PathBuf::from("/home/x/.cache")))
        };
        assert!(from_variable(Some("")).is_none());
        assert!(from_variable(Some("off")).is_none());
        assert_eq!(from_variable(Some("/a")).unwrap().directory, Path::new("/a"));
        assert_eq!(from_variable(None).unwrap().directory, Path::new("/home/x/.cache/hive"));
        assert!(CacheDir::from_variable(None, || None).is_none());
    }

    #[test]
    fn what_is_written_is_read_and_what_is_not_there_is_no_problem() {
        let directory = tempfile::tempdir().unwrap();
        let cache = CacheDir::at(directory.path().join("a/b"));
        assert_eq!(cache.read("shape").unwrap(), None);
        cache.write("shape", "one").unwrap();
        cache.write("shape", "two").unwrap();
        assert_eq!(cache.read("shape").unwrap().as_deref(), Some("two"));
        assert_eq!(fs::read_dir(&cache.directory).unwrap().count(), 1, "nothing unfinished is left");
        fs::write(cache.directory.join("full"), vec![b'x'; MAX_BYTES as usize]).unwrap();
        assert!(cache.read("full").is_ok());
        fs::write(cache.directory.join("more"), vec![b'x'; MAX_BYTES as usize + 1]).unwrap();
        assert!(cache.read("more").unwrap_err().0.unwrap().contains("larger than"));
    }

    #[test]
    fn what_fails_is_told_of_a_directory_that_was_named_and_what_is_wrong_of_each() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("file"), "").unwrap();
        let cache = |is_asked| CacheDir { directory: directory.path().join("file/below"), is_user_chosen: is_asked };
        assert!(cache(true).write("shape", "").unwrap_err().0.unwrap().contains("is not used"));
        assert!(cache(false).write("shape", "").unwrap_err().0.is_none());
        let cache = CacheDir { directory: directory.path().join("file"), is_user_chosen: false };
        assert!(cache.read("shape").unwrap_err().0.unwrap().contains("is no directory"));
    }

    #[cfg(unix)]
    mod with_other_users {
        use std::ffi::CString;
        use std::fs::Permissions;
        use std::os::unix::ffi::OsStrExt;
        use std::os::unix::fs::{PermissionsExt, chown, symlink};
        use std::sync::mpsc::channel;
        use std::thread;
        use std::time::Duration;

        use tempfile::{TempDir, tempdir};

        use super::*;

        const NAME: &str = "shape-0";

        /// A directory of the user's own, with something in it that is to be refused.
        fn dir_with(put: impl FnOnce(&Path)) -> (TempDir, CacheDir) {
            let directory = tempdir().unwrap();
            put(&directory.path().join(NAME));
            let cache = CacheDir::at(directory.path());
            (directory, cache)
        }

        /// Why the file is refused. Fails if reading has to wait.
        fn refusal_of(cache: CacheDir) -> String {
            let (sender, receiver) = channel();
            thread::spawn(move || sender.send(cache.read(NAME)));
            let read =
                receiver.recv_timeout(Duration::from_secs(60)).expect("opening and reading does not wait for others");
            let CacheUnused(words) = read.expect_err("it is refused");
            words.expect("it is told")
        }

        /// Asserts that what `put` makes is refused, and that writing under the same name replaces it with a regular
        /// file.
        #[track_caller]
        fn assert_refused_and_replaced(reason: &str, put: impl FnOnce(&Path)) {
            let (directory, cache) = dir_with(put);
            let words = refusal_of(CacheDir::at(directory.path()));
            assert!(words.contains(reason) && words.contains(NAME), "{words}");
            cache.write(NAME, "flat 7").unwrap();
            assert_eq!(cache.read(NAME).unwrap().as_deref(), Some("flat 7"));
            assert!(directory.path().join(NAME).symlink_metadata().unwrap().is_file());
        }

        #[expect(unsafe_code, reason = "a C call")]
        fn make_fifo(path: &Path) {
            let name = CString::new(path.as_os_str().as_bytes()).unwrap();
            // SAFETY: the name is a C string and lives until the call has returned.
            assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        }

        #[test]
        fn a_named_pipe_is_not_waited_for() {
            assert_refused_and_replaced("no regular file", make_fifo);
        }

        #[test]
        fn a_symbolic_link_is_not_followed() {
            let target = tempfile::NamedTempFile::new().unwrap();
            fs::write(target.path(), "flat 1").unwrap();
            assert_refused_and_replaced("symbolic link", |path| symlink(target.path(), path).unwrap());
            assert_refused_and_replaced("symbolic link", |path| symlink("/dev/zero", path).unwrap());
            assert_eq!(fs::read_to_string(target.path()).unwrap(), "flat 1", "nor is it written to");
        }

        #[test]
        fn no_more_is_read_than_a_file_of_hive_s_has() {
            // A file that is one hole, which takes no room on the disk.
            assert_refused_and_replaced("larger than", |path| {
                fs::File::create(path).unwrap().set_len(64 << 20).unwrap()
            });
            assert_refused_and_replaced("no text", |path| fs::write(path, [0xff]).unwrap());
        }

        #[test]
        fn what_is_somebody_else_s_is_not_used() {
            let change_owner = |path: &Path| {
                fs::write(path, "flat 1").unwrap();
                chown(path, Some(12_345), None)
            };
            let changed = &mut Ok(());
            let (directory, cache) = dir_with(|path| *changed = change_owner(path));
            if let Err(error) = changed {
                println!("skipped: only the superuser can give a file away: {error}");
                return;
            }
            assert!(refusal_of(cache).contains("it belongs to user 12345"));
            chown(directory.path(), Some(12_345), None).unwrap();
            let message = refusal_of(CacheDir::at(directory.path()));
            assert!(message.contains("the directory belongs to user 12345"), "{message}");
            assert!(CacheDir::at(directory.path()).write("shape-1", "").is_err());
            // Nor is anything made in it.
            let below = CacheDir { directory: directory.path().join(".cache/hive"), is_user_chosen: false };
            let CacheUnused(words) = below.write("shape-1", "").unwrap_err();
            let path = directory.path().display();
            assert!(words.as_ref().unwrap().contains(&format!("{path} belongs to user 12345")), "{words:?}");
            assert!(!directory.path().join(".cache").exists());
            assert_eq!(below.read("shape-1").unwrap(), None);
        }

        #[test]
        fn a_directory_is_used_if_others_cannot_replace_what_is_in_it() {
            let (directory, cache) = dir_with(|path| fs::write(path, "flat 1").unwrap());
            let set = |mode| fs::set_permissions(directory.path(), Permissions::from_mode(mode)).unwrap();
            for open in [0o777, 0o770, 0o702] {
                set(open);
                let words = refusal_of(CacheDir::at(directory.path()));
                assert!(
                    words.contains("can be written to by others") && words.contains(&format!("{open:o}")),
                    "{words}"
                );
                assert!(cache.write("shape-1", "").is_err());
            }
            for good in [0o755, 0o1777] {
                set(good);
                assert!(cache.read(NAME).unwrap().is_some());
                cache.write("shape-1", "").unwrap();
            }
        }
    }
}
