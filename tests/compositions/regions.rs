//! Operations with regions.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use hive::Bee;

use super::super::common::sys;
use super::expectation::Team;
use super::fault::{DropBomb, First, PartsRun};
use super::frames::{Entered, Frame, Wait};
use super::step::Step;
use super::surroundings::Surroundings;

/// The bees of a region in the order in which they have come: number, team size, thread.
pub(crate) type TeamRoll = Mutex<Vec<(usize, usize, i32)>>;

impl<'r> Step<'r> {
    /// Records that the thread calls a region.
    pub(crate) fn wait_for_region(&self, expected: Team) -> Entered<'r> {
        let waits = Frame::Waiting(Wait::Blocked);
        // The record lasts to the end of the region, which may be later than the end of the queen's part.
        match expected {
            Team::All => self.enter(&[Frame::QueenLock(self.on), waits]),
            Team::Either => self.enter(&[Frame::QueenLockPerhaps(self.on), waits]),
            Team::One | Team::Never(_) => self.enter(&[waits]),
        }
    }

    /// Records that the bee of a region enters its part.
    pub(crate) fn enter_region(&self, bee: &Bee<'_>) -> Entered<'r> {
        let (team, id) = (bee.bees(), bee.id());
        self.run.check_current(self.on, id);
        let region = Frame::Region { hive: self.on, team, id };
        if id == 0 {
            return self.enter(&[region]);
        }
        let chain = self.own_chain();
        if self.run.case.surroundings == Surroundings::Held && !chain.is_empty() {
            // The caller of a loop stands in for a worker that is held.
            return self.enter(&[region]);
        }
        self.check(chain.is_empty(), || format!("bee {id} runs its part in the middle of {chain:?}"));
        self.enter(&[self.bee_of_thread(id), region])
    }

    /// The bee of the hive whose thread this is, by the thread's name, in a part that runs as bee `id`. If a loop has
    /// more parts than there are CPUs, its bees also run parts of others, in which they have the others' numbers.
    pub(crate) fn bee_of_thread(&self, id: usize) -> Frame {
        let number = thread::current().name().and_then(|name| name.rsplit('-').next()?.parse().ok());
        Frame::Bee(self.on, number.unwrap_or(id))
    }

    /// Checks that a region of `n` bees has had the right team, and its queen on the calling thread.
    pub(crate) fn check_team(&self, expected: Team, n: usize, roll: &TeamRoll) {
        let mut roll = roll.lock().expect("nobody panics with it").clone();
        roll.sort_unstable();
        let team = roll.len();
        let is_right = match expected {
            Team::All => team == n,
            Team::One => team == 1,
            Team::Either => team == 1 || team == n,
            Team::Never(_) => false,
        };
        self.check(is_right, || format!("a team of {team} of {n}, where {expected:?} was expected"));
        let is_complete = roll.iter().enumerate().all(|(number, &(id, count, _))| id == number && count == team);
        self.check(is_complete, || format!("the bees, teams and threads are {roll:?}"));
        let queen = roll.first().map(|&(_, _, thread)| thread);
        self.check(queen == Some(sys::tid()), || format!("the queen's thread is {queen:?}, not {}", sys::tid()));
    }

    /// The number of bees that a region is asked for, and the team that it is to have. Err: the region would wait for
    /// itself and is not begun.
    pub(crate) fn team(&self) -> Result<(usize, Team), usize> {
        let n = self.hive().bees();
        match self.view().team(self.on, n) {
            Team::Never(why) => Err(self.not_called(why)),
            team => Ok((n, team)),
        }
    }
}

pub(crate) fn record_bee(roll: &TeamRoll, bee: &Bee<'_>) {
    roll.lock().expect("nobody panics with it").push((bee.id(), bee.bees(), sys::tid()));
}

pub(crate) fn alone(step: &Step<'_>) -> usize {
    let (roll, parts, reached) = (TeamRoll::default(), PartsRun::default(), AtomicUsize::new(0));
    let part = |bee: &Bee<'_>| {
        let _in = step.enter_region(bee);
        record_bee(&roll, bee);
        reached.fetch_add(step.run_rest(), Ordering::Relaxed);
        bee.barrier();
    };
    let region = || step.hive().spmd(1, |bee| parts.run(0, || part(bee)));
    step.call(&parts, First::Lowest, region);
    step.check_team(Team::One, 1, &roll);
    reached.into_inner()
}

/// A region of all bees. One of them runs the rest while the others wait at a barrier.
pub(crate) fn one_bee_continues(step: &Step<'_>, goes_on: fn(usize, usize) -> bool) -> usize {
    let (n, expected) = match step.team() {
        Ok(team) => team,
        Err(reached) => return reached,
    };
    let (roll, parts) = (TeamRoll::default(), PartsRun::default());
    let (reached, is_done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let part = |bee: &Bee<'_>| {
        let _in = step.enter_region(bee);
        let goes_on = goes_on(bee.bees(), bee.id());
        let _waits = (!goes_on).then(|| step.wait(Wait::Blocked));
        record_bee(&roll, bee);
        bee.barrier();
        let here = roll.lock().expect("nobody panics with it").len();
        step.check(here == bee.bees(), || format!("{here} of {} are at the first barrier", bee.bees()));
        if goes_on {
            reached.fetch_add(step.run_rest(), Ordering::Relaxed);
            is_done.fetch_add(1, Ordering::Relaxed);
        } else {
            step.run_concurrent_part(bee.id());
        }
        bee.barrier();
        let is_done = is_done.load(Ordering::Relaxed);
        step.check(is_done == 1, || format!("{is_done} have done the rest at the second barrier"));
    };
    let _waits = step.wait_for_region(expected);
    let region = || step.hive().spmd(n, |bee| parts.run(bee.id(), || part(bee)));
    step.call(&parts, First::Lowest, region);
    step.check_team(expected, n, &roll);
    reached.into_inner()
}

/// A region of all bees, all of which run the rest.
pub(crate) fn team(step: &Step<'_>) -> usize {
    let (n, expected) = match step.team() {
        Ok(team) => team,
        Err(reached) => return reached,
    };
    if n > 1 && expected != Team::One {
        step.run.mark_concurrent();
    }
    let (roll, parts) = (TeamRoll::default(), PartsRun::default());
    let part = |bee: &Bee<'_>| {
        let _in = step.enter_region(bee);
        record_bee(&roll, bee);
        if bee.id() > 0 {
            step.run_concurrent_part(bee.id());
        }
        (bee.id(), step.run_rest(), DropBomb::of(&step.run.case))
    };
    let _waits = step.wait_for_region(expected);
    let region = || step.hive().spmd_map(n, |bee| parts.run(bee.id(), || part(bee)));
    let results = step.call(&parts, First::Lowest, region).unwrap_or_default();
    let defuse = |(id, reached, mut explosive): (usize, usize, DropBomb)| {
        explosive.defuse();
        (id, reached)
    };
    let results: Vec<_> = results.into_iter().map(defuse).collect();
    step.check_team(expected, n, &roll);
    let is_in_order = results.iter().enumerate().all(|(number, &(id, _))| id == number);
    step.check(is_in_order, || format!("the results of bees {results:?}"));
    results.into_iter().map(|(_, reached)| reached).sum()
}

/// Runs the rest in a section that keeps the bees spinning, which begins with a region.
pub(crate) fn keep_spinning(step: &Step<'_>) -> usize {
    if let Err(reached) = step.team() {
        return reached;
    }
    let parts = PartsRun::default();
    step.call(&parts, First::Any, || step.hive().keep_spinning(|| parts.run(0, || step.run_rest()))).unwrap_or(0)
}
