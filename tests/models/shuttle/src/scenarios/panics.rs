//! A scenario of bees that panic or leave a barrier out while the others wait for them.

use std::panic::resume_unwind;

use super::random_in;
use crate::checked_region;
use crate::hive::Hive;

const MAX_BEES: u32 = 9;

/// The payload of a bee's panic, with the bee's number.
struct PanicPayload(u32);

pub(super) fn some_bees() {
    let bees = random_in(2, MAX_BEES);
    let hive = Hive::new(bees, bees);
    for _ in 0..2 {
        throw(&hive, random_in(2, bees));
        skip_barrier(&hive, random_in(2, bees));
        checked_region::run(&hive, bees, 1);
    }
    hive.end();
}

/// Some bees panic before the first barrier or before the second.
fn throw(hive: &Hive, bees: u32) {
    let at: Vec<_> = (0..bees).map(|_| random_in(0, 3)).collect();
    let ended = hive.try_region(bees, |context| {
        for barrier in 0..2 {
            if at[context.id as usize] == barrier {
                resume_unwind(Box::new(PanicPayload(context.id)));
            }
            context.barrier();
        }
    });
    let lowest_at = |barrier| at.iter().position(|&at| at == barrier);
    match ended {
        Ok(()) => assert_eq!(lowest_at(0).or(lowest_at(1)), None, "a panic is lost"),
        Err(payload) => {
            let PanicPayload(id) = payload.downcast_ref().expect("a bee's panic");
            match lowest_at(0) {
                // In this case no bee passes the first barrier, and all that were to panic before it do.
                Some(lowest) => assert_eq!(*id as usize, lowest, "the wrong bee's panic goes on"),
                // A bee that has not yet looked at the first barrier may be released from it by the panic before the
                // second.
                None => assert_eq!(at[*id as usize], 1, "bee {id} has not panicked"),
            }
        }
    }
}

/// One bee leaves out the second of two barriers.
fn skip_barrier(hive: &Hive, bees: u32) {
    let absentee = random_in(0, bees - 1);
    let ended = hive.try_region(bees, |context| {
        context.barrier();
        if context.id != absentee {
            context.barrier();
        }
    });
    let payload = ended.expect_err("a barrier without one of its bees");
    let message = payload.downcast_ref::<String>().map_or("", String::as_str);
    assert!(message.contains("equally often"), "the region ended with {message:?}");
}
