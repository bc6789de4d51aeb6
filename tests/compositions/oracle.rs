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
    /// The same, in a region of one of that hive, where nobody can tell.
    InRegionOrNewQueen,
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
    Either,
    Never(Circle),
}

/// Who has the turn of a hive, besides the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    Free,
    TakenPerhaps,
    Taken,
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
        self.is_known_to_be_waited_for() || self.own.iter().any(|frame| matches!(frame, Frame::TaskPerhaps(_)))
    }

    fn is_known_to_be_waited_for(&self) -> bool {
        self.is_in_a_team() || self.own.iter().any(|frame| matches!(frame, Frame::Task(_)))
    }

    fn undisturbed_team(&self, hive: HiveId, n: usize) -> Team {
        if n == 1 || self.is_bee_of(hive) || self.is_in_a_region_of(hive) || self.runs_a_task_of(hive) {
            return Team::One;
        }
        let all_come = (1..n).all(|bee| self.bee(hive, bee) == Bee::Comes);
        let as_it_comes = |team| if self.is_crowded { Team::Either } else { team };
        if self.is_outside() {
            return match self.turn(hive) {
                _ if self.is_mirrored => Team::All,
                Turn::Free if all_come => Team::All,
                _ => Team::Never(Circle::OutsideThread),
            };
        }
        let has_place = self.has_place(hive);
        match self.turn(hive) {
            Turn::Taken if !has_place => return as_it_comes(Team::One),
            // It gets the turn, or has it. Nobody of a mirrored case waits for ever.
            _ if has_place && (all_come || self.is_mirrored) => return Team::All,
            Turn::Free if all_come => return as_it_comes(Team::All),
            _ if all_come || self.is_mirrored => return Team::Either,
            _ => {}
        }
        // If others may be waiting for the caller, a bee that is in the middle of something is taken for one of them.
        // Of a thread of the program's own nobody knows that.
        if self.is_known_to_be_waited_for() { as_it_comes(Team::One) } else { Team::Never(Circle::Region) }
    }

    /// As whom the thread runs an `install`, a `join` or a `scope` of a hive of `size`.
    pub(crate) fn member(&self, hive: HiveId, size: usize) -> Member {
        if let Some(bee) = self.bee_of(hive) {
            return Member::Bee(bee);
        }
        if self.is_queen_of(hive) {
            return Member::Queen;
        }
        let turn = self.turn(hive);
        if !self.is_outside() {
            let perhaps = if self.is_in_a_region_of(hive) { Member::InRegionOrNewQueen } else { Member::NewQueenOrNobody };
            return match turn {
                _ if self.is_crowded => perhaps,
                Turn::Taken => Member::Nobody,
                Turn::TakenPerhaps => perhaps,
                Turn::Free => Member::NewQueen,
            };
        }
        match turn {
            _ if self.is_mirrored => Member::NewQueenOrByABee,
            Turn::Free => Member::NewQueen,
            _ if !self.is_served(hive, size) => Member::Never(Circle::OutsideThread),
            Turn::TakenPerhaps => Member::NewQueenOrByABee,
            Turn::Taken => Member::ByABee,
        }
    }

    /// What comes of a `broadcast` on a hive of `size`.
    pub(crate) fn broadcast(&self, hive: HiveId, size: usize) -> Broadcast {
        let elsewhere = |frame: &Frame| matches!(*frame, Frame::Task(of) if of != hive);
        if self.is_in_a_team() || self.own.iter().any(elsewhere) {
            return Broadcast::Panics;
        }
        let comes = |bee| self.is_mirrored || self.takes_mail(hive, bee);
        let may_panic = self.own.iter().any(|frame| matches!(*frame, Frame::TaskPerhaps(of) if of != hive));
        match (1..size).all(comes) {
            true if may_panic => Broadcast::Either,
            true => Broadcast::Runs,
            false => Broadcast::Never(Circle::OutsideThread),
        }
    }

    /// Whether a task that anybody may run is run while the caller waits for it in a loop with `hive::yield_now`.
    pub(crate) fn is_served(&self, hive: HiveId, size: usize) -> bool {
        self.is_mirrored || self.is_bee_of(hive) || self.is_queen_of(hive) || self.has_server(hive, size)
    }

    fn has_server(&self, hive: HiveId, size: usize) -> bool {
        // A hive that is the queen alone calls its first bee.
        let serves = |bee| self.takes_mail(hive, bee);
        let queen_serves =
            |chain: &Chain| is_queen(chain, hive) && serves_while_it_waits(chain, hive) && !self.may_come_to_wait(chain);
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

    /// Whether `settle` waits for surplus bees. False: it returns at once, because one of them may wait for its caller.
    pub(crate) fn settles(&self, hive: HiveId) -> Result<bool, Circle> {
        if self.is_in_a_team() || self.is_in_a_region_of(hive) {
            return Ok(false);
        }
        // Any of them may be surplus, those as well that have become so by a resize further out.
        let bees = self.others.iter().filter(|chain| chain.iter().any(|frame| matches!(*frame, Frame::Bee(of, _) if of == hive)));
        match bees.map(|chain| self.what_becomes_of(chain)).all(|bee| bee == Bee::Comes) {
            // It does not wait for those who are at the end of an earlier task still.
            true => Ok(!self.is_waited_for()),
            false => Err(Circle::Settle),
        }
    }

    /// Whether the bees of a new hive may come to wait, over whichever hives, for a bee that the caller is, when what
    /// they run calls `later` hives: one of those has a bee that is in the case then.
    pub(crate) fn may_close_a_circle(&self, mut later: impl Iterator<Item = HiveId>) -> bool {
        let is_a_bee = self.own.iter().any(|frame| matches!(frame, Frame::Bee(..)));
        let has_bee =
            |hive| self.others.iter().chain([&self.own]).flatten().any(|frame| matches!(*frame, Frame::Bee(of, _) if of == hive));
        is_a_bee && later.any(has_bee)
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
    fn turn(&self, hive: HiveId) -> Turn {
        let turn = |frame: &Frame| match *frame {
            Frame::Place(of) | Frame::Turn(of) | Frame::Region { hive: of, team: 2.., .. } if of == hive => Turn::Taken,
            Frame::TurnPerhaps(of) if of == hive => Turn::TakenPerhaps,
            _ => Turn::Free,
        };
        self.others.iter().flatten().map(turn).max().unwrap_or(Turn::Free)
    }

    /// What becomes of a bee that somebody waits for.
    fn bee(&self, hive: HiveId, bee: usize) -> Bee {
        let chain = self.others.iter().find(|chain| chain.contains(&Frame::Bee(hive, bee)));
        chain.map_or(Bee::Comes, |chain| self.what_becomes_of(chain))
    }

    fn what_becomes_of(&self, bee: &Chain) -> Bee {
        match bee.last() {
            Some(Frame::Waits(Wait::Idly)) => Bee::Waits,
            _ if self.may_come_to_wait(bee) => Bee::Waits,
            Some(Frame::Waits(Wait::Serving(which))) => Bee::Serves(*which),
            Some(Frame::Waits(Wait::Polling)) => Bee::Polls,
            _ => Bee::Comes,
        }
    }

    /// Whether a thread is in its part of a call that others have parts of, and goes its own way: when it has ended its
    /// own it waits for theirs, which may be waiting for it. The queen of a region runs nothing then, and who waits for
    /// a join nothing of another hive.
    fn may_come_to_wait(&self, chain: &Chain) -> bool {
        let (last, before) = chain.split_last().unwrap_or((&Frame::Waits(Wait::Idly), &[]));
        let waits = |frame: &Frame| matches!(frame, Frame::Waits(_));
        // If nobody else goes its own way, one that waits now does so for the caller.
        (self.is_crowded || !waits(last)) && before.iter().any(waits)
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

#[cfg(test)]
mod tests {
    use super::*;

    const A: HiveId = 0;
    const B: HiveId = 1;

    fn view(own: &[Frame], others: &[&[Frame]], is_crowded: bool) -> View {
        let others = others.iter().map(|chain| chain.to_vec()).collect();
        View { own: own.to_vec(), others, is_crowded, is_mirrored: false }
    }

    fn polls_in_a_part(id: usize) -> Vec<Frame> {
        let waits = [Frame::Waits(Wait::Polling)];
        let region = [Frame::Region { hive: B, team: 2, id }];
        let before = if id == 0 {
            vec![Frame::Bee(A, 1), Frame::Task(A), Frame::TurnPerhaps(B), Frame::Waits(Wait::Idly)]
        } else {
            vec![Frame::Bee(B, id)]
        };
        [&before[..], &region, &waits].concat()
    }

    /// In `outside/a2.spawn/b2.team/a2.spawn`: the only bee of A is the queen of B's region, and polls until a task of
    /// A is done that she spawned in her part. So does the other member. If hers is run first, she waits at the
    /// region's end, and nobody runs the other.
    #[test]
    fn a_queen_who_polls_in_her_own_part_is_not_relied_on() {
        let (queen, other) = (polls_in_a_part(0), polls_in_a_part(1));
        assert!(!view(&other, &[&queen], true).is_served(A, 2), "the queen may be gone before");
        assert!(view(&queen, &[&other], true).is_served(A, 2), "she runs it herself");
        // The same where only one member has a part: she is in the loop until the task is done.
        assert!(view(&[Frame::Bee(B, 1), Frame::Task(B)], &[&queen], false).is_served(A, 2));
        // In `a2.start_handler/b3.join_second/a2.spawn_on`: the first half is about to end.
        let half = [Frame::Bee(A, 1), Frame::Place(B), Frame::Waits(Wait::Serving(B)), Frame::Task(B)];
        assert!(!view(&[Frame::Bee(B, 1), Frame::Task(B)], &[&half], false).takes_mail(A, 1));
    }

    /// In `outside/a2.spawn_on/thread/b1.alone/a2.team`: a region needs a bee that waits for a thread of the program's
    /// own, which begins it. Nothing says to the hive that anybody waits for this thread.
    #[test]
    fn a_region_begun_by_a_thread_that_its_bee_waits_for_is_not_begun() {
        let bee = [Frame::Bee(A, 1), Frame::Task(A), Frame::Waits(Wait::Idly)];
        let alone = Frame::Region { hive: B, team: 1, id: 0 };
        assert_eq!(view(&[alone], &[&bee], false).team(A, 2), Team::Never(Circle::Region));
        assert_eq!(view(&[alone], &[], false).team(A, 2), Team::All);
        assert_eq!(view(&[Frame::Place(A)], &[&bee], false).team(A, 2), Team::Never(Circle::Region));
        // Of a bee it is known.
        assert_eq!(view(&[Frame::Bee(B, 1), alone], &[&bee], false).team(A, 2), Team::One);
    }

    /// A member that is not the queen tells as well that the turn is taken; a call that may be a region or not, that it
    /// may be.
    #[test]
    fn a_turn_is_seen_by_whoever_has_a_part() {
        let member = [Frame::Bee(B, 1), Frame::Region { hive: B, team: 2, id: 1 }, Frame::Waits(Wait::Idly)];
        assert_eq!(view(&[], &[&member], false).member(B, 2), Member::Never(Circle::OutsideThread));
        let queen = [Frame::Bee(A, 1), Frame::Task(A), Frame::TurnPerhaps(B), Frame::Waits(Wait::Idly)];
        assert_eq!(view(&[], &[&queen], false).member(B, 2), Member::NewQueenOrByABee);
        assert_eq!(view(&[], &[&queen], false).team(B, 2), Team::Never(Circle::OutsideThread));
    }

    /// In `a3.start_handler/a3.shrink/thread/a3.shrink`: bee 2, which waits, is surplus by the outer resize.
    #[test]
    fn a_bee_that_has_become_surplus_before_is_waited_for_too() {
        let bee = [Frame::Bee(A, 2), Frame::Waits(Wait::Idly)];
        assert_eq!(view(&[], &[&bee], false).settles(A), Err(Circle::Settle));
        assert_eq!(view(&[], &[&bee], false).settles(B), Ok(true));
    }

    /// In `outside/a1.worker/b2.par_for/b2.join_second/a1.broadcast:mirrored`: B was busy when its region began, and
    /// may be free now. In a region of one `current` says the same of both.
    #[test]
    fn in_a_region_of_one_nobody_can_tell_who_has_come_to_the_queens_place() {
        let alone = Frame::Region { hive: B, team: 1, id: 0 };
        assert_eq!(view(&[alone], &[], true).member(B, 2), Member::InRegionOrNewQueen);
        assert_eq!(view(&[alone], &[], false).member(B, 2), Member::NewQueen);
        assert_eq!(view(&[alone, Frame::TaskPerhaps(B)], &[], true).broadcast(A, 2), Broadcast::Either);
        assert_eq!(view(&[alone, Frame::TaskPerhaps(B)], &[], false).team(A, 2), Team::Either);
    }

    #[test]
    fn only_a_bee_whose_hive_is_called_may_be_dropping_what_waits_for_it() {
        let bee = [Frame::Bee(A, 1), Frame::Task(A)];
        assert!(view(&bee, &[], false).may_close_a_circle([B, A].into_iter()));
        assert!(!view(&bee, &[], false).may_close_a_circle([B].into_iter()));
        assert!(!view(&[], &[&bee], false).may_close_a_circle([A].into_iter()));
    }
}
