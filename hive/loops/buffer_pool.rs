//! The buffers in which the bees of a team coordinate the later rounds of a loop. Part of the loop protocol, which is
//! described in `docs/loops.md`; called by `LoopState::begin_round`.
//!
//! The words of a `Dispatch` contain a round number of 16 bits. If the numbers wrapped around within one `Dispatch`,
//! a word that was left behind could not be told from one that is ahead. Therefore the rounds come in *generations* of
//! `rounds_per_generation()` rounds, and each generation has a `Dispatch` of its own: the first generation the one in
//! the `LoopState`, each later generation a buffer of this pool. Bees may be in different generations, any number
//! apart. A buffer is reset and reused once all bees of the team have left it.

use std::collections::VecDeque;

use crate::loops::dispatch::Dispatch;
use crate::sync::{Mutex, OnceLock};

/// The number of rows in a pool. Row r holds 2^r buffers, so 32 rows are enough for all buffer numbers.
const ROWS: usize = u32::BITS as usize;

/// The buffers of all generations but the first. They are allocated when a bee needs one, in rows: row r holds 2^r
/// buffers. So a buffer never moves, and its number tells the row and the place in it.
pub(crate) struct BufferPool {
    /// The largest number of bees that a team may have.
    bees: usize,
    /// Row r has the buffers with the numbers from 2^r - 1 to 2^(r + 1) - 2.
    rows: [OnceLock<Box<[Dispatch]>>; ROWS],
    /// A bee locks it once in each generation, which is so seldom that bees need not share it without a lock.
    use_of_buffers: Mutex<UseOfBuffers>,
}

/// Which generations have which buffers. The first generation has number 0 and none of these.
#[derive(Default)]
struct UseOfBuffers {
    /// How many generations, from number 1 on, all bees have left.
    over: u64,
    /// The buffers of the generations after these, each with how many bees have left it.
    in_use: VecDeque<(u32, u32)>,
    /// All other buffers that there are. They are as new.
    free: Vec<u32>,
}

impl BufferPool {
    /// A pool without buffers, for teams of up to `bees` bees.
    pub(crate) fn new(bees: usize) -> Self {
        Self { bees, rows: [(); ROWS].map(|()| OnceLock::new()), use_of_buffers: Mutex::default() }
    }

    /// Takes one bee of a team of `bees` bees to generation `generation`, from the one before it. Returns the number of
    /// its buffer. Each bee goes through all generations from number 1 on.
    #[cold]
    pub(crate) fn advance(&self, generation: u64, bees: u32) -> u32 {
        let UseOfBuffers { over, in_use, free } = &mut *self.use_of_buffers.lock();
        let place = (generation - 1 - *over) as usize;
        if place == in_use.len() {
            // The first bee that gets here. If no buffer is free, all that there are are in use.
            in_use.push_back((free.pop().unwrap_or(in_use.len() as u32), 0));
        }
        let (next, _) = in_use[place];
        // The generation before: none of these if it is the first one, whose words `LoopState::reset` resets.
        if let Some((buffer, departed)) = place.checked_sub(1).and_then(|before| in_use.get_mut(before)) {
            *departed += 1;
            if *departed == bees {
                // The last bee to leave frees the buffer. All have left the earlier generations as well, so this is the
                // first that is in use. The lock orders what the others did to the buffer before the reset, and the
                // reset before what its next users do.
                self.dispatch(*buffer).reset();
                free.push(*buffer);
                in_use.pop_front();
                *over += 1;
            }
        }
        next
    }

    /// The shared words of buffer `number`. Allocates its row if that is not there yet.
    pub(crate) fn dispatch(&self, number: u32) -> &Dispatch {
        let row = (number + 1).ilog2();
        let all = self.rows[row as usize].get_or_init(|| (0..1_u32 << row).map(|_| Dispatch::new(self.bees)).collect());
        &all[(number + 1 - (1 << row)) as usize]
    }

    /// Resets and frees all buffers, also those that bees have not left because they panicked. No other bee may be
    /// using any of them.
    pub(crate) fn reset(&self) {
        let UseOfBuffers { over, in_use, free } = &mut *self.use_of_buffers.lock();
        *over = 0;
        free.extend(in_use.drain(..).map(|(buffer, _)| buffer).inspect(|buffer| self.dispatch(*buffer).reset()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl BufferPool {
        /// How many buffers are in use, and how many are free.
        fn counts(&self) -> (usize, usize) {
            let buffers = self.use_of_buffers.lock();
            (buffers.in_use.len(), buffers.free.len())
        }
    }

    #[test]
    fn all_bees_go_from_a_generation_to_the_same_buffer() {
        let pool = BufferPool::new(3);
        let next = [(); 3].map(|()| pool.advance(1, 3));
        assert_eq!(next, [next[0]; 3]);
        let after = [(); 3].map(|()| pool.advance(2, 3));
        assert!(after == [after[0]; 3] && after[0] != next[0]);
    }

    #[test]
    fn bees_that_keep_together_need_two_buffers() {
        let pool = BufferPool::new(2);
        for generation in 1..1_000 {
            assert_eq!(pool.advance(generation, 2), pool.advance(generation, 2));
        }
        assert_eq!(pool.counts(), (1, 1));
    }

    #[test]
    fn a_bee_ahead_gets_a_buffer_for_each_generation_and_the_others_find_them() {
        const GENERATIONS: u64 = 100;
        let pool = BufferPool::new(2);
        let run = || (1..=GENERATIONS).map(|generation| pool.advance(generation, 2)).collect::<Vec<_>>();
        let ahead = run();
        assert_eq!(ahead, (0..GENERATIONS as u32).collect::<Vec<_>>());
        assert_eq!(pool.counts(), (100, 0));
        assert_eq!(run(), ahead);
        assert_eq!(pool.counts(), (1, 99), "both bees are in the last one");
    }

    #[test]
    fn a_buffer_is_as_new_when_all_have_left_it() {
        let pool = BufferPool::new(2);
        let buffer = pool.advance(1, 2);
        assert_eq!(pool.advance(1, 2), buffer);
        assert_eq!(pool.dispatch(buffer).queue.take(3, 5, |_| 5), Some(0..5));
        assert_ne!(pool.advance(2, 2), buffer);
        assert_eq!(pool.dispatch(buffer).queue.take(1, 5, |_| 5), None, "somebody is still in it");
        pool.advance(2, 2);
        assert_eq!(pool.dispatch(buffer).queue.take(1, 5, |_| 5), Some(0..5));
    }

    #[test]
    fn a_reset_frees_what_bees_have_not_left() {
        let pool = BufferPool::new(2);
        let buffers = [1, 2, 3].map(|generation| pool.advance(generation, 2));
        assert_eq!(pool.dispatch(buffers[1]).queue.take(3, 5, |_| 5), Some(0..5));
        pool.reset();
        assert_eq!(pool.counts(), (0, 3));
        assert_eq!(pool.dispatch(buffers[1]).queue.take(1, 5, |_| 5), Some(0..5));
        assert_eq!(pool.advance(1, 2), pool.advance(1, 2));
    }
}
