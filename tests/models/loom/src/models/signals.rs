//! Models of signals: a bee waits for how far another one has come.
//!
//! The protocol is described in `docs/collectives.md`, "Signals".

use super::Model;
use crate::data::data;
use crate::exploration;
use crate::hive::{Hive, SPIN};
use crate::protocol::region::region_context::RegionContext;

pub(super) const MODELS: &[Model] = &[
    Model::exhaustive("signal", "a bee signals twice, and the queen waits for each", || each_in_turn(2)),
    Model::exhaustive("signal_last", "the same, and the queen waits for the last only", || last_only(2)),
    Model::bounded(3, "signal_both_ways", "two bees wait for each other in turn", || both_ways(2)),
    Model::bounded(3, "signal_regions", "the counts begin at 0 in the second of two regions", next_region),
];

fn wait_for(context: &RegionContext<'_>, other: u32, count: u64) {
    context.wait_until(|| context.signal_of(other) >= count);
}

/// Bee 1 writes a datum before each signal, and the queen reads it after she has seen the signal.
fn each_in_turn(count: u64) {
    let hive = Hive::with_workers_unexplored(2, SPIN);
    let written = data(count as u32);
    hive.region(2, |context| {
        context.barrier();
        exploration::explore();
        for step in 1..=count {
            if context.id == 1 {
                written[step as usize - 1].set(step as u32);
                context.set_signal(step);
            } else {
                wait_for(context, 1, step);
                assert_eq!(written[step as usize - 1].get(), step as u32);
            }
        }
    });
    exploration::stop_exploring();
    hive.end();
}

fn last_only(count: u64) {
    let hive = Hive::with_workers_unexplored(2, SPIN);
    let written = data(count as u32);
    hive.region(2, |context| {
        context.barrier();
        exploration::explore();
        if context.id == 1 {
            for step in 1..=count {
                written[step as usize - 1].set(step as u32);
                context.set_signal(step);
            }
        } else {
            wait_for(context, 1, count);
            (0..count as usize).for_each(|step| assert_eq!(written[step].get(), step as u32 + 1));
        }
    });
    exploration::stop_exploring();
    hive.end();
}

/// The bees write to one datum in turn.
fn both_ways(rounds: u64) {
    let hive = Hive::with_workers_unexplored(2, SPIN);
    let written = data(1);
    hive.region(2, |context| {
        context.barrier();
        exploration::explore();
        for round in 1..=rounds {
            if context.id == 0 {
                if round > 1 {
                    wait_for(context, 1, round - 1);
                }
                written[0].set(2 * round as u32);
                context.set_signal(round);
            } else {
                wait_for(context, 0, round);
                assert_eq!(written[0].get(), 2 * round as u32);
                written[0].set(2 * round as u32 + 1);
                context.set_signal(round);
            }
        }
    });
    exploration::stop_exploring();
    hive.end();
}

/// In the first region bee 1 comes further than in the second one, in which the queen waits for it.
fn next_region() {
    let hive = Hive::with_workers_unexplored(2, SPIN);
    let written = data(1);
    hive.region(2, |context| {
        if context.id == 1 {
            context.set_signal(1);
            context.set_signal(5);
        }
    });
    hive.region(2, |context| {
        context.barrier();
        exploration::explore();
        if context.id == 1 {
            context.set_signal(1);
            written[0].set(7);
            context.set_signal(2);
        } else {
            wait_for(context, 1, 2);
            assert_eq!(written[0].get(), 7);
        }
    });
    exploration::stop_exploring();
    hive.end();
}
