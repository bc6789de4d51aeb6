//! What is to happen, by the rules of `docs/composition.md`: from what a thread is inside of, and what it calls.

use super::book::{Chain, Frame, HiveId, Wait};

/// What a thread sees of a case when it calls something.
pub(crate) struct View {
    pub(crate) own: Chain,
    pub(crate) others: Vec<Chain>,
    /// Whether other threads of the case go their own ways at the same time, so that a hive may be free or busy.
    pub(crate) is_crowded: bool,
    /// Whether one of them is from outside, and does the same with the hives exchanged. Nobody waits by a loop or a thread of its own then.
    pub(crate) is_mirrored: bool,
}

/// Why a case is not run: its program waits for itself, by a loop or a thread of its own, of which the hive knows nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Circle {
    /// A thread from outside waits for a turn, or for a bee, that waits for it.
    OutsideThread,
    /// A loop waits for a task that nobody can run before the loop has ended.
    Task,
    /// A region needs a bee that waits in a loop for what the region does.
    Region,
    /// `settle` waits for a surplus bee that waits for its caller.
    Settle,
}

/// The team of a region that asks for more than one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Team {
    All,
    One,
    /// As it comes: the hive may be free or busy.
    Either,
    Never(Circle),
}

/// As whom a thread runs an `install`, a `join` or a `scope`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Member {
    /// As the bee that it is.
    Bee(usize),
    /// In the queen's place that it has already.
    Queen,
    /// In the queen's place, which it takes.
    NewQueen,
    /// As nobody: the hive is busy, and the thread is inside another one.
    Nobody,
    /// In the queen's place or as nobody.
    NewQueenOrNobody,
    /// A bee runs it, while the thread waits.
    ByABee,
    /// In the queen's place or by a bee.
    NewQueenOrByABee,
    Never(Circle),
}

/// What comes of a `broadcast`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broadcast {
    Runs,
    Panics,
    Never(Circle),
}

/// How a bee can run a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bee {
    /// It is inside of nothing, or goes its own way and will come back.
    Comes,
    /// It runs tasks of this hive while it waits.
    Serves(HiveId),
    /// It waits in a loop, and runs tasks of all that it is inside of.
    Polls,
    /// It waits for the caller, in a call of hive's.
    Waits,
}

impl View {
    /// The team of a region of `n` members of `hive`.
    pub(crate) fn team(&self, hive: HiveId, n: usize) -> Team {
        match self.undisturbed_team(hive, n) {
            // A bee may be at the end of an earlier task still, and its hive look busy to whom others may be waiting for.
            Team::All if self.is_waited_for() => Team::Either,
            team => team,
        }
    }

    fn is_waited_for(&self) -> bool {
        self.is_in_a_team() || self.own.iter().any(|frame| matches!(frame, Frame::Task(_)))
    }

    fn undisturbed_team(&self, hive: HiveId, n: usize) -> Team {
        if n == 1 || self.is_bee_of(hive) || self.is_in_a_region_of(hive) || self.runs_a_task_of(hive) {
            return Team::One;
        }
        let bees = || (1..n).map(|bee| self.bee(hive, bee));
        if self.has_place(hive) {
            return if bees().any(|bee| bee == Bee::Polls) { Team::Never(Circle::Region) } else { Team::All };
        }
        if self.is_outside() && self.is_mirrored {
            return Team::All;
        }
        if self.is_outside() {
            let is_blocked = self.is_busy(hive) || bees().any(|bee| bee != Bee::Comes);
            return if is_blocked { Team::Never(Circle::OutsideThread) } else { Team::All };
        }
        if self.is_busy(hive) || bees().any(|bee| matches!(bee, Bee::Waits | Bee::Serves(_))) {
            return if self.is_crowded { Team::Either } else { Team::One };
        }
        if bees().any(|bee| bee == Bee::Polls) {
            return Team::Never(Circle::Region);
        }
        if self.is_crowded { Team::Either } else { Team::All }
    }

    /// As whom the thread runs an `install`, a `join` or a `scope` of a hive of `size`.
    pub(crate) fn member(&self, hive: HiveId, size: usize) -> Member {
        if let Some(bee) = self.bee_of(hive) {
            return Member::Bee(bee);
        }
        if self.is_queen_of(hive) {
            return Member::Queen;
        }
        let is_busy = self.is_busy(hive);
        if !self.is_outside() {
            return match (is_busy, self.is_crowded) {
                (_, true) => Member::NewQueenOrNobody,
                (true, false) => Member::Nobody,
                (false, false) => Member::NewQueen,
            };
        }
        match is_busy {
            _ if self.is_mirrored => Member::NewQueenOrByABee,
            false => Member::NewQueen,
            true if self.is_served(hive, size) => Member::ByABee,
            true => Member::Never(Circle::OutsideThread),
        }
    }

    /// What comes of a `broadcast` on a hive of `size`.
    pub(crate) fn broadcast(&self, hive: HiveId, size: usize) -> Broadcast {
        let elsewhere = |frame: &Frame| matches!(*frame, Frame::Task(of) if of != hive);
        if self.is_in_a_team() || self.own.iter().any(elsewhere) {
            return Broadcast::Panics;
        }
        let comes = |bee| self.is_mirrored || self.takes_mail(hive, bee);
        if (1..size).all(comes) { Broadcast::Runs } else { Broadcast::Never(Circle::OutsideThread) }
    }

    /// Whether a task that anybody may run is run while the caller waits for it in a loop with `hive::yield_now`.
    pub(crate) fn is_served(&self, hive: HiveId, size: usize) -> bool {
        self.is_mirrored || self.is_bee_of(hive) || self.is_queen_of(hive) || self.has_server(hive, size)
    }

    fn has_server(&self, hive: HiveId, size: usize) -> bool {
        // A hive that is the queen alone calls its first bee.
        let serves = |bee| self.takes_mail(hive, bee);
        let queen_serves = |chain: &Chain| is_queen(chain, hive) && serves_while_it_waits(chain, hive);
        (1..size.max(2)).any(serves) || self.others.iter().any(queen_serves)
    }

    /// Whether a bee comes to run a task that only it may run, while the caller waits for it in a loop.
    pub(crate) fn takes_mail(&self, hive: HiveId, bee: usize) -> bool {
        if self.is_mirrored || self.bee_of(hive) == Some(bee) {
            return true;
        }
        match self.bee(hive, bee) {
            Bee::Comes | Bee::Polls => true,
            Bee::Serves(which) => which == hive,
            Bee::Waits => false,
        }
    }

    /// Whether `settle` waits for the surplus bees among the first `most` members. False: it returns at once, because one of them may wait for its caller.
    pub(crate) fn settles(&self, hive: HiveId, most: usize) -> Result<bool, Circle> {
        if self.is_in_a_team() || self.is_in_a_region_of(hive) {
            return Ok(false);
        }
        let comes = |bee| self.bee(hive, bee) == Bee::Comes;
        // A hive that is its queen alone may have a bee for tasks.
        match (1..most.max(2)).all(comes) {
            // It does not wait for those who are at the end of an earlier task still.
            true => Ok(!self.is_waited_for()),
            false => Err(Circle::Settle),
        }
    }

    /// Whether the thread is a bee, or inside a region of more than one, of whatever hive: others may wait for it.
    fn is_in_a_team(&self) -> bool {
        self.own.iter().any(|frame| matches!(frame, Frame::Bee(..) | Frame::Region { team: 2.., .. }))
    }

    /// Whether the thread is inside of nothing of hive's.
    fn is_outside(&self) -> bool {
        !self.own.iter().any(|frame| !matches!(frame, Frame::Waits(_)))
    }

    fn bee_of(&self, hive: HiveId) -> Option<usize> {
        self.own.iter().find_map(|frame| match *frame {
            Frame::Bee(of, bee) if of == hive => Some(bee),
            _ => None,
        })
    }

    fn is_bee_of(&self, hive: HiveId) -> bool {
        self.bee_of(hive).is_some()
    }

    pub(crate) fn is_in_a_region_of(&self, hive: HiveId) -> bool {
        self.own.iter().any(|frame| matches!(frame, Frame::Region { hive: of, .. } if *of == hive))
    }

    fn runs_a_task_of(&self, hive: HiveId) -> bool {
        self.own.contains(&Frame::Task(hive))
    }

    fn has_place(&self, hive: HiveId) -> bool {
        self.own.contains(&Frame::Place(hive))
    }

    /// Whether the thread is member 0, with others or before a region of others.
    fn is_queen_of(&self, hive: HiveId) -> bool {
        is_queen(&self.own, hive)
    }

    /// Whether somebody else has the turn.
    fn is_busy(&self, hive: HiveId) -> bool {
        let has_turn = |frame: &Frame| match *frame {
            Frame::Place(of) | Frame::Turn(of) | Frame::Region { hive: of, team: 2.., id: 0 } => of == hive,
            _ => false,
        };
        self.others.iter().flatten().any(has_turn)
    }

    /// What becomes of a bee that somebody waits for.
    fn bee(&self, hive: HiveId, bee: usize) -> Bee {
        let is_it = |chain: &&Chain| chain.contains(&Frame::Bee(hive, bee));
        match self.others.iter().find(is_it).and_then(|chain| chain.last()) {
            Some(Frame::Waits(Wait::Idly)) => Bee::Waits,
            Some(Frame::Waits(Wait::Serving(which))) => Bee::Serves(*which),
            Some(Frame::Waits(Wait::Polling)) => Bee::Polls,
            _ => Bee::Comes,
        }
    }
}

fn is_queen(chain: &Chain, hive: HiveId) -> bool {
    let is_queen = |frame: &Frame| match *frame {
        Frame::Place(of) | Frame::Region { hive: of, team: 2.., id: 0 } => of == hive,
        _ => false,
    };
    chain.iter().any(is_queen)
}

fn serves_while_it_waits(chain: &Chain, hive: HiveId) -> bool {
    match chain.last() {
        Some(Frame::Waits(Wait::Serving(which))) => *which == hive,
        Some(Frame::Waits(Wait::Polling)) => true,
        _ => false,
    }
}
