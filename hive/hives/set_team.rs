//! `SetTeam`: one region over several hives.
//!
//! Such a region is a region of the leaders' hive, in which each leader runs a region of the hive that it leads.
//! `HiveSet::spmd` and its siblings start it; `HiveSetBee` uses it for barriers and reductions over all hives.
//! `docs/hive-sets.md` ("How it is done") gives the steps and says why no two such regions can deadlock.

use crate::hives::bee::HiveSetBee;
use crate::hives::hive_set::HiveSet;
use crate::pool::error::SpmdError;
use crate::pool::shared::ApplyPendingResize;
use crate::protocol::region::region_context::RegionContext;
use crate::region::bee::{Bee, UserBody};
use crate::region::nesting;

/// The team of a region over several hives.
pub(crate) struct SetTeam<'h> {
    /// The set whose hives take part.
    pub(crate) hives: &'h HiveSet,
    /// The number of the first bee of each hive that takes part, and after the last one the number of all bees.
    first_ids: Vec<usize>,
}

impl<'h> SetTeam<'h> {
    /// The team that the calling thread may have: all bees of all hives that are not surplus or, inside a region or a
    /// task, the caller alone.
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

    /// The number of bees in the team.
    pub(crate) fn bees(&self) -> usize {
        self.first_ids[self.hive_count()]
    }

    /// The number of hives that have bees in the team.
    pub(crate) fn hive_count(&self) -> usize {
        self.first_ids.len() - 1
    }

    /// The number of the first bee of a hive.
    pub(crate) fn first_id(&self, hive: usize) -> usize {
        self.first_ids[hive]
    }

    /// Runs `body` once on each bee of the team: the calling thread and the other leaders start the regions of their
    /// hives.
    pub(crate) fn run<F: Fn(&HiveSetBee<'_>) + Sync>(&self, body: &F) -> Result<(), SpmdError> {
        self.hives.leaders.try_spmd(self.hive_count(), |leader| self.run_hive(leader.id(), body))
    }

    /// Runs one hive's part of the region: `body` on the calling thread, which is the hive's leader, and on the other
    /// bees of the hive.
    fn run_hive<F: Fn(&HiveSetBee<'_>) + Sync>(&self, hive: usize, body: &F) {
        let shared = &self.hives[hive].shared;
        let bees = self.first_ids[hive + 1] - self.first_ids[hive];
        let mut local_body = UserBody::new(|local: &Bee<'_>| body(&HiveSetBee { team: self, hive, local }));
        // A hive with one bee has only its leader, which runs the body here, without a region of several bees.
        if bees == 1 {
            return shared.run_alone(&local_body);
        }
        // Here a leader waits for the leader lock of its hive inside the leaders' region; a region of a single hive
        // never waits inside a region. This cannot deadlock: no thread that holds this lock waits for the leaders'
        // hive, because a region over several hives that starts inside another region is a team of one.
        let mut leadership = shared.team.acquire_leadership();
        // Declared after `leadership`, so that it is dropped before that: the leader lock is still held when the resize
        // is applied. After the lock is released, the pending resize may be one that the next queen's region asks for.
        let _resize = ApplyPendingResize(shared);
        // No worker has to be started: all were when the bees were counted. If a resize has made some surplus since
        // then, they take part as surplus bees, and the hive does not grow for them.
        //
        // The deadlock detector of a hive's region looks at the bees of that hive only. Here the leaders of other hives
        // may do what a bee of this hive waits for, so the detector is told that it cannot know.
        let _among_others = shared.team.mark_outside_help();
        shared.team.run_region(&mut leadership, bees as u32, &mut local_body);
    }

    /// Calls `meet` with the calling thread's bee in the leaders' region. The leaders of all hives call this, to meet
    /// each other. `context` is the same thread's bee in the region of its own hive.
    ///
    /// If the leaders do not meet, because of a panic in another hive, the bees of this hive are released from their
    /// barriers as well. Returns None if that happens while the calling thread is unwinding already; otherwise the
    /// panic then leaves this function.
    pub(crate) fn meet_leaders<R>(&self, context: &RegionContext<'_>, meet: impl FnOnce(&Bee<'_>) -> R) -> Option<R> {
        /// Poisons the hive's region when it is dropped, that is, unless the leaders have met.
        struct PoisonOnDrop<'m>(&'m RegionContext<'m>);
        impl Drop for PoisonOnDrop<'_> {
            fn drop(&mut self) {
                self.0.poison();
            }
        }
        // Dropped if the leaders' meeting unwinds, or if it returns without having taken place.
        let poison = PoisonOnDrop(context);
        let value = nesting::with_outermost_region(&self.hives.leaders.shared.team, |leader| {
            meet_checked(leader, || meet(&Bee { context: leader }))
        });
        let result = value.unwrap_or_else(|| unreachable!("bee 0 of each hive is a leader"))?;
        // The leaders have met: this hive's region must not be poisoned.
        std::mem::forget(poison);
        Some(result)
    }
}

/// Returns what `meet` returns. `meet` is a call in which `context` waits once for its team. None: it has passed no
/// barrier, because a panic has broken the meeting and this call runs in a destructor during that panic's unwinding,
/// where the barrier returns instead of panicking.
pub(crate) fn meet_checked<R>(context: &RegionContext<'_>, meet: impl FnOnce() -> R) -> Option<R> {
    let passed_before = context.barriers_passed();
    let result = meet();
    (context.bees() == 1 || context.barriers_passed() > passed_before).then_some(result)
}

/// Whether the calling thread is inside a region or a task of any hive. Such a thread must not wait for a team.
pub(crate) fn is_nested() -> bool {
    nesting::is_inside_any()
}
