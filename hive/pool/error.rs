//! [`Error`]: why a hive was not built or resized, or why a region did not start.
//!
//! Each message says which call failed, with which values, and what the caller can do about it. A program can match the
//! [`ErrorKind`]. The causes themselves are in `Problem`, which is not public, so that causes can be added.

use std::{fmt, io};

use crate::protocol::region::max_bees::MAX_BEES;
use crate::sys::parse_error::ParseError;
use crate::sys::thread_limits::LimitExceeded;
use crate::topology::binding_request::Conflict;

/// Why a hive was not built or resized, or why a region did not start.
///
/// Nothing has happened then: a hive that was not resized has the size that it had, the body of a region has run on no
/// bee, and if some threads of a hive that was not built had been made, they have ended.
///
/// ```
/// use hive::{ErrorKind, Hive};
///
/// let hive = Hive::builder().bees(2).max_bees(8).build()?;
/// match hive.resize(64) {
///     Err(error) if error.kind() == ErrorKind::TooManyBees => hive.resize(hive.max_bees())?,
///     result => result?,
/// }
/// assert_eq!(hive.bees(), 8);
/// # Ok::<(), hive::Error>(())
/// ```
pub struct Error(Box<Problem>);

/// The kind of an [`Error`].
///
/// ```
/// use hive::{ErrorKind, Hive};
///
/// let hive = match Hive::new(4) {
///     Err(error) if error.kind() == ErrorKind::Threads => Hive::new(1)?, // the queen needs no new thread
///     result => result?,
/// };
/// assert_eq!(hive.spmd_map(hive.bees(), |bee| bee.id()).len(), hive.bees());
/// # Ok::<(), hive::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A hive, a region or a resize of 0 bees. The queen is a bee, so the least is 1.
    NoBees,
    /// More bees than the hive's [`max_bees`](crate::pool::handle::Hive::max_bees), or than any hive can have.
    TooManyBees,
    /// The system made no thread, or a limit leaves no room for the threads that are missing.
    Threads,
    /// The calling process is a forked child of the one that built the hive, and has none of the hive's threads.
    Forked,
    /// The CPUs or places that were asked for cannot be used.
    Places,
    /// The builder has a setting that makes no sense, or two that exclude each other.
    Settings,
    /// A text is not what it should be: made from a [`ParseError`], whose own kind says what was to be read.
    Parse,
}

/// The cause of an [`Error`].
#[derive(Debug)]
pub(crate) enum Problem {
    /// A hive, a region or a resize of 0 bees.
    NoBees(ZeroBees),
    /// More bees than the hive's `max_bees`.
    TooMany { requested: usize, max_bees: usize },
    /// A `max_bees` that is 0 or above what the start word has room for.
    MaxBees { requested: usize, limit: usize },
    /// More bees to start with than `max_bees`.
    BeesAboveMax { bees: usize, max_bees: usize },
    /// Not all of the workers that are needed could be hired.
    Threads(ThreadError),
    /// The system made no thread for the watchdog.
    WatchdogThread(io::Error),
    /// This process is a forked child of the one that built the hive.
    Forked,
    /// The requested CPUs or places cannot be used; holds the whole message.
    Binding(String),
    /// A thread name that contains a NUL byte, which the system does not accept. Holds the name.
    ThreadName(String),
    /// A poll interval of 0 s.
    ZeroPollInterval,
    /// A watchdog limit of 0 s.
    ZeroWatchdogLimit,
    /// The builder was given two settings that exclude one another.
    Contradiction(Conflict),
    /// A text that is not what it should be.
    Parse(ParseError),
    /// The workers could not be made workers of a rayon pool.
    #[cfg(feature = "rayon")]
    RayonPool(rayon_core::ThreadPoolBuildError),
}

/// What was asked for with 0 bees.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ZeroBees {
    Hive,
    Region,
    Resize,
}

impl Error {
    /// Which kind of problem it is, for programs that go on in spite of it.
    ///
    /// ```
    /// let hive = hive::Hive::new(2)?;
    /// let error = hive.try_spmd(0, |_| ()).unwrap_err();
    /// assert_eq!(error.kind(), hive::ErrorKind::NoBees);
    /// # Ok::<(), hive::Error>(())
    /// ```
    pub fn kind(&self) -> ErrorKind {
        match *self.0 {
            Problem::NoBees(_) => ErrorKind::NoBees,
            Problem::TooMany { .. } | Problem::BeesAboveMax { .. } => ErrorKind::TooManyBees,
            Problem::Threads(_) | Problem::WatchdogThread(_) => ErrorKind::Threads,
            Problem::Forked => ErrorKind::Forked,
            Problem::Binding(_) => ErrorKind::Places,
            Problem::MaxBees { .. } | Problem::ThreadName(_) | Problem::Contradiction(_) => ErrorKind::Settings,
            Problem::ZeroPollInterval | Problem::ZeroWatchdogLimit => ErrorKind::Settings,
            Problem::Parse(_) => ErrorKind::Parse,
            #[cfg(feature = "rayon")]
            Problem::RayonPool(_) => ErrorKind::Settings,
        }
    }
}

impl From<Problem> for Error {
    #[cold]
    fn from(problem: Problem) -> Self {
        Self(Box::new(problem))
    }
}

/// For programs that read settings from text and build a hive by them, with one `?` for both.
///
/// ```
/// fn build(pin: &str) -> Result<hive::Hive, hive::Error> {
///     hive::Hive::builder().bees(2).pin(pin.parse()?).build()
/// }
/// assert_eq!(build("the moon").unwrap_err().kind(), hive::ErrorKind::Parse);
/// assert_eq!(build("none")?.bees(), 2);
/// # Ok::<(), hive::Error>(())
/// ```
impl From<ParseError> for Error {
    fn from(error: ParseError) -> Self {
        Problem::Parse(error).into()
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error").field("kind", &self.kind()).field("problem", &self.0).finish()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Problem::NoBees(ZeroBees::Hive) => {
                f.write_str("a hive has at least 1 bee, the queen; 0 bees were asked for")
            }
            Problem::NoBees(ZeroBees::Region) => {
                f.write_str("a region needs at least 1 bee, its caller; 0 were asked for")
            }
            Problem::NoBees(ZeroBees::Resize) => {
                f.write_str("a hive has at least 1 bee, the queen; resize(0) was called")
            }
            Problem::TooMany { requested, max_bees } => {
                write!(f, "{requested} bees were asked for, and this hive's limit is {max_bees}; ask for fewer")?;
                or_raise_the_limit(f, *requested, format_args!("build one with Hive::builder().max_bees({requested})"))
            }
            Problem::MaxBees { requested, limit } => {
                write!(f, "max_bees is {requested}; it must be from 1 to {limit}")
            }
            Problem::BeesAboveMax { bees, max_bees } => {
                write!(f, "{bees} bees are more than max_bees, {max_bees}; ask for fewer")?;
                or_raise_the_limit(f, *bees, format_args!("raise max_bees in the builder"))
            }
            Problem::Threads(error) => error.fmt(f),
            Problem::WatchdogThread(cause) => write!(f, "the system makes no thread for the watchdog: {cause}"),
            Problem::Forked => f.write_str(
                "this process was forked from the one that made this hive, and has none of its threads; build a \
                 hive of its own with Hive::new, after the fork",
            ),
            Problem::Binding(problem) => f.write_str(problem),
            Problem::ThreadName(name) => write!(f, "the thread name {name:?} contains a NUL byte"),
            Problem::ZeroPollInterval => f.write_str(
                "poll(0 s) would have sleeping bees look for work all the time; ask for a longer time, or None",
            ),
            Problem::ZeroWatchdogLimit => {
                f.write_str("deadlock_watchdog(0 s) would report every wait; ask for a longer time, or None")
            }
            Problem::Contradiction((one, other)) => write!(
                f,
                "the builder was given {one} as well as {other}, which exclude one another; leave one of them out"
            ),
            Problem::Parse(error) => error.fmt(f),
            #[cfg(feature = "rayon")]
            Problem::RayonPool(cause) => write!(
                f,
                "rayon's workers cannot be this hive's bees: {cause}; a thread that is rayon's worker, or has \
                 built a hive with host_rayon, is that pool's for good, so build this one on a thread of its own, or \
                 without host_rayon"
            ),
        }
    }
}

/// Ends the message that `bees` are above a hive's `max_bees` with the advice how to raise that, if some hive may have
/// so many.
fn or_raise_the_limit(f: &mut fmt::Formatter<'_>, bees: usize, how: fmt::Arguments<'_>) -> fmt::Result {
    if bees <= MAX_BEES as usize { write!(f, ", or {how}") } else { write!(f, ": no hive has more than {MAX_BEES}") }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.0 {
            Problem::Threads(error) => error.source(),
            Problem::WatchdogThread(cause) => Some(cause),
            Problem::Parse(error) => Some(error),
            #[cfg(feature = "rayon")]
            Problem::RayonPool(cause) => Some(cause),
            _ => None,
        }
    }
}

/// A hive could not get all the worker threads that it needs.
#[derive(Debug)]
pub(crate) struct ThreadError {
    /// The number of the worker whose thread was to be made next.
    pub(crate) bee: u32,
    /// The size that the hive was to have, including the queen.
    pub(crate) bees: usize,
    pub(crate) cause: ThreadErrorCause,
}

/// Why there is no thread for the worker.
#[derive(Debug)]
pub(crate) enum ThreadErrorCause {
    /// The system refused to make this one thread.
    Refused(io::Error),
    /// A limit of the system leaves no room for all the threads that are missing, so none of them was made.
    LimitReached(LimitExceeded),
}

impl ThreadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.cause {
            ThreadErrorCause::Refused(cause) => Some(cause),
            ThreadErrorCause::LimitReached(_) => None,
        }
    }
}

impl fmt::Display for ThreadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bee, bees, cause } = self;
        match cause {
            ThreadErrorCause::Refused(cause) => write!(
                f,
                "the system made no thread for bee {bee} of {bees}: {cause}; ask for fewer bees or a smaller \
                 stack_size, or raise the limits on threads (ulimit -u, the cgroup's pids.max) and memory"
            ),
            ThreadErrorCause::LimitReached(exhausted) => write!(f, "{bees} bees were asked for: {exhausted}"),
        }
    }
}
