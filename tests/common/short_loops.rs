//! What the tests share of loops that their callers run alone: ways to have a hive take a loop for a short one while
//! all its workers sleep.

use std::iter;

use hive::Hive;

use super::held_workers::wait_until_asleep;

pub(crate) fn lone_loops(hive: &Hive) -> u64 {
    hive.stats().total().lone_loops
}

/// More runs than this are not needed on any machine on which the loops here count as short.
const MAX_RUNS: usize = 1_000_000;

/// Runs `run`, which runs one loop, for as long as it takes until the hive has run that loop on its caller alone
/// because all workers were asleep. Returns the results of all runs: the first was the team's, the last the caller's.
///
/// # Panics
/// If that never happens: on a machine so slow that the hive takes each run for a long one.
pub(crate) fn until_alone<R>(hive: &Hive, run: impl Fn() -> R) -> Vec<R> {
    let mut results = Vec::new();
    for _ in 0..MAX_RUNS {
        wait_until_asleep(hive, hive.bees() - 1);
        let before = lone_loops(hive);
        results.push(run());
        if lone_loops(hive) > before {
            return results;
        }
    }
    panic!("none of {MAX_RUNS} runs of the loop was left to its caller alone");
}

/// Calls `run(true, 1)`, which runs one loop, when the hive expects that loop to be short and all workers are asleep.
/// To teach it so, calls `run(false, times)` before, which runs the same loop, with nothing to do, over that many times
/// as many indices. A hive knows what an index takes, and with few of them that would be what it takes to begin a loop,
/// which on a slow machine may be long enough to wake workers. Begins anew if the loop was expected to be long.
pub(crate) fn short_and_then(hive: &Hive, run: impl Fn(bool, usize)) {
    const TIMES: usize = 100;
    // After a long loop it takes so many short ones until the hive has forgotten it.
    for lessons in iter::once(1).chain(iter::repeat(100)) {
        for _ in 0..lessons {
            wait_until_asleep(hive, hive.bees() - 1);
            run(false, TIMES);
        }
        wait_until_asleep(hive, hive.bees() - 1);
        let before = lone_loops(hive);
        run(true, 1);
        if lone_loops(hive) > before {
            return;
        }
    }
}
