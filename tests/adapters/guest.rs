//! What the tests of rayon as a guest share.

#![allow(dead_code, reason = "each test file is a crate of its own and uses its own part of this")]

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::thread;

use hive::{Builder, Hive};
use rayon::prelude::*;

use super::common::Gate;
use super::common::sys::tid;

/// A builder of a hive whose bees are rayon's workers.
pub(crate) fn host(bees: usize) -> Builder {
    Hive::builder().bees(bees).host_rayon(true)
}

/// Runs `part` with a hive of each size, each on a thread of its own: a thread can build one.
pub(crate) fn with_each_size(part: impl Fn(&Hive, usize) + Sync) {
    for bees in 1..=4 {
        on_a_thread(|| part(&host(bees).build().unwrap(), bees));
    }
}

pub(crate) fn on_a_thread<R: Send>(part: impl FnOnce() -> R + Send) -> R {
    thread::scope(|scope| scope.spawn(part).join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// A sum that is split as far as it goes.
pub(crate) fn sum(to: usize) -> usize {
    (0..to).into_par_iter().with_max_len(1).sum()
}

/// Runs a job for each of `workers` that waits for all others, so that each is on a worker of its own; their threads.
pub(crate) fn tids_of_all_workers(workers: usize) -> BTreeSet<i32> {
    let (gate, tids) = (Gate::new(), Mutex::new(BTreeSet::new()));
    rayon::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|_| {
                tids.lock().unwrap().insert(tid());
                gate.arrive_and_wait(workers);
            });
        }
    });
    tids.into_inner().unwrap()
}
