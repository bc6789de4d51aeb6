//! One region over several hives: a region of leaders, one a hive, in which each leads a region of its own hive.

use crate::hives::bee::HiveSetBee;
use crate::hives::hive_set::HiveSet;
use crate::pool::error::SpmdError;
use crate::pool::shared::ApplyPendingResize;
use crate::protocol::region::region_context::RegionContext;
use crate::region::bee::{Bee, UserBody};
use crate::region::nesting;

/// The team of such a region.
pub(crate) struct SetTeam<'h> {
    pub(crate) hives: &'h HiveSet,
    /// The number of each hive's first bee, and in the end that of all bees.
    first_ids: Vec<usize>,
}

impl<'h> SetTeam<'h> {
    /// The team that the calling thread may have: all that are awake; inside a region or a task, the caller alone.
    pub(crate) fn for_caller(hives: &'h HiveSet) -> Self {
        if is_nested() {
            return Self { hives, first_ids: vec![0, 1] };
        }
        let mut first_ids = vec![0];
        first_ids.extend(hives.iter().scan(0, |bees, hive| {
            *bees += hive.bees();
            Some(*bees)
        }));
        Self { hives, first_ids }
    }

    /// The number of its bees.
    pub(crate) fn bees(&self) -> usize {
        self.first_ids[self.hive_count()]
    }

    /// The number of hives that it has bees of.
    pub(crate) fn hive_count(&self) -> usize {
        self.first_ids.len() - 1
    }

    /// The number of a hive's first bee.
    pub(crate) fn first_id(&self, hive: usize) -> usize {
        self.first_ids[hive]
    }

    /// Runs `body` once on each bee.
    pub(crate) fn run<F: Fn(&HiveSetBee<'_>) + Sync>(&self, body: &F) -> Result<(), SpmdError> {
        self.hives.leaders.try_spmd(self.hive_count(), |leader| self.run_hive(leader.id(), body))
    }

    /// Runs the part of one hive on the calling thread, its leader's, and on the hive's bees.
    fn run_hive<F: Fn(&HiveSetBee<'_>) + Sync>(&self, hive: usize, body: &F) {
        let shared = &self.hives[hive].shared;
        let bees = self.first_ids[hive + 1] - self.first_ids[hive];
        let mut local_body = UserBody::new(|local: &Bee<'_>| body(&HiveSetBee { team: self, hive, local }));
        if bees == 1 {
            return shared.run_alone(&local_body);
        }
        // It waits for the turn inside the leaders' region, which a region of a single hive never does. Nobody who has this turn waits for the leaders':
        // a region over several hives inside another is a team of one.
        let mut leadership = shared.team.acquire_leadership();
        // Dropped before the turn: another queen's region may have wishes of its own.
        let _resize = ApplyPendingResize(shared);
        // All have been hired. Those that a resize has made surplus meanwhile take part as such: the hive does not grow for them.
        let _among_others = shared.team.mark_outside_help();
        shared.team.run_region(&mut leadership, bees as u32, &mut local_body);
    }

    /// Calls `meet` with the calling thread's bee of the leaders' region, to which the leaders of all hives come. `own` is the same thread's bee of its hive. If the leaders do
    /// not meet, because of a panic in another hive, the own hive's bees are let go from their barriers as well. Returns None if that is so and the
    /// calling thread is unwinding already.
    pub(crate) fn meet_leaders<R>(&self, context: &RegionContext<'_>, meet: impl FnOnce(&Bee<'_>) -> R) -> Option<R> {
        /// A meeting that may not come about.
        struct PoisonOnDrop<'m>(&'m RegionContext<'m>);
        impl Drop for PoisonOnDrop<'_> {
            fn drop(&mut self) {
                self.0.poison();
            }
        }
        let poison = PoisonOnDrop(context);
        let value = nesting::with_outermost_region(&self.hives.leaders.shared.team, |leader| {
            meet_checked(leader, || meet(&Bee { context: leader }))
        });
        let result = value.unwrap_or_else(|| unreachable!("bee 0 of each hive is a leader"))?;
        std::mem::forget(poison);
        Some(result)
    }
}

/// What `meet` returns, in which `member` meets its team once. None: a panic has broken that, and this is a destructor that runs because of it.
pub(crate) fn meet_checked<R>(context: &RegionContext<'_>, meet: impl FnOnce() -> R) -> Option<R> {
    let passed_before = context.barriers_passed();
    let result = meet();
    (context.bees() == 1 || context.barriers_passed() > passed_before).then_some(result)
}

/// Whether the calling thread is inside a region or a task, and may not wait for a team.
pub(crate) fn is_nested() -> bool {
    nesting::is_inside_any()
}
