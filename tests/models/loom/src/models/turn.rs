//! The turn to be queen.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use super::Model;
use crate::crew::{Hand, Latch, Sleep, Turned};
use crate::data::Datum;
use crate::errand::Errand;
use crate::hive::{Helper, Hive, PATIENT, SLEEPY};
use crate::rounds::Rounds;
use crate::sync::{WaitPolicy, heavy_fences, with_takes_to_reserve};

pub(super) const MODELS: &[Model] = &[
    Model::all("turn_two", "two queens take turns, of which one may queue", || in_turns(SLEEPY, 2, 1)),
    Model::all("turn_two_patient", "the same, with a poll before queueing", || in_turns(PATIENT, 2, 1)),
    Model::up_to(3, "turn_again", "two queens take two turns each", || in_turns(SLEEPY, 2, 2)),
    Model::up_to(2, "turn_three", "three queens, of whom two may queue", || in_turns(SLEEPY, 3, 1)),
    Model::up_to(3, "turn_try", "a second queen tries, and a third queues", try_beside_queue),
    Model::up_to(3, "turn_vain", "the turn is tried for twice while its owner takes it three times", try_in_vain),
    Model::up_to(2, "turn_regions", "two queens start regions of one bee", regions),
    Model::up_to(
        2,
        "turn_join",
        "an outsider joins while the one to whom the turn is reserved starts a region",
        join_beside_region,
    ),
];

/// `queens` take the turn `times` each, and change what only the holder may.
fn in_turns(policy: WaitPolicy, queens: u32, times: u32) {
    let hive = Hive::staffed(1, 1, policy);
    let held = Arc::new(Datum::new(0));
    let reign = move |hive: &Hive, held: &Datum| {
        for _ in 0..times {
            let _turn = hive.crew.take_turn();
            held.set(held.get() + 1);
        }
    };
    let others: Vec<_> = (1..queens)
        .map(|_| {
            let held = Arc::clone(&held);
            Helper::spawn(&hive, move |hive| reign(hive, &held))
        })
        .collect();
    reign(&hive, &held);
    others.into_iter().for_each(Helper::join);
    assert_eq!(held.get(), queens * times, "turns taken");
    hive.end();
}

fn try_beside_queue() {
    let hive = Hive::staffed(1, 1, SLEEPY);
    let held = Arc::new(Datum::new(0));
    let queue = Helper::spawn(&hive, {
        let held = Arc::clone(&held);
        move |hive| {
            let _turn = hive.crew.take_turn();
            held.set(held.get() + 1);
        }
    });
    // Loom runs one thread at a time: the cell is for the result only.
    let tried = Rc::new(Cell::new(0));
    let trier = Helper::spawn(&hive, {
        let (held, tried) = (Arc::clone(&held), Rc::clone(&tried));
        move |hive| {
            if let Some(_turn) = hive.crew.try_take_turn() {
                held.set(held.get() + 1);
                tried.set(1);
            }
        }
    });
    let turn = hive.crew.take_turn();
    held.set(held.get() + 1);
    drop(turn);
    queue.join();
    trier.join();
    assert_eq!(held.get(), 2 + tried.get(), "turns taken");
    hive.end();
}

/// Whoever ends a reservation, be it in vain, does so for longer than this script.
fn try_in_vain() {
    with_takes_to_reserve(1, || {
        let hive = Hive::staffed(1, 1, SLEEPY);
        (0..2).for_each(|_| drop(hive.crew.take_turn()));
        let before = heavy_fences();
        let outsider = Helper::spawn(&hive, |hive| (0..2).for_each(|_| drop(hive.crew.try_take_turn())));
        (0..3).for_each(|_| drop(hive.crew.take_turn()));
        outsider.join();
        assert!(heavy_fences() - before <= 1, "the owner has earned a reservation anew in three takes");
        hive.end();
    });
}

fn regions() {
    let hive = Hive::staffed(2, 2, SLEEPY);
    let other = Helper::spawn(&hive, |hive| Rounds::new(2).region(hive, 2));
    Rounds::new(2).region(&hive, 2);
    other.join();
    hive.end();
}

/// The outsider takes the queen's place if it can, and shares a half of its join, or runs it; else it leaves both to the bee.
fn join_beside_region() {
    let hive = Hive::with_tasks(2, 2, SLEEPY, Sleep::jec());
    drop(hive.crew.take_turn());
    let held = Arc::new(Datum::new(0));
    let outsider = Helper::spawn(&hive, {
        let held = Arc::clone(&held);
        move |hive| match hive.crew.try_take_turn() {
            Some(turn) => {
                held.set(held.get() + 1);
                join_as_queen(hive, turn);
            }
            None => {
                let (both, task) = Errand::new();
                hive.crew.inject(task);
                both.wait();
            }
        }
    });
    hive.region(2, |member| {
        if member.id() == 0 {
            held.set(held.get() + 1);
        }
    });
    outsider.join();
    hive.end();
}

#[expect(unsafe_code, reason = "sets a latch")]
fn join_as_queen(hive: &Hive, turn: Turned<'_>) {
    let hand = Hand::of_queen(&hive.crew, turn);
    let latch = Arc::new(Latch::new());
    let (half, task) = Errand::of({
        let (crew, latch) = (Arc::clone(&hive.crew), Arc::clone(&latch));
        // SAFETY: this closure keeps it alive.
        move || unsafe { crew.set_latch(Arc::as_ptr(&latch), 0) }
    });
    let number = hand.keep(task);
    hand.share_at_once();
    if hand.take_back(number) || hand.take_back_or_work(&task, &latch) {
        task.run();
    }
    half.wait();
    hand.leave_tasks();
}
