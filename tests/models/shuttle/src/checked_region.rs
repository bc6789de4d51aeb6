//! Regions with barriers in which each bee must run its part once. The scenarios run such a region to check a hive.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::hive::Hive;

/// Runs a region of `bees` bees with `barriers` barriers, in which the bees count each other. Shuttle does not see the
/// counters; that is enough, because between two steps of shuttle no other thread runs.
pub(crate) fn run(hive: &Hive, bees: u32, barriers: u32) {
    let runs: Vec<_> = (0..bees).map(|_| AtomicU32::new(0)).collect();
    let arrivals: Vec<_> = (0..barriers).map(|_| AtomicU32::new(0)).collect();
    hive.region(bees, |context| {
        assert_eq!(context.bees, bees, "a bee of another team");
        runs[context.id as usize].fetch_add(1, Ordering::Relaxed);
        for arrived in &arrivals {
            arrived.fetch_add(1, Ordering::Relaxed);
            context.barrier();
            assert_eq!(
                arrived.load(Ordering::Relaxed),
                bees,
                "arrivals at a barrier that bee {} has passed",
                context.id
            );
        }
    });
    for (id, runs) in runs.iter().enumerate() {
        assert_eq!(runs.load(Ordering::Relaxed), 1, "runs of bee {id} of {bees}");
    }
}
