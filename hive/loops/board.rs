//! What the members of a team share of a loop while they run it.

use std::ops::Range;

use crossbeam_utils::CachePadded;

use super::queue::Queue;
use super::share::Share;
use crate::crew::Member;
use crate::split;
use crate::sync::{AtomicU64, Ordering};

/// After so many rounds all members wait for one another, so that none is ever so far behind that the round in a word comes round.
const ROUNDS_TOGETHER: u32 = 1 << 12;

/// What is used of a board that a loop has for itself. A word that was left alone for many rounds could not be told from one that is ahead, so no board is used for both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Shares,
    Queue,
}

/// The shares of a team's members, and the one queue of the schedules that need no more.
pub(super) struct Board {
    /// The key of the region that the rest is for; `OPENING` while somebody makes it so.
    region: CachePadded<AtomicU64>,
    queue: Queue,
    shares: Box<[Share]>,
}

const OPENING: u64 = 0;

impl Board {
    /// For a team of up to `members`.
    pub(super) fn new(members: u32) -> Self {
        let shares = (0..members).map(|_| Share::new()).collect();
        Self { region: CachePadded::new(AtomicU64::new(OPENING + 1)), queue: Queue::new(), shares }
    }

    pub(super) fn members(&self) -> usize {
        self.shares.len()
    }

    /// Whether `round` is the last in which anything was taken, on a board of which this is used. What is not used of it stays in round 0, and so would pass for used when the rounds wrap.
    pub(super) fn has_been_through(&self, kind: Kind, round: u16) -> bool {
        match kind {
            Kind::Shares => self.share(0).is_in(round),
            Kind::Queue => self.queue.is_in(round),
        }
    }

    pub(super) fn queue(&self) -> &Queue {
        &self.queue
    }

    pub(super) fn share(&self, id: u32) -> &Share {
        &self.shares[id as usize]
    }

    /// Begins a round as `member`. Returns its number, as the words of shares have it.
    pub(super) fn begin_round(&self, member: &Member<'_>) -> u16 {
        self.open(member);
        let own = self.share(member.id());
        let rounds = own.count_round();
        if rounds % ROUNDS_TOGETHER == ROUNDS_TOGETHER - 1 {
            member.barrier();
        }
        // 0 is the round of new words.
        let round = rounds.wrapping_add(1) as u16;
        own.forsake_before(round);
        round
    }

    /// Sees that the board is for the region that `member` is in: the first that comes makes it so.
    fn open(&self, member: &Member<'_>) {
        let key = member.region_key().max(OPENING + 1);
        // Acquire: pairs with the Release below; the words are as new.
        let mut region = self.region.load(Ordering::Acquire);
        while region != key {
            // Relaxed, both: the region that the words were for is over, and whatever its members did to them has happened before this one began.
            if region != OPENING && self.region.compare_exchange(region, OPENING, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                self.queue.reset();
                self.shares.iter().for_each(Share::reset);
                // Release: pairs with the Acquire above.
                self.region.store(key, Ordering::Release);
                return;
            }
            // Relaxed: looked at again below.
            member.wait_until(|| self.region.load(Ordering::Relaxed) != OPENING);
            // Acquire: as above.
            region = self.region.load(Ordering::Acquire);
        }
    }

    /// The block of `units` that each of the first `members` begins with.
    pub(super) fn block(id: u32, members: usize, units: u32) -> Range<u32> {
        if id as usize >= members {
            return 0..0;
        }
        let block = split::block(0..units as usize, id as usize, members);
        block.start as u32..block.end as u32
    }
}
