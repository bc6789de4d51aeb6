//! Yields of the CPU that a thread makes while it waits, for as long as they pay.
//!
//! If only bees that wait for each other want a CPU, a yield hands it on in a microsecond or two, and spares them a
//! wake-up. If a busy thread of the program wants it as well, Linux lets that one run for a whole time slice, some
//! milliseconds, although it may have had its share: who yields gives up what is left of its own. A bee that sleeps
//! loses nothing, and usually runs as soon as it is woken. Nobody can ask the kernel who else wants a CPU, but the time
//! that a yield has taken tells.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::yield_now;

use crate::sys::clock;
use crate::sys::part_time::NANOS_OF_WAKING;

/// A yield that takes longer than so many nanoseconds is a long one.
const LONG: u64 = 4 * NANOS_OF_WAKING;

/// So many nanoseconds a short yield gains, because the bee that it waits for need not wake it. A long yield that has
/// cost no more than the short ones before it have gained was worth its time: the CPU may have gone to another program,
/// as it would have without the yield, or to a bee that has work.
const GAIN: u64 = NANOS_OF_WAKING / 8;

/// After a long yield that was not worth its time, nobody yields for so many times as long as it has taken.
const PAUSE_PER_YIELD: u64 = 8;

/// The longest such time, in nanoseconds.
const LONGEST_PAUSE: u64 = 1_000_000_000;

/// At the beginning and after each pause one thread tries at a time, while the others sleep, so that not all of them
/// lose a time slice. After so many short yields they all yield. If a long one comes before that, the pause is twice as
/// long as the last: a busy thread that stays costs a time slice for each `LONGEST_PAUSE` in the end.
const SHORT_YIELDS_OF_TRIAL: u64 = 64;

/// The time of the clock at which a thread may try whether yields pay. `PAYS`: all may yield. `IN_TRIAL`: a thread is
/// trying.
static NEXT_TRIAL: AtomicU64 = AtomicU64::new(1);
const PAYS: u64 = 0;
const IN_TRIAL: u64 = u64::MAX;

/// How long the last pause was to be. Like `TRIED`, it is written by whoever has set `IN_TRIAL`, or has found out that
/// yields do not pay after all.
static LAST_PAUSE: AtomicU64 = AtomicU64::new(0);

/// The short yields of the trial so far.
static TRIED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The short yields of the calling thread since its last long one.
    static SHORT_YIELDS: Cell<u64> = const { Cell::new(0) };
}

/// In a forked child, which does not have the thread that is trying: a trial is due.
#[cfg_attr(not(unix), allow(dead_code, reason = "other systems do not fork"))]
pub(crate) fn forget_trial() {
    NEXT_TRIAL.store(1, Ordering::Relaxed);
}

/// Yields the CPU, unless yields do not pay at present. Returns whether it has yielded.
pub(crate) fn yield_if_it_pays() -> bool {
    let (next, begin) = (NEXT_TRIAL.load(Ordering::Relaxed), clock::nanos());
    if next != PAYS {
        return try_whether_it_pays(next, begin);
    }
    let taken = yield_from(begin);
    if taken <= LONG {
        SHORT_YIELDS.set(SHORT_YIELDS.get().saturating_add(1));
    } else if taken > SHORT_YIELDS.take().saturating_mul(GAIN) {
        pause(begin, taken, 0);
    }
    true
}

/// Yields the CPU, if a trial is due and no other thread is making it. Returns whether it has yielded.
#[cold]
fn try_whether_it_pays(next: u64, begin: u64) -> bool {
    // Relaxed, here as everywhere in this file: these are hints, on the strength of which nothing else is read. If two
    // threads get in each other's way, a yield is made or left out that should not be.
    let is_due =
        begin >= next && NEXT_TRIAL.compare_exchange(next, IN_TRIAL, Ordering::Relaxed, Ordering::Relaxed).is_ok();
    if !is_due {
        return false;
    }
    end_trial(next, begin, yield_from(begin));
    true
}

/// Ends a trial, which was due at the time `next`, has begun at `begin` and has `taken` so long.
fn end_trial(next: u64, begin: u64, taken: u64) {
    if taken > LONG {
        pause(begin, taken, 2 * LAST_PAUSE.load(Ordering::Relaxed));
    } else {
        let tried = TRIED.fetch_add(1, Ordering::Relaxed) + 1;
        NEXT_TRIAL.store(if tried < SHORT_YIELDS_OF_TRIAL { next } else { PAYS }, Ordering::Relaxed);
    }
}

/// Yields the CPU, and returns how long that has taken, from `begin` on.
fn yield_from(begin: u64) -> u64 {
    yield_now();
    clock::nanos_since(begin)
}

/// Sets the time until the next trial, after a yield that has begun at `begin` and was not worth the time that it has
/// `taken`. It is at least `pause`.
#[cold]
fn pause(begin: u64, taken: u64, pause: u64) {
    let pause = pause.max(taken.saturating_mul(PAUSE_PER_YIELD)).min(LONGEST_PAUSE);
    LAST_PAUSE.store(pause, Ordering::Relaxed);
    TRIED.store(0, Ordering::Relaxed);
    NEXT_TRIAL.store(begin + taken + pause, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::clock::nanos;

    /// One test, because there is one state for the process. Other tests that wait change it meanwhile, so this one
    /// tries again.
    #[test]
    fn nobody_yields_after_a_yield_that_was_not_worth_its_time() {
        let is_seen = |look: fn() -> bool| (0..10_000).any(|_| look());
        assert!(is_seen(|| {
            pause(nanos(), LONG, LONGEST_PAUSE);
            !yield_if_it_pays()
        }));
        assert!(is_seen(|| {
            // Another thread is trying.
            NEXT_TRIAL.store(IN_TRIAL, Ordering::Relaxed);
            !yield_if_it_pays()
        }));
        assert!(is_seen(|| {
            forget_trial();
            yield_if_it_pays()
        }));
        assert!(is_seen(|| {
            NEXT_TRIAL.store(IN_TRIAL, Ordering::Relaxed);
            TRIED.store(0, Ordering::Relaxed);
            (0..SHORT_YIELDS_OF_TRIAL).for_each(|_| end_trial(1, 0, LONG));
            NEXT_TRIAL.load(Ordering::Relaxed) == PAYS
        }));
        assert!(is_seen(|| {
            LAST_PAUSE.store(LONG, Ordering::Relaxed);
            end_trial(1, 0, LONG + 1);
            LAST_PAUSE.load(Ordering::Relaxed) == PAUSE_PER_YIELD * (LONG + 1)
                && NEXT_TRIAL.load(Ordering::Relaxed) == (PAUSE_PER_YIELD + 1) * (LONG + 1)
        }));
    }
}
