//! How a member gets through a loop whose chunks go to whoever comes for them: first its own share, then what others have left.

use std::ops::Range;

use super::pace::Pace;
use super::share::Share;
use super::words::Words;
use crate::crew::Member;

/// One member's way through one round.
pub(super) struct Walk<'w> {
    pub(super) words: &'w Words,
    pub(super) member: &'w Member<'w>,
    pub(super) round: u16,
    /// Who begins with a block.
    pub(super) members: usize,
    pub(super) units: u32,
}

impl Walk<'_> {
    /// Runs units one by one, by `run`, which gets several when each takes next to no time, and gives away what others ask for: `Dynamic`.
    pub(super) fn one_by_one(&self, mut run: impl FnMut(Range<u32>)) {
        let mut pace = Pace::new();
        self.through(|own, block| {
            let Some(units) = own.claim(self.round, block, |left| pace.amount(left)) else { return false };
            pace.claimed(units.end - units.start);
            if let Some(rest) = run_batch(own, units, pace.at_once(), &mut run) {
                pace.slow_down();
                if !own.give_back(self.round, &rest) {
                    run(rest);
                }
            }
            true
        });
    }

    /// Runs parts of the own block together: `Affinity`.
    pub(super) fn in_parts(&self, mut run: impl FnMut(Range<u32>)) {
        let team = self.members as u32;
        self.through(|own, block| {
            let units = own.claim(self.round, block, |left| left.div_ceil(team));
            units.map(&mut run).is_some()
        });
    }

    /// Works through the own share by `work`, which says whether there was something, and goes on with what it takes from others.
    fn through(&self, mut work: impl FnMut(&Share, &Range<u32>) -> bool) {
        let own = self.words.share(self.member.id());
        let block = self.block_of(self.member.id());
        if block.is_empty() {
            // In each round each share is in that round once.
            own.put(self.round, &block);
        }
        loop {
            while work(own, &block) {}
            let Some(units) = self.steal() else { return };
            if !own.put(self.round, &units) {
                // The others are in the next round, and will not look for it.
                let aside = Share::with(self.round, &units);
                while work(&aside, &units) {}
            }
        }
    }

    fn block_of(&self, id: u32) -> Range<u32> {
        Words::block(id, self.members, self.units)
    }

    /// Takes half of what the richest member has left. Waits while some are in the middle of what they have claimed at once, and may give some of it back.
    fn steal(&self) -> Option<Range<u32>> {
        loop {
            match self.richest() {
                Some(id) => {
                    let stolen = self.words.share(id).steal(self.round, &self.block_of(id));
                    if stolen.is_some() {
                        return stolen;
                    }
                }
                None if !self.ask() => return None,
                None => {}
            }
        }
    }

    /// Who of the others has most left.
    fn richest(&self) -> Option<u32> {
        let left = |id| self.words.share(id).left(self.round, &self.block_of(id)).len();
        let (most, id) = self.others().map(|id| (left(id), id)).max()?;
        (most > 0).then_some(id)
    }

    /// Asks those in the middle of a batch of this round for the rest of it, and waits a moment. Says whether there are any.
    fn ask(&self) -> bool {
        let asked = self.others().filter(|id| self.words.share(*id).ask(self.round)).count() > 0;
        if asked {
            let mut looks = 0;
            self.member.wait_until(|| {
                looks += 1;
                looks > 16 || self.richest().is_some()
            });
        }
        asked
    }

    fn others(&self) -> impl Iterator<Item = u32> {
        let (own, team) = (self.member.id(), self.member.team());
        (own + 1..team).chain(0..own)
    }
}

/// Runs units that have been claimed together, so many at once. Returns those that are left when somebody asks for them.
#[inline]
fn run_batch(own: &Share, units: Range<u32>, at_once: u32, run: &mut impl FnMut(Range<u32>)) -> Option<Range<u32>> {
    if units.end - units.start <= at_once {
        run(units);
        return None;
    }
    let _in_batch = own.in_batch();
    let mut rest = units;
    while rest.end - rest.start > at_once {
        let next = rest.start + at_once;
        run(rest.start..next);
        rest.start = next;
        if own.is_wanted() {
            return Some(rest);
        }
    }
    run(rest);
    None
}
