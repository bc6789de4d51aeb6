//! The start line of a group: the cache line through which the group's leader starts the workers in a region. It holds
//! the start word, which says which region it is and how many bees its team has, the order that says what they are to
//! run, the closure itself if it is small, and the barrier of small teams. One transfer of this line starts a worker.
//!
//! `queen.rs` publishes each region here. A worker's main loop (`worker/main_loop.rs`) polls the start line of its
//! group and reads the order. The protocol and its proof are in `docs/start.md`; for teams of several groups see
//! `docs/shape.md`.

use crate::protocol::region::barrier::Barrier;
use crate::protocol::region::barrier_word::BaseCount;
use crate::protocol::region::body::BodyFn;
use crate::protocol::region::closure_cell;
use crate::protocol::region::closure_cell::ClosureCell;
use crate::protocol::region::max_bees::MAX_BEES;
use crate::sync::{AtomicU64, Ordering, UnsafeCell};

/// The start word: the epoch, which counts the regions so far, and the number of bees in the latest region's team.
///
/// ```text
///   63                                   16 15            0
///  ┌───────────────────────────────────────┬───────────────┐
///  │                epoch                  │     bees      │
///  └───────────────────────────────────────┴───────────────┘
/// ```
///
/// Both are in one word so that no worker combines the epoch of one region with the team of another.
///
/// The epoch starts at zero and grows by one with each region. It has 48 bits, so that a worker that slept through any
/// number of regions does not take an old region for a new one: at ten million regions a second it wraps after most of
/// a year, and even then misleads only a worker that slept through exactly 2^48 regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StartWord(u64);

impl StartWord {
    const BEES_BITS: u32 = 16;

    /// A word that includes no bee.
    pub(crate) const NONE: Self = Self(0);

    /// The word of the next region, whose team has `bees` bees.
    pub(crate) fn next(self, bees: u32) -> Self {
        debug_assert!((1..=MAX_BEES).contains(&bees), "a team of {bees}");
        let epoch = self.epoch().wrapping_add(1);
        Self((epoch << Self::BEES_BITS) | u64::from(bees))
    }

    /// Whether this word's region comes after that of `other`, although epochs wrap.
    #[inline(always)]
    pub(crate) fn is_after(self, other: Self) -> bool {
        (self.0.wrapping_sub(other.0) as i64) > 0
    }

    pub(crate) fn epoch(self) -> u64 {
        self.0 >> Self::BEES_BITS
    }

    pub(crate) fn bees(self) -> u32 {
        (self.0 & u64::from(MAX_BEES)) as u32
    }

    /// Whether bee `id` is in the team of this region and has not run its body yet. `last_epoch` is the epoch of the
    /// last start word that the bee has seen.
    #[inline(always)]
    pub(crate) fn includes(self, id: u32, last_epoch: u64) -> bool {
        self.epoch() != last_epoch && id < self.bees()
    }
}

/// What the workers of a group are to run in one region. Each of them copies it before it starts.
#[derive(Clone, Copy)]
pub(crate) struct StartOrder {
    /// Runs the closure that is in the line's closure cell.
    pub(crate) body_fn: BodyFn,
    /// The counts of the group's barrier as the region begins.
    pub(crate) base: BaseCount,
}

/// The cache line through which a group's leader starts the workers of the group and, in small teams, waits for them.
///
/// It is aligned to 128 bytes, not 64, because some processors prefetch lines in pairs.
#[repr(C, align(128))]
pub(crate) struct StartLine {
    /// The start word of the last region in which the group had workers. Written by the leader only, in `publish`;
    /// polled by the workers.
    word: AtomicU64,
    /// The barrier of teams with up to `MAX_NEAR_BEES` bees in the group.
    ///
    /// It is in the same line as the word, because the processor gives a line, with the right to write it, to the core
    /// that polls it. So the worker that has read the start word owns the line to which it writes its exit, and the
    /// leader that has read this exit owns the line to which it writes the next start word. If the two were in separate
    /// lines, each write would first have to fetch its line back, and a region would take twice as long. Larger teams
    /// have their barrier in another line: the bees that have arrived would poll this one, and get in the way of those
    /// that have not.
    pub(crate) near_barrier: Barrier,
    /// The order of the region that the word started. Written by the leader before the word, and read by the workers
    /// that the word includes, until they exit.
    order: UnsafeCell<StartOrder>,
    /// The closure of that region or a pointer to it. Written by the leader before the word, like the order.
    pub(crate) closure_cell: ClosureCell,
}

// All of it but the words of large closures must be in one line of 64 bytes.
const _: () =
    assert!(size_of::<u64>() + size_of::<Barrier>() + size_of::<StartOrder>() + closure_cell::NEAR_SIZE <= 64);

#[expect(unsafe_code, reason = "the start word, not the compiler, says who may use the order and the closure cell")]
// SAFETY: `order` is written only by `publish`, whose caller promises that no worker reads it at that time.
// `closure_cell` is written only by its unsafe functions and by the guard that one of them returns, and their callers
// make the same promise.
unsafe impl Sync for StartLine {}

impl StartLine {
    pub(crate) fn new() -> Self {
        let order = StartOrder { body_fn: BodyFn::unset(), base: BaseCount::FIRST };
        Self {
            word: AtomicU64::new(0),
            near_barrier: Barrier::new(),
            order: UnsafeCell::new(order),
            closure_cell: ClosureCell::new(),
        }
    }

    /// The current start word.
    #[inline(always)]
    pub(crate) fn load(&self) -> StartWord {
        // Acquire: pairs with the Release in `publish`; makes the order, and what the leader wrote before, visible.
        StartWord(self.word.load(Ordering::Acquire))
    }

    /// Starts the region of `word` in the group: publishes the order, and then the word.
    ///
    /// # Safety
    /// The caller is the group's leader. (If that is bee 0, the caller holds the queen lock.) Every worker of the
    /// group that the last published word included has exited from its region.
    #[inline(always)]
    #[expect(unsafe_code, reason = "writes the shared order")]
    pub(crate) unsafe fn publish(&self, word: StartWord, order: StartOrder) {
        // SAFETY: a worker reads the order only between the word that includes it and its exit. The workers that the
        // last word included have exited, no word has been published since, and only the leader writes the order.
        self.order.with_mut(|target| unsafe { target.write(order) });
        // Release: pairs with the Acquire in `load`; publishes the order, the closure cell, and what the leader did
        // before.
        self.word.store(word.0, Ordering::Release);
    }

    /// The order of the region that the current start word has started.
    ///
    /// # Safety
    /// The caller has read this word with `load`, the word includes the calling bee, and the bee has not exited from
    /// the region yet.
    #[inline(always)]
    #[expect(unsafe_code, reason = "reads the shared order")]
    pub(crate) unsafe fn order(&self) -> StartOrder {
        // SAFETY: the last write was published by the word that the caller has read. The next write waits until the
        // calling bee has exited.
        self.order.with(|order| unsafe { *order })
    }
}

/// A start word that is kept outside of the start lines, because no worker starts by it: that of a region that has been
/// announced (`Team::announced_region`), or of one that its queen has begun alone (`Team::last_unstarted`).
#[derive(Default)]
pub(crate) struct StartWordCell(AtomicU64);

impl StartWordCell {
    pub(crate) fn set(&self, word: StartWord) {
        // Relaxed, here and below. The word of an announced region is ordered by the fences in
        // `Team::try_announce_region` and `Team::try_mark_looking`. From the word of the last unstarted region, queens
        // count on (`Team::region_word`); the queen lock orders that. Other threads only show it to people.
        self.0.store(word.0, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> StartWord {
        StartWord(self.0.load(Ordering::Relaxed))
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
        // With an epoch of one bit they would: after two regions it has its old value again.
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
        assert!(word.is_after(last) && !last.is_after(word) && !word.is_after(word));
    }
}
