//! What can go wrong, said so that the caller knows what to do about it.

use std::error::Error;
use std::{fmt, io};

use crate::sys::thread_limits::LimitExceeded;
use crate::topology::binding_request::Conflict;

/// Why a region did not start. Nothing has run.
#[derive(Debug)]
pub struct SpmdError(pub(crate) SpmdProblem);

#[derive(Debug)]
pub(crate) enum SpmdProblem {
    NoBees,
    TooMany { requested: usize, max_bees: usize },
    Threads(ThreadError),
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

/// Why a hive was not resized. Its size is as it was.
#[derive(Debug)]
pub struct ResizeError(pub(crate) ResizeProblem);

#[derive(Debug)]
pub(crate) enum ResizeProblem {
    NoBees,
    TooMany { requested: usize, max_bees: usize },
    Threads(ThreadError),
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

/// Why a hive was not built. The threads made so far have ended.
#[derive(Debug)]
pub struct BuildError(pub(crate) BuildProblem);

#[derive(Debug)]
pub(crate) enum BuildProblem {
    NoBees,
    MaxBees {
        requested: usize,
        limit: usize,
    },
    BeesAboveMax {
        bees: usize,
        max_bees: usize,
    },
    ThreadName(String),
    ZeroPollInterval,
    ZeroWatchdogLimit,
    WatchdogThread(io::Error),
    Binding(String),
    /// Two things that exclude one another.
    Contradiction(Conflict),
    Threads(ThreadError),
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
                "rayon's workers cannot be this hive's members: {cause}; a thread that is rayon's worker, or has built a hive with host_rayon, is \
                 that pool's for good, so build this one on a thread of its own, or without host_rayon"
            ),
        }
    }
}

impl Error for BuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            BuildProblem::Threads(error) => error.source(),
            #[cfg(feature = "rayon")]
            BuildProblem::RayonPool(cause) => Some(cause),
            _ => None,
        }
    }
}

/// A hive does not get its threads.
#[derive(Debug)]
pub(crate) struct ThreadError {
    /// The one that was to be made next.
    pub(crate) bee: u32,
    pub(crate) bees: usize,
    pub(crate) cause: ThreadErrorCause,
}

#[derive(Debug)]
pub(crate) enum ThreadErrorCause {
    /// The system would not make this one.
    Refused(io::Error),
    /// There is no room for all of them, so that none was made.
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
                "the system made no thread for member {bee} of {bees}: {cause}; ask for fewer members or a smaller stack_size, or \
                 raise the limits on threads (ulimit -u, the cgroup's pids.max) and memory"
            ),
            ThreadErrorCause::LimitReached(exhausted) => write!(f, "{bees} bees were asked for: {exhausted}"),
        }
    }
}

const FORKED_MESSAGE: &str = "this process was forked from the one that made this hive, and has none of its threads; build a hive of \
                      its own with Hive::new, after the fork";

fn write_too_many(f: &mut fmt::Formatter<'_>, requested: usize, max_bees: usize) -> fmt::Result {
    write!(
        f,
        "{requested} members were asked for, and this hive's limit is {max_bees}; ask for fewer, or build one with \
         Hive::builder().max_bees({requested})"
    )
}
