//! The files of `hive/loops/` by which a team shares out a loop, included as they are, and a small loop on top of them.
//!
//! Only the batch size is replaced, because the library's depends on a clock.

pub(crate) mod batch_size;
#[path = "../../../../hive/loops/buffer_pool.rs"]
pub(crate) mod buffer_pool;
#[path = "../../../../hive/loops/dispatch.rs"]
pub(crate) mod dispatch;
#[path = "../../../../hive/loops/loop_state.rs"]
pub(crate) mod loop_state;
#[path = "../../../../hive/loops/stealing.rs"]
pub(crate) mod stealing;
#[path = "../../../../hive/loops/unit_queue.rs"]
pub(crate) mod unit_queue;
#[path = "../../../../hive/loops/work_range.rs"]
pub(crate) mod work_range;

use std::sync::atomic::{AtomicU32, Ordering};

use loop_state::LoopState;
use stealing::StealingLoop;

use crate::protocol::region::region_context::RegionContext;

/// How a loop distributes its units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Distribution {
    /// The library's `Dynamic`: each bee takes units one by one from its own range.
    OneByOne,
    /// The library's `Affinity`: each bee takes parts of its own range.
    InParts,
    /// The library's `Guided` and `Factoring`: all bees take some units at a time from one queue.
    FromQueue,
}

/// A loop that a team runs repeatedly.
pub(crate) struct Loop {
    way: Distribution,
    board: LoopState,
    /// How often each unit has been run, in all rounds together. Shuttle does not see these counters.
    runs: Vec<AtomicU32>,
}

impl Loop {
    /// Makes a loop of `units` units for teams of up to `bees`.
    pub(crate) fn new(way: Distribution, bees: u32, units: u32) -> Self {
        Self { way, board: LoopState::new(bees), runs: (0..units).map(|_| AtomicU32::new(0)).collect() }
    }

    /// Runs a bee's part of a round.
    pub(crate) fn run(&self, context: &RegionContext<'_>) {
        let (team, units) = (context.bees as usize, self.runs.len());
        let (words, round) = self.board.begin_round(context);
        let walk = StealingLoop { dispatch: words, context, round, bees: team, units: units as u32 };
        match self.way {
            Distribution::OneByOne => walk.run_dynamic(|some| some.for_each(|unit| self.count(unit))),
            Distribution::InParts => walk.run_affinity(|part| part.for_each(|unit| self.count(unit))),
            Distribution::FromQueue => {
                while let Some(part) =
                    words.queue.take(round, units, |next| unit_queue::guided_len(next, units, team, 1))
                {
                    part.for_each(|unit| self.count(unit as u32));
                }
            }
        }
    }

    fn count(&self, unit: u32) {
        self.runs[unit as usize].fetch_add(1, Ordering::Relaxed);
        // Lets other threads run between any two units.
        shuttle::thread::yield_now();
    }

    /// Checks that all units have been run `rounds` times.
    pub(crate) fn assert_rounds(&self, rounds: u32) {
        let runs: Vec<_> = self.runs.iter().map(|runs| runs.load(Ordering::Relaxed)).collect();
        assert!(
            runs.iter().all(|runs| *runs == rounds),
            "{:?}: runs of each unit in {rounds} rounds: {runs:?}",
            self.way
        );
    }
}
