//! Regions whose data is checked in both directions: each bee checks what the queen wrote before the region, and the
//! queen checks afterwards what each bee has written.
//!
//! Most models run such a region, either as the subject of the model or at the end, to show that the hive still works.
//! The data is held in `Datum`s, so loom reports a race if the protocol does not order an access.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::data::{Datum, data};
use crate::hive::{Hive, LoopStart};
use crate::protocol::region::region_context::RegionContext;

/// The data of all rounds that a model runs. A round is one region.
pub(crate) struct CheckedRegion {
    input: Datum,
    outputs: Vec<Datum>,
    round: u32,
    /// The epoch of the last round that was no team of one.
    epoch: AtomicU64,
}

impl CheckedRegion {
    /// Makes the data for a hive of up to `max_bees`.
    pub(crate) fn new(max_bees: u32) -> Self {
        Self { input: Datum::new(0), outputs: data(max_bees), round: 0, epoch: AtomicU64::new(0) }
    }

    /// Runs a region of `bees` bees. Each bee reads the queen's value and writes that value plus its own number,
    /// exactly once. The queen then checks the values of all bees, including those that were not in the team.
    pub(crate) fn run(&mut self, hive: &Hive, bees: u32) {
        self.run_by(bees, |body| hive.region(bees, body));
    }

    /// The same for a loop, in which the queen may run the parts of other bees.
    pub(crate) fn run_loop(&mut self, hive: &Hive, bees: u32, start: LoopStart) {
        self.run_by(bees, |body| hive.loop_region(bees, start, body));
    }

    /// The same for a loop whose parts look twice whether it is to be started on the workers.
    pub(crate) fn run_loop_in_chunks(&mut self, hive: &Hive, bees: u32) {
        let in_chunks = |body: &(dyn Fn(&RegionContext<'_>) + Sync)| {
            hive.loop_region(bees, LoopStart::IfLong, |context| {
                context.start_if_long();
                context.start_if_long();
                body(context);
            });
        };
        self.run_by(bees, in_chunks);
    }

    /// Runs one round of `bees` bees by calling `run` with the body.
    fn run_by(&mut self, bees: u32, run: impl FnOnce(&(dyn Fn(&RegionContext<'_>) + Sync))) {
        let before: Vec<_> = self.outputs.iter().map(Datum::get).collect();
        self.round += 1;
        self.input.set(100 * self.round);
        let last_epoch = self.epoch.load(Ordering::Relaxed);
        run(&|context| {
            // Relaxed: numbers of the model's own, which loom does not know. All bees of a region store the same.
            assert!(bees == 1 || context.epoch > last_epoch, "two regions have the same epoch");
            self.epoch.store(context.epoch.max(last_epoch), Ordering::Relaxed);
            assert_eq!(context.bees, bees, "a bee of another team");
            assert!(context.id < bees, "bee {} runs in a team of {bees}", context.id);
            let output = &self.outputs[context.id as usize];
            assert!(output.get() < self.input.get(), "bee {} runs its part twice", context.id);
            output.set(self.input.get() + context.id);
        });
        for (id, output) in (0..).zip(&self.outputs) {
            let expected = if id < bees { 100 * self.round + id } else { before[id as usize] };
            assert_eq!(output.get(), expected, "what bee {id} has left of round {}", self.round);
        }
    }
}
