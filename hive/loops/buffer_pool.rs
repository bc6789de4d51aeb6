//! The words of later rounds. Numbers of rounds in words would come round, and nobody could tell a word that was left
//! behind from one that is ahead. So rounds come in *generations*, as many as can be told apart, and each generation has
//! a set of words of its own. Bees may be in different generations, however far apart: a set is used again when all
//! have left it.

use crate::loops::dispatch::Dispatch;
use crate::sync::{AtomicBool, AtomicU32, OnceLock, Ordering};

/// The number of no set.
const NO_BUFFER: u32 = u32::MAX;

/// Enough rows for all numbers that a set can have.
const ROWS: usize = u32::BITS as usize;

/// The words of one generation, and how its bees find those of the next.
struct Buffer {
    dispatch: Dispatch,
    link: Link,
    /// Whether no generation has it.
    is_free: AtomicBool,
}

impl Buffer {
    fn new(bees: usize) -> Self {
        Self { dispatch: Dispatch::new(bees), link: Link::new(), is_free: AtomicBool::new(true) }
    }

    /// As new. Nobody else may be at it.
    fn reset(&self) {
        self.dispatch.reset();
        self.link.reset();
        // Release: pairs with the Acquire in `claim_free`; whoever uses it next finds it as new.
        self.is_free.store(true, Ordering::Release);
    }
}

/// The way from a generation to the next.
pub(crate) struct Link {
    /// The set of the next generation. `NO_BUFFER`: nobody has come there yet.
    next: AtomicU32,
    /// The bees that have gone there. They do not come back.
    departed: AtomicU32,
}

impl Link {
    pub(crate) fn new() -> Self {
        Self { next: AtomicU32::new(NO_BUFFER), departed: AtomicU32::new(0) }
    }

    /// As new. Nobody else may be at it.
    pub(crate) fn reset(&self) {
        // Relaxed: whoever uses it next is told by something else.
        self.next.store(NO_BUFFER, Ordering::Relaxed);
        self.departed.store(0, Ordering::Relaxed);
    }
}

/// The sets of all generations but the first, which are made when somebody needs them. Row r has 2^r, so that a set has
/// its place for good, and its number says where that is.
pub(crate) struct BufferPool {
    bees: usize,
    rows: [OnceLock<Box<[Buffer]>>; ROWS],
}

impl BufferPool {
    /// For a team of up to `members`.
    pub(crate) fn new(bees: usize) -> Self {
        Self { bees, rows: [(); ROWS].map(|()| OnceLock::new()) }
    }

    /// Takes a bee of a team of `team` from its generation, the first of all or one that has set `from_group`, to the next.
    /// Returns the number of the next one's set.
    #[cold]
    pub(crate) fn advance(&self, first_link: &Link, from: Option<u32>, bees: u32) -> u32 {
        let buffer = from.map(|number| self.buffer(number));
        let link = buffer.map_or(first_link, |buffer| &buffer.link);
        let next = self.next_buffer(link);
        // AcqRel: pairs with itself; all that the others did to the set has happened before the last of them makes it
        // as new.
        let departed = link.departed.fetch_add(1, Ordering::AcqRel) + 1;
        if let Some(buffer) = buffer.filter(|_| departed == bees) {
            buffer.reset();
        }
        next
    }

    /// The set after this way: one that the first who comes provides. The caller has not gone there yet, so the way is
    /// still that of its generation.
    fn next_buffer(&self, link: &Link) -> u32 {
        // Acquire: pairs with the Release below; the words are as new.
        let next = link.next.load(Ordering::Acquire);
        if next != NO_BUFFER {
            return next;
        }
        let fresh = self.claim_free();
        // Release: pairs with the Acquire above and with that of the failure, which is as that above.
        match link.next.compare_exchange(NO_BUFFER, fresh, Ordering::Release, Ordering::Acquire) {
            Ok(_) => fresh,
            Err(next) => {
                // Release: pairs with the Acquire in `claim_free`, as that in `reset`, which the caller has claimed it after.
                self.buffer(fresh).is_free.store(true, Ordering::Release);
                next
            }
        }
    }

    /// A set that no generation has. It is the caller's alone.
    fn claim_free(&self) -> u32 {
        // Acquire: pairs with the Release in `reset` and in `next_buffer`. The load saves swaps, and decides nothing.
        let try_claim =
            |buffer: &Buffer| buffer.is_free.load(Ordering::Relaxed) && buffer.is_free.swap(false, Ordering::Acquire);
        (0..NO_BUFFER)
            .find(|&number| try_claim(self.buffer(number)))
            .unwrap_or_else(|| unreachable!("no memory is as large"))
    }

    /// The words of set `number`.
    pub(crate) fn dispatch(&self, number: u32) -> &Dispatch {
        &self.buffer(number).dispatch
    }

    fn buffer(&self, number: u32) -> &Buffer {
        let row = (number + 1).ilog2();
        let buffers =
            self.rows[row as usize].get_or_init(|| (0..1_u32 << row).map(|_| Buffer::new(self.bees)).collect());
        &buffers[(number + 1 - (1 << row)) as usize]
    }

    /// As new. Nobody else may be at it.
    pub(crate) fn reset(&self) {
        self.rows.iter().filter_map(OnceLock::get).flatten().for_each(Buffer::reset);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl BufferPool {
        /// The sets that have been made.
        fn allocated(&self) -> usize {
            self.rows.iter().filter_map(OnceLock::get).map(|row| row.len()).sum()
        }
    }

    #[test]
    fn all_bees_go_from_a_generation_to_the_same_buffer() {
        let (pool, first) = (BufferPool::new(3), Link::new());
        let next = [(); 3].map(|()| pool.advance(&first, None, 3));
        assert_eq!(next, [next[0]; 3]);
        let after = [(); 3].map(|()| pool.advance(&first, Some(next[0]), 3));
        assert!(after == [after[0]; 3] && after[0] != next[0]);
    }

    #[test]
    fn bees_that_keep_together_never_need_more_than_three_buffers() {
        let (pool, first) = (BufferPool::new(2), Link::new());
        let mut current = [None; 2];
        for _ in 0..1_000 {
            current = current.map(|from| Some(pool.advance(&first, from, 2)));
            assert_eq!(current[0], current[1]);
        }
        assert!(pool.allocated() <= 3, "{} sets", pool.allocated());
    }

    #[test]
    fn a_bee_ahead_gets_a_buffer_for_each_generation_and_the_others_find_them() {
        const GENERATIONS: usize = 100;
        let (pool, first) = (BufferPool::new(2), Link::new());
        let run = || {
            let mut current = None;
            let mut advance = || *current.insert(pool.advance(&first, current, 2));
            (0..GENERATIONS).map(|_| advance()).collect::<Vec<_>>()
        };
        let ahead = run();
        let mut different = ahead.clone();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), GENERATIONS);
        assert_eq!(run(), ahead);
        assert_eq!(pool.allocated(), 127);
        // All are free again but the last, which they are in.
        let free = (0..127).filter(|&number| pool.buffer(number).is_free.load(Ordering::Relaxed)).count();
        assert_eq!(free, 126);
    }

    #[test]
    fn a_buffer_is_as_new_when_all_have_left_it() {
        let (pool, first) = (BufferPool::new(2), Link::new());
        let buffer = pool.advance(&first, None, 2);
        assert_eq!(pool.dispatch(buffer).queue().take(3, 5, |_| 5), Some(0..5));
        assert_ne!(pool.advance(&first, Some(buffer), 2), buffer);
        assert_eq!(pool.dispatch(buffer).queue().take(1, 5, |_| 5), None, "somebody is still in it");
        pool.advance(&first, Some(buffer), 2);
        assert_eq!(pool.dispatch(buffer).queue().take(1, 5, |_| 5), Some(0..5));
    }
}
