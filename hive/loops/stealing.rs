//! How a bee runs its part of a `Dynamic` or `Affinity` loop: first the units of its own work range, then units that it
//! steals from the other bees. `Loop::run_stealing` makes one `StealingLoop` for each bee and round. The steps are LR3
//! to LS5 of `docs/loops.md`.

use std::ops::Range;

use crate::loops::batch_size::BatchSize;
use crate::loops::dispatch::Dispatch;
use crate::loops::work_range::WorkRange;
use crate::protocol::region::region_context::RegionContext;
use crate::sync::NappingSpinner;

/// One bee's run through one round of a loop.
pub(crate) struct StealingLoop<'w> {
    /// The work ranges of all bees.
    pub(crate) dispatch: &'w Dispatch,
    /// The bee that runs.
    pub(crate) context: &'w RegionContext<'w>,
    /// The number of the round in the words of `dispatch`.
    pub(crate) round: u16,
    /// How many bees take part. These begin with a block; other bees have none.
    pub(crate) bees: usize,
    /// The number of units in the loop.
    pub(crate) units: u32,
}

impl StealingLoop<'_> {
    /// `Dynamic`: claims batches of units and passes them to `run`, one at a time, or several if each takes next to no
    /// time. Gives back the rest of a batch when another bee requests it.
    pub(crate) fn run_dynamic(&self, mut run: impl FnMut(Range<u32>)) {
        let mut batch_size = BatchSize::new();
        self.run_all(|own, block| {
            // Claim a batch at the front of the range.
            let Some(units) = own.claim(self.round, block, |remaining| batch_size.claim_amount(remaining)) else {
                return false;
            };
            batch_size.count_claim(units.end - units.start);
            // Run it, and stop early if another bee requests the rest.
            if let Some(rest) = run_batch(own, units, batch_size.units_per_check(), &mut run) {
                // The loop is running out of units, so small batches are better from now on.
                batch_size.reset();
                if !own.give_back(self.round, &rest) {
                    // Other bees have taken the range to a later round, as `run_all` does with the ranges of bees that
                    // are late, and there nobody looks for units of this one.
                    run(rest);
                }
            }
            true
        });
    }

    /// `Affinity`: claims a part of what is left in the range, one `bees`th, and passes it to `run` as a whole.
    pub(crate) fn run_affinity(&self, mut run: impl FnMut(Range<u32>)) {
        let bees = self.bees as u32;
        self.run_all(|own, block| {
            let units = own.claim(self.round, block, |remaining| remaining.div_ceil(bees));
            units.map(&mut run).is_some()
        });
    }

    /// Runs all units of the bee's own block, then all units that it steals, until it finds none. `run_some` claims and
    /// runs some units of the range that it gets, and returns whether there were any.
    fn run_all(&self, mut run_some: impl FnMut(&WorkRange, &Range<u32>) -> bool) {
        let own = self.dispatch.range(self.context.id);
        let block = self.block_of(self.context.id);
        if block.is_empty() {
            // This bee has no block. Its range must still go to this round, with nothing left: a range begins a round
            // only from the round before, so it must not skip one.
            own.publish(self.round, &block);
        }
        loop {
            // Run what is in the own range, including what was stolen and published last time.
            while run_some(own, &block) {
                self.context.start_if_long();
            }
            let Some(units) = self.steal_half() else { return };
            // Publish the stolen units in the own range, so that other bees can steal from them.
            if !own.publish(self.round, &units) {
                // The other bees have taken the own range to a later round, and will not look in it for units of this
                // one. Run them from a range that only this bee knows.
                let unpublished = WorkRange::with_units(self.round, &units);
                while run_some(&unpublished, &units) {}
            }
        }
    }

    /// The block with which bee `id` begins the round. Empty if the bee takes no part.
    #[inline]
    fn block_of(&self, id: u32) -> Range<u32> {
        Dispatch::block(id, self.bees, self.units)
    }

    /// Steals half of what is left to the bee with the most left. If there is nothing to steal, but some bees are in
    /// the middle of a batch of which they may give something back, waits for that. None: this bee sees nothing left in
    /// this round.
    fn steal_half(&self) -> Option<Range<u32>> {
        // All waits of this call are one wait, by one spinner. So a bee that waits for a long unit of another bee comes
        // to nap, although it requests the rest again and again.
        let mut spinner = None;
        loop {
            match self.find_victim() {
                Some(id) => {
                    // `steal` fails if other bees have taken these units meanwhile. Then look again.
                    let stolen = self.dispatch.range(id).steal(self.round, &self.block_of(id));
                    if stolen.is_some() {
                        return stolen;
                    }
                }
                None if !self.request_rests(&mut spinner) => return None,
                None => {}
            }
        }
    }

    /// The number of the other bee with the most units left in this round. None: no other bee has any left.
    fn find_victim(&self) -> Option<u32> {
        let remaining = |id| self.dispatch.range(id).remaining(self.round, &self.block_of(id)).len();
        let (len, id) = self.other_bees().map(|id| (remaining(id), id)).max()?;
        (len > 0).then_some(id)
    }

    /// Requests the rest of their batches from all other bees that are in the middle of a batch of this round, and
    /// waits until something is left to steal, but only for a few polls, with a nap among them where the spinner says
    /// so. Returns whether there were any such bees.
    fn request_rests<'w>(&'w self, spinner: &mut Option<NappingSpinner<'w>>) -> bool {
        // `count`, not `any`: every such bee gets the request.
        let requested = self.other_bees().filter(|id| self.dispatch.range(*id).request_rest(self.round)).count() > 0;
        if requested {
            let mut polls = 0;
            let condition = || {
                polls += 1;
                polls > 16 || self.find_victim().is_some()
            };
            // Bees that are in the middle of a batch do not wait for others.
            let spinner = spinner.get_or_insert_with(|| self.context.team.policy().napping_spinner(1));
            self.context.wait_until_by(spinner, condition);
        }
        requested
    }

    /// The numbers of the other bees of the team, beginning with the next higher one.
    fn other_bees(&self) -> impl Iterator<Item = u32> {
        let (own, bees) = (self.context.id, self.context.bees);
        (own + 1..bees).chain(0..own)
    }
}

/// Runs a batch of units, `step` at a time. Stops when another bee requests the rest, and returns the units
/// that are left. None: all have been run.
#[inline]
fn run_batch(own: &WorkRange, units: Range<u32>, step: u32, run: &mut impl FnMut(Range<u32>)) -> Option<Range<u32>> {
    // Too short to be interrupted.
    if units.end - units.start <= step {
        run(units);
        return None;
    }
    // From here on other bees may request the rest. The guard ends that, also if `run` panics.
    let _batch = own.begin_batch();
    let mut rest = units;
    while rest.end - rest.start > step {
        let next = rest.start + step;
        run(rest.start..next);
        rest.start = next;
        if own.is_rest_requested() {
            return Some(rest);
        }
    }
    run(rest);
    None
}
