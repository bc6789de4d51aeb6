//! One bee's share of a loop: its bee at the front, others at the back, in this round and in later ones.

use std::sync::Arc;

use super::Model;
use crate::exploration;
use crate::loops::SingleRange;

pub(super) const MODELS: &[Model] = &[
    Model::exhaustive("range_ends", "three units, of which another bee takes from the back", || {
        play(SingleRange::new(3, 3, 1), 1, claim_own, &[|share| share.steal_all(1)])
    }),
    Model::bounded(3, "range_thieves", "two units, which two others want", || {
        play(SingleRange::new(2, 2, 1), 1, claim_own, &[|share| share.steal_all(1), |share| share.steal_all(1)])
    }),
    Model::exhaustive(
        "range_ahead",
        "three rounds of one unit; another bee has come to the second, and then to the third",
        || play(SingleRange::new(1, 1, 3), 3, claim_own, &[steal_ahead]),
    ),
    Model::bounded(3, "range_ahead_two_units", "the same of two units", || {
        play(SingleRange::new(2, 2, 3), 3, claim_own, &[steal_ahead])
    }),
    Model::bounded(
        2,
        "range_ahead_of_two",
        "two rounds; one other takes from the first, and one from the second",
        || play(SingleRange::new(2, 2, 2), 2, claim_own, &[|share| share.steal_all(1), |share| share.steal_all(2)]),
    ),
    Model::bounded(
        4,
        "range_give_back",
        "of two units claimed at once one is given back, while others take from both rounds",
        || play(SingleRange::new(3, 3, 2), 2, give_back_unit, &[steal_from_both]),
    ),
    Model::bounded(4, "range_put", "two units from elsewhere are put down, while others take from both rounds", || {
        play(SingleRange::new(1, 3, 2), 2, put_others_units, &[steal_from_both])
    }),
];

/// A bee of as many rounds, beside others. Each unit of each round is run once.
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

/// Who has left a round although something was to be had, as it may.
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
