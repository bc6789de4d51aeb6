//! Models of bees that panic, and of bees that leave a barrier out: the other bees are released from their barriers, a
//! region in which something was left undone does not return normally, and the hive works as before afterwards.
//!
//! The protocol is described in `docs/barrier.md`.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;

use super::Model;
use crate::checked_region::CheckedRegion;
use crate::data::{Datum, data};
use crate::exploration;
use crate::hive::{Hive, PARK, SPIN};
use crate::protocol::region::region_context::RegionContext;
use crate::sync::{WaitPolicy, while_unwinding};

/// What a bee does in the region.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum BeeAction {
    /// Waits at the barrier.
    Barrier,
    /// Waits at the barrier and catches the panic that ends the wait.
    CatchAtBarrier,
    /// Waits at the barrier in a destructor that runs during unwinding. The barrier must not panic there, so it
    /// returns.
    BarrierInDrop,
    /// Waits for something that no other bee brings about.
    Wait,
    /// Panics before the barrier.
    Panic,
    /// Ends its part without the barrier.
    Return,
}

use BeeAction::{Barrier, BarrierInDrop, CatchAtBarrier, Panic, Return, Wait};

/// The payload of a bee's panic, with the bee's number.
struct PanicPayload(u32);

pub(super) const MODELS: &[Model] = &[
    Model::bounded(4, "panic_bee", "a bee panics, the queen is at the barrier", || play(PARK, &[Barrier, Panic])),
    Model::exhaustive("panic_bee_spin", "the same, and no bee sleeps", || play(SPIN, &[Barrier, Panic])),
    Model::bounded(4, "panic_queen", "the queen panics, the bee is at the barrier", || play(PARK, &[Panic, Barrier])),
    Model::exhaustive("panic_queen_spin", "the same, and no bee sleeps", || play(SPIN, &[Panic, Barrier])),
    Model::exhaustive("panic_wait", "a bee panics, for which the queen waits without a barrier", || {
        play(SPIN, &[Wait, Panic])
    }),
    Model::bounded(4, "panic_both", "both panic, and the queen's panic goes on", || play(PARK, &[Panic, Panic])),
    Model::bounded(2, "panic_two_of_three", "two bees panic, the queen is at the barrier", || {
        play(PARK, &[Barrier, Panic, Panic])
    }),
    Model::bounded(2, "panic_three", "one bee panics, the others are at the barrier", || {
        play(PARK, &[Barrier, Panic, Barrier])
    }),
    Model::bounded(4, "mismatch_queen", "the queen leaves a barrier out", || play(PARK, &[Return, Barrier])),
    Model::exhaustive("mismatch_queen_spin", "the same, and no bee sleeps", || play(SPIN, &[Return, Barrier])),
    Model::bounded(4, "mismatch_bee", "a bee leaves a barrier out", || play(PARK, &[Barrier, Return])),
    Model::bounded(2, "mismatch_three", "one bee of two leaves a barrier out", || {
        play(PARK, &[Barrier, Barrier, Return])
    }),
    Model::exhaustive("caught_queen", "a bee leaves a barrier out, and the queen catches the panic of hers", || {
        play(SPIN, &[CatchAtBarrier, Return])
    }),
    Model::exhaustive("caught_bee", "the queen leaves a barrier out, and the bee catches the panic of its own", || {
        play(SPIN, &[Return, CatchAtBarrier])
    }),
    Model::bounded(2, "caught_three", "one bee leaves a barrier out, and both others catch the panic", || {
        play(PARK, &[CatchAtBarrier, Return, CatchAtBarrier])
    }),
    Model::bounded(
        2,
        "cut_short_bee",
        "two bees miss a third at a barrier; one catches the panic, the other, a worker, does not",
        || play(PARK, &[CatchAtBarrier, Return, Barrier]),
    ),
    Model::bounded(2, "cut_short_queen", "the same, and the queen is the one that does not", || {
        play(PARK, &[Barrier, Return, CatchAtBarrier])
    }),
    Model::exhaustive("missed_queen", "a barrier in a destructor of the queen's, which the bee leaves out", || {
        play(SPIN, &[BarrierInDrop, Return])
    }),
    Model::exhaustive("missed_bee", "a barrier in a destructor of a bee's, which the queen leaves out", || {
        play(SPIN, &[Return, BarrierInDrop])
    }),
    Model::bounded(
        2,
        "missed_three",
        "a barrier in a destructor of a bee's, which another bee leaves out; the queen catches the panic",
        || play(PARK, &[CatchAtBarrier, BarrierInDrop, Return]),
    ),
    Model::bounded(3, "missed_thrown", "a destructor waits at a barrier that a panic has broken", || {
        play(PARK, &[BarrierInDrop, Panic])
    }),
    Model::bounded(
        3,
        "resumed_bee",
        "a bee resumes the release that it caught at a barrier of the region before",
        || resumed(PARK, 1),
    ),
    Model::bounded(3, "resumed_queen", "the queen resumes the release that a bee caught in the region before", || {
        resumed(PARK, 0)
    }),
    Model::exhaustive("during_unwinding", "a bee leaves a barrier out, in a region that a destructor runs", || {
        while_unwinding(|| play(SPIN, &[Barrier, Return]));
    }),
    Model::exhaustive("during_unwinding_panic", "a bee panics, in a region that a destructor runs", || {
        while_unwinding(|| play(SPIN, &[Barrier, Panic]));
    }),
];

/// Runs a region in which the bees do `acts`, and then a normal one.
fn play(policy: WaitPolicy, acts: &'static [BeeAction]) {
    let bees = acts.len() as u32;
    run_actions(Hive::with_workers(bees, bees, policy), acts);
}

/// The same in `hive`, which must have as many bees.
pub(super) fn run_actions(hive: Hive, acts: &'static [BeeAction]) {
    let bees = acts.len() as u32;
    let input = Datum::new(7);
    let outputs = data(bees);
    let ended = hive.try_region(bees, |context: &RegionContext<'_>| {
        let id = context.id;
        outputs[id as usize].set(input.get() + id);
        match acts[id as usize] {
            Barrier => {
                let _look = ChecksOnDrop { outputs: &outputs, acts };
                context.barrier();
                panic!("the barrier is passed, to which not all have come");
            }
            Wait => {
                let _look = ChecksOnDrop { outputs: &outputs, acts };
                context.wait_until(|| false);
                panic!("what never comes has come");
            }
            CatchAtBarrier => {
                let caught = catch_unwind(AssertUnwindSafe(|| context.barrier()));
                assert!(caught.is_err(), "the barrier is passed, to which not all have come");
            }
            BarrierInDrop => while_unwinding(|| context.barrier()),
            Panic => resume_unwind(Box::new(PanicPayload(id))),
            Return => {}
        }
    });
    check_end(ended, acts);
    for (id, output) in (0..).zip(&outputs) {
        assert_eq!(output.get(), 7 + id, "what bee {id} did before it panicked");
        output.set(0);
    }
    if bees > 2 {
        exploration::stop_exploring();
    }
    CheckedRegion::new(bees).run(&hive, bees);
    hive.end();
}

/// Checks, when the bee's part unwinds, that it sees what the bee that panicked had written before.
struct ChecksOnDrop<'o> {
    outputs: &'o [Datum],
    acts: &'static [BeeAction],
}

impl Drop for ChecksOnDrop<'_> {
    fn drop(&mut self) {
        // The check is made only if exactly one bee panics and no other leaves a barrier out. Of several that panic,
        // only one is known to have panicked by now; and a barrier that was left out is reported by the bees that wait
        // there.
        let culprits: Vec<_> = self.acts.iter().zip(0..).filter(|&(&act, _)| matches!(act, Panic | Return)).collect();
        if let [(Panic, id)] = culprits[..] {
            assert_eq!(self.outputs[id as usize].get(), 7 + id, "what bee {id} did before it panicked");
        }
    }
}

/// Checks how the region ended. It ends with the payload of the lowest bee that panicked. If none did, it ends with the
/// panic of a bee at a barrier, or with the region's own if all bees have caught what they got.
fn check_end(ended: std::thread::Result<()>, acts: &[BeeAction]) {
    let payload = ended.expect_err("the region ended as if nothing had been left undone");
    if let Some(lowest) = acts.iter().position(|&act| act == Panic) {
        match payload.downcast_ref() {
            Some(&PanicPayload(id)) => assert_eq!(id as usize, lowest, "the panic of the wrong bee goes on"),
            None => panic!("the region ended with a panic that no bee threw"),
        }
        return;
    }
    let message = message(&*payload);
    let undone = [(CatchAtBarrier, "a call of barrier"), (BarrierInDrop, "should have panicked")];
    let is_of_undone = undone.iter().any(|(act, words)| acts.contains(act) && message.contains(words));
    assert!(is_of_undone || message.contains("equally often"), "the region ended with something else");
}

fn message(payload: &(dyn std::any::Any + Send)) -> &str {
    payload.downcast_ref::<String>().map_or("", String::as_str)
}

/// In the first region the bee catches the release from its barrier. In the second, bee `resumer` resumes that payload,
/// while the other waits for it at a barrier.
fn resumed(policy: WaitPolicy, resumer: u32) {
    let hive = Hive::with_workers(2, 2, policy);
    let caught = Mutex::new(None);
    let ended = hive.try_region(2, |context| match context.id {
        0 => resume_unwind(Box::new(PanicPayload(0))),
        _ => *caught.lock().expect("no panic under it") = catch_unwind(AssertUnwindSafe(|| context.barrier())).err(),
    });
    assert!(ended.is_err_and(|payload| payload.is::<PanicPayload>()), "the queen's panic goes on");
    let ended = hive.try_region(2, |context| {
        if context.id == resumer {
            let release = caught.lock().expect("no panic under it").take();
            resume_unwind(release.expect("the barrier was broken"));
        }
        context.barrier();
        panic!("the barrier is passed, to which not all have come");
    });
    let payload = ended.expect_err("a panic of another region's is none here");
    assert!(message(&*payload).contains("resumed outside of that region"), "the region ended with something else");
    exploration::stop_exploring();
    CheckedRegion::new(2).run(&hive, 2);
    hive.end();
}
