//! Models of the range of one bee in a loop: its owner claims units at the front and other bees steal at the back, in
//! this round and in later ones.
//!
//! The protocol is described in `docs/loops.md`.

use std::sync::Arc;

use super::Model;
use crate::exploration;
use crate::loops::SingleRange;

pub(super) const MODELS: &[Model] = &[
    Model::exhaustive("range_ends", "three units; another bee steals from the back", || {
        play(SingleRange::new(3, 3, 1), 1, claim_own, &[|share| share.steal_all(1)])
    }),
    Model::bounded(3, "range_thieves", "two units; two other bees steal", || {
        play(SingleRange::new(2, 2, 1), 1, claim_own, &[|share| share.steal_all(1), |share| share.steal_all(1)])
    }),
    Model::exhaustive(
        "range_ahead",
        "three rounds of one unit; another bee is already in the second round, and then in the third",
        || play(SingleRange::new(1, 1, 3), 3, claim_own, &[steal_ahead]),
    ),
    Model::bounded(3, "range_ahead_two_units", "the same with two units a round", || {
        play(SingleRange::new(2, 2, 3), 3, claim_own, &[steal_ahead])
    }),
    Model::bounded(
        2,
        "range_ahead_of_two",
        "two rounds; one bee steals from the first, and another from the second",
        || play(SingleRange::new(2, 2, 2), 2, claim_own, &[|share| share.steal_all(1), |share| share.steal_all(2)]),
    ),
    Model::bounded(
        4,
        "range_give_back",
        "of two units claimed at once one is given back, while another bee steals from both rounds",
        || play(SingleRange::new(3, 3, 2), 2, give_back_unit, &[steal_from_both]),
    ),
    Model::bounded(
        4,
        "range_put",
        "two units from elsewhere are published, while another bee steals from both rounds",
        || play(SingleRange::new(1, 3, 2), 2, put_others_units, &[steal_from_both]),
    ),
];

/// Runs `own` in each of the rounds on the calling thread, and each of `others` on a thread of its own. Checks that
/// each unit of each round has been run once.
fn play(share: SingleRange, rounds: u16, own: fn(&SingleRange, u16), others: &[fn(&SingleRange)]) {
    let share = Arc::new(share);
    exploration::explore();
    let others: Vec<_> = others
        .iter()
        .map(|&other| {
            let share = Arc::clone(&share);
            loom::thread::spawn(move || other(&share))
        })
        .collect();
    (1..=rounds).for_each(|round| own(&share, round));
    others.into_iter().for_each(|other| other.join().expect("ends"));
    for round in 1..=rounds {
        let runs = share.runs(round);
        assert!(runs.iter().all(|runs| *runs == 1), "runs of the units of round {round}: {runs:?}");
    }
}

fn claim_own(share: &SingleRange, round: u16) {
    share.finish(round);
}

/// A bee may leave a round although units are left that it could steal. This one is ahead: it steals from the second
/// round and from the third.
fn steal_ahead(share: &SingleRange) {
    share.steal_all(2);
    share.steal_all(3);
}

fn steal_from_both(share: &SingleRange) {
    share.steal_all(1);
    share.steal_all(2);
}

fn give_back_unit(share: &SingleRange, round: u16) {
    if let Some(units) = share.claim(round, 2) {
        share.run(round, units.start..units.start + 1);
        if units.len() > 1 {
            share.give_back(round, units.start + 1..units.end);
        }
    }
    share.finish(round);
}

fn put_others_units(share: &SingleRange, round: u16) {
    share.finish(round);
    share.put(round, 1..3);
    share.finish(round);
}
