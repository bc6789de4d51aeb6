//! Whether the system has room for the threads that a hive is to have: looked at before they are made.
//!
//! That a thread cannot be made is an error, which is told. But one that has been made needs more: the standard library
//! maps a stack for its signal handlers from inside of it, and where that fails it ends the process. So hive counts the
//! room beforehand. What it cannot find out, it takes for no limit.

use std::fmt;

use crate::fork;
use crate::process::ProcessLock;

#[cfg(target_os = "linux")]
mod linux;

/// A limit of the system's on threads, or on what threads need.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Limit {
    /// What it is a limit on, and where it is set.
    name: String,
    /// What there may be.
    most: u64,
    /// What there is already, and what is to be left over for others.
    used: u64,
    left_over: u64,
    /// What a thread takes of it.
    each: u64,
    /// Who may raise it, and how.
    remedy: String,
}

impl Limit {
    /// How many more threads there is room for.
    fn room(&self) -> u64 {
        self.most.saturating_sub(self.used.saturating_add(self.left_over)) / self.each
    }
}

/// There is no room for so many threads.
#[derive(Debug)]
pub(crate) struct Shortage {
    needed: u64,
    limit: Limit,
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { needed, limit } = self;
        let Limit { name, most, used, left_over, each, remedy } = limit;
        let threads = if *needed == 1 { "thread" } else { "threads" };
        write!(f, "that takes {needed} more {threads}, and there is room for {}: the limit on {name} is {most}, ", limit.room())?;
        write!(f, "{used} are in use, a thread takes {each}")?;
        if *left_over > 0 {
            write!(f, ", and {left_over} are kept for the rest of the program")?;
        }
        write!(f, "; ask for fewer members, or {remedy}")
    }
}

/// Threads that are about to be made, in all hives of the process.
static PENDING: ProcessLock<Pending> = ProcessLock::new(Pending { generation: 0, threads: 0 });

struct Pending {
    /// A forked child makes none of those that its parent was about to make.
    generation: u32,
    threads: u64,
}

impl Pending {
    fn with<R>(use_it: impl FnOnce(&mut Self) -> R) -> R {
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
pub(crate) struct Room {
    generation: u32,
    threads: u64,
}

impl Room {
    /// Room for so many threads, with stacks of so many bytes; None: of the standard library's size.
    ///
    /// # Errors
    /// If there is less, beside the threads that other hives are about to make.
    pub(crate) fn take(threads: u64, stack: Option<usize>) -> Result<Self, Shortage> {
        let (others, room) = Pending::with(|pending| {
            let others = pending.threads;
            pending.threads += threads;
            (others, Self { generation: pending.generation, threads })
        });
        fits(threads, others, limits(stack)).map(|()| room)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        Pending::with(|pending| {
            if pending.generation == self.generation {
                pending.threads -= self.threads;
            }
        });
    }
}

/// Whether so many threads fit within each of `limits`, beside those that others are about to make. If not, the limit
/// with the least room is told.
fn fits(needed: u64, others: u64, limits: Vec<Limit>) -> Result<(), Shortage> {
    let with_others = |limit: Limit| Limit { used: limit.used.saturating_add(others.saturating_mul(limit.each)), ..limit };
    match limits.into_iter().map(with_others).min_by_key(Limit::room) {
        Some(limit) if limit.room() < needed => Err(Shortage { needed, limit }),
        _ => Ok(()),
    }
}

#[cfg(target_os = "linux")]
fn limits(stack: Option<usize>) -> Vec<Limit> {
    linux::limits(stack)
}

/// Nothing is known.
#[cfg(not(target_os = "linux"))]
fn limits(_stack: Option<usize>) -> Vec<Limit> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(name: &str, most: u64, used: u64, left_over: u64, each: u64) -> Limit {
        Limit { name: name.to_owned(), most, used, left_over, each, remedy: format!("raise {name}") }
    }

    #[test]
    fn the_limit_with_the_least_room_is_told_with_all_numbers() {
        let limits = || vec![limit("threads", 1_000, 100, 0, 1), limit("mappings", 1_000, 100, 50, 4)];
        assert!(fits(212, 0, limits()).is_ok());
        let said = fits(213, 0, limits()).unwrap_err().to_string();
        for part in
            ["213 more threads", "room for 212", "mappings is 1000", "100 are in use", "takes 4", "50 are", "raise mappings"]
        {
            assert!(said.contains(part), "{part:?} is not in {said:?}");
        }
        assert!(fits(212, 1, limits()).is_err(), "another hive is about to make one");
        assert!(fits(u64::MAX, 0, Vec::new()).is_ok(), "nothing is known");
    }

    #[test]
    fn a_limit_that_is_exceeded_already_leaves_no_room() {
        assert_eq!(limit("threads", 10, 20, 30, 1).room(), 0);
        assert!(fits(1, u64::MAX, vec![limit("threads", u64::MAX, 1, 1, 2)]).is_err());
        assert!(fits(0, 0, vec![limit("threads", 10, 20, 0, 1)]).is_ok());
    }
}
