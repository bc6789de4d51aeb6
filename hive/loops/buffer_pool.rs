//! The buffers in which the bees of a team coordinate the later rounds of a loop. Part of the loop protocol, which is
//! described in `docs/loops.md`; called by `LoopState::begin_round`.
//!
//! The words of a `Dispatch` contain a round number of 16 bits. If the numbers wrapped around within one `Dispatch`,
//! a word that was left behind could not be told from one that is ahead. Therefore the rounds come in *generations* of
//! `rounds_per_generation()` rounds, and each generation has a `Dispatch` of its own: the first generation the one in
//! the `LoopState`, each later generation a buffer of this pool. Bees may be in different generations, any number
//! apart. A buffer is reset and reused once all bees of the team have left it.

use crate::loops::dispatch::Dispatch;
use crate::sync::{AtomicBool, AtomicU32, OnceLock, Ordering};

/// Stands for "no buffer" where the number of a buffer is stored.
const NO_BUFFER: u32 = u32::MAX;

/// The number of rows in a pool. Row r holds 2^r buffers, so 32 rows are enough for all buffer numbers.
const ROWS: usize = u32::BITS as usize;

/// The shared words of one generation, and the link by which its bees find the buffer of the next generation.
struct Buffer {
    dispatch: Dispatch,
    /// Leads to the buffer of the next generation.
    link: Link,
    /// Whether no generation uses this buffer. Set to false by the bee that claims it (`claim_free`), to true by the
    /// last bee that leaves it (`reset`), or by its claimer if another bee's buffer was chosen (`next_buffer`).
    is_free: AtomicBool,
}

impl Buffer {
    fn new(bees: usize) -> Self {
        Self { dispatch: Dispatch::new(bees), link: Link::new(), is_free: AtomicBool::new(true) }
    }

    /// Puts the buffer into its initial state and frees it. No other bee may be using it.
    fn reset(&self) {
        self.dispatch.reset();
        self.link.reset();
        // Release: pairs with the Acquire swap in `claim_free`, so that the next bee to claim the buffer sees its words
        // reset.
        self.is_free.store(true, Ordering::Release);
    }
}

/// The link from one generation to the next. Each generation has one: the first in the `LoopState`, the others in their
/// `Buffer`.
pub(crate) struct Link {
    /// The number of the next generation's buffer. `NO_BUFFER`: no bee has got there yet. Set once, by a swap of the
    /// first bee that gets there.
    next: AtomicU32,
    /// How many bees have gone on to the next generation. Each adds 1 as it leaves; none comes back.
    departed: AtomicU32,
}

impl Link {
    pub(crate) fn new() -> Self {
        Self { next: AtomicU32::new(NO_BUFFER), departed: AtomicU32::new(0) }
    }

    /// Puts the link into its initial state. No other bee may be using it.
    pub(crate) fn reset(&self) {
        // Relaxed, both: what hands the link to its next users also orders these stores. That is `is_free` for a link
        // in a buffer, and `LoopState::region` for the first link.
        self.next.store(NO_BUFFER, Ordering::Relaxed);
        self.departed.store(0, Ordering::Relaxed);
    }
}

/// The buffers of all generations but the first. They are allocated when a bee needs one, in rows: row r holds 2^r
/// buffers. So a buffer never moves, and its number tells the row and the place in it.
pub(crate) struct BufferPool {
    /// The largest number of bees that a team may have.
    bees: usize,
    /// Row r has the buffers with the numbers from 2^r - 1 to 2^(r + 1) - 2.
    rows: [OnceLock<Box<[Buffer]>>; ROWS],
}

impl BufferPool {
    /// A pool without buffers, for teams of up to `bees` bees.
    pub(crate) fn new(bees: usize) -> Self {
        Self { bees, rows: [(); ROWS].map(|()| OnceLock::new()) }
    }

    /// Takes one bee of a team of `bees` bees from its generation to the next. It leaves buffer `from`, or the first
    /// generation, whose link is `first_link`, if `from` is None. Returns the number of the next generation's buffer.
    #[cold]
    pub(crate) fn advance(&self, first_link: &Link, from: Option<u32>, bees: u32) -> u32 {
        let buffer = from.map(|number| self.buffer(number));
        let link = buffer.map_or(first_link, |buffer| &buffer.link);
        // The next buffer first: `next_buffer` reads the link, which may be reset once this bee is counted as departed.
        let next = self.next_buffer(link);
        // AcqRel: pairs with the same addition by the other bees. Release: what this bee did to the buffer happens
        // before the last bee's reset. Acquire: if this bee is the last, it sees what the others did before it resets.
        let departed = link.departed.fetch_add(1, Ordering::AcqRel) + 1;
        if let Some(buffer) = buffer.filter(|_| departed == bees) {
            // The last bee to leave frees the buffer. The first generation has none; `LoopState::reset` resets its
            // words.
            buffer.reset();
        }
        next
    }

    /// The number of the buffer that `link` leads to. The first bee that gets here provides a free buffer. The caller
    /// is not counted in `departed` yet, so the link still belongs to the caller's generation.
    fn next_buffer(&self, link: &Link) -> u32 {
        // Acquire: pairs with the Release of the exchange below; the buffer is seen as it was after its reset.
        let next = link.next.load(Ordering::Acquire);
        if next != NO_BUFFER {
            return next;
        }
        // No bee has set the link yet. Claim a buffer and try to set the link to it.
        let fresh = self.claim_free();
        // Release on success: pairs with the Acquire load above and with the Acquire of another bee's failed exchange;
        // passes on the reset that this bee has seen in `claim_free`. Acquire on failure: pairs with the Release of the
        // winner's exchange; its buffer is seen as it was after its reset.
        match link.next.compare_exchange(NO_BUFFER, fresh, Ordering::Release, Ordering::Acquire) {
            Ok(_) => fresh,
            Err(next) => {
                // Another bee was faster: free the buffer again, and use the one that the other has set.
                //
                // Release: pairs with the Acquire swap in `claim_free`. It passes on the reset of this buffer, which
                // this bee saw when it claimed it.
                self.buffer(fresh).is_free.store(true, Ordering::Release);
                next
            }
        }
    }

    /// Claims a buffer that no generation uses, and returns its number. It belongs to the calling bee alone until the
    /// bee publishes or frees it. Allocates a new row if no buffer is free.
    fn claim_free(&self) -> u32 {
        // Relaxed load: it only saves the swap where a buffer is in use, and decides nothing. Acquire swap: pairs with
        // the Release stores in `Buffer::reset` and `next_buffer`; the buffer is seen as it was after its reset.
        let try_claim =
            |buffer: &Buffer| buffer.is_free.load(Ordering::Relaxed) && buffer.is_free.swap(false, Ordering::Acquire);
        (0..NO_BUFFER)
            .find(|&number| try_claim(self.buffer(number)))
            .unwrap_or_else(|| unreachable!("no memory is as large"))
    }

    /// The shared words of buffer `number`.
    pub(crate) fn dispatch(&self, number: u32) -> &Dispatch {
        &self.buffer(number).dispatch
    }

    /// Buffer `number`. Allocates its row if that is not there yet.
    fn buffer(&self, number: u32) -> &Buffer {
        let row = (number + 1).ilog2();
        let buffers =
            self.rows[row as usize].get_or_init(|| (0..1_u32 << row).map(|_| Buffer::new(self.bees)).collect());
        &buffers[(number + 1 - (1 << row)) as usize]
    }

    /// Resets and frees all buffers. No other bee may be using any of them.
    pub(crate) fn reset(&self) {
        self.rows.iter().filter_map(OnceLock::get).flatten().for_each(Buffer::reset);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl BufferPool {
        /// How many buffers have been allocated.
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
        assert!(pool.allocated() <= 3, "{} buffers", pool.allocated());
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
        // All buffers are free again but the last, which both bees are in.
        let free = (0..127).filter(|&number| pool.buffer(number).is_free.load(Ordering::Relaxed)).count();
        assert_eq!(free, 126);
    }

    #[test]
    fn a_buffer_is_as_new_when_all_have_left_it() {
        let (pool, first) = (BufferPool::new(2), Link::new());
        let buffer = pool.advance(&first, None, 2);
        assert_eq!(pool.dispatch(buffer).queue.take(3, 5, |_| 5), Some(0..5));
        assert_ne!(pool.advance(&first, Some(buffer), 2), buffer);
        assert_eq!(pool.dispatch(buffer).queue.take(1, 5, |_| 5), None, "somebody is still in it");
        pool.advance(&first, Some(buffer), 2);
        assert_eq!(pool.dispatch(buffer).queue.take(1, 5, |_| 5), Some(0..5));
    }
}
