//! Models of teams of several groups: the leader of a group passes the start on to its group, collects the arrivals at
//! barriers, and waits for the end.
//!
//! The protocol is described in `docs/shape.md`.

use super::panics::BeeAction::{Barrier, CatchAtBarrier, Panic, Return};
use super::{Model, barrier, panics, start};
use crate::checked_region::CheckedRegion;
use crate::hive::{Hive, PARK, SPIN};

/// The queen is on one node and two bees are on another. The first of the two leads the other: it forwards the start.
const FORWARDED: &[usize] = &[0, 1, 1];

/// The queen and a bee are on one node, and a bee is on another. The queen leads both groups.
const TWO_GROUPS: &[usize] = &[0, 0, 1];

pub(super) const MODELS: &[Model] = &[
    Model::bounded(2, "forward_spin", "a leader forwards the start of two regions", || {
        start::regions(Hive::on_nodes(FORWARDED, SPIN), 3, &[3, 3])
    }),
    Model::bounded(2, "forward_sizes", "three regions, of which the first and the last are forwarded", || {
        start::regions(Hive::on_nodes(FORWARDED, SPIN), 3, &[3, 2, 3])
    }),
    Model::bounded(
        3,
        "forward_sleep_once",
        "the leader may sleep, and so may the bee that it forwards the start to",
        || start::regions(Hive::on_nodes(FORWARDED, PARK), 3, &[3]),
    ),
    Model::bounded(2, "forward_sleep", "the same, in two regions", || {
        start::regions(Hive::on_nodes(FORWARDED, PARK), 3, &[3, 3])
    }),
    Model::bounded(2, "forward_barrier_spin", "a leader collects a bee's arrival at a barrier", || {
        barrier::barriers_in_regions(Hive::on_nodes(FORWARDED, SPIN), 3, 1, 1)
    }),
    Model::bounded(2, "forward_barrier_park", "the same; a waiting bee blocks", || {
        barrier::barriers_in_regions(Hive::on_nodes(FORWARDED, PARK), 3, 1, 1)
    }),
    Model::bounded(1, "forward_barrier_twice", "two barriers in each of two regions", || {
        barrier::barriers_in_regions(Hive::on_nodes(FORWARDED, SPIN), 3, 2, 2)
    }),
    Model::bounded(
        1,
        "forward_barrier_late",
        "a barrier in each of two regions; the bee that wakes the others may be late",
        || barrier::barriers_in_regions(Hive::on_nodes(FORWARDED, PARK), 3, 1, 2),
    ),
    Model::bounded(2, "forward_panic_far", "the bee at the far end panics", || {
        panics::run_actions(Hive::on_nodes(FORWARDED, PARK), &[Barrier, Barrier, Panic])
    }),
    Model::bounded(2, "forward_panic_leader", "the leader panics", || {
        panics::run_actions(Hive::on_nodes(FORWARDED, PARK), &[Barrier, Panic, Barrier])
    }),
    Model::bounded(1, "forward_panic_queen", "the queen panics", || {
        panics::run_actions(Hive::on_nodes(FORWARDED, PARK), &[Panic, Barrier, Barrier])
    }),
    Model::bounded(2, "forward_mismatch_far", "the bee at the far end leaves a barrier out", || {
        panics::run_actions(Hive::on_nodes(FORWARDED, PARK), &[Barrier, Barrier, Return])
    }),
    Model::bounded(2, "forward_mismatch_leader", "the leader leaves a barrier out", || {
        panics::run_actions(Hive::on_nodes(FORWARDED, PARK), &[Barrier, Return, Barrier])
    }),
    Model::bounded(2, "forward_mismatch_queen", "the queen leaves a barrier out", || {
        panics::run_actions(Hive::on_nodes(FORWARDED, PARK), &[Return, Barrier, Barrier])
    }),
    Model::bounded(
        2,
        "forward_caught",
        "the bee at the far end leaves a barrier out, and the others catch the panic of theirs",
        || panics::run_actions(Hive::on_nodes(FORWARDED, PARK), &[CatchAtBarrier, CatchAtBarrier, Return]),
    ),
    Model::bounded(2, "forward_cut_short", "the same, but the leader does not catch it", || {
        panics::run_actions(Hive::on_nodes(FORWARDED, PARK), &[CatchAtBarrier, Barrier, Return])
    }),
    Model::bounded(
        1,
        "forward_resize",
        "the group at the far end is made surplus between regions and comes back",
        || resize(&[3, 2, 3]),
    ),
    Model::bounded(2, "two_groups_spin", "the queen starts two groups", || {
        start::regions(Hive::on_nodes(TWO_GROUPS, SPIN), 3, &[3, 2, 3])
    }),
    Model::bounded(2, "two_groups_sleep", "the same, and the bees may sleep", || {
        start::regions(Hive::on_nodes(TWO_GROUPS, PARK), 3, &[3, 3])
    }),
    Model::bounded(
        2,
        "two_groups_barrier_spin",
        "the queen leads two groups and collects the arrivals of both",
        || barrier::barriers_in_regions(Hive::on_nodes(TWO_GROUPS, SPIN), 3, 1, 1),
    ),
    Model::bounded(2, "two_groups_barrier_park", "the same; a waiting bee blocks", || {
        barrier::barriers_in_regions(Hive::on_nodes(TWO_GROUPS, PARK), 3, 1, 1)
    }),
    Model::bounded(1, "two_groups_panic", "a bee of the queen's inner group panics", || {
        panics::run_actions(Hive::on_nodes(TWO_GROUPS, PARK), &[Barrier, Panic, Barrier])
    }),
    Model::bounded(1, "two_groups_panic_outer", "a bee of the queen's outer group panics", || {
        panics::run_actions(Hive::on_nodes(TWO_GROUPS, PARK), &[Barrier, Barrier, Panic])
    }),
    Model::bounded(2, "two_groups_mismatch", "a bee of the queen's inner group leaves a barrier out", || {
        panics::run_actions(Hive::on_nodes(TWO_GROUPS, PARK), &[Barrier, Return, Barrier])
    }),
    Model::bounded(2, "two_groups_mismatch_queen", "the queen leaves a barrier out", || {
        panics::run_actions(Hive::on_nodes(TWO_GROUPS, PARK), &[Return, Barrier, Barrier])
    }),
    Model::bounded(
        1,
        "groups_two_by_two",
        "four bees: two groups that the queen leads, and one that gets the start forwarded",
        || start::regions(Hive::on_nodes(&[0, 0, 1, 1], SPIN), 4, &[4]),
    ),
];

/// Runs regions of these sizes, in a hive that is resized to each of them first.
fn resize(teams: &[u32]) {
    let hive = Hive::on_nodes(FORWARDED, PARK);
    let mut rounds = CheckedRegion::new(3);
    for &team in teams {
        hive.resize(team);
        rounds.run(&hive, team);
    }
    hive.end();
}
