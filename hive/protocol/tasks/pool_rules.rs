//! What is different in the team of a task pool (`hive/adapters/task_pool/`): all of its bees are threads that the pool
//! was given, nobody takes the queen's place for a while, and code that was written for Rayon expects more of a join.
//!
//! Such code may wait in the first half of a join for what the second half does, and it divides its work by a few joins
//! only, whose halves take long. So the outermost joins of each task are put into the deque as they begin, where a bee
//! that becomes idle at any later time finds them. Joins further in are kept by the bee, as in every team: in a
//! recursion these are nearly all, and they are small.

use std::num::NonZero;

/// The rules of a task pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolRules {
    /// How many threads the pool has.
    pub(crate) threads: u32,
    /// As for how many threads the pool's work is to be divided, if that is not their number.
    pub(crate) parts: Option<NonZero<u32>>,
    /// How many levels of joins in each task are put into the deque as they begin. 0: the pool has one thread only.
    pub(crate) visible_levels: u32,
    /// Whether a bee takes the oldest task of its own deque first, and not the newest.
    pub(crate) is_breadth_first: bool,
}

/// With so many levels of visible joins, one part in eight of a recursion is hidden from a bee that asks while a long
/// first half runs without a join; all else it finds, or is offered. Each visible join costs two fences: with two more
/// levels a recursion of 400 us takes a fifth longer.
const LEVELS_OF_ONE_BEE: u32 = 3;

impl PoolRules {
    /// The rules of a pool of so many threads.
    pub(crate) fn new(threads: u32, parts: Option<NonZero<u32>>, is_breadth_first: bool) -> Self {
        // With a single thread nobody would take what is visible. Otherwise the work is divided among the threads by
        // as many levels as it takes, and each has parts to give away.
        let visible_levels =
            if threads == 1 { 0 } else { LEVELS_OF_ONE_BEE + threads.next_power_of_two().trailing_zeros() };
        Self { threads, parts, visible_levels, is_breadth_first }
    }
}
