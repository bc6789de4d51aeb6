//! How a bee gets through a loop whose chunks go to whoever comes for them: first its own share, then what others have left.

use std::ops::Range;

use crate::loops::batch_size::BatchSize;
use crate::loops::dispatch::Dispatch;
use crate::loops::work_range::WorkRange;
use crate::protocol::region::region_context::RegionContext;

/// One bee's way through one round.
pub(crate) struct StealingLoop<'w> {
    pub(crate) dispatch: &'w Dispatch,
    pub(crate) context: &'w RegionContext<'w>,
    pub(crate) round: u16,
    /// Who begins with a block.
    pub(crate) bees: usize,
    pub(crate) units: u32,
}

impl StealingLoop<'_> {
    /// Runs units one by one, by `run`, which gets several when each takes next to no time, and gives away what others ask for: `Dynamic`.
    pub(crate) fn run_dynamic(&self, mut run: impl FnMut(Range<u32>)) {
        let mut batch_size = BatchSize::new();
        self.run_all(|own, block| {
            let Some(units) = own.claim(self.round, block, |remaining| batch_size.claim_amount(remaining)) else {
                return false;
            };
            batch_size.count_claim(units.end - units.start);
            if let Some(rest) = run_batch(own, units, batch_size.units_per_check(), &mut run) {
                batch_size.reset();
                if !own.give_back(self.round, &rest) {
                    run(rest);
                }
            }
            true
        });
    }

    /// Runs parts of the own block together: `Affinity`.
    pub(crate) fn run_affinity(&self, mut run: impl FnMut(Range<u32>)) {
        let bees = self.bees as u32;
        self.run_all(|own, block| {
            let units = own.claim(self.round, block, |remaining| remaining.div_ceil(bees));
            units.map(&mut run).is_some()
        });
    }

    /// Works through the own share by `work`, which says whether there was something, and goes on with what it takes from others.
    fn run_all(&self, mut run_some: impl FnMut(&WorkRange, &Range<u32>) -> bool) {
        let own = self.dispatch.range(self.context.id());
        let block = self.block_of(self.context.id());
        if block.is_empty() {
            // In each round each share is in that round once.
            own.publish(self.round, &block);
        }
        loop {
            while run_some(own, &block) {}
            let Some(units) = self.steal_half() else { return };
            if !own.publish(self.round, &units) {
                // The others are in the next round, and will not look for it.
                let unpublished = WorkRange::with_units(self.round, &units);
                while run_some(&unpublished, &units) {}
            }
        }
    }

    fn block_of(&self, id: u32) -> Range<u32> {
        Dispatch::block(id, self.bees, self.units)
    }

    /// Takes half of what the richest bee has left. Waits while some are in the middle of what they have claimed at once, and may give some of it back.
    fn steal_half(&self) -> Option<Range<u32>> {
        loop {
            match self.find_victim() {
                Some(id) => {
                    let stolen = self.dispatch.range(id).steal(self.round, &self.block_of(id));
                    if stolen.is_some() {
                        return stolen;
                    }
                }
                None if !self.request_rests() => return None,
                None => {}
            }
        }
    }

    /// Who of the others has most left.
    fn find_victim(&self) -> Option<u32> {
        let remaining = |id| self.dispatch.range(id).remaining(self.round, &self.block_of(id)).len();
        let (len, id) = self.other_bees().map(|id| (remaining(id), id)).max()?;
        (len > 0).then_some(id)
    }

    /// Asks those in the middle of a batch of this round for the rest of it, and waits a moment. Says whether there are any.
    fn request_rests(&self) -> bool {
        let has_requested =
            self.other_bees().filter(|id| self.dispatch.range(*id).request_rest(self.round)).count() > 0;
        if has_requested {
            let mut polls = 0;
            self.context.wait_until(|| {
                polls += 1;
                polls > 16 || self.find_victim().is_some()
            });
        }
        has_requested
    }

    fn other_bees(&self) -> impl Iterator<Item = u32> {
        let (own, bees) = (self.context.id(), self.context.bees());
        (own + 1..bees).chain(0..own)
    }
}

/// Runs units that have been claimed together, so many at once. Returns those that are left when somebody asks for them.
#[inline]
fn run_batch(
    own: &WorkRange,
    units: Range<u32>,
    units_per_check: u32,
    run: &mut impl FnMut(Range<u32>),
) -> Option<Range<u32>> {
    if units.end - units.start <= units_per_check {
        run(units);
        return None;
    }
    let _batch = own.begin_batch();
    let mut rest = units;
    while rest.end - rest.start > units_per_check {
        let next = rest.start + units_per_check;
        run(rest.start..next);
        rest.start = next;
        if own.is_rest_requested() {
            return Some(rest);
        }
    }
    run(rest);
    None
}
