//! One region over several hives: a region of leaders, one a hive, in which each leads a region of its own hive.

use super::bee::HivesBee;
use super::several::Hives;
use crate::colony::AfterRegion;
use crate::crew::Member;
use crate::error::SpmdError;
use crate::frame;
use crate::region::{Bee, Body};

/// The team of such a region.
pub(super) struct Team<'h> {
    pub(super) hives: &'h Hives,
    /// The number of each hive's first member, and in the end that of all members.
    firsts: Vec<usize>,
}

impl<'h> Team<'h> {
    /// The team that the calling thread may have: all that are awake; inside a region or a task, the caller alone.
    pub(super) fn of(hives: &'h Hives) -> Self {
        if is_nested() {
            return Self { hives, firsts: vec![0, 1] };
        }
        let mut firsts = vec![0];
        firsts.extend(hives.iter().scan(0, |members, hive| {
            *members += hive.bees();
            Some(*members)
        }));
        Self { hives, firsts }
    }

    /// The number of its members.
    pub(super) fn count(&self) -> usize {
        self.firsts[self.hives()]
    }

    /// The number of hives that it has members of.
    pub(super) fn hives(&self) -> usize {
        self.firsts.len() - 1
    }

    /// The number of a hive's first member.
    pub(super) fn first_of(&self, hive: usize) -> usize {
        self.firsts[hive]
    }

    /// Runs `body` once on each member.
    pub(super) fn run<F: Fn(&HivesBee<'_>) + Sync>(&self, body: &F) -> Result<(), SpmdError> {
        self.hives.leaders.try_spmd(self.hives(), |leader| self.lead(leader.id(), body))
    }

    /// Runs the part of one hive on the calling thread, its leader's, and on the hive's bees.
    fn lead<F: Fn(&HivesBee<'_>) + Sync>(&self, hive: usize, body: &F) {
        let colony = &self.hives[hive].colony;
        let size = self.firsts[hive + 1] - self.firsts[hive];
        let mut part = Body::new(|local: &Bee<'_>| body(&HivesBee { team: self, hive, local }));
        if size == 1 {
            return colony.alone(&part);
        }
        // It waits for the turn inside the leaders' region, which a region of a single hive never does. Nobody who has this turn waits for the leaders':
        // a region over several hives inside another is a team of one.
        let mut turn = colony.crew.take_turn();
        // Dropped before the turn: another queen's region may have wishes of its own.
        let _resize = AfterRegion(colony);
        // All have been hired. Those that a resize has made surplus meanwhile take part as such: the hive does not grow for them.
        let _among_others = colony.crew.among_others();
        colony.crew.region(&mut turn, size as u32, &mut part);
    }

    /// Calls `meet` with the calling thread's member of the leaders' region, to which the leaders of all hives come. `own` is the same thread's member of its hive. If the leaders do
    /// not meet, because of a panic in another hive, the own hive's members are let go from their barriers as well. Returns None if that is so and the
    /// calling thread is unwinding already.
    pub(super) fn among_leaders<R>(&self, own: &Member<'_>, meet: impl FnOnce(&Bee<'_>) -> R) -> Option<R> {
        /// A meeting that may not come about.
        struct Pending<'m>(&'m Member<'m>);
        impl Drop for Pending<'_> {
            fn drop(&mut self) {
                self.0.poison();
            }
        }
        let pending = Pending(own);
        let met =
            frame::with_outermost(&self.hives.leaders.colony.crew, |leader| passing(leader, || meet(&Bee { member: leader })));
        let result = met.unwrap_or_else(|| unreachable!("member 0 of each hive is a leader"))?;
        std::mem::forget(pending);
        Some(result)
    }
}

/// What `meet` returns, in which `member` meets its team once. None: a panic has broken that, and this is a destructor that runs because of it.
pub(super) fn passing<R>(member: &Member<'_>, meet: impl FnOnce() -> R) -> Option<R> {
    let before = member.passed();
    let result = meet();
    (member.team() == 1 || member.passed() > before).then_some(result)
}

/// Whether the calling thread is inside a region or a task, and may not wait for a team.
pub(super) fn is_nested() -> bool {
    frame::is_inside_any()
}
