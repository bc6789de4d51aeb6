//! Teams of several groups: a start that is passed on, barriers that are gathered, ends that are waited for on the way.

use super::panics::Act::{Catch, Leave, Meet, Throw};
use super::{Model, barrier, panics, start};
use crate::hive::{HOT, Hive, SLEEPY};
use crate::rounds::Rounds;

/// The queen on one node, two bees on another: the first passes on to the second.
const RELAY: &[usize] = &[0, 1, 1];

/// The queen and a bee on one node, a bee on another: she heads both groups.
const SPLIT: &[usize] = &[0, 0, 1];

pub(super) const MODELS: &[Model] = &[
    Model::up_to(2, "relay_hot", "a bee passes two regions on", || start::regions(Hive::on_nodes(RELAY, HOT), 3, &[3, 3])),
    Model::up_to(2, "relay_sizes", "a region that is passed on, one that is not, one that is", || {
        start::regions(Hive::on_nodes(RELAY, HOT), 3, &[3, 2, 3])
    }),
    Model::up_to(3, "relay_sleep_once", "who passes on may sleep, and who is passed on to", || {
        start::regions(Hive::on_nodes(RELAY, SLEEPY), 3, &[3])
    }),
    Model::up_to(2, "relay_sleep", "the same, in two regions", || start::regions(Hive::on_nodes(RELAY, SLEEPY), 3, &[3, 3])),
    Model::up_to(2, "relay_barrier_hot", "a bee gathers another at a barrier", || {
        barrier::meet(Hive::on_nodes(RELAY, HOT), 3, 1, 1)
    }),
    Model::up_to(2, "relay_barrier_doze", "the same, and who waits dozes", || {
        barrier::meet(Hive::on_nodes(RELAY, SLEEPY), 3, 1, 1)
    }),
    Model::up_to(1, "relay_barrier_twice", "two barriers in each of two regions", || {
        barrier::meet(Hive::on_nodes(RELAY, HOT), 3, 2, 2)
    }),
    Model::up_to(1, "relay_barrier_late", "a barrier in each of two regions: who lets go may be late", || {
        barrier::meet(Hive::on_nodes(RELAY, SLEEPY), 3, 1, 2)
    }),
    Model::up_to(2, "relay_panic_far", "the bee at the far end panics", || {
        panics::act(Hive::on_nodes(RELAY, SLEEPY), &[Meet, Meet, Throw])
    }),
    Model::up_to(2, "relay_panic_head", "who passes on panics", || {
        panics::act(Hive::on_nodes(RELAY, SLEEPY), &[Meet, Throw, Meet])
    }),
    Model::up_to(1, "relay_panic_queen", "the queen panics", || panics::act(Hive::on_nodes(RELAY, SLEEPY), &[Throw, Meet, Meet])),
    Model::up_to(2, "relay_desert_far", "the bee at the far end leaves a barrier out", || {
        panics::act(Hive::on_nodes(RELAY, SLEEPY), &[Meet, Meet, Leave])
    }),
    Model::up_to(2, "relay_desert_head", "who gathers leaves a barrier out", || {
        panics::act(Hive::on_nodes(RELAY, SLEEPY), &[Meet, Leave, Meet])
    }),
    Model::up_to(2, "relay_desert_queen", "the queen leaves a barrier out", || {
        panics::act(Hive::on_nodes(RELAY, SLEEPY), &[Leave, Meet, Meet])
    }),
    Model::up_to(2, "relay_caught", "the bee at the far end leaves a barrier out, and the others catch what ends theirs", || {
        panics::act(Hive::on_nodes(RELAY, SLEEPY), &[Catch, Catch, Leave])
    }),
    Model::up_to(2, "relay_cut_short", "the same, and the one who passes on does not", || {
        panics::act(Hive::on_nodes(RELAY, SLEEPY), &[Catch, Meet, Leave])
    }),
    Model::up_to(1, "relay_resize", "the group at the far end is laid off between regions and comes back", || resize(&[3, 2, 3])),
    Model::up_to(2, "split_hot", "the queen starts two groups", || start::regions(Hive::on_nodes(SPLIT, HOT), 3, &[3, 2, 3])),
    Model::up_to(2, "split_sleep", "the same, and the bees may sleep", || {
        start::regions(Hive::on_nodes(SPLIT, SLEEPY), 3, &[3, 3])
    }),
    Model::up_to(2, "split_barrier_hot", "the queen gathers one group for the other", || {
        barrier::meet(Hive::on_nodes(SPLIT, HOT), 3, 1, 1)
    }),
    Model::up_to(2, "split_barrier_doze", "the same, and who waits dozes", || {
        barrier::meet(Hive::on_nodes(SPLIT, SLEEPY), 3, 1, 1)
    }),
    Model::up_to(1, "split_panic", "a bee of the queen's inner group panics", || {
        panics::act(Hive::on_nodes(SPLIT, SLEEPY), &[Meet, Throw, Meet])
    }),
    Model::up_to(1, "split_panic_outer", "a bee of her outer group panics", || {
        panics::act(Hive::on_nodes(SPLIT, SLEEPY), &[Meet, Meet, Throw])
    }),
    Model::up_to(2, "split_desert", "a bee of the queen's inner group leaves a barrier out", || {
        panics::act(Hive::on_nodes(SPLIT, SLEEPY), &[Meet, Leave, Meet])
    }),
    Model::up_to(2, "split_desert_queen", "the queen leaves a barrier out", || {
        panics::act(Hive::on_nodes(SPLIT, SLEEPY), &[Leave, Meet, Meet])
    }),
    Model::up_to(1, "nodes_two_by_two", "four members: the queen's two groups, and one that is passed on", || {
        start::regions(Hive::on_nodes(&[0, 0, 1, 1], HOT), 4, &[4])
    }),
];

/// Regions of these teams in a hive that is made as large before each.
fn resize(teams: &[u32]) {
    let hive = Hive::on_nodes(RELAY, SLEEPY);
    let mut rounds = Rounds::new(3);
    for &team in teams {
        hive.resize(team);
        rounds.region(&hive, team);
    }
    hive.end();
}
