//! The loops of `hive/loops/`: the very files by which a team shares one out, and a small loop of a model's own on top of them.

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

pub(crate) use generations::Generations;
use loop_state::LoopState;
pub(crate) use single_range::SingleRange;
use stealing::StealingLoop;

use crate::data::{Datum, data};
use crate::protocol::region::region_context::RegionContext;

/// How a modelled loop is shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Distribution {
    /// Units one by one, from the own share: `Dynamic`.
    OneByOne,
    /// Parts of the own share: `Affinity`.
    InParts,
    /// Two units at a time, from one queue: `Guided` and `Factoring`.
    FromQueue,
}

/// A loop that a team runs again and again, and what has become of each unit of each round.
pub(crate) struct Loop {
    distribution: Distribution,
    loop_state: LoopState,
    units: u32,
    /// How often each unit has been run, round by round. Two runs of one unit that nothing orders are loom's to find.
    runs: Vec<Datum>,
    /// What bees take each round's number for; 0: nobody has come to it. Not seen by loom.
    numbers: Vec<AtomicU16>,
}

impl Loop {
    /// For up to `rounds` rounds of a team of `bees`, over all regions.
    pub(crate) fn new(distribution: Distribution, bees: u32, units: u32, rounds: u32) -> Self {
        Self {
            distribution,
            loop_state: LoopState::new(bees),
            units,
            runs: data(units * rounds),
            numbers: (0..rounds).map(|_| AtomicU16::new(0)).collect(),
        }
    }

    /// Runs a bee's part of a round, the one of this number over all regions. `work` is told of each unit as well.
    pub(crate) fn run(&self, context: &RegionContext<'_>, round: u32, mut work: impl FnMut(u32)) {
        let mut run = |unit| {
            self.count(round, unit);
            work(unit);
        };
        let bees = context.bees() as usize;
        let (words, number) = self.loop_state.begin_round(context);
        let other = self.numbers[round as usize].swap(number, Ordering::Relaxed);
        assert!(other == 0 || other == number, "one bee takes round {round} for number {number}, another for {other}");
        let stealing = StealingLoop { dispatch: words, context, round: number, bees, units: self.units };
        match self.distribution {
            Distribution::OneByOne => stealing.run_dynamic(|some| some.for_each(&mut run)),
            Distribution::InParts => stealing.run_affinity(|part| part.for_each(&mut run)),
            Distribution::FromQueue => {
                while let Some(part) = words.queue().take(number, self.units as usize, |_| 2) {
                    part.for_each(|unit| run(unit as u32));
                }
            }
        }
    }

    /// The same of a loop of the first `units` units, for which the board has been made ready: the round is known, and there is one such loop a region.
    pub(crate) fn run_alone(&self, context: &RegionContext<'_>, round: u32, units: u32) {
        let words = self.loop_state.only_dispatch();
        let stealing =
            StealingLoop { dispatch: words, context, round: round as u16 + 1, bees: context.bees() as usize, units };
        stealing.run_dynamic(|some| some.for_each(|unit| self.count(round, unit)));
    }

    fn count(&self, round: u32, unit: u32) {
        assert!(unit < self.units, "unit {unit} of {}", self.units);
        let runs = &self.runs[(round * self.units + unit) as usize];
        runs.set(runs.get() + 1);
    }

    /// Each unit of a round has been run once. By one whom the protocol has ordered after all who ran them.
    pub(crate) fn assert_run(&self, round: u32) {
        self.assert_run_of(round, self.units);
    }

    /// The same of the first `units`.
    pub(crate) fn assert_run_of(&self, round: u32, units: u32) {
        for unit in 0..units {
            let runs = self.runs[(round * self.units + unit) as usize].get();
            assert_eq!(runs, 1, "runs of unit {unit} in round {round}");
        }
    }
}
