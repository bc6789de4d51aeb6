//! What the word of a barrier says: the counts in it, and what they mean to a bee that waits. `barrier.rs` has the
//! barrier itself, which changes the word. The protocol and its proof are in `docs/barrier.md`.

use crate::protocol::region::max_bees::MAX_BEES;

/// The barrier's word.
///
/// ```text
///   63                           19   18   17  16             0
///  ┌──────────────────────────────┬────┬────┬────────────────┐
///  │           arrivals           │ L  │ B  │     exits      │
///  └──────────────────────────────┴────┴────┴────────────────┘
/// ```
///
/// - `arrivals`: how many times a bee has arrived at a barrier. The count continues from region to region, modulo 2^45:
///   see [`Arrivals`].
/// - `L`, `LEADER_BLOCKED`: the leader's body has returned, and the leader is blocked on its semaphore until the other
///   bees have exited. The leader sets and clears this flag. The bee whose exit completes `exits` posts the leader's
///   semaphore.
/// - `B`, `BLOCKED`: some bees may be blocked on their semaphores at a barrier. A bee sets this flag before it blocks.
///   The bee that completes the barrier, exits or poisons the region clears the flag and wakes them.
/// - `exits`: how many times a bee other than the leader has exited from a region. The count continues from region to
///   region. The leader resets it after a region that ends with `EXITS_BEFORE_RESET` exits or more. A team has fewer
///   bees than that, so the exits of one region cannot carry the count into the flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BarrierWord(pub(super) u64);

impl BarrierWord {
    pub(super) const EXIT: u64 = 1;
    pub(super) const BLOCKED: u64 = 1 << 17;
    pub(super) const LEADER_BLOCKED: u64 = 1 << 18;
    pub(super) const ARRIVAL: u64 = 1 << 19;

    pub(super) const EXITS_BEFORE_RESET: u64 = 1 << 16;

    /// A count of exits with which no region ends.
    pub(super) const IMPOSSIBLE_EXITS: u64 = Self::BLOCKED - 1;

    /// The first value of a barrier's word. `arrivals` is about to wrap and `exits` is about to be reset, so that every
    /// program and every model goes through both.
    pub(crate) const FIRST: Self = Self(Arrivals::FIRST.0 | (Self::EXITS_BEFORE_RESET - 2));

    #[inline(always)]
    pub(super) fn arrivals(self) -> Arrivals {
        Arrivals(self.0 & !(Self::ARRIVAL - 1))
    }

    #[inline(always)]
    pub(super) fn exits(self) -> u64 {
        self.0 & (Self::BLOCKED - 1)
    }

    /// Whether any of `flags` is set.
    pub(super) fn has_any(self, flags: u64) -> bool {
        self.0 & flags != 0
    }
}

/// A count of arrivals, modulo 2^45, kept in the bits where the word has it. It therefore wraps off the top of the word
/// and never reaches the flags, however many barriers a region has.
///
/// Two counts that are compared are never further apart than the number of bees in a team. So the sign of their
/// difference says which is ahead, also where one of them has wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrivals(pub(super) u64);

impl Arrivals {
    /// Three arrivals before the count wraps.
    pub(super) const FIRST: Self = Self(0u64.wrapping_sub(3 * BarrierWord::ARRIVAL));

    #[inline(always)]
    pub(super) fn plus(self, more: u64) -> Self {
        Self(self.0.wrapping_add(more.wrapping_mul(BarrierWord::ARRIVAL)))
    }

    /// The number of arrivals from `earlier` to this count.
    #[inline(always)]
    pub(super) fn since(self, earlier: Self) -> u64 {
        self.0.wrapping_sub(earlier.0) / BarrierWord::ARRIVAL
    }

    pub(super) fn minus_one(self) -> Self {
        Self(self.0.wrapping_sub(BarrierWord::ARRIVAL))
    }

    #[inline(always)]
    fn has_reached(self, goal: Self) -> bool {
        self.0.wrapping_sub(goal.0) as i64 >= 0
    }
}

/// The counts of a barrier's word at the beginning of a region, without flags. The group's leader keeps it from region
/// to region (in its `LedGroups`) and publishes it to the other bees in the region's `StartOrder`.
pub(crate) type BaseCount = BarrierWord;

/// What a bee needs in order to interpret the word. Each bee of the group computes the same view at the same barrier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    /// How many bees of the region's team are in the group, the leader included.
    pub(crate) bees: u32,
    /// Whether the leader waits for the other bees' arrivals before it arrives itself. True for each group whose leader
    /// represents it in a wider group of the team.
    pub(crate) is_collected: bool,
    /// The counts at the beginning of the region.
    pub(crate) base: BaseCount,
    /// How many barriers of the region the bee has passed.
    pub(crate) barriers_passed: u64,
}

impl View {
    /// The count of arrivals that completed the last barrier the bee has passed.
    pub(super) fn arrivals_at_last_barrier(&self) -> Arrivals {
        self.base.arrivals().plus(self.barriers_passed.wrapping_mul(u64::from(self.bees)))
    }

    /// The count of arrivals that completes the next barrier.
    pub(super) fn goal(&self) -> Arrivals {
        self.arrivals_at_last_barrier().plus(u64::from(self.bees))
    }

    /// The counts of the word after all bees but the leader have exited, each after as many barriers as the leader.
    #[inline(always)]
    pub(super) fn clean_end(&self) -> BarrierWord {
        let others = u64::from(self.bees - 1);
        BarrierWord(self.arrivals_at_last_barrier().0 | (self.base.exits() + others * BarrierWord::EXIT))
    }

    /// What `word` means to a bee that waits until the count of arrivals has reached `arrivals`. `None`: keep waiting.
    /// `is_poisoned` says whether the region is poisoned, and must be read after the word: a bee that panics poisons
    /// the region before it counts its exit, so whoever sees that exit also sees the poison, and takes the exit for no
    /// mismatch.
    ///
    /// The poison is checked before the count, because a bee that the poison has released may arrive once more, in a
    /// destructor or because the program caught the unwinding, and is then counted twice.
    #[inline(always)]
    pub(super) fn barrier_outcome(
        &self,
        word: BarrierWord,
        arrivals: Arrivals,
        is_poisoned: bool,
    ) -> Option<Result<(), BarrierError>> {
        if is_poisoned {
            Some(Err(BarrierError::Poisoned))
        } else if word.arrivals().has_reached(arrivals) {
            Some(Ok(()))
        } else if word.exits() != self.base.exits() || word.has_any(BarrierWord::LEADER_BLOCKED) {
            // The body of some bee has returned although the barrier is not complete. That bee will not arrive any
            // more, so the barrier will never be complete.
            Some(Err(BarrierError::Mismatch))
        } else {
            None
        }
    }

    /// What `word` means to the leader, whose body has returned. `None`: keep waiting. `is_poisoned` says whether the
    /// region is poisoned, and must be read after the word.
    #[inline(always)]
    pub(super) fn end_outcome(&self, word: BarrierWord, is_poisoned: bool) -> Option<RegionEnd> {
        let clean = self.clean_end();
        if word.exits() == clean.exits() {
            // BLOCKED may still be set, because a late waker has not cleared it yet. The next region tolerates that.
            Some(if is_poisoned { RegionEnd::Poisoned } else { RegionEnd::Clean })
        } else if !clean.arrivals().has_reached(word.arrivals()) && !is_poisoned {
            // There are more arrivals than the leader's barriers account for: a bee waits at a barrier at which the
            // leader will not arrive.
            Some(RegionEnd::Mismatch)
        } else {
            None
        }
    }
}

/// Why a wait at a barrier ended although the barrier was not completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarrierError {
    /// Another bee has poisoned the region, because it panicked or found a mismatch.
    Poisoned,
    /// The body of another bee has returned without arriving at this barrier.
    Mismatch,
}

/// The result of a leader's wait at the end of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RegionEnd {
    /// All other bees have exited.
    Clean,
    /// All other bees have exited, and the region is poisoned.
    Poisoned,
    /// A bee waits at a barrier at which the leader's body did not arrive. The region has not ended.
    Mismatch,
}

// The exits of one region carry a count below `EXITS_BEFORE_RESET` neither into the flags nor to `IMPOSSIBLE_EXITS`.
const _: () = assert!(BarrierWord::EXITS_BEFORE_RESET - 1 + (MAX_BEES as u64 - 1) < BarrierWord::IMPOSSIBLE_EXITS);

#[cfg(test)]
mod tests {
    use super::*;

    /// A word with `exits`, `flags`, and `arrivals` more arrivals than a new barrier begins with.
    fn word(exits: u64, flags: u64, arrivals: u64) -> BarrierWord {
        BarrierWord(Arrivals::FIRST.plus(arrivals).0 | flags | exits)
    }

    fn view(bees: u32, barriers_passed: u64) -> View {
        View { bees, is_collected: false, base: word(7, 0, 1), barriers_passed }
    }

    fn arrivals(number: u64) -> Arrivals {
        Arrivals::FIRST.plus(number)
    }

    #[test]
    fn a_barrier_is_complete_at_its_goal_and_stays_so() {
        let view = view(3, 1);
        // The third arrival wraps the count, so the goal, which is the seventh, is beyond the wrap.
        assert_eq!(view.goal(), arrivals(7));
        assert_eq!((arrivals(3), arrivals(7).since(arrivals(2))), (Arrivals(0), 5));
        assert_eq!(view.barrier_outcome(word(7, 0, 2), arrivals(7), false), None);
        assert_eq!(view.barrier_outcome(word(7, 0, 6), arrivals(7), false), None);
        assert_eq!(view.barrier_outcome(word(7, 0, 7), arrivals(7), false), Some(Ok(())));
        assert_eq!(
            view.barrier_outcome(word(8, 0, 8), arrivals(7), false),
            Some(Ok(())),
            "others are past it, even gone"
        );
        assert_eq!(view.barrier_outcome(word(7, 0, 2), arrivals(2), false), Some(Ok(())));
        assert_eq!(
            view.barrier_outcome(word(7, 0, 3), arrivals(2), false),
            Some(Ok(())),
            "one more, with the wrap between them"
        );
    }

    #[test]
    fn a_barrier_that_somebody_left_out_is_seen_by_those_who_wait() {
        let view = view(3, 0);
        assert_eq!(
            view.barrier_outcome(word(8, 0, 3), arrivals(4), false),
            Some(Err(BarrierError::Mismatch)),
            "a bee has left"
        );
        let leader_gone = word(7, BarrierWord::LEADER_BLOCKED, 3);
        assert_eq!(view.barrier_outcome(leader_gone, arrivals(4), false), Some(Err(BarrierError::Mismatch)));
        assert_eq!(view.barrier_outcome(word(8, 0, 3), arrivals(4), true), Some(Err(BarrierError::Poisoned)));
    }

    #[test]
    fn a_region_has_ended_when_all_bees_have_left() {
        let view = view(3, 0);
        assert_eq!(view.clean_end(), word(9, 0, 1));
        assert_eq!(view.end_outcome(word(8, 0, 1), false), None);
        assert_eq!(view.end_outcome(word(9, 0, 1), false), Some(RegionEnd::Clean));
        assert_eq!(
            view.end_outcome(word(9, BarrierWord::BLOCKED, 1), false),
            Some(RegionEnd::Clean),
            "taken down late"
        );
        assert_eq!(view.end_outcome(word(9, 0, 2), true), Some(RegionEnd::Poisoned));
        assert_eq!(view.end_outcome(word(8, 0, 2), false), Some(RegionEnd::Mismatch));
        assert_eq!(view.end_outcome(word(8, 0, 3), false), Some(RegionEnd::Mismatch), "with the wrap between them");
        assert_eq!(view.end_outcome(word(8, 0, 2), true), None, "they are on their way out");
    }
}
