//! Models of the deadlock detector of ordered sections: when every bee of a region is stalled and waits for another,
//! exactly one of them is told; while one of them can still go on, none is told.
//!
//! The protocol is described in `docs/collectives.md`.

use std::panic::resume_unwind;
use std::sync::atomic::AtomicU32 as Unseen;

use super::Model;
use crate::exploration;
use crate::hive::{Hive, PARK, SPIN};
use crate::protocol::region::region_context::RegionContext;
use crate::sync::{AtomicU32, Ordering, WaitPolicy};

pub(super) const MODELS: &[Model] = &[
    Model::bounded(
        4,
        "deadlock_alternating",
        "two bees pass a turn on to each other, and neither is told of a deadlock",
        || alternate(2),
    ),
    Model::bounded(2, "deadlock_alternating_again", "the same with more turns", || alternate(4)),
    Model::bounded(2, "deadlock_bee_left", "one bee leaves the region, and the other is told of the deadlock", || {
        reported(SPIN, [5, 0])
    }),
    Model::bounded(2, "deadlock_queen_left", "the same with the bees exchanged; the queen sleeps", || {
        reported(PARK, [0, 5])
    }),
    Model::bounded(2, "deadlock_both", "both bees wait for turns that do not come, and one is told", || {
        reported(SPIN, [3, 5])
    }),
    Model::bounded(3, "deadlock_panic", "a bee panics, and the queen, who waits for its turn, is not told", || {
        panicked(SPIN)
    }),
];

/// Waits until `next_index` is `index`, and declares the bee stalled if that is not so at once. Returns whether the
/// detector has confirmed a deadlock.
fn wait_for_ordered_index(context: &RegionContext<'_>, next_index: &AtomicU32, index: u32) -> bool {
    // Acquire: pairs with the Release stores below, by which the turn is passed on.
    let is_turn = || next_index.load(Ordering::Acquire) == index;
    if is_turn() {
        return false;
    }
    let stall = context.declare_stall().expect("a team of one group");
    let mut is_told = false;
    context.wait_until(|| {
        is_told = stall.confirm_deadlock(is_turn);
        is_told || is_turn()
    });
    is_told
}

/// Two bees take every second turn each, `count` turns in all. Neither may be told of a deadlock.
fn alternate(count: u32) {
    let hive = Hive::with_workers_unexplored(2, SPIN);
    let turn = AtomicU32::new(0);
    let at_work = Unseen::new(2);
    hive.region(2, |context| {
        context.barrier();
        exploration::explore();
        for index in (context.id..count).step_by(2) {
            assert!(
                !wait_for_ordered_index(context, &turn, index),
                "bee {} is told that turn {index} never comes",
                context.id
            );
            // Release: pairs with the Acquire in `wait_for_ordered_index`, for the bee that has the next turn.
            turn.store(index + 1, Ordering::Release);
        }
        if context.id == 0 {
            assert!(!wait_for_ordered_index(context, &turn, count), "the queen is told that the last turn never comes");
        }
        if at_work.fetch_sub(1, Ordering::Relaxed) == 1 {
            exploration::stop_exploring();
        }
    });
    hive.end();
}

/// Each bee waits for the turn that `waits` gives for it; turn 0 is there from the start. The bee that is told of the
/// deadlock sets the turn that the other waits for.
fn reported(policy: WaitPolicy, waits: [u32; 2]) {
    let hive = Hive::with_workers_unexplored(2, policy);
    let turn = AtomicU32::new(0);
    let tellings = Unseen::new(0);
    hive.region(2, |context| {
        context.barrier();
        exploration::explore();
        let (own, other) = (waits[context.id as usize], waits[1 - context.id as usize]);
        if wait_for_ordered_index(context, &turn, own) {
            tellings.fetch_add(1, Ordering::Relaxed);
            // Release: pairs with the Acquire in `wait_for_ordered_index`, for the other bee.
            turn.store(other, Ordering::Release);
        }
    });
    exploration::stop_exploring();
    assert_eq!(tellings.load(Ordering::Relaxed), 1, "bees are told");
    hive.end();
}

/// The worker panics instead of passing its turn on. The region ends with that panic.
fn panicked(policy: WaitPolicy) {
    let hive = Hive::with_workers_unexplored(2, policy);
    let turn = AtomicU32::new(0);
    let tellings = Unseen::new(0);
    let outcome = hive.try_region(2, |context| {
        context.barrier();
        exploration::explore();
        if context.id == 1 {
            resume_unwind(Box::new("the worker's"));
        }
        if wait_for_ordered_index(context, &turn, 5) {
            tellings.fetch_add(1, Ordering::Relaxed);
        }
    });
    exploration::stop_exploring();
    assert_eq!(tellings.load(Ordering::Relaxed), 0, "the queen is told of a deadlock");
    let payload = outcome.expect_err("the worker's panic goes on");
    assert_eq!(payload.downcast_ref(), Some(&"the worker's"));
    hive.end();
}
