//! The files of `hive/loops/` by which a team shares out a loop, included as they are, and a small loop on top of them.
//!
//! The models of `models/loops.rs` and `models/work_ranges.rs` use them. Only the batch size is replaced, because the
//! library's depends on a clock.

pub(crate) mod batch_size;
#[path = "../../../../hive/loops/buffer_pool.rs"]
pub(crate) mod buffer_pool;
#[path = "../../../../hive/loops/dispatch.rs"]
pub(crate) mod dispatch;
mod generations;
#[path = "../../../../hive/loops/loop_state.rs"]
pub(crate) mod loop_state;
mod single_range;
#[path = "../../../../hive/loops/stealing.rs"]
pub(crate) mod stealing;
#[path = "../../../../hive/loops/unit_queue.rs"]
pub(crate) mod unit_queue;
#[path = "../../../../hive/loops/work_range.rs"]
pub(crate) mod work_range;

use std::sync::atomic::{AtomicU16, Ordering};

use dispatch::Dispatch;
pub(crate) use generations::Generations;
use loop_state::LoopState;
pub(crate) use single_range::SingleRange;
use stealing::StealingLoop;

use crate::data::{Datum, data};
use crate::protocol::region::region_context::RegionContext;

/// How a modelled loop distributes its units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Distribution {
    /// The library's `Dynamic`: each bee takes units one by one from its own range.
    OneByOne,
    /// The library's `Affinity`: each bee takes parts of its own range.
    InParts,
    /// The library's `Guided` and `Factoring`: all bees take two units at a time from one queue.
    FromQueue,
}

/// A loop that a team runs repeatedly, and how often each unit of each round has been run.
pub(crate) struct Loop {
    distribution: Distribution,
    loop_state: LoopState,
    units: u32,
    /// How often each unit has been run, round by round. loom reports two runs of one unit that nothing orders.
    runs: Vec<Datum>,
    /// The number that the bees have been given for each round; 0: no bee has come to the round. loom does not see
    /// these.
    numbers: Vec<AtomicU16>,
}

impl Loop {
    /// Makes a loop for up to `rounds` rounds of a team of `bees`, counted over all regions.
    pub(crate) fn new(distribution: Distribution, bees: u32, units: u32, rounds: u32) -> Self {
        Self {
            distribution,
            loop_state: LoopState::new(bees),
            units,
            runs: data(units * rounds),
            numbers: (0..rounds).map(|_| AtomicU16::new(0)).collect(),
        }
    }

    /// Runs a bee's part of round `round`, counted over all regions. `work` is called with each unit after it has been
    /// counted.
    pub(crate) fn run(&self, context: &RegionContext<'_>, round: u32, mut work: impl FnMut(u32)) {
        let run = |unit| {
            self.count(round, unit);
            work(unit);
        };
        let (words, number) = self.loop_state.begin_round(context);
        let other = self.numbers[round as usize].swap(number, Ordering::Relaxed);
        assert!(other == 0 || other == number, "one bee takes round {round} for number {number}, another for {other}");
        self.take_units(context, words, number, self.distribution, context.bees, run);
    }

    /// Takes units of the round with this number, until none is left, as one of the first `active` bees.
    fn take_units(
        &self,
        context: &RegionContext<'_>,
        words: &Dispatch,
        number: u16,
        distribution: Distribution,
        active: u32,
        mut run: impl FnMut(u32),
    ) {
        let bees = active as usize;
        let stealing = StealingLoop { dispatch: words, context, round: number, bees, units: self.units };
        match distribution {
            Distribution::OneByOne => stealing.run_dynamic(|some| some.for_each(&mut run)),
            Distribution::InParts => stealing.run_affinity(|part| part.for_each(&mut run)),
            Distribution::FromQueue => {
                while let Some(part) = words.queue.take(number, self.units as usize, |_| 2) {
                    part.for_each(|unit| run(unit as u32));
                }
            }
        }
    }

    /// Runs a bee's part of round `round` as `Bee::for_range` does, whose rounds are of different loops: of this
    /// distribution, and on the first `active` bees of the team.
    pub(crate) fn run_as(&self, context: &RegionContext<'_>, round: u32, distribution: Distribution, active: u32) {
        let takes_part = context.id < active;
        let has_ranges = distribution != Distribution::FromQueue;
        let (words, number) = self.loop_state.begin_round_of_any_loop(context, has_ranges && takes_part);
        if takes_part {
            self.take_units(context, words, number, distribution, active, |unit| self.count(round, unit));
        }
    }

    /// The same for a loop of the first `units` units that is the only loop of its region: the round's number is known,
    /// and the loop state has been made ready for it.
    pub(crate) fn run_alone(&self, context: &RegionContext<'_>, round: u32, units: u32) {
        let words = &self.loop_state.first;
        let stealing =
            StealingLoop { dispatch: words, context, round: round as u16 + 1, bees: context.bees as usize, units };
        stealing.run_dynamic(|some| some.for_each(|unit| self.count(round, unit)));
    }

    fn count(&self, round: u32, unit: u32) {
        assert!(unit < self.units, "unit {unit} of {}", self.units);
        let runs = &self.runs[(round * self.units + unit) as usize];
        runs.set(runs.get() + 1);
    }

    /// Checks that each unit of a round has been run once. The protocol must have ordered the caller after all bees
    /// that ran them.
    pub(crate) fn assert_run(&self, round: u32) {
        self.assert_run_of(round, self.units);
    }

    /// The same for the first `units` units.
    pub(crate) fn assert_run_of(&self, round: u32, units: u32) {
        for unit in 0..units {
            let runs = self.runs[(round * self.units + unit) as usize].get();
            assert_eq!(runs, 1, "runs of unit {unit} in round {round}");
        }
    }
}
