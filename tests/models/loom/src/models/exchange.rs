//! Models of the exchange of values at a barrier, and of `single`, where one bee of a team is the first.
//!
//! The protocol is described in `docs/collectives.md`.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::Model;
use crate::checked_region::CheckedRegion;
use crate::data::{Datum, data};
use crate::exploration;
use crate::hive::{Hive, PARK, SPIN};
use crate::protocol::region::exchange_slots::Operation;
use crate::protocol::region::region_context::RegionContext;
use crate::sync::WaitPolicy;

pub(super) const MODELS: &[Model] = &[
    Model::exhaustive("exchange", "two bees exchange a value, three times", || play(SPIN, 2, 3, 1)),
    Model::bounded(3, "exchange_park", "two exchanges; a waiting bee blocks", || play(PARK, 2, 2, 1)),
    Model::bounded(3, "exchange_regions", "an exchange in each of two regions", || play(SPIN, 2, 1, 2)),
    Model::bounded(1, "exchange_three", "three bees, three exchanges", || play(SPIN, 3, 3, 1)),
    Model::bounded(3, "exchange_barriers", "two bees, barriers between the exchanges", with_barriers),
    Model::bounded(
        1,
        "exchange_poisoned",
        "a bee panics after the barrier of an exchange, and another, which leaves the barrier, tries again",
        || poisoned(exchange_again),
    ),
    Model::bounded(
        1,
        "exchange_stale_read",
        "the same, and a bee that leaves the next barrier reads the values that it kept from the exchange",
        || poisoned(read_again),
    ),
    Model::bounded(3, "single", "one of two bees is first, twice", || single(2, 2, 1)),
    Model::bounded(3, "single_regions", "one of two bees is first, in each of two regions", || single(2, 1, 2)),
    Model::bounded(1, "single_three", "one of three bees is first, twice", || single(3, 2, 1)),
    Model::bounded(3, "single_again", "the first bee's work panics; both bees catch that, and call it again", || {
        failing(|context, runs| {
            if context.claim_single() {
                panic_in_work(runs);
            }
            context.exchange::<u32>(Operation::Single, None, &[]);
        });
    }),
    Model::bounded(3, "work_caught", "the work of one bee panics in a call without a barrier; it catches that", || {
        failing(|context, runs| {
            if context.id == 1 {
                panic_in_work(runs);
            }
        });
    }),
];

/// The values of bee `id` in a round. Every second pair of rounds has more values than fit into an exchange slot.
fn values(round: u32, id: u32) -> Vec<u64> {
    let count = if round % 4 < 2 { 1 } else { 9 };
    vec![u64::from(100 * round + id); count]
}

fn play(policy: WaitPolicy, bees: u32, rounds: u32, regions: u32) {
    let hive = Hive::with_workers(bees, bees, policy);
    for region in 0..regions {
        hive.region(bees, |context| {
            for round in (0..rounds).map(|round| region * rounds + round) {
                let shown = context
                    .exchange(Operation::AllReduce, None, &values(round, context.id))
                    .expect("the barrier is passed");
                for other in 0..bees {
                    let expected = values(round, other);
                    assert_eq!(shown.count(other), Some(expected.len()), "values of bee {other} in round {round}");
                    let last = expected.len() - 1;
                    assert_eq!(
                        shown.value(other, last),
                        Some(expected[last]),
                        "the value of bee {other} in round {round}"
                    );
                }
            }
        });
    }
    exploration::stop_exploring();
    hive.end();
}

/// The values of two exchanges lie in the same slot, because a barrier between them makes the second exchange two
/// barriers later than the first.
fn with_barriers() {
    let hive = Hive::with_workers(2, 2, SPIN);
    hive.region(2, |context| {
        for round in 0..2 {
            let shown = context
                .exchange(Operation::AllReduce, None, &[10 * round + context.id])
                .expect("the barrier is passed");
            assert_eq!(
                shown.value(1 - context.id, 0),
                Some(10 * round + 1 - context.id),
                "what the other has shown in round {round}"
            );
            context.barrier();
        }
    });
    hive.end();
}

/// Three bees do `last_step`; the last of them panics afterwards.
fn poisoned(last_step: fn(&RegionContext<'_>)) {
    let hive = Hive::with_workers_unexplored(3, SPIN);
    let ended = hive.try_region(3, |context| {
        last_step(context);
        if context.id == 2 {
            resume_unwind(Box::new("as expected"));
        }
    });
    assert!(ended.is_err(), "the region ended as if nobody had panicked");
    exploration::stop_exploring();
    hive.end();
}

fn caught<R>(work: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}

/// A bee that passes the barrier of the exchange reads what the others have written. A bee that leaves it because of
/// the panic tries a second exchange, which must not pass.
fn exchange_again(context: &RegionContext<'_>) {
    let id = context.id;
    context.barrier();
    exploration::explore();
    match caught(|| context.exchange(Operation::AllReduce, None, &[id]).expect("the barrier is passed")) {
        Some(shown) => {
            (0..3).for_each(|other| assert_eq!(shown.value(other, 0), Some(other), "what bee {other} has shown"))
        }
        None => assert!(
            caught(|| context.exchange(Operation::AllReduce, None, &[10 + id])).is_none(),
            "a barrier is passed after one that was not"
        ),
    }
}

/// A bee that passes the second barrier does another exchange, which writes to the slot that the first exchange used. A
/// bee that leaves the second barrier because of the panic must not be able to read the first exchange's values.
fn read_again(context: &RegionContext<'_>) {
    let id = context.id;
    let shown = context.exchange(Operation::AllReduce, None, &[id]).expect("nobody panics before the next barrier");
    exploration::explore();
    match caught(|| context.barrier()) {
        Some(()) if id < 2 => _ = caught(|| context.exchange(Operation::AllReduce, None, &[10 + id])),
        Some(()) => {}
        None => assert!(caught(|| shown.value((id + 1) % 3, 0)).is_none(), "read after the next barrier"),
    }
}

fn single(bees: u32, times: u32, regions: u32) {
    let hive = Hive::with_workers(bees, bees, SPIN);
    let runs = data(times * regions);
    for region in 0..regions {
        hive.region(bees, |context| {
            for time in 0..times {
                let runs = &runs[(region * times + time) as usize];
                if context.claim_single() {
                    runs.set(runs.get() + 1);
                }
                context.barrier();
                assert_eq!(runs.get(), 1, "bees who were first");
            }
        });
    }
    exploration::stop_exploring();
    hive.end();
}

fn panic_in_work(runs: &Datum) {
    runs.set(runs.get() + 1);
    resume_unwind(Box::new("as expected"));
}

/// Two bees make a call, in which one of them panics, and make it again. What it panics with is caught.
fn failing(call: fn(&RegionContext<'_>, &Datum)) {
    let hive = Hive::with_workers(2, 2, SPIN);
    let runs = Datum::new(0);
    let ended = hive.try_region(2, |context| {
        for _ in 0..2 {
            _ = caught(|| {
                let begun = context.begin_call(Operation::Single);
                call(context, &runs);
                begun.end();
            });
        }
    });
    assert!(ended.is_err(), "the region returned, although a call in it had ended by a panic");
    assert_eq!(runs.get(), 1, "bees who ran the work");
    exploration::stop_exploring();
    CheckedRegion::new(2).run(&hive, 2);
    hive.end();
}
