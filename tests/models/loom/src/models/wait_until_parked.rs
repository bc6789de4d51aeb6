//! Models of `wait_until_parked`: when it returns, no surplus worker runs on a core.
//!
//! The protocol is described in `docs/resize.md`.

use std::sync::Arc;

use super::Model;
use crate::checked_region::CheckedRegion;
use crate::data::Datum;
use crate::exploration;
use crate::hive::{Hive, OtherThread, PARK, SPIN};
use crate::sync::{Ordering, WaitPolicy, with_states};

/// The value of `SlotState::Parked` in `slot.rs`.
const PARKED: u32 = 4;

pub(super) const MODELS: &[Model] = &[
    Model::exhaustive("wait_parked", "one surplus worker", || wait_for_surplus(PARK, 2)),
    Model::bounded(4, "wait_parked_two", "two surplus workers", || wait_for_surplus(PARK, 3)),
    Model::bounded(3, "wait_parked_spin", "two surplus workers that did not sleep", || wait_for_surplus(SPIN, 3)),
    Model::bounded(4, "wait_parked_twice", "two threads wait for one worker", wait_twice),
    Model::bounded(
        2,
        "wait_parked_overlap",
        "two threads shrink the hive and wait until it is parked",
        overlapping_waits,
    ),
    Model::bounded(2, "wait_parked_busy", "the surplus worker has a region to run first", || {
        wait_for_busy_surplus(PARK)
    }),
    Model::bounded(2, "wait_parked_busy_spin", "the same, and no bee sleeps", || wait_for_busy_surplus(SPIN)),
    Model::bounded(
        3,
        "resize_two_threads",
        "one thread shrinks and waits until it is parked while another shrinks and grows",
        two_resizers,
    ),
];

/// Checks that every worker from `size` on is parked, and that the calling thread, which has waited for that, sees it.
/// No growth may come in between.
fn assert_parked_from(size: u32) {
    with_states(|states| {
        for (id, state) in states.iter().enumerate().skip(size as usize) {
            // Relaxed: what `wait_until_parked` has made visible must be there, even without the newest value.
            assert_eq!(state.load(Ordering::Relaxed), PARKED, "state of bee {id} after settling to {size}");
        }
    });
}

fn wait_for_surplus(policy: WaitPolicy, bees: u32) {
    let hive = Hive::with_workers(bees, bees, policy);
    hive.resize(1);
    hive.team.wait_until_parked();
    assert_eq!(hive.team.pending_parks(), 0);
    assert_parked_from(1);
    hive.end();
}

fn wait_twice() {
    let hive = Hive::with_workers(2, 2, PARK);
    hive.resize(1);
    let other = OtherThread::spawn(&hive, |hive| {
        hive.team.wait_until_parked();
        assert_parked_from(1);
    });
    hive.team.wait_until_parked();
    assert_parked_from(1);
    other.join();
    hive.end();
}

fn overlapping_waits() {
    let hive = Hive::with_workers(3, 3, PARK);
    let other = OtherThread::spawn(&hive, |hive| {
        hive.resize(2);
        hive.team.wait_until_parked();
    });
    hive.resize(1);
    hive.team.wait_until_parked();
    other.join();
    hive.team.wait_until_parked();
    assert_parked_from(2);
    hive.end();
}

/// What the worker has done in a region that began before the shrink is visible to the thread that waits until it is
/// parked, even if that thread is not the queen.
fn wait_for_busy_surplus(policy: WaitPolicy) {
    let hive = Hive::with_workers(2, 2, policy);
    let work = Arc::new(Datum::new(0));
    let begun = Arc::new(loom::sync::atomic::AtomicBool::new(false));
    let settler = OtherThread::spawn(&hive, {
        let (work, begun) = (Arc::clone(&work), Arc::clone(&begun));
        move |hive| {
            // Relaxed: only tells that the worker is in the region; it must order nothing, because `wait_until_parked`
            // has to.
            let has_begun = begun.load(Ordering::Relaxed);
            hive.resize(1);
            hive.team.wait_until_parked();
            if has_begun {
                assert_eq!(work.get(), 1, "what the bee did before it was tucked in");
            }
        }
    });
    hive.region(2, |context| {
        if context.id == 1 {
            begun.store(true, Ordering::Relaxed);
            work.set(1);
        }
    });
    // Relaxed: see above.
    settler.join();
    hive.end();
}

fn two_resizers() {
    let hive = Hive::with_workers(2, 2, PARK);
    let other = OtherThread::spawn(&hive, |hive| {
        hive.resize(1);
        hive.resize(2);
    });
    hive.resize(1);
    hive.team.wait_until_parked();
    other.join();
    exploration::stop_exploring();
    CheckedRegion::new(2).run(&hive, 2);
    hive.end();
}
