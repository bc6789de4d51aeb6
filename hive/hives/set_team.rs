//! `SetTeam`: the team of one region over several hives, and how its leaders meet.
//!
//! `regions.rs` makes one for each region; `HiveSetBee` uses it for barriers and reductions over all hives.

use crate::hives::hive_set::HiveSet;
use crate::on_drop::on_drop;
use crate::protocol::region::panics::Unfinished;
use crate::protocol::region::region_context::RegionContext;
use crate::region::bee::Bee;
use crate::region::nesting;

/// The team of a region over several hives.
pub(crate) struct SetTeam<'h> {
    /// The set whose hives take part.
    pub(crate) hives: &'h HiveSet,
    /// The number of the first bee of each hive that takes part, and after the last one the number of all bees.
    pub(crate) first_ids: Vec<usize>,
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

    /// Calls `meet` with the calling thread's bee in the leaders' region. The leaders of all hives call this, to meet
    /// each other. `context` is the same thread's bee in the region of its own hive, in the call for which they meet.
    ///
    /// If the leaders do not meet, because of a panic in another hive, the region of this hive fails as well. Returns
    /// None if that happens while the calling thread is unwinding already; otherwise the panic then leaves this
    /// function, and the call.
    pub(crate) fn meet_leaders<R>(&self, context: &RegionContext<'_>, meet: impl FnOnce(&Bee<'_>) -> R) -> Option<R> {
        let value = nesting::with_outermost_region(&self.hives.leaders.shared.team, |leader| {
            // Fails the hive's region unless the leaders have met: if their meeting unwinds, or if it returns without
            // having taken place. The reason is the one of the leaders' region.
            let outer_region = leader.region_key();
            let unmet = on_drop(|| context.fail(Unfinished::InOuterRegion(outer_region)));
            let result = meet_checked(leader, || meet(&Bee { context: leader }));
            if result.is_some() {
                std::mem::forget(unmet);
            }
            result
        });
        value.unwrap_or_else(|| unreachable!("bee 0 of each hive is a leader"))
    }
}

/// Returns what `meet` returns. `meet` is a call in which `context` waits once for its team. None: it has passed no
/// barrier, because a panic has broken the meeting or the region has failed before, and this call runs in a destructor
/// during a panic's unwinding, where the barrier returns instead of panicking.
pub(crate) fn meet_checked<R>(context: &RegionContext<'_>, meet: impl FnOnce() -> R) -> Option<R> {
    let passed_before = context.barriers_passed();
    let result = meet();
    // A bee that is alone in its hive waits for nobody there, even when its region has failed.
    let has_met = !context.has_failed() && (context.bees() == 1 || context.barriers_passed() > passed_before);
    has_met.then_some(result)
}

/// Whether the calling thread is inside a region or a task of any hive. Such a thread must not wait for a team.
pub(crate) fn is_nested() -> bool {
    nesting::is_inside_any()
}
