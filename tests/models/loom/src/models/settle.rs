//! Settling: when it returns, no surplus bee is on a core.

use std::sync::Arc;

use super::Model;
use crate::data::Datum;
use crate::hive::{HOT, Helper, Hive, SLEEPY};
use crate::rounds::Rounds;
use crate::stage;
use crate::sync::{Ordering, WaitPolicy, with_states};

/// `State::Parked` of `slot.rs`.
const PARKED: u32 = 4;

pub(super) const MODELS: &[Model] = &[
    Model::all("settle", "one surplus bee", || settle(SLEEPY, 2)),
    Model::up_to(4, "settle_two", "two surplus bees", || settle(SLEEPY, 3)),
    Model::up_to(3, "settle_hot", "two surplus bees that did not sleep", || settle(HOT, 3)),
    Model::up_to(4, "settle_twice", "two threads wait for one bee", settle_twice),
    Model::up_to(2, "settle_overlap", "two threads shrink and settle", settle_overlap),
    Model::up_to(2, "settle_work", "the surplus bee has a region to run first", || settle_work(SLEEPY)),
    Model::up_to(2, "settle_work_hot", "the same, and nobody sleeps", || settle_work(HOT)),
    Model::up_to(3, "resizers", "one shrinks and settles while another shrinks and grows", resizers),
];

/// With no grow in between, every bee from `size` on is parked, and whoever has settled knows.
fn assert_parked_from(size: u32) {
    with_states(|states| {
        for (id, state) in states.iter().enumerate().skip(size as usize) {
            // Relaxed: what the settling made visible, and nothing newer, need be there.
            assert_eq!(state.load(Ordering::Relaxed), PARKED, "state of bee {id} after settling to {size}");
        }
    });
}

fn settle(policy: WaitPolicy, bees: u32) {
    let hive = Hive::staffed(bees, bees, policy);
    hive.resize(1);
    hive.crew.settle();
    assert_eq!(hive.crew.untucked(), 0);
    assert_parked_from(1);
    hive.end();
}

fn settle_twice() {
    let hive = Hive::staffed(2, 2, SLEEPY);
    hive.resize(1);
    let other = Helper::spawn(&hive, |hive| {
        hive.crew.settle();
        assert_parked_from(1);
    });
    hive.crew.settle();
    assert_parked_from(1);
    other.join();
    hive.end();
}

fn settle_overlap() {
    let hive = Hive::staffed(3, 3, SLEEPY);
    let other = Helper::spawn(&hive, |hive| {
        hive.resize(2);
        hive.crew.settle();
    });
    hive.resize(1);
    hive.crew.settle();
    other.join();
    hive.crew.settle();
    assert_parked_from(2);
    hive.end();
}

/// What the bee has done in a region that began before the shrink is visible to whoever settles, be it not the queen.
fn settle_work(policy: WaitPolicy) {
    let hive = Hive::staffed(2, 2, policy);
    let work = Arc::new(Datum::new(0));
    let begun = Arc::new(loom::sync::atomic::AtomicBool::new(false));
    let settler = Helper::spawn(&hive, {
        let (work, begun) = (Arc::clone(&work), Arc::clone(&begun));
        move |hive| {
            // Relaxed: tells that the bee is in the region, and nothing else.
            let has_begun = begun.load(Ordering::Relaxed);
            hive.resize(1);
            hive.crew.settle();
            if has_begun {
                assert_eq!(work.get(), 1, "what the bee did before it was tucked in");
            }
        }
    });
    hive.region(2, |member| {
        if member.id() == 1 {
            begun.store(true, Ordering::Relaxed);
            work.set(1);
        }
    });
    settler.join();
    hive.end();
}

fn resizers() {
    let hive = Hive::staffed(2, 2, SLEEPY);
    let other = Helper::spawn(&hive, |hive| {
        hive.resize(1);
        hive.resize(2);
    });
    hive.resize(1);
    hive.crew.settle();
    other.join();
    stage::end();
    Rounds::new(2).region(&hive, 2);
    hive.end();
}
