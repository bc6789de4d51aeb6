//! The loops of `hive/loops/`: the very files by which a team shares one out, and a small loop of a model's own on top of them.

#[path = "../../../../hive/loops/board.rs"]
mod board;
mod generations;
#[path = "../../../../hive/loops/later.rs"]
mod later;
mod lone;
mod pace;
#[path = "../../../../hive/loops/queue.rs"]
mod queue;
#[path = "../../../../hive/loops/share.rs"]
mod share;
#[path = "../../../../hive/loops/walk.rs"]
mod walk;
#[path = "../../../../hive/loops/words.rs"]
mod words;

use std::sync::atomic::{AtomicU16, Ordering};

use board::Board;
pub(crate) use generations::Generations;
pub(crate) use lone::Lone;
use walk::Walk;

use crate::crew::Member;
use crate::data::{Datum, data};

/// How a modelled loop is shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Units one by one, from the own share: `Dynamic`.
    OneByOne,
    /// Parts of the own share: `Affinity`.
    InParts,
    /// Two units at a time, from one queue: `Guided` and `Factoring`.
    FromQueue,
}

/// A loop that a team runs again and again, and what has become of each unit of each round.
pub(crate) struct Loop {
    way: Way,
    board: Board,
    units: u32,
    /// How often each unit has been run, round by round. Two runs of one unit that nothing orders are loom's to find.
    runs: Vec<Datum>,
    /// What members take each round's number for; 0: nobody has come to it. Not seen by loom.
    numbers: Vec<AtomicU16>,
}

impl Loop {
    /// For up to `rounds` rounds of a team of `members`, over all regions.
    pub(crate) fn new(way: Way, members: u32, units: u32, rounds: u32) -> Self {
        Self {
            way,
            board: Board::new(members),
            units,
            runs: data(units * rounds),
            numbers: (0..rounds).map(|_| AtomicU16::new(0)).collect(),
        }
    }

    /// Runs a member's part of a round, the one of this number over all regions. `work` is told of each unit as well.
    pub(crate) fn run(&self, member: &Member<'_>, round: u32, mut work: impl FnMut(u32)) {
        let mut run = |unit| {
            self.count(round, unit);
            work(unit);
        };
        let team = member.team() as usize;
        let (words, number) = self.board.begin_round(member);
        let other = self.numbers[round as usize].swap(number, Ordering::Relaxed);
        assert!(other == 0 || other == number, "one member takes round {round} for number {number}, another for {other}");
        let walk = Walk { words, member, round: number, members: team, units: self.units };
        match self.way {
            Way::OneByOne => walk.one_by_one(|some| some.for_each(&mut run)),
            Way::InParts => walk.in_parts(|part| part.for_each(&mut run)),
            Way::FromQueue => {
                while let Some(part) = words.queue().take(number, self.units as usize, |_| 2) {
                    part.for_each(|unit| run(unit as u32));
                }
            }
        }
    }

    /// The same of a loop of the first `units` units, for which the board has been made ready: the round is known, and there is one such loop a region.
    pub(crate) fn run_alone(&self, member: &Member<'_>, round: u32, units: u32) {
        let words = self.board.only_words();
        let walk = Walk { words, member, round: round as u16 + 1, members: member.team() as usize, units };
        walk.one_by_one(|some| some.for_each(|unit| self.count(round, unit)));
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
