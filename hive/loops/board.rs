//! What the members of a team share of a loop while they run it.

use crossbeam_utils::CachePadded;

use super::later::{Later, Way};
use super::words::Words;
use crate::crew::Member;
use crate::sync::{AtomicU64, OnceLock, Ordering, rounds_of_a_generation};

/// What is used of a board that a loop has for itself. A word that was left alone for many rounds could not be told from one that is ahead, so no board is used for both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Shares,
    Queue,
}

/// The words of a team's rounds.
pub(super) struct Board {
    /// The key of the region that the rest is for; `OPENING` while somebody makes it so.
    region: CachePadded<AtomicU64>,
    /// Those of the first generation, and what each member knows of where it is.
    first: Words,
    /// From there to the second.
    way: Way,
    /// The others. Few loops are run so often in one region.
    later: OnceLock<Box<Later>>,
}

const OPENING: u64 = 0;

impl Board {
    /// For a team of up to `members`.
    pub(super) fn new(members: u32) -> Self {
        let region = CachePadded::new(AtomicU64::new(OPENING + 1));
        Self { region, first: Words::new(members as usize), way: Way::new(), later: OnceLock::new() }
    }

    pub(super) fn members(&self) -> usize {
        self.first.members()
    }

    /// Whether `round` is the last in which anything was taken, on a board of which this is used, and whose rounds nobody
    /// begins. What is not used of it stays in round 0, and so would pass for used when the rounds wrap.
    pub(super) fn has_been_through(&self, kind: Kind, round: u16) -> bool {
        match kind {
            Kind::Shares => self.first.share(0).is_in(round),
            Kind::Queue => self.first.queue().is_in(round),
        }
    }

    /// The words of a round that nobody has to begin: all members are in the same one.
    pub(super) fn only_words(&self) -> &Words {
        &self.first
    }

    /// Begins a round as `member`. Returns its words, and its number as they have it.
    pub(super) fn begin_round(&self, member: &Member<'_>) -> (&Words, u16) {
        self.open(member);
        let (own, rounds) = (self.first.share(member.id()), rounds_of_a_generation());
        let before = own.count_round();
        // 0 is the round of new words.
        let round = (before % rounds) as u16 + 1;
        if before < rounds {
            own.forsake_before(round);
            return (&self.first, round);
        }
        let words = self.later_words(member, before % rounds == 0);
        words.share(member.id()).forsake_before(round);
        (words, round)
    }

    /// The words of a generation after the first. `is_new`: the member comes there with this round.
    #[inline(never)]
    fn later_words(&self, member: &Member<'_>, is_new: bool) -> &Words {
        let own = self.first.share(member.id());
        let later = self.later.get_or_init(|| Box::new(Later::new(self.members())));
        if is_new {
            own.be_in_set(later.go_on(&self.way, own.set(), member.team()));
        }
        // It is in one since it came to the second generation.
        own.set().map_or(&self.first, |set| later.words(set))
    }

    /// Sees that the board is for the region that `member` is in: the first that comes makes it so.
    fn open(&self, member: &Member<'_>) {
        let key = member.region_key().max(OPENING + 1);
        // Acquire: pairs with the Release below; the words are as new.
        let mut region = self.region.load(Ordering::Acquire);
        while region != key {
            // Relaxed, both: the region that the words were for is over, and whatever its members did to them has happened before this one began.
            if region != OPENING && self.region.compare_exchange(region, OPENING, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                self.reset();
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

    /// As new. Nobody else may be at it.
    fn reset(&self) {
        self.first.reset();
        self.way.reset();
        if let Some(later) = self.later.get() {
            later.reset();
        }
    }
}
