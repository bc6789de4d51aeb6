//! What can go wrong, said so that the caller knows what to do about it.

use std::error::Error;
use std::fmt;
use std::io;

use crate::room::Shortage;
use crate::topology::Contradiction;

/// Why a region did not start. Nothing has run.
#[derive(Debug)]
pub struct SpmdError(pub(crate) SpmdProblem);

#[derive(Debug)]
pub(crate) enum SpmdProblem {
    NoMembers,
    TooMany { asked: usize, max_bees: usize },
    Hire(HireError),
    Forked,
}

impl fmt::Display for SpmdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            SpmdProblem::NoMembers => f.write_str("a region needs at least 1 member, its caller; 0 were asked for"),
            SpmdProblem::TooMany { asked, max_bees } => too_many(f, *asked, *max_bees),
            SpmdProblem::Hire(hire) => hire.fmt(f),
            SpmdProblem::Forked => f.write_str(FORKED),
        }
    }
}

impl Error for SpmdError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            SpmdProblem::Hire(hire) => hire.source(),
            _ => None,
        }
    }
}

/// Why a hive was not resized. Its size is as it was.
#[derive(Debug)]
pub struct ResizeError(pub(crate) ResizeProblem);

#[derive(Debug)]
pub(crate) enum ResizeProblem {
    NoMembers,
    TooMany { asked: usize, max_bees: usize },
    Hire(HireError),
    Forked,
}

impl fmt::Display for ResizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            ResizeProblem::NoMembers => f.write_str("a hive has at least 1 member, the queen; resize(0) was called"),
            ResizeProblem::TooMany { asked, max_bees } => too_many(f, *asked, *max_bees),
            ResizeProblem::Hire(hire) => hire.fmt(f),
            ResizeProblem::Forked => f.write_str(FORKED),
        }
    }
}

impl Error for ResizeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            ResizeProblem::Hire(hire) => hire.source(),
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
        asked: usize,
        limit: usize,
    },
    BeesAboveMax {
        bees: usize,
        max_bees: usize,
    },
    ThreadName(String),
    PollsWithoutEnd,
    WatchdogWithoutTime,
    Watchdog(io::Error),
    Pin(String),
    /// Two things that exclude one another.
    Contradiction(Contradiction),
    Hire(HireError),
    #[cfg(feature = "rayon")]
    Guest(rayon_core::ThreadPoolBuildError),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            BuildProblem::NoBees => f.write_str("a hive has at least 1 member, the queen; 0 bees were asked for"),
            BuildProblem::MaxBees { asked, limit } => {
                write!(f, "max_bees is {asked}; it must be from 1 to {limit}")
            }
            BuildProblem::BeesAboveMax { bees, max_bees } => {
                write!(f, "{bees} bees are more than max_bees, {max_bees}; ask for fewer, or raise max_bees in the builder")
            }
            BuildProblem::WatchdogWithoutTime => {
                f.write_str("deadlock_watchdog(0 s) would report every wait; ask for a longer time, or None")
            }
            BuildProblem::Watchdog(cause) => write!(f, "the system makes no thread for the watchdog: {cause}"),
            BuildProblem::PollsWithoutEnd => {
                f.write_str("poll(0 s) would have sleeping members look for work all the time; ask for a longer time, or None")
            }
            BuildProblem::ThreadName(name) => write!(f, "the thread name {name:?} contains a NUL byte"),
            BuildProblem::Contradiction((one, other)) => {
                write!(f, "the builder was given {one} as well as {other}, which exclude one another; leave one of them out")
            }
            BuildProblem::Pin(problem) => f.write_str(problem),
            BuildProblem::Hire(hire) => hire.fmt(f),
            #[cfg(feature = "rayon")]
            BuildProblem::Guest(cause) => write!(
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
            BuildProblem::Hire(hire) => hire.source(),
            #[cfg(feature = "rayon")]
            BuildProblem::Guest(cause) => Some(cause),
            _ => None,
        }
    }
}

/// A hive does not get its threads.
#[derive(Debug)]
pub(crate) struct HireError {
    /// The one that was to be made next.
    pub(crate) member: u32,
    pub(crate) wanted: usize,
    pub(crate) cause: HireCause,
}

#[derive(Debug)]
pub(crate) enum HireCause {
    /// The system would not make this one.
    System(io::Error),
    /// There is no room for all of them, so that none was made.
    Room(Shortage),
}

impl HireError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.cause {
            HireCause::System(cause) => Some(cause),
            HireCause::Room(_) => None,
        }
    }
}

impl fmt::Display for HireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { member, wanted, cause } = self;
        match cause {
            HireCause::System(cause) => write!(
                f,
                "the system made no thread for member {member} of {wanted}: {cause}; ask for fewer members or a smaller stack_size, or \
                 raise the limits on threads (ulimit -u, the cgroup's pids.max) and memory"
            ),
            HireCause::Room(shortage) => write!(f, "{wanted} members were asked for: {shortage}"),
        }
    }
}

const FORKED: &str = "this process was forked from the one that made this hive, and has none of its threads; build a hive of \
                      its own with Hive::new, after the fork";

fn too_many(f: &mut fmt::Formatter<'_>, asked: usize, max_bees: usize) -> fmt::Result {
    write!(
        f,
        "{asked} members were asked for, and this hive's limit is {max_bees}; ask for fewer, or build one with \
         Hive::builder().max_bees({asked})"
    )
}
