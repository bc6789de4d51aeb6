//! Works out what is to happen when a thread calls something, by the rules of `docs/composition.md`, from what the
//! threads of the case are inside of.
//!
//! `frames.rs` keeps that record; the operations of the test ask a [`View`] before each call and then check what has
//! happened.

use super::frames::{Frame, FrameStack, HiveId, Wait};

/// What is known when a thread of a case calls something.
pub(crate) struct View {
    pub(crate) own: FrameStack,
    pub(crate) others: Vec<FrameStack>,
    /// Whether other threads of the case run at the same time without being waited for, so that a hive may be free or
    /// busy.
    pub(crate) is_concurrent: bool,
    /// Whether one of those threads comes from outside and runs the same case with the hives exchanged. In such a case
    /// no thread waits by a loop or a thread of its own.
    pub(crate) is_mirrored: bool,
    /// Whether bee 1 of each hive leads a group with bee 2. When its own part of a region has ended, maybe by a panic,
    /// it waits for that bee, and runs nothing.
    pub(crate) is_relay: bool,
    /// Whether threads that are no part of the case call its hives at the same time. Their calls are short and wait for
    /// nothing but hive, so each of them ends if the workers of its hive come.
    pub(crate) has_callers: bool,
}

/// Why a call is not made: the program would wait for itself by a loop or a thread of its own, which the hive cannot
/// know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WaitCycle {
    /// A thread from outside would wait for the queen lock, or for a bee, which waits for that thread.
    OutsideThread,
    /// A loop would wait for a task that no thread can run before the loop has ended.
    Task,
    /// A region would need a bee that waits in a loop for what the region does.
    Region,
    /// `wait_until_parked` would wait for a surplus bee that waits for its caller.
    Settle,
}

/// The team of a region that asks for more than one bee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Team {
    All,
    One,
    /// One bee or all: the hive may be free or busy.
    Either,
    Never(WaitCycle),
}

/// Where a thread runs the body of an `install`, a `join` or a `scope`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskRunner {
    /// As the bee that it is.
    Bee(usize),
    /// In the queen's position, which it already has.
    Queen,
    /// In the queen's position, which it takes for this.
    NewQueen,
    /// As no bee: the hive is busy, and the thread is inside of another hive.
    Nobody,
    /// In the queen's position, or as no bee.
    NewQueenOrNobody,
    /// The same, inside a region of one bee of that hive, where the two cannot be told apart.
    InRegionOrNewQueen,
    /// A bee runs it while the thread waits.
    AnyBee,
    /// In the queen's position, or a bee runs it.
    NewQueenOrAnyBee,
    Never(WaitCycle),
}

/// The outcome of a `broadcast`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broadcast {
    Runs,
    Panics,
    Either,
    Never(WaitCycle),
}

/// Which thread holds the queen lock of a hive, other than the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LockHolder {
    Free,
    TakenPerhaps,
    Taken,
}

/// Whether and how a bee can run a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BeeState {
    /// The bee is not inside of anything, or does something that will end.
    Comes,
    /// The bee waits and runs tasks of this hive meanwhile.
    Serves(HiveId),
    /// The bee polls in a loop of the program's and runs tasks of all hives that it is inside of.
    Polls,
    /// The bee waits for the caller, in a call of hive's.
    Waits,
}

impl View {
    /// The team of a region of `n` bees of `hive`.
    pub(crate) fn team(&self, hive: HiveId, n: usize) -> Team {
        match self.team_without_contention(hive, n, false) {
            // A bee may still be at the end of an earlier task. To a thread that others may be waiting for, its hive
            // then looks busy.
            Team::All if self.is_waited_for() => Team::Either,
            team => team,
        }
    }

    /// The team of a loop of `n` bees of `hive`, unless hive takes the loop for so short that its caller runs it alone.
    /// A loop does not wait for workers that are in the middle of a task.
    pub(crate) fn loop_team(&self, hive: HiveId, n: usize) -> Team {
        match self.team_without_contention(hive, n, true) {
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

    fn team_without_contention(&self, hive: HiveId, n: usize, is_loop: bool) -> Team {
        if n == 1 || self.is_bee_of(hive) || self.is_in_a_region_of(hive) || self.runs_a_task_of(hive) {
            return Team::One;
        }
        let waits_for_nobody = is_loop && !self.is_known_to_be_waited_for();
        let bees_come = (1..n).all(|bee| self.bee_state(hive, bee) == BeeState::Comes);
        let all_come = waits_for_nobody || bees_come;
        let as_it_comes = |team| if self.is_concurrent || self.has_callers { Team::Either } else { team };
        if self.is_outside() {
            return match self.lock_holder(hive) {
                _ if self.is_mirrored => Team::All,
                // Another caller may be in a region that does wait for all bees.
                LockHolder::Free if bees_come || all_come && !self.has_callers => Team::All,
                _ => Team::Never(WaitCycle::OutsideThread),
            };
        }
        let has_place = self.has_queen_position(hive);
        match self.lock_holder(hive) {
            LockHolder::Taken if !has_place && self.has_callers && !self.is_concurrent => return Team::One,
            LockHolder::Taken if !has_place => return as_it_comes(Team::One),
            // The caller gets the queen lock, or has it. In a mirrored case every wait ends.
            _ if has_place && (all_come || self.is_mirrored) => return Team::All,
            LockHolder::Free if all_come => return as_it_comes(Team::All),
            _ if all_come || self.is_mirrored => return Team::Either,
            _ => {}
        }
        // If others may be waiting for the caller, the hive assumes that a bee in the middle of something is one of
        // them. If the caller is a thread of the program's own, the hive does not know that a bee waits for it.
        if self.is_known_to_be_waited_for() { as_it_comes(Team::One) } else { Team::Never(WaitCycle::Region) }
    }

    /// Where the thread runs the body of an `install`, a `join` or a `scope` of a hive of `size` bees.
    pub(crate) fn task_runner(&self, hive: HiveId, size: usize) -> TaskRunner {
        if let Some(bee) = self.bee_of(hive) {
            return TaskRunner::Bee(bee);
        }
        if self.is_queen_of(hive) {
            return TaskRunner::Queen;
        }
        let turn = self.lock_holder(hive);
        if !self.is_outside() {
            let perhaps = if self.is_in_a_region_of(hive) {
                TaskRunner::InRegionOrNewQueen
            } else {
                TaskRunner::NewQueenOrNobody
            };
            return match turn {
                _ if self.is_concurrent => perhaps,
                LockHolder::Taken => TaskRunner::Nobody,
                LockHolder::TakenPerhaps => perhaps,
                _ if self.has_callers => perhaps,
                LockHolder::Free => TaskRunner::NewQueen,
            };
        }
        match turn {
            _ if self.is_mirrored => TaskRunner::NewQueenOrAnyBee,
            LockHolder::Free if !self.has_callers && !self.is_concurrent => TaskRunner::NewQueen,
            _ if !self.can_run_tasks(hive, size) => TaskRunner::Never(WaitCycle::OutsideThread),
            LockHolder::Free | LockHolder::TakenPerhaps => TaskRunner::NewQueenOrAnyBee,
            LockHolder::Taken => TaskRunner::AnyBee,
        }
    }

    /// The outcome of a `broadcast` on a hive of `size` bees.
    pub(crate) fn broadcast(&self, hive: HiveId, size: usize) -> Broadcast {
        let elsewhere = |frame: &Frame| matches!(*frame, Frame::Task(of) if of != hive);
        if self.is_in_a_team() || self.own.iter().any(elsewhere) {
            return Broadcast::Panics;
        }
        let comes = |bee| self.is_mirrored || self.takes_mailbox(hive, bee);
        let may_panic = self.own.iter().any(|frame| matches!(*frame, Frame::TaskPerhaps(of) if of != hive));
        match (1..size).all(comes) {
            true if may_panic => Broadcast::Either,
            true => Broadcast::Runs,
            false => Broadcast::Never(WaitCycle::OutsideThread),
        }
    }

    /// Whether a task for any bee is run while the caller polls for it with `hive::yield_now`.
    pub(crate) fn can_run_tasks(&self, hive: HiveId, size: usize) -> bool {
        self.is_mirrored || self.is_bee_of(hive) || self.is_queen_of(hive) || self.has_task_runner(hive, size)
    }

    fn has_task_runner(&self, hive: HiveId, size: usize) -> bool {
        // A hive of the queen alone hires its first worker for the task.
        let serves = |bee| self.takes_mailbox(hive, bee);
        let queen_serves = |chain: &FrameStack| {
            is_queen(chain, hive) && runs_tasks_while_waiting(chain, hive) && !self.may_come_to_wait(chain)
        };
        (1..size.max(2)).any(serves) || self.others.iter().any(queen_serves)
    }

    /// Whether `bee` runs a task for itself while the caller polls until that task is done.
    pub(crate) fn takes_mailbox(&self, hive: HiveId, bee: usize) -> bool {
        if self.is_mirrored || self.bee_of(hive) == Some(bee) {
            return true;
        }
        match self.bee_state(hive, bee) {
            BeeState::Comes => !self.may_be_kept_by_callers(hive),
            BeeState::Polls => true,
            BeeState::Serves(which) => which == hive,
            BeeState::Waits => false,
        }
    }

    /// Whether a thread that is no part of the case may have begun a region of the hive, in which free bees wait for
    /// one that is in the middle of a call of the case.
    fn may_be_kept_by_callers(&self, hive: HiveId) -> bool {
        let is_a_bee = |frame: &Frame| matches!(*frame, Frame::Bee(of, _) if of == hive);
        let is_locked = self.is_queen_of(hive) || self.lock_holder(hive) == LockHolder::Taken;
        self.has_callers && !is_locked && self.others.iter().chain([&self.own]).flatten().any(is_a_bee)
    }

    /// Whether `wait_until_parked` waits for surplus bees. False: it returns at once, because one of them may be
    /// waiting for its caller.
    pub(crate) fn parks_surplus(&self, hive: HiveId) -> Result<bool, WaitCycle> {
        if self.is_in_a_team() || self.is_in_a_region_of(hive) {
            return Ok(false);
        }
        // Any of these bees may be surplus, including those that an outer resize has made surplus.
        let bees = self
            .others
            .iter()
            .filter(|chain| chain.iter().any(|frame| matches!(*frame, Frame::Bee(of, _) if of == hive)));
        match bees.map(|chain| self.state_of(chain)).all(|bee| bee == BeeState::Comes) {
            // It does not wait for bees that are still at the end of an earlier task.
            true => Ok(!self.is_waited_for()),
            false => Err(WaitCycle::Settle),
        }
    }

    /// Whether the bees of a new hive may come to wait, possibly through other hives, for a bee that the caller is,
    /// when what they run calls the hives of `later`: one of these hives then has a bee that takes part in the case.
    pub(crate) fn may_close_a_cycle(&self, mut later: impl Iterator<Item = HiveId>) -> bool {
        let is_a_bee = self.own.iter().any(|frame| matches!(frame, Frame::Bee(..)));
        let has_bee = |hive| {
            self.others
                .iter()
                .chain([&self.own])
                .flatten()
                .any(|frame| matches!(*frame, Frame::Bee(of, _) if of == hive))
        };
        is_a_bee && later.any(has_bee)
    }

    /// Whether the thread is a bee of any hive, or inside a region of more than one bee: then others may be waiting for
    /// it.
    fn is_in_a_team(&self) -> bool {
        self.own.iter().any(|frame| matches!(frame, Frame::Bee(..) | Frame::Region { team: 2.., .. }))
    }

    /// Whether the thread is not inside of anything of hive's.
    fn is_outside(&self) -> bool {
        !self.own.iter().any(|frame| !matches!(frame, Frame::Waiting(_)))
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

    fn has_queen_position(&self, hive: HiveId) -> bool {
        self.own.contains(&Frame::QueenPosition(hive))
    }

    /// Whether the thread is bee 0 of the hive, in a region of several bees or before one.
    fn is_queen_of(&self, hive: HiveId) -> bool {
        is_queen(&self.own, hive)
    }

    /// Which other thread holds the queen lock.
    fn lock_holder(&self, hive: HiveId) -> LockHolder {
        let turn = |frame: &Frame| match *frame {
            Frame::QueenPosition(of) | Frame::QueenLock(of) | Frame::Region { hive: of, team: 2.., .. }
                if of == hive =>
            {
                LockHolder::Taken
            }
            Frame::QueenLockPerhaps(of) if of == hive => LockHolder::TakenPerhaps,
            _ => LockHolder::Free,
        };
        self.others.iter().flatten().map(turn).max().unwrap_or(LockHolder::Free)
    }

    /// The state of a bee that a thread waits for.
    fn bee_state(&self, hive: HiveId, bee: usize) -> BeeState {
        let chain = self.others.iter().find(|chain| chain.contains(&Frame::Bee(hive, bee)));
        match chain.map_or(BeeState::Comes, |chain| self.state_of(chain)) {
            BeeState::Comes if self.waits_for_its_group(hive, bee) => BeeState::Waits,
            // What it polls for may end first.
            BeeState::Polls if self.is_concurrent && self.waits_for_its_group(hive, bee) => BeeState::Waits,
            state => state,
        }
    }

    /// Whether the bee may be at the end of a region, where it waits for a bee of its group, or come to be there.
    fn waits_for_its_group(&self, hive: HiveId, bee: usize) -> bool {
        let is_in_region = |frame: &Frame| matches!(*frame, Frame::Region { hive: of, team: 3, id: 2 } if of == hive);
        self.is_relay && bee == 1 && self.others.iter().chain([&self.own]).flatten().any(is_in_region)
    }

    fn state_of(&self, bee: &FrameStack) -> BeeState {
        match bee.last() {
            Some(Frame::Waiting(Wait::Blocked)) => BeeState::Waits,
            _ if self.may_come_to_wait(bee) => BeeState::Waits,
            Some(Frame::Waiting(Wait::RunningTasks(which))) => BeeState::Serves(*which),
            Some(Frame::Waiting(Wait::Polling)) => BeeState::Polls,
            _ => BeeState::Comes,
        }
    }

    /// Whether a thread runs its part of a call in which others have parts, too. When it has finished its own part it
    /// waits for theirs, and they may be waiting for it. It then runs nothing if it is the queen of a region, and no
    /// tasks of other hives if it waits for a join.
    fn may_come_to_wait(&self, chain: &FrameStack) -> bool {
        let (last, before) = chain.split_last().unwrap_or((&Frame::Waiting(Wait::Blocked), &[]));
        let waits = |frame: &Frame| matches!(frame, Frame::Waiting(_));
        // If no other thread runs independently, a thread that waits now waits for the caller.
        (self.is_concurrent || !waits(last)) && before.iter().any(waits)
    }
}

fn is_queen(chain: &FrameStack, hive: HiveId) -> bool {
    let is_queen = |frame: &Frame| match *frame {
        Frame::QueenPosition(of) | Frame::Region { hive: of, team: 2.., id: 0 } => of == hive,
        _ => false,
    };
    chain.iter().any(is_queen)
}

fn runs_tasks_while_waiting(chain: &FrameStack, hive: HiveId) -> bool {
    match chain.last() {
        Some(Frame::Waiting(Wait::RunningTasks(which))) => *which == hive,
        Some(Frame::Waiting(Wait::Polling)) => true,
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
        View {
            own: own.to_vec(),
            others,
            is_concurrent: is_crowded,
            is_mirrored: false,
            is_relay: false,
            has_callers: false,
        }
    }

    fn polls_in_a_part(id: usize) -> Vec<Frame> {
        let waits = [Frame::Waiting(Wait::Polling)];
        let region = [Frame::Region { hive: B, team: 2, id }];
        let before = if id == 0 {
            vec![Frame::Bee(A, 1), Frame::Task(A), Frame::QueenLockPerhaps(B), Frame::Waiting(Wait::Blocked)]
        } else {
            vec![Frame::Bee(B, id)]
        };
        [&before[..], &region, &waits].concat()
    }

    /// In `outside/a2.spawn/b2.team/a2.spawn`, the only worker of A is the queen of B's region. In her part she spawns
    /// a task of A and polls until it is done; so does the other bee. If her task is run first, she waits at the end of
    /// the region, and no thread runs the other task.
    #[test]
    fn a_queen_who_polls_in_her_own_part_is_not_relied_on() {
        let (queen, other) = (polls_in_a_part(0), polls_in_a_part(1));
        assert!(!view(&other, &[&queen], true).can_run_tasks(A, 2), "the queen may be gone before");
        assert!(view(&queen, &[&other], true).can_run_tasks(A, 2), "she runs it herself");
        // The same with only one bee in a part: it polls until the task is done.
        assert!(view(&[Frame::Bee(B, 1), Frame::Task(B)], &[&queen], false).can_run_tasks(A, 2));
        // In `a2.start_handler/b3.join_second/a2.spawn_on` the first half is about to end.
        let half = [Frame::Bee(A, 1), Frame::QueenPosition(B), Frame::Waiting(Wait::RunningTasks(B)), Frame::Task(B)];
        assert!(!view(&[Frame::Bee(B, 1), Frame::Task(B)], &[&half], false).takes_mailbox(A, 1));
    }

    /// In `outside/a2.spawn_on/thread/b1.alone/a2.team` a region needs a bee that waits for a thread of the program's
    /// own, and that thread begins the region. The hive cannot know that the bee waits for this thread.
    #[test]
    fn a_region_begun_by_a_thread_that_its_bee_waits_for_is_not_begun() {
        let bee = [Frame::Bee(A, 1), Frame::Task(A), Frame::Waiting(Wait::Blocked)];
        let alone = Frame::Region { hive: B, team: 1, id: 0 };
        assert_eq!(view(&[alone], &[&bee], false).team(A, 2), Team::Never(WaitCycle::Region));
        assert_eq!(view(&[alone], &[], false).team(A, 2), Team::All);
        assert_eq!(view(&[Frame::QueenPosition(A)], &[&bee], false).team(A, 2), Team::Never(WaitCycle::Region));
        // If the caller is a bee, the hive knows that others may be waiting for it.
        assert_eq!(view(&[Frame::Bee(B, 1), alone], &[&bee], false).team(A, 2), Team::One);
    }

    /// A bee in a region holds the queen lock even if it is not the queen; a call that may or may not be a region may
    /// hold it.
    #[test]
    fn a_turn_is_seen_by_whoever_has_a_part() {
        let in_region = [Frame::Bee(B, 1), Frame::Region { hive: B, team: 2, id: 1 }, Frame::Waiting(Wait::Blocked)];
        assert_eq!(view(&[], &[&in_region], false).task_runner(B, 2), TaskRunner::Never(WaitCycle::OutsideThread));
        let queen = [Frame::Bee(A, 1), Frame::Task(A), Frame::QueenLockPerhaps(B), Frame::Waiting(Wait::Blocked)];
        assert_eq!(view(&[], &[&queen], false).task_runner(B, 2), TaskRunner::NewQueenOrAnyBee);
        assert_eq!(view(&[], &[&queen], false).team(B, 2), Team::Never(WaitCycle::OutsideThread));
    }

    /// In `a3.start_handler/a3.shrink/thread/a3.shrink`, bee 2 waits and is surplus because of the outer resize.
    #[test]
    fn a_bee_that_has_become_surplus_before_is_waited_for_too() {
        let bee = [Frame::Bee(A, 2), Frame::Waiting(Wait::Blocked)];
        assert_eq!(view(&[], &[&bee], false).parks_surplus(A), Err(WaitCycle::Settle));
        assert_eq!(view(&[], &[&bee], false).parks_surplus(B), Ok(true));
    }

    /// In `outside/a1.worker/b2.par_for/b2.join_second/a1.broadcast:mirrored`, B was busy when its region began and may
    /// be free now. In a region of one bee, `current` is the same in both cases.
    #[test]
    fn in_a_region_of_one_nobody_can_tell_who_has_come_to_the_queens_place() {
        let alone = Frame::Region { hive: B, team: 1, id: 0 };
        assert_eq!(view(&[alone], &[], true).task_runner(B, 2), TaskRunner::InRegionOrNewQueen);
        assert_eq!(view(&[alone], &[], false).task_runner(B, 2), TaskRunner::NewQueen);
        assert_eq!(view(&[alone, Frame::TaskPerhaps(B)], &[], true).broadcast(A, 2), Broadcast::Either);
        assert_eq!(view(&[alone, Frame::TaskPerhaps(B)], &[], false).team(A, 2), Team::Either);
    }

    /// In `outside/a3.spawn/thread/a3.spawn:callers`, bee 1 waits for a thread that waits for a task. Bee 2 may
    /// meanwhile be in a region of a caller's, at a barrier that bee 1 does not come to.
    #[test]
    fn a_free_bee_may_be_kept_in_a_region_of_a_caller() {
        let bee = [Frame::Bee(A, 1), Frame::Task(A), Frame::Waiting(Wait::Blocked)];
        let with = |has_callers| View { has_callers, ..view(&[], &[&bee], false) };
        assert_eq!(with(true).loop_team(A, 2), Team::Never(WaitCycle::OutsideThread), "that region has the queen lock");
        assert!(with(false).can_run_tasks(A, 3) && !with(true).can_run_tasks(A, 3));
        assert!(with(true).can_run_tasks(B, 3), "no bee of B is in the middle of anything");
    }

    /// In `outside/a2.par_for/b2.par_for:held` nobody waits for the workers. A region of all bees does wait.
    #[test]
    fn a_loop_does_not_wait_for_bees_in_tasks() {
        let held = [Frame::Bee(A, 1), Frame::Task(A), Frame::Waiting(Wait::Blocked)];
        assert_eq!(view(&[], &[&held], false).loop_team(A, 2), Team::All);
        assert_eq!(view(&[], &[&held], false).team(A, 2), Team::Never(WaitCycle::OutsideThread));
        // If others may be waiting for the caller, the hive takes such a bee for one of them.
        assert_eq!(view(&[Frame::Bee(B, 1)], &[&held], false).loop_team(A, 2), Team::One);
    }

    /// In `outside/a3.worker/b2.team/a3.spawn:relay:beside0`, bee 1 of A has panicked and waits for bee 2.
    #[test]
    fn the_leader_of_a_group_waits_for_it_at_the_end() {
        let bee = [Frame::Bee(A, 2), Frame::Region { hive: A, team: 3, id: 2 }];
        let with = |is_relay| View { is_relay, ..view(&[], &[&bee], false) };
        assert!(with(false).takes_mailbox(A, 1) && !with(true).takes_mailbox(A, 1) && with(true).takes_mailbox(B, 1));
    }

    #[test]
    fn only_a_bee_whose_hive_is_called_may_be_dropping_what_waits_for_it() {
        let bee = [Frame::Bee(A, 1), Frame::Task(A)];
        assert!(view(&bee, &[], false).may_close_a_cycle([B, A].into_iter()));
        assert!(!view(&bee, &[], false).may_close_a_cycle([B].into_iter()));
        assert!(!view(&[], &[&bee], false).may_close_a_cycle([A].into_iter()));
    }
}
