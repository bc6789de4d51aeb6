//! What the bees of a team share of a loop while they run it.

use crossbeam_utils::CachePadded;

use crate::loops::buffer_pool::{BufferPool, Link};
use crate::loops::dispatch::Dispatch;
use crate::protocol::region::region_context::RegionContext;
use crate::sync::{AtomicU64, OnceLock, Ordering, rounds_per_generation};

/// What is used of a board that a loop has for itself. A word that was left alone for many rounds could not be told from one that is ahead, so no board is used for both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DispatchKind {
    Ranges,
    Queue,
}

/// The words of a team's rounds.
pub(crate) struct LoopState {
    /// The key of the region that the rest is for; `RESETTING` while somebody makes it so.
    region: CachePadded<AtomicU64>,
    /// Those of the first generation, and what each bee knows of where it is.
    first: Dispatch,
    /// From there to the second.
    first_link: Link,
    /// The others. Few loops are run so often in one region.
    later: OnceLock<Box<BufferPool>>,
}

const RESETTING: u64 = 0;

impl LoopState {
    /// For a team of up to `members`.
    pub(crate) fn new(bees: u32) -> Self {
        let region = CachePadded::new(AtomicU64::new(RESETTING + 1));
        Self { region, first: Dispatch::new(bees as usize), first_link: Link::new(), later: OnceLock::new() }
    }

    pub(crate) fn bees(&self) -> usize {
        self.first.bees()
    }

    /// Whether `barriers_passed` is the last in which anything was taken, on a board of which this is used, and whose rounds nobody
    /// begins. What is not used of it stays in round 0, and so would pass for used when the rounds wrap.
    pub(crate) fn has_finished(&self, kind: DispatchKind, round: u16) -> bool {
        match kind {
            DispatchKind::Ranges => self.first.range(0).is_in_round(round),
            DispatchKind::Queue => self.first.queue().is_in_round(round),
        }
    }

    /// The words of a round that nobody has to begin: all bees are in the same one.
    pub(crate) fn only_dispatch(&self) -> &Dispatch {
        &self.first
    }

    /// Begins a round as `member`. Returns its words, and its number as they have it.
    pub(crate) fn begin_round(&self, context: &RegionContext<'_>) -> (&Dispatch, u16) {
        self.reset_for_region(context);
        let (own, rounds) = (self.first.range(context.id()), rounds_per_generation());
        let rounds_before = own.count_round();
        // 0 is the round of new words.
        let round = (rounds_before % rounds) as u16 + 1;
        if rounds_before < rounds {
            own.discard_before(round);
            return (&self.first, round);
        }
        let dispatch = self.later_dispatch(context, rounds_before % rounds == 0);
        dispatch.range(context.id()).discard_before(round);
        (dispatch, round)
    }

    /// The words of a generation after the first. `is_new`: the bee comes there with this round.
    #[inline(never)]
    fn later_dispatch(&self, context: &RegionContext<'_>, is_new: bool) -> &Dispatch {
        let own = self.first.range(context.id());
        let later = self.later.get_or_init(|| Box::new(BufferPool::new(self.bees())));
        if is_new {
            own.set_buffer(later.advance(&self.first_link, own.buffer(), context.bees()));
        }
        // It is in one since it came to the second generation.
        own.buffer().map_or(&self.first, |buffer| later.dispatch(buffer))
    }

    /// Sees that the board is for the region that `member` is in: the first that comes makes it so.
    fn reset_for_region(&self, context: &RegionContext<'_>) {
        let key = context.region_key().max(RESETTING + 1);
        // Acquire: pairs with the Release below; the words are as new.
        let mut region = self.region.load(Ordering::Acquire);
        while region != key {
            // Relaxed, both: the region that the words were for is over, and whatever its bees did to them has happened before this one began.
            if region != RESETTING
                && self.region.compare_exchange(region, RESETTING, Ordering::Relaxed, Ordering::Relaxed).is_ok()
            {
                self.reset();
                // Release: pairs with the Acquire above.
                self.region.store(key, Ordering::Release);
                return;
            }
            // Relaxed: looked at again below.
            context.wait_until(|| self.region.load(Ordering::Relaxed) != RESETTING);
            // Acquire: as above.
            region = self.region.load(Ordering::Acquire);
        }
    }

    /// As new. Nobody else may be at it.
    fn reset(&self) {
        self.first.reset();
        self.first_link.reset();
        if let Some(later) = self.later.get() {
            later.reset();
        }
    }
}
