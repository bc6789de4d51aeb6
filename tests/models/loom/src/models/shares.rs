//! One member's share of a loop: its member at the front, others at the back, in this round and in later ones.

use std::sync::Arc;

use super::Model;
use crate::loops::Lone;
use crate::stage;

pub(super) const MODELS: &[Model] = &[
    Model::all("share_ends", "three units, of which another member takes from the back", || {
        play(Lone::new(3, 3, 1), 1, own_rounds, &[|share| share.rob(1)])
    }),
    Model::up_to(3, "share_thieves", "two units, which two others want", || {
        play(Lone::new(2, 2, 1), 1, own_rounds, &[|share| share.rob(1), |share| share.rob(1)])
    }),
    Model::all("share_ahead", "three rounds of one unit; another member has come to the second, and then to the third", || {
        play(Lone::new(1, 1, 3), 3, own_rounds, &[ahead])
    }),
    Model::up_to(3, "share_ahead_two_units", "the same of two units", || play(Lone::new(2, 2, 3), 3, own_rounds, &[ahead])),
    Model::up_to(2, "share_ahead_of_two", "two rounds; one other takes from the first, and one from the second", || {
        play(Lone::new(2, 2, 2), 2, own_rounds, &[|share| share.rob(1), |share| share.rob(2)])
    }),
    Model::up_to(
        4,
        "share_give_back",
        "of two units claimed at once one is given back, while others take from both rounds",
        || play(Lone::new(3, 3, 2), 2, giving_back, &[both_rounds]),
    ),
    Model::up_to(4, "share_put", "two units from elsewhere are put down, while others take from both rounds", || {
        play(Lone::new(1, 3, 2), 2, putting, &[both_rounds])
    }),
];

/// A member of as many rounds, beside others. Each unit of each round is run once.
fn play(share: Lone, rounds: u16, own: fn(&Lone, u16), others: &[fn(&Lone)]) {
    let share = Arc::new(share);
    stage::play();
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

fn own_rounds(share: &Lone, round: u16) {
    share.finish(round);
}

/// Who has left a round although something was to be had, as it may.
fn ahead(share: &Lone) {
    share.rob(2);
    share.rob(3);
}

fn both_rounds(share: &Lone) {
    share.rob(1);
    share.rob(2);
}

fn giving_back(share: &Lone, round: u16) {
    if let Some(units) = share.claim(round, 2) {
        share.run(round, units.start..units.start + 1);
        if units.len() > 1 {
            share.give_back(round, units.start + 1..units.end);
        }
    }
    share.finish(round);
}

fn putting(share: &Lone, round: u16) {
    share.finish(round);
    share.put(round, 1..3);
    share.finish(round);
}
