//! The errors of building a hive, resizing it and starting a region.
//!
//! Each message says which call failed, with which values, and what the caller can do about it. The public types are
//! opaque, so that causes can be added; the causes are in `SpmdProblem`, `ResizeProblem` and `BuildProblem`.

use std::error::Error;
use std::{fmt, io};

use crate::sys::thread_limits::LimitExceeded;
use crate::topology::binding_request::Conflict;

/// Why a region could not start. The region's body has not run on any bee.
#[derive(Debug)]
pub struct SpmdError(pub(crate) SpmdProblem);

/// The cause of a [`SpmdError`].
#[derive(Debug)]
pub(crate) enum SpmdProblem {
    /// A region of 0 bees.
    NoBees,
    /// More bees than the hive's `max_bees`.
    TooMany { requested: usize, max_bees: usize },
    /// The hive had to grow for the region, and could not get the threads.
    Threads(ThreadError),
    /// This process is a forked child of the one that built the hive.
    Forked,
}

impl fmt::Display for SpmdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            SpmdProblem::NoBees => f.write_str("a region needs at least 1 bee, its caller; 0 were asked for"),
            SpmdProblem::TooMany { requested, max_bees } => write_too_many(f, *requested, *max_bees),
            SpmdProblem::Threads(error) => error.fmt(f),
            SpmdProblem::Forked => f.write_str(FORKED_MESSAGE),
        }
    }
}

impl Error for SpmdError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            SpmdProblem::Threads(error) => error.source(),
            _ => None,
        }
    }
}

/// Why a hive was not resized. Its size is the same as before the call.
#[derive(Debug)]
pub struct ResizeError(pub(crate) ResizeProblem);

/// The cause of a [`ResizeError`].
#[derive(Debug)]
pub(crate) enum ResizeProblem {
    /// A resize to 0 bees.
    NoBees,
    /// More bees than the hive's `max_bees`.
    TooMany { requested: usize, max_bees: usize },
    /// The workers that are missing could not be hired.
    Threads(ThreadError),
    /// This process is a forked child of the one that built the hive.
    Forked,
}

impl fmt::Display for ResizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            ResizeProblem::NoBees => f.write_str("a hive has at least 1 bee, the queen; resize(0) was called"),
            ResizeProblem::TooMany { requested, max_bees } => write_too_many(f, *requested, *max_bees),
            ResizeProblem::Threads(error) => error.fmt(f),
            ResizeProblem::Forked => f.write_str(FORKED_MESSAGE),
        }
    }
}

impl Error for ResizeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            ResizeProblem::Threads(error) => error.source(),
            _ => None,
        }
    }
}

/// Why a hive was not built. If some of its threads had already been made, they have ended.
#[derive(Debug)]
pub struct BuildError(pub(crate) BuildProblem);

/// The cause of a [`BuildError`].
#[derive(Debug)]
pub(crate) enum BuildProblem {
    /// A hive of 0 bees.
    NoBees,
    /// A `max_bees` that is 0 or above what the start word has room for.
    MaxBees { requested: usize, limit: usize },
    /// More bees to start with than `max_bees`.
    BeesAboveMax { bees: usize, max_bees: usize },
    /// A thread name that contains a NUL byte, which the system does not accept. Holds the name.
    ThreadName(String),
    /// A poll interval of 0 s.
    ZeroPollInterval,
    /// A watchdog limit of 0 s.
    ZeroWatchdogLimit,
    /// The system made no thread for the watchdog.
    WatchdogThread(io::Error),
    /// The requested CPUs or places cannot be used; holds the whole message.
    Binding(String),
    /// The builder was given two settings that exclude one another.
    Contradiction(Conflict),
    /// Not all workers could be hired.
    Threads(ThreadError),
    /// The workers could not be made workers of a rayon pool.
    #[cfg(feature = "rayon")]
    RayonPool(rayon_core::ThreadPoolBuildError),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            BuildProblem::NoBees => f.write_str("a hive has at least 1 bee, the queen; 0 bees were asked for"),
            BuildProblem::MaxBees { requested, limit } => {
                write!(f, "max_bees is {requested}; it must be from 1 to {limit}")
            }
            BuildProblem::BeesAboveMax { bees, max_bees } => {
                write!(
                    f,
                    "{bees} bees are more than max_bees, {max_bees}; ask for fewer, or raise max_bees in the builder"
                )
            }
            BuildProblem::ZeroWatchdogLimit => {
                f.write_str("deadlock_watchdog(0 s) would report every wait; ask for a longer time, or None")
            }
            BuildProblem::WatchdogThread(cause) => write!(f, "the system makes no thread for the watchdog: {cause}"),
            BuildProblem::ZeroPollInterval => f.write_str(
                "poll(0 s) would have sleeping bees look for work all the time; ask for a longer time, or None",
            ),
            BuildProblem::ThreadName(name) => write!(f, "the thread name {name:?} contains a NUL byte"),
            BuildProblem::Contradiction((one, other)) => {
                write!(
                    f,
                    "the builder was given {one} as well as {other}, which exclude one another; leave one of them out"
                )
            }
            BuildProblem::Binding(problem) => f.write_str(problem),
            BuildProblem::Threads(error) => error.fmt(f),
            #[cfg(feature = "rayon")]
            BuildProblem::RayonPool(cause) => write!(
                f,
                "rayon's workers cannot be this hive's bees: {cause}; a thread that is rayon's worker, or has \
                 built a hive with host_rayon, is that pool's for good, so build this one on a thread of its own, or \
                 without host_rayon"
            ),
        }
    }
}

impl Error for BuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            BuildProblem::Threads(error) => error.source(),
            BuildProblem::WatchdogThread(cause) => Some(cause),
            #[cfg(feature = "rayon")]
            BuildProblem::RayonPool(cause) => Some(cause),
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
    fn source(&self) -> Option<&(dyn Error + 'static)> {
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

/// The message for a call in a forked child, which has none of the hive's threads.
const FORKED_MESSAGE: &str = "this process was forked from the one that made this hive, and has none of its threads; \
                      build a hive of its own with Hive::new, after the fork";

/// Writes the message for a region or a resize of more than `max_bees` bees.
fn write_too_many(f: &mut fmt::Formatter<'_>, requested: usize, max_bees: usize) -> fmt::Result {
    write!(
        f,
        "{requested} bees were asked for, and this hive's limit is {max_bees}; ask for fewer, or build one with \
         Hive::builder().max_bees({requested})"
    )
}
