//! Regions in which each member must run its part once, with barriers.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::hive::Hive;

/// A region of `team` with `barriers`, in which the members count one another. The counts are not seen by shuttle: between
/// two of its steps nothing else runs.
pub(crate) fn region(hive: &Hive, team: u32, barriers: u32) {
    let runs: Vec<_> = (0..team).map(|_| AtomicU32::new(0)).collect();
    let arrivals: Vec<_> = (0..barriers).map(|_| AtomicU32::new(0)).collect();
    hive.region(team, |member| {
        assert_eq!(member.team(), team, "a member of another team");
        runs[member.id() as usize].fetch_add(1, Ordering::Relaxed);
        for arrived in &arrivals {
            arrived.fetch_add(1, Ordering::Relaxed);
            member.barrier();
            assert_eq!(arrived.load(Ordering::Relaxed), team, "arrivals at a barrier that member {} has passed", member.id());
        }
    });
    for (id, runs) in runs.iter().enumerate() {
        assert_eq!(runs.load(Ordering::Relaxed), 1, "runs of member {id} of {team}");
    }
}
