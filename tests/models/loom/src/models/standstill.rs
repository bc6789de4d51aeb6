//! Members that stand, each for a word of another's: who is told that nobody will go on, and that nobody is told wrongly.

use super::Model;
use crate::crew::Member;
use crate::hive::{HOT, Hive, SLEEPY};
use crate::stage;
use crate::sync::{AtomicU32, Ordering, WaitPolicy};
use std::sync::atomic::AtomicU32 as Unseen;

pub(super) const MODELS: &[Model] = &[
    Model::up_to(4, "standstill_turns", "two members pass a turn on to each other: nobody is told", || turns(2)),
    Model::up_to(2, "standstill_turns_again", "the same, over and over", || turns(4)),
    Model::up_to(2, "standstill_left", "one leaves, and the other is told", || told(HOT, [5, 0])),
    Model::up_to(2, "standstill_queen_left", "the same, the other way round: the queen sleeps", || told(SLEEPY, [0, 5])),
    Model::up_to(2, "standstill_both", "both wait for turns that do not come: one is told", || told(HOT, [3, 5])),
];

/// Waits until it is the turn of `index`, standing from the first look on. Says whether it was told that this will never be.
fn wait_standing(member: &Member<'_>, turn: &AtomicU32, index: u32) -> bool {
    let is_turn = || turn.load(Ordering::Acquire) == index;
    if is_turn() {
        return false;
    }
    let standing = member.stand().expect("a team of one group");
    let mut is_told = false;
    member.wait_until(|| {
        is_told = standing.is_for_ever(is_turn);
        is_told || is_turn()
    });
    is_told
}

/// Each member has every second turn.
fn turns(count: u32) {
    let hive = Hive::assembled(2, HOT);
    let turn = AtomicU32::new(0);
    let at_work = Unseen::new(2);
    hive.region(2, |member| {
        member.barrier();
        stage::play();
        for index in (member.id()..count).step_by(2) {
            assert!(!wait_standing(member, &turn, index), "member {} is told that turn {index} never comes", member.id());
            turn.store(index + 1, Ordering::Release);
        }
        if member.id() == 0 {
            assert!(!wait_standing(member, &turn, count), "the queen is told that the last turn never comes");
        }
        if at_work.fetch_sub(1, Ordering::Relaxed) == 1 {
            stage::end();
        }
    });
    hive.end();
}

/// Each member waits for one turn, 0 being there already. Who is told that it never comes lets the other go.
fn told(policy: WaitPolicy, waits: [u32; 2]) {
    let hive = Hive::assembled(2, policy);
    let turn = AtomicU32::new(0);
    let tellings = Unseen::new(0);
    hive.region(2, |member| {
        member.barrier();
        stage::play();
        let (own, other) = (waits[member.id() as usize], waits[1 - member.id() as usize]);
        if wait_standing(member, &turn, own) {
            tellings.fetch_add(1, Ordering::Relaxed);
            turn.store(other, Ordering::Release);
        }
    });
    stage::end();
    assert_eq!(tellings.load(Ordering::Relaxed), 1, "members are told");
    hive.end();
}
