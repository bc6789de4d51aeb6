//! Whether the system has room for the threads that a hive is to have: looked at before they are made.
//!
//! That a thread cannot be made is an error, which is told. But one that has been made needs more: the standard library
//! maps a stack for its signal handlers from inside of it, and where that fails it ends the process. So hive counts the
//! room beforehand. What it cannot find out, it takes for no limit.

#[cfg(target_os = "linux")]
pub(crate) mod linux;

use std::fmt;

use crate::sys::fork;
use crate::sys::process::ProcessLock;

/// A limit of the system's on threads, or on what threads need.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ThreadLimit {
    /// What it is a limit on, and where it is set.
    name: String,
    /// What there may be.
    max: u64,
    /// What there is already, and what is to be left over for others.
    used: u64,
    reserved: u64,
    /// What a thread takes of it.
    per_thread: u64,
    /// Who may raise it, and how.
    remedy: String,
}

impl ThreadLimit {
    /// How many more threads there is room for.
    fn threads_left(&self) -> u64 {
        self.max.saturating_sub(self.used.saturating_add(self.reserved)) / self.per_thread
    }
}

/// There is no room for so many threads.
#[derive(Debug)]
pub(crate) struct LimitExceeded {
    needed: u64,
    limit: ThreadLimit,
}

impl fmt::Display for LimitExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { needed, limit } = self;
        let ThreadLimit { name, max, used, reserved, per_thread, remedy } = limit;
        let threads = if *needed == 1 { "thread" } else { "threads" };
        write!(
            f,
            "that takes {needed} more {threads}, and there is room for {}: the limit on {name} is {max}, ",
            limit.threads_left()
        )?;
        write!(f, "{used} are in use, a thread takes {per_thread}")?;
        if *reserved > 0 {
            write!(f, ", and {reserved} are kept for the rest of the program")?;
        }
        write!(f, "; ask for fewer bees, or {remedy}")
    }
}

/// Threads that are about to be made, in all hives of the process.
static PENDING: ProcessLock<PendingThreads> = ProcessLock::new(PendingThreads { generation: 0, threads: 0 });

struct PendingThreads {
    /// A forked child makes none of those that its parent was about to make.
    generation: u32,
    threads: u64,
}

impl PendingThreads {
    fn with_current<R>(use_it: impl FnOnce(&mut Self) -> R) -> R {
        PENDING.with(|pending| {
            let generation = fork::generation();
            if pending.generation != generation {
                *pending = Self { generation, threads: 0 };
            }
            use_it(pending)
        })
    }
}

/// Room for threads that one hive is about to make. It is dropped when they live, and count by themselves.
#[must_use = "the room is given back when this is dropped"]
#[derive(Debug)]
pub(crate) struct ThreadReservation {
    generation: u32,
    threads: u64,
}

impl ThreadReservation {
    /// Room for so many threads, with stacks of so many bytes; None: of the standard library's size.
    ///
    /// # Errors
    /// If there is less, beside the threads that other hives are about to make.
    pub(crate) fn reserve(threads: u64, stack: Option<usize>) -> Result<Self, LimitExceeded> {
        let (pending_elsewhere, reservation) = PendingThreads::with_current(|pending| {
            let pending_elsewhere = pending.threads;
            pending.threads += threads;
            (pending_elsewhere, Self { generation: pending.generation, threads })
        });
        check_limits(threads, pending_elsewhere, limits(stack)).map(|()| reservation)
    }
}

impl Drop for ThreadReservation {
    fn drop(&mut self) {
        PendingThreads::with_current(|pending| {
            if pending.generation == self.generation {
                pending.threads -= self.threads;
            }
        });
    }
}

/// Whether so many threads fit within each of `limits`, beside those that others are about to make. If not, the limit
/// with the least room is told.
fn check_limits(needed: u64, pending_elsewhere: u64, limits: Vec<ThreadLimit>) -> Result<(), LimitExceeded> {
    let with_pending = |limit: ThreadLimit| ThreadLimit {
        used: limit.used.saturating_add(pending_elsewhere.saturating_mul(limit.per_thread)),
        ..limit
    };
    match limits.into_iter().map(with_pending).min_by_key(ThreadLimit::threads_left) {
        Some(limit) if limit.threads_left() < needed => Err(LimitExceeded { needed, limit }),
        _ => Ok(()),
    }
}

#[cfg(target_os = "linux")]
fn limits(stack: Option<usize>) -> Vec<ThreadLimit> {
    linux::limits(stack)
}

/// Nothing is known.
#[cfg(not(target_os = "linux"))]
fn limits(_stack: Option<usize>) -> Vec<ThreadLimit> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(name: &str, max: u64, used: u64, reserved: u64, per_thread: u64) -> ThreadLimit {
        ThreadLimit { name: name.to_owned(), max, used, reserved, per_thread, remedy: format!("raise {name}") }
    }

    #[test]
    fn the_tightest_limit_is_reported_with_all_numbers() {
        let limits = || vec![limit("threads", 1_000, 100, 0, 1), limit("mappings", 1_000, 100, 50, 4)];
        assert!(check_limits(212, 0, limits()).is_ok());
        let message = check_limits(213, 0, limits()).unwrap_err().to_string();
        for part in [
            "213 more threads",
            "room for 212",
            "mappings is 1000",
            "100 are in use",
            "takes 4",
            "50 are",
            "raise mappings",
        ] {
            assert!(message.contains(part), "{part:?} is not in {message:?}");
        }
        assert!(check_limits(212, 1, limits()).is_err(), "another hive is about to make one");
        assert!(check_limits(u64::MAX, 0, Vec::new()).is_ok(), "nothing is known");
    }

    #[test]
    fn a_limit_that_is_exceeded_already_allows_no_thread() {
        assert_eq!(limit("threads", 10, 20, 30, 1).threads_left(), 0);
        assert!(check_limits(1, u64::MAX, vec![limit("threads", u64::MAX, 1, 1, 2)]).is_err());
        assert!(check_limits(0, 0, vec![limit("threads", 10, 20, 0, 1)]).is_ok());
    }
}
