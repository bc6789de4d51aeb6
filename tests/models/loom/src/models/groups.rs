//! Teams of several groups: a start that is passed on, barriers that are gathered, ends that are waited for on the way.

use super::panics::BeeAction::{Barrier, CatchAtBarrier, Panic, Return};
use super::{Model, barrier, panics, start};
use crate::checked_region::CheckedRegion;
use crate::hive::{Hive, PARK, SPIN};

/// The queen on one node, two bees on another: the first passes on to the second.
const FORWARDED: &[usize] = &[0, 1, 1];

/// The queen and a bee on one node, a bee on another: she heads both groups.
const TWO_GROUPS: &[usize] = &[0, 0, 1];

pub(super) const MODELS: &[Model] = &[
    Model::bounded(2, "forward_spin", "a bee passes two regions on", || {
        start::regions(Hive::on_nodes(FORWARDED, SPIN), 3, &[3, 3])
    }),
    Model::bounded(2, "forward_sizes", "a region that is passed on, one that is not, one that is", || {
        start::regions(Hive::on_nodes(FORWARDED, SPIN), 3, &[3, 2, 3])
    }),
    Model::bounded(3, "forward_sleep_once", "who passes on may sleep, and who is passed on to", || {
        start::regions(Hive::on_nodes(FORWARDED, PARK), 3, &[3])
    }),
    Model::bounded(2, "forward_sleep", "the same, in two regions", || {
        start::regions(Hive::on_nodes(FORWARDED, PARK), 3, &[3, 3])
    }),
    Model::bounded(2, "forward_barrier_spin", "a bee gathers another at a barrier", || {
        barrier::barriers_in_regions(Hive::on_nodes(FORWARDED, SPIN), 3, 1, 1)
    }),
    Model::bounded(2, "forward_barrier_park", "the same, and who waits blocks", || {
        barrier::barriers_in_regions(Hive::on_nodes(FORWARDED, PARK), 3, 1, 1)
    }),
    Model::bounded(1, "forward_barrier_twice", "two barriers in each of two regions", || {
        barrier::barriers_in_regions(Hive::on_nodes(FORWARDED, SPIN), 3, 2, 2)
    }),
    Model::bounded(1, "forward_barrier_late", "a barrier in each of two regions: who lets go may be late", || {
        barrier::barriers_in_regions(Hive::on_nodes(FORWARDED, PARK), 3, 1, 2)
    }),
    Model::bounded(2, "forward_panic_far", "the bee at the far end panics", || {
        panics::run_actions(Hive::on_nodes(FORWARDED, PARK), &[Barrier, Barrier, Panic])
    }),
    Model::bounded(2, "forward_panic_leader", "who passes on panics", || {
        panics::run_actions(Hive::on_nodes(FORWARDED, PARK), &[Barrier, Panic, Barrier])
    }),
    Model::bounded(1, "forward_panic_queen", "the queen panics", || {
        panics::run_actions(Hive::on_nodes(FORWARDED, PARK), &[Panic, Barrier, Barrier])
    }),
    Model::bounded(2, "forward_mismatch_far", "the bee at the far end leaves a barrier out", || {
        panics::run_actions(Hive::on_nodes(FORWARDED, PARK), &[Barrier, Barrier, Return])
    }),
    Model::bounded(2, "forward_mismatch_leader", "who gathers leaves a barrier out", || {
        panics::run_actions(Hive::on_nodes(FORWARDED, PARK), &[Barrier, Return, Barrier])
    }),
    Model::bounded(2, "forward_mismatch_queen", "the queen leaves a barrier out", || {
        panics::run_actions(Hive::on_nodes(FORWARDED, PARK), &[Return, Barrier, Barrier])
    }),
    Model::bounded(
        2,
        "forward_caught",
        "the bee at the far end leaves a barrier out, and the others catch what ends theirs",
        || panics::run_actions(Hive::on_nodes(FORWARDED, PARK), &[CatchAtBarrier, CatchAtBarrier, Return]),
    ),
    Model::bounded(2, "forward_cut_short", "the same, and the one who passes on does not", || {
        panics::run_actions(Hive::on_nodes(FORWARDED, PARK), &[CatchAtBarrier, Barrier, Return])
    }),
    Model::bounded(1, "forward_resize", "the group at the far end is laid off between regions and comes back", || {
        resize(&[3, 2, 3])
    }),
    Model::bounded(2, "two_groups_spin", "the queen starts two groups", || {
        start::regions(Hive::on_nodes(TWO_GROUPS, SPIN), 3, &[3, 2, 3])
    }),
    Model::bounded(2, "two_groups_sleep", "the same, and the bees may sleep", || {
        start::regions(Hive::on_nodes(TWO_GROUPS, PARK), 3, &[3, 3])
    }),
    Model::bounded(2, "two_groups_barrier_spin", "the queen gathers one group for the other", || {
        barrier::barriers_in_regions(Hive::on_nodes(TWO_GROUPS, SPIN), 3, 1, 1)
    }),
    Model::bounded(2, "two_groups_barrier_park", "the same, and who waits blocks", || {
        barrier::barriers_in_regions(Hive::on_nodes(TWO_GROUPS, PARK), 3, 1, 1)
    }),
    Model::bounded(1, "two_groups_panic", "a bee of the queen's inner group panics", || {
        panics::run_actions(Hive::on_nodes(TWO_GROUPS, PARK), &[Barrier, Panic, Barrier])
    }),
    Model::bounded(1, "two_groups_panic_outer", "a bee of her outer group panics", || {
        panics::run_actions(Hive::on_nodes(TWO_GROUPS, PARK), &[Barrier, Barrier, Panic])
    }),
    Model::bounded(2, "two_groups_mismatch", "a bee of the queen's inner group leaves a barrier out", || {
        panics::run_actions(Hive::on_nodes(TWO_GROUPS, PARK), &[Barrier, Return, Barrier])
    }),
    Model::bounded(2, "two_groups_mismatch_queen", "the queen leaves a barrier out", || {
        panics::run_actions(Hive::on_nodes(TWO_GROUPS, PARK), &[Return, Barrier, Barrier])
    }),
    Model::bounded(1, "groups_two_by_two", "four bees: the queen's two groups, and one that is passed on", || {
        start::regions(Hive::on_nodes(&[0, 0, 1, 1], SPIN), 4, &[4])
    }),
];

/// Regions of these teams in a hive that is made as large before each.
fn resize(teams: &[u32]) {
    let hive = Hive::on_nodes(FORWARDED, PARK);
    let mut rounds = CheckedRegion::new(3);
    for &team in teams {
        hive.resize(team);
        rounds.run(&hive, team);
    }
    hive.end();
}
