//! What the bees of a team share of a loop while they run it. Each `Loop` whose chunks are handed out at run time has a
//! `LoopState`, made by the bee that first needs it or taken from the cache. `Loop::begin_round` calls `begin_round` at
//! the start of each round. The protocol is described in `docs/loops.md`, as steps LR1 and LR2.
//!
//! A *generation* is as many rounds as the 16-bit round numbers in the words can tell apart; each has words of its own,
//! since bees may be in different rounds.

use crossbeam_utils::CachePadded;

use crate::loops::buffer_pool::BufferPool;
use crate::loops::dispatch::{Dispatch, Round};
use crate::protocol::region::region_context::RegionContext;
use crate::sync::{AtomicU64, OnceLock, Ordering, rounds_per_generation};

/// Which part of the first `Dispatch` a loop with a cached loop state uses: the work ranges or the queue. The unused
/// part stays in an old round, and after many rounds its words could not be told from words that are ahead. So each
/// cached state is used for one kind only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DispatchKind {
    Ranges,
    Queue,
}

/// The shared words of all rounds of a loop.
pub(crate) struct LoopState {
    /// The key of the region for which the other fields have been reset. `RESETTING` while a bee is resetting them.
    /// Written by the first bee of each region that begins a round.
    region: CachePadded<AtomicU64>,
    /// The words of the first generation. Its work ranges also record, for every generation, how many rounds their bee
    /// has begun and which buffer the bee is in. A loop with a cached state, whose bees are all in the same round
    /// anyway, uses only these.
    pub(crate) first: Dispatch,
    /// The buffers of the later generations. Made when first needed: few loops are run so often in one region.
    later: OnceLock<Box<BufferPool>>,
}

/// Stands in `region` while a bee resets the other fields. A region's key is a hash, which may be this number. Then
/// `reset_for_region` takes the next number for it.
const RESETTING: u64 = 0;

impl LoopState {
    /// For teams of up to `bees` bees.
    pub(crate) fn new(bees: u32) -> Self {
        // Any key but `RESETTING` will do. The first region normally finds a key other than its own and resets the
        // words, which are new anyway.
        let region = CachePadded::new(AtomicU64::new(RESETTING + 1));
        Self { region, first: Dispatch::new(bees as usize), later: OnceLock::new() }
    }

    /// The largest number of bees that a team may have.
    pub(crate) fn bees(&self) -> usize {
        self.first.bees()
    }

    /// Whether the team has finished `round`. Only for a cached state, of which only `kind` is used and whose rounds do
    /// not go through `begin_round`; called after the region has returned, so either all bees have been through the
    /// round or none has used the state. So it is enough to look at the queue, or at the work range of bee 0. The words
    /// of the other kind stay in round 0 and say nothing: they would seem to have finished when the round number wraps
    /// around to 0.
    pub(crate) fn has_finished(&self, kind: DispatchKind, round: u16) -> bool {
        match kind {
            DispatchKind::Ranges => self.first.range(0).is_in_round(round),
            DispatchKind::Queue => self.first.queue.is_in_round(round),
        }
    }

    /// Begins the calling bee's next round.
    pub(crate) fn begin_round(&self, context: &RegionContext<'_>) -> Round<'_> {
        self.reset_for_region(context);
        let (own, rounds) = (self.first.range(context.id), rounds_per_generation());
        // The count is kept in the first generation's work range, whichever generation the bee is in.
        let rounds_before = own.count_round();
        // Rounds are numbered from 1 in each generation: new words are in round 0.
        let round = (rounds_before % rounds) as u16 + 1;
        if rounds_before < rounds {
            return (&self.first, round);
        }
        (self.later_dispatch(context, rounds_before), round)
    }

    /// Begins the calling bee's next round, of words whose rounds are of different loops. `uses_range`: whether the bee
    /// takes units from its work range in this round.
    pub(crate) fn begin_round_of_any_loop(&self, context: &RegionContext<'_>, uses_range: bool) -> Round<'_> {
        let (dispatch, round) = self.begin_round(context);
        if !uses_range {
            // The loop of the next round may need this bee's work range, which must not skip a round.
            dispatch.range(context.id).publish(round, &(0..0));
        }
        (dispatch, round)
    }

    /// The region that used the words last, if only one of its bees did.
    pub(crate) fn region_of_only_user(&self) -> Option<u64> {
        // Relaxed, both: the caller owns the state, so whoever else has used it has handed it over by other means.
        let users = (0..self.bees() as u32).filter(|id| self.first.range(*id).has_begun()).count();
        (users == 1).then(|| self.region.load(Ordering::Relaxed))
    }

    /// The words for the calling bee's next round, which is of a later generation than the first. `rounds_before`: how
    /// many rounds the bee has begun before.
    #[inline(never)]
    fn later_dispatch(&self, context: &RegionContext<'_>, rounds_before: u64) -> &Dispatch {
        let (own, rounds) = (self.first.range(context.id), rounds_per_generation());
        let later = self.later.get_or_init(|| Box::new(BufferPool::new(self.bees())));
        if rounds_before % rounds == 0 {
            // The first round of a generation.
            own.set_buffer(later.advance(rounds_before / rounds, context.bees));
        }
        // The bee has a buffer since it came to the second generation, so the default is never used.
        own.buffer().map_or(&self.first, |buffer| later.dispatch(buffer))
    }

    /// Makes sure that the state has been reset for the region that the calling bee is in. The first bee that gets here
    /// resets it; the others wait until that is done. The team is of several bees: teams of one, which have one key for
    /// all in a hive, share a loop with nobody and need no such state.
    fn reset_for_region(&self, context: &RegionContext<'_>) {
        // Not `RESETTING`.
        let key = context.region_key().max(RESETTING + 1);
        // Acquire: pairs with the Release store below. If the key is this region's, its reset is seen.
        let mut region = self.region.load(Ordering::Acquire);
        while region != key {
            // The state belongs to an earlier region. One bee claims the reset by setting `RESETTING`.
            //
            // Relaxed, both: there is nothing to acquire from the earlier region here. It is over, and all that its
            // bees did to the words happened before this region began. A failure is looked at again below.
            if region != RESETTING
                && self.region.compare_exchange(region, RESETTING, Ordering::Relaxed, Ordering::Relaxed).is_ok()
            {
                self.reset();
                // Release: pairs with the Acquire loads above and below; publishes the reset.
                self.region.store(key, Ordering::Release);
                return;
            }
            // Relaxed: this only waits for a change. The Acquire load below reads the value that counts.
            context.wait_until(|| self.region.load(Ordering::Relaxed) != RESETTING);
            // Acquire: pairs with the Release store above, as the first load does.
            region = self.region.load(Ordering::Acquire);
        }
    }

    /// Puts everything but the key into its initial state. No other bee may be using it.
    fn reset(&self) {
        self.first.reset();
        if let Some(later) = self.later.get() {
            later.reset();
        }
    }
}
