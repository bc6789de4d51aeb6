//! The preparation of a case: wakes the team, and checks that every thread runs, and where.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::record::Measured;
use crate::runtimes::Runtime;
use crate::system::cpus;

/// Regions before anything is timed or looked at.
const WARM_UP: u64 = 100;

/// Wakes the team, and writes down where its threads ran.
pub(super) fn warm_up(runtime: &mut impl Runtime, measured: &mut Measured) -> Result<(), String> {
    runtime.empty_regions(runtime.threads(), WARM_UP);
    measured.seen_on = verify_team(runtime)?;
    Ok(())
}

/// Wakes threads that have gone to sleep while the caller prepared something. What waking costs is measured in the idle
/// cases only.
pub(super) fn awaken(runtime: &mut impl Runtime) {
    runtime.empty_regions(runtime.threads(), WARM_UP);
}

/// Checks that every thread runs exactly once. Returns on which CPUs they ran.
fn verify_team(runtime: &mut impl Runtime) -> Result<Vec<usize>, String> {
    let threads = runtime.threads();
    let runs: Vec<_> = (0..threads).map(|_| AtomicUsize::new(0)).collect();
    let seen_on: Vec<_> = (0..threads).map(|_| AtomicUsize::new(0)).collect();
    let unknown_ids = AtomicUsize::new(0);
    // Relaxed throughout: the end of the region orders all of it before the loads below.
    runtime.region(threads, |id| match runs.get(id) {
        Some(run) => {
            run.fetch_add(1, Ordering::Relaxed);
            seen_on[id].store(cpus::current().unwrap_or(usize::MAX), Ordering::Relaxed);
        }
        None => {
            unknown_ids.fetch_add(1, Ordering::Relaxed);
        }
    });
    let runs: Vec<usize> = runs.iter().map(|run| run.load(Ordering::Relaxed)).collect();
    if unknown_ids.into_inner() > 0 || runs.iter().any(|run| *run != 1) {
        return Err(format!("a region of {threads} threads ran them {runs:?} times"));
    }
    Ok(seen_on.into_iter().map(AtomicUsize::into_inner).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A team that forgets its last thread.
    struct Lazy;

    impl Runtime for Lazy {
        fn threads(&self) -> usize {
            3
        }

        fn region<F: Fn(usize) + Sync>(&mut self, threads: usize, body: F) {
            (0..threads - 1).for_each(body);
        }

        fn sums(&mut self, _times: u64) -> f64 {
            0.0
        }
    }

    #[test]
    fn a_missing_thread_is_found() {
        let error = verify_team(&mut Lazy).unwrap_err();
        assert!(error.contains("[1, 1, 0]"), "{error}");
    }
}
