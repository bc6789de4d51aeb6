//! [`Error`]: why a hive was not built or resized, or why a region did not start.
//!
//! Each message says which call failed, with which values, and what the caller can do about it. A program can match the
//! [`ErrorKind`].

use std::fmt;

use crate::protocol::region::max_bees::MAX_BEES;
use crate::sys::parse_error::ParseError;

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

/// What an [`Error`] consists of; in a box, since results are seldom errors, and are to be small.
struct Problem {
    kind: ErrorKind,
    message: String,
    /// The error of the system or of a library behind it, if there is one.
    cause: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// Why nothing runs on a hive in a forked child.
pub(crate) const FORKED: &str = "this process was forked from the one that made this hive, and has none of its threads";

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
        self.0.kind
    }

    #[cold]
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Problem { kind, message: message.into(), cause: None }))
    }

    /// This error, with another one as its [source](std::error::Error::source).
    pub(crate) fn caused_by(mut self, cause: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.0.cause = Some(Box::new(cause));
        self
    }

    /// The error that a hive of at most `max_bees` bees gets no such size and runs no such region. If some hive may
    /// have so many, the message says how to raise that limit.
    #[cold]
    pub(crate) fn out_of_range(bees: usize, max_bees: usize) -> Self {
        if bees == 0 {
            return Self::new(ErrorKind::NoBees, "0 bees were asked for, and there is at least 1 bee, the queen");
        }
        let advice = if bees <= MAX_BEES as usize {
            format!(", or raise max_bees in the builder: Hive::builder().max_bees({bees})")
        } else {
            format!(": no hive has more than {MAX_BEES}")
        };
        let message = format!("{bees} bees were asked for, and this hive's limit is {max_bees}; ask for fewer{advice}");
        Self::new(ErrorKind::TooManyBees, message)
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
        Self::new(ErrorKind::Parse, error.to_string()).caused_by(error)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { kind, message, cause } = &*self.0;
        f.debug_struct("Error").field("kind", kind).field("message", message).field("cause", cause).finish()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.cause.as_deref().map(|cause| cause as _)
    }
}
