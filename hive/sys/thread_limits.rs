//! Checks, before threads are made, whether the system has room for them.
//!
//! If a thread cannot be made, that is an error that the caller can report. But a thread that has been made needs more:
//! the standard library maps a stack for signal handlers from inside the new thread, and ends the process if that
//! fails. So hive counts the room beforehand. Where a limit cannot be found out, there is taken to be none.
//!
//! `Shared`, the watchdog and the calibrations make a [`ThreadReservation`] before they make threads. For a few threads
//! it looks only at the limits on memory. If the system then refuses to make one of them,
//! [`ThreadReservation::exceeded_limit`] says which of the others is the reason.

#[cfg(target_os = "linux")]
pub(crate) mod linux;

use std::{fmt, mem};

use crate::sys::process::OfProcess;
use crate::sys::sandbox;
#[cfg(target_os = "linux")]
use crate::sys::thread_limits::linux::{memory_limits, number_limits};

/// The most threads that are made without a look at the limits on their number. That look takes longer than making one
/// thread; and if the system refuses to make the last of so few, it was no great matter to make the others.
const FEW_THREADS: u64 = 8;

/// A limit of the system on threads, or on something that each thread needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ThreadLimit {
    /// What is limited, and where the limit is set.
    name: String,
    /// The limit.
    max: u64,
    /// What is in use already, and what is to be left for the rest of the program.
    used: u64,
    reserved: u64,
    /// What one thread takes.
    per_thread: u64,
    /// How the limit can be raised, and by whom.
    remedy: String,
}

impl ThreadLimit {
    /// The number of further threads that there is room for.
    fn threads_left(&self) -> u64 {
        self.max.saturating_sub(self.used.saturating_add(self.reserved)) / self.per_thread
    }
}

/// There is no room for the threads that are needed.
#[derive(Debug)]
pub(crate) struct LimitExceeded {
    /// The number of threads that are needed.
    needed: u64,
    /// The limit with the least room.
    limit: ThreadLimit,
}

impl fmt::Display for LimitExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { needed, limit: limit @ ThreadLimit { name, max, used, reserved, per_thread, remedy } } = self;
        let threads = if *needed == 1 { "thread" } else { "threads" };
        let room = limit.threads_left();
        write!(f, "that takes {needed} more {threads}, and there is room for {room}: the limit on {name} is {max}, ")?;
        write!(f, "{used} are in use, a thread takes {per_thread}")?;
        if *reserved > 0 {
            write!(f, ", and {reserved} are kept for the rest of the program")?;
        }
        write!(f, "; ask for fewer bees, or {remedy}")
    }
}

/// The number of threads that hives of this process are about to make. They are counted here because the system does
/// not count them yet. A forked child makes none of the threads that its parent was about to make.
static PENDING: OfProcess<u64> = OfProcess::new(0);

/// Room for threads that one hive is about to make. Drop it when the threads are running, because from then on the
/// system counts them itself.
#[must_use = "the room is given back when this is dropped"]
#[derive(Debug)]
pub(crate) struct ThreadReservation {
    /// The generation of the process that made the reservation.
    generation: u32,
    /// The number of threads.
    threads: u64,
}

impl ThreadReservation {
    /// Reserves room for `threads` threads, with stacks of `stack` bytes. None: stacks of the standard library's
    /// default size.
    ///
    /// # Errors
    /// If there is less room, with the threads deducted that other hives are about to make. A limit on the number of
    /// threads is no error for `FEW_THREADS` or less: making them is.
    pub(crate) fn reserve(threads: u64, stack: Option<usize>) -> Result<Self, LimitExceeded> {
        // The threads are counted before the limits are read, so that two hives that do this at the same time see each
        // other's threads. On an error the reservation is dropped, which takes them off again.
        let (pending_elsewhere, reservation) = PENDING
            .with(|generation, pending| (mem::replace(pending, *pending + threads), Self { generation, threads }));
        if sandbox::has_come() {
            // The limits are in files, and to open them may end the process.
            return Ok(reservation);
        }
        check_limits(threads, pending_elsewhere, memory_limits(threads.saturating_add(pending_elsewhere), stack))?;
        if threads > FEW_THREADS {
            check_limits(threads, pending_elsewhere, number_limits())?;
        }
        Ok(reservation)
    }

    /// The limit that leaves no room for `needed` of the reserved threads. None: no limit that is known.
    pub(crate) fn exceeded_limit(&self, needed: u64, stack: Option<usize>) -> Option<LimitExceeded> {
        let pending_elsewhere = PENDING.with(|_, pending| pending.saturating_sub(self.threads));
        let mut limits = memory_limits(needed.saturating_add(pending_elsewhere), stack);
        limits.extend(number_limits());
        check_limits(needed, pending_elsewhere, limits).err()
    }
}

impl Drop for ThreadReservation {
    fn drop(&mut self) {
        PENDING.with(|generation, pending| {
            if generation == self.generation {
                *pending -= self.threads;
            }
        });
    }
}

/// Whether `needed` threads fit within each of `limits`, besides the threads that others are about to make. If not, the
/// error has the limit with the least room.
fn check_limits(needed: u64, pending_elsewhere: u64, limits: Vec<ThreadLimit>) -> Result<(), LimitExceeded> {
    // Threads that are about to be made use as much of each limit as these threads would.
    let with_pending = |limit: ThreadLimit| ThreadLimit {
        used: limit.used.saturating_add(pending_elsewhere.saturating_mul(limit.per_thread)),
        ..limit
    };
    match limits.into_iter().map(with_pending).min_by_key(ThreadLimit::threads_left) {
        Some(limit) if limit.threads_left() < needed => Err(LimitExceeded { needed, limit }),
        _ => Ok(()),
    }
}

/// No limits are known on these systems.
#[cfg(not(target_os = "linux"))]
fn memory_limits(_threads: u64, _stack: Option<usize>) -> Vec<ThreadLimit> {
    Vec::new()
}

#[cfg(not(target_os = "linux"))]
fn number_limits() -> Vec<ThreadLimit> {
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
    #[cfg(target_os = "linux")]
    fn a_refusal_is_explained_by_the_limit_that_is_exceeded() {
        let reservation = ThreadReservation::reserve(1, None).unwrap();
        assert!(reservation.exceeded_limit(1, None).is_none(), "there is room for it");
        let exceeded = reservation.exceeded_limit(1 << 40, None).unwrap().to_string();
        assert!(exceeded.contains("1099511627776 more threads"), "{exceeded}");
    }

    #[test]
    fn a_limit_that_is_exceeded_already_allows_no_thread() {
        assert_eq!(limit("threads", 10, 20, 30, 1).threads_left(), 0);
        assert!(check_limits(1, u64::MAX, vec![limit("threads", u64::MAX, 1, 1, 2)]).is_err());
        assert!(check_limits(0, 0, vec![limit("threads", 10, 20, 0, 1)]).is_ok());
    }
}
