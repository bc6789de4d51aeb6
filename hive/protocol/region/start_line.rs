//! The start signal: one atomic word that says which region is on and how large its team is, and beside it, in the same
//! cache line, what the team is to do. One transfer of that line starts a bee.

use std::fmt;

use crate::protocol::region::barrier::{Barrier, BaseCount};
use crate::protocol::region::body::BodyFn;
use crate::protocol::region::closure_cell;
use crate::protocol::region::closure_cell::ClosureCell;
use crate::sync::{AtomicU64, Ordering, UnsafeCell};

/// The largest team that a start word can name.
pub(crate) const MAX_BEES: u32 = u16::MAX as u32;

/// The start word: a count of the regions so far, and the team of the latest.
///
/// ```text
///   63                                   16 15            0
///  ┌───────────────────────────────────────┬───────────────┐
///  │                epoch                  │     team      │
///  └───────────────────────────────────────┴───────────────┘
/// ```
///
/// They share a word so that no bee pairs the epoch of one region with the team of another. The epoch counts on and never flips
/// back, so a bee that was away for any number of regions takes no old one for a new one: at ten million regions a
/// second it comes round after most of a year, and even then misleads only a bee that slept through exactly that many.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct StartWord(u64);

impl StartWord {
    const BEES_BITS: u32 = 16;

    /// A word that calls nobody.
    pub(crate) const NONE: Self = Self(0);

    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    pub(crate) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The word of the region after this one, for a team of `team`.
    pub(crate) fn next(self, bees: u32) -> Self {
        debug_assert!((1..=MAX_BEES).contains(&bees), "a team of {bees}");
        let epoch = self.epoch().wrapping_add(1);
        Self((epoch << Self::BEES_BITS) | u64::from(bees))
    }

    pub(crate) fn epoch(self) -> u64 {
        self.0 >> Self::BEES_BITS
    }

    pub(crate) fn bees(self) -> u32 {
        (self.0 & u64::from(MAX_BEES)) as u32
    }

    /// Whether bee `id`, which has seen all regions up to epoch `last_epoch`, has a part in this region still to run.
    #[inline(always)]
    pub(crate) fn includes(self, id: u32, last_epoch: u64) -> bool {
        self.epoch() != last_epoch && id < self.bees()
    }
}

impl fmt::Debug for StartWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StartWord {{ epoch: {}, bees: {} }}", self.epoch(), self.bees())
    }
}

/// What the team of one region is to do, and where its counts begin. Copied by each bee before it starts.
#[derive(Clone, Copy)]
pub(crate) struct StartOrder {
    pub(crate) body_fn: BodyFn,
    /// Where the counts of the barrier stand as the region begins.
    pub(crate) base: BaseCount,
}

/// The cache line through which the queen starts the bees, and hears of them.
#[repr(C, align(128))]
pub(crate) struct StartLine {
    word: AtomicU64,
    /// Where small teams meet. In the same line as the word, because a line goes to whoever polls it: the bee that has read the
    /// start owns what it writes its arrival to, and the queen who has read that owns what she writes the next start to. In
    /// two lines each write would first have to fetch its own back, and a region would take twice as long. With many bees
    /// those who have arrived, and poll the word, would be in the way of those who have not.
    pub(crate) near_barrier: Barrier,
    order: UnsafeCell<StartOrder>,
    /// Laid out before the order is published.
    pub(crate) closure_cell: ClosureCell,
}

// The line must hold all of it.
const _: () = assert!(size_of::<u64>() + size_of::<Barrier>() + size_of::<StartOrder>() + closure_cell::SIZE <= 64);

#[expect(unsafe_code, reason = "order and berth are shared by the protocol on the word, which the compiler cannot see")]
// SAFETY: `is_order` is written by `publish` only, whose callers promise that no bee reads it then, and a part is laid into `berth` and taken out of it
// under the like promise.
unsafe impl Sync for StartLine {}

impl StartLine {
    pub(crate) fn new() -> Self {
        let order = StartOrder { body_fn: BodyFn::unset(), base: BaseCount::first() };
        Self {
            word: AtomicU64::new(0),
            near_barrier: Barrier::new(),
            order: UnsafeCell::new(order),
            closure_cell: ClosureCell::new(),
        }
    }

    /// The word as it is now.
    #[inline(always)]
    pub(crate) fn load(&self) -> StartWord {
        // Acquire: pairs with the Release in `publish`; makes the order, and what the queen wrote before, visible.
        StartWord(self.word.load(Ordering::Acquire))
    }

    /// Starts the region of `word` in the group: the next that its bees hear of.
    ///
    /// # Safety
    /// The caller is the group's head, or holds the turn where that is bee 0, and every bee of the group that the last word called has left.
    #[inline(always)]
    #[expect(unsafe_code, reason = "writes the shared order")]
    pub(crate) unsafe fn publish(&self, word: StartWord, order: StartOrder) {
        // SAFETY: bees read the order between the word that calls them and their leaving. Those called last have left, nobody else has been called, and
        // only the head writes.
        self.order.with_mut(|target| unsafe { target.write(order) });
        // Release: pairs with the Acquire in `load`; publishes the order.
        self.word.store(word.0, Ordering::Release);
    }

    /// The order of the region that `word` started.
    ///
    /// # Safety
    /// `word` came from `load`, calls the calling bee, and the bee has not arrived at that region's end.
    #[inline(always)]
    #[expect(unsafe_code, reason = "reads the shared order")]
    pub(crate) unsafe fn order(&self) -> StartOrder {
        // SAFETY: the next write waits for the calling bee's arrival; the last was published by the word it saw.
        self.order.with(|order| unsafe { *order })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_word_includes_each_bee_of_its_team_once() {
        let word = StartWord(0).next(3);
        assert_eq!((word.epoch(), word.bees()), (1, 3));
        assert!(word.includes(0, 0) && word.includes(2, 0));
        assert!(!word.includes(3, 0), "bee 3 of a team of 3");
        assert!(!word.includes(2, 1), "called twice in one epoch");
    }

    #[test]
    fn two_regions_never_look_like_none() {
        // With a one-bit epoch they would: the flag is back where it was.
        let before = StartWord(0).next(2);
        let after = before.next(2).next(2);
        assert!(after.includes(1, before.epoch()));
    }

    #[test]
    fn the_largest_team_leaves_the_epoch_alone() {
        let word = StartWord(0).next(MAX_BEES).next(MAX_BEES);
        assert_eq!((word.epoch(), word.bees()), (2, MAX_BEES));
    }

    #[test]
    fn the_epoch_wraps_without_touching_the_team() {
        let last = StartWord(!0 << StartWord::BEES_BITS);
        let word = last.next(7);
        assert_eq!((word.epoch(), word.bees()), (0, 7));
        assert!(word.includes(1, last.epoch()));
    }
}
