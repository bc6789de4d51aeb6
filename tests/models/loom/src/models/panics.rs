//! Bees who panic, and bees who leave out a barrier: the others are let go, no region returns in which something was left undone, and the hive is as good as before.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;

use super::Model;
use crate::checked_region::CheckedRegion;
use crate::data::{Datum, data};
use crate::exploration;
use crate::hive::{Hive, PARK, SPIN};
use crate::protocol::region::region_context::RegionContext;
use crate::sync::{WaitPolicy, while_unwinding};

/// What a bee does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum BeeAction {
    /// Comes to the barrier.
    Barrier,
    /// Comes to the barrier, and catches what ends it.
    CatchAtBarrier,
    /// Comes to the barrier in a destructor that it must not unwind out of, and goes on.
    BarrierInDrop,
    /// Waits for what another bee does not bring about.
    Wait,
    /// Panics before the barrier.
    Panic,
    /// Ends without it.
    Return,
}

use BeeAction::{Barrier, BarrierInDrop, CatchAtBarrier, Panic, Return, Wait};

/// A bee's panic.
struct PanicPayload(u32);

pub(super) const MODELS: &[Model] = &[
    Model::bounded(4, "panic_bee", "a bee panics, the queen is at the barrier", || play(PARK, &[Barrier, Panic])),
    Model::exhaustive("panic_bee_spin", "the same, and nobody sleeps", || play(SPIN, &[Barrier, Panic])),
    Model::bounded(4, "panic_queen", "the queen panics, the bee is at the barrier", || play(PARK, &[Panic, Barrier])),
    Model::exhaustive("panic_queen_spin", "the same, and nobody sleeps", || play(SPIN, &[Panic, Barrier])),
    Model::exhaustive("panic_wait", "a bee panics, for which the queen waits without a barrier", || {
        play(SPIN, &[Wait, Panic])
    }),
    Model::bounded(4, "panic_both", "both panic, and the queen's goes on", || play(PARK, &[Panic, Panic])),
    Model::bounded(2, "panic_two_of_three", "two bees panic, the queen is at the barrier", || {
        play(PARK, &[Barrier, Panic, Panic])
    }),
    Model::bounded(2, "panic_three", "one bee panics, the others are at the barrier", || {
        play(PARK, &[Barrier, Panic, Barrier])
    }),
    Model::bounded(4, "mismatch_queen", "the queen leaves a barrier out", || play(PARK, &[Return, Barrier])),
    Model::exhaustive("mismatch_queen_spin", "the same, and nobody sleeps", || play(SPIN, &[Return, Barrier])),
    Model::bounded(4, "mismatch_bee", "a bee leaves a barrier out", || play(PARK, &[Barrier, Return])),
    Model::bounded(2, "mismatch_three", "one bee of two leaves a barrier out", || {
        play(PARK, &[Barrier, Barrier, Return])
    }),
    Model::exhaustive("caught_queen", "a bee leaves a barrier out, and the queen catches what ends hers", || {
        play(SPIN, &[CatchAtBarrier, Return])
    }),
    Model::exhaustive("caught_bee", "the queen leaves a barrier out, and the bee catches what ends its own", || {
        play(SPIN, &[Return, CatchAtBarrier])
    }),
    Model::bounded(2, "caught_three", "one bee leaves a barrier out, and both others catch it", || {
        play(PARK, &[CatchAtBarrier, Return, CatchAtBarrier])
    }),
    Model::bounded(2, "cut_short_bee", "one of two who miss a third catches it, a bee does not", || {
        play(PARK, &[CatchAtBarrier, Return, Barrier])
    }),
    Model::bounded(2, "cut_short_queen", "the same, and the queen does not", || {
        play(PARK, &[Barrier, Return, CatchAtBarrier])
    }),
    Model::exhaustive("missed_queen", "a destructor of the queen's misses a bee at its barrier", || {
        play(SPIN, &[BarrierInDrop, Return])
    }),
    Model::exhaustive("missed_bee", "one of a bee's misses the queen", || play(SPIN, &[Return, BarrierInDrop])),
    Model::bounded(2, "missed_three", "one of a bee's misses another bee, as does the queen, who catches it", || {
        play(PARK, &[CatchAtBarrier, BarrierInDrop, Return])
    }),
    Model::bounded(3, "missed_thrown", "a destructor comes to a barrier that a panic has broken", || {
        play(PARK, &[BarrierInDrop, Panic])
    }),
    Model::bounded(3, "resumed_bee", "a bee resumes what let it go from a barrier of the region before", || {
        resumed(PARK, 1)
    }),
    Model::bounded(3, "resumed_queen", "the queen resumes what let a bee go in the region before", || resumed(PARK, 0)),
    Model::exhaustive("during_unwinding", "a bee leaves a barrier out, in a region that a destructor runs", || {
        while_unwinding(|| play(SPIN, &[Barrier, Return]));
    }),
    Model::exhaustive("during_unwinding_panic", "a bee panics, in a region that a destructor runs", || {
        while_unwinding(|| play(SPIN, &[Barrier, Panic]));
    }),
];

/// One region in which the bees act so, and one that is as usual.
fn play(policy: WaitPolicy, acts: &'static [BeeAction]) {
    let bees = acts.len() as u32;
    run_actions(Hive::with_workers(bees, bees, policy), acts);
}

/// The same in `hive`, of as many bees.
pub(super) fn run_actions(hive: Hive, acts: &'static [BeeAction]) {
    let bees = acts.len() as u32;
    let input = Datum::new(7);
    let outputs = data(bees);
    let ended = hive.try_region(bees, |context: &RegionContext<'_>| {
        let id = context.id();
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

/// Sees, when the bee's part unwinds, what the one bee who panicked did before.
struct ChecksOnDrop<'o> {
    outputs: &'o [Datum],
    acts: &'static [BeeAction],
}

impl Drop for ChecksOnDrop<'_> {
    fn drop(&mut self) {
        // Of several only one is known to have panicked yet, and a barrier left out is told of by who waits there.
        let culprits: Vec<_> = self.acts.iter().zip(0..).filter(|&(&act, _)| matches!(act, Panic | Return)).collect();
        if let [(Panic, id)] = culprits[..] {
            assert_eq!(self.outputs[id as usize].get(), 7 + id, "what bee {id} did before it panicked");
        }
    }
}

/// With the panic of the lowest of those who threw; if nobody did, with a complaint of somebody's at a barrier, or of the region's. It returns only if all have caught what there was.
fn check_end(ended: std::thread::Result<()>, acts: &[BeeAction]) {
    let is_all_caught = acts.iter().all(|act| matches!(act, CatchAtBarrier | Return));
    let Err(payload) = ended else {
        assert!(is_all_caught, "the region ended as if nobody had panicked");
        return;
    };
    if let Some(lowest) = acts.iter().position(|&act| act == Panic) {
        match payload.downcast_ref() {
            Some(&PanicPayload(id)) => assert_eq!(id as usize, lowest, "the panic of the wrong bee goes on"),
            None => panic!("the region ended with a panic that no bee threw"),
        }
        return;
    }
    // At her end the queen complains herself if she is missed.
    assert!(!is_all_caught || acts[0] == Return, "the region ended with what had been caught");
    let message = message(&*payload);
    let undone = [(CatchAtBarrier, "cut short"), (BarrierInDrop, "without having met")];
    let is_of_undone = undone.iter().any(|(act, words)| acts.contains(act) && message.contains(words));
    assert!(is_of_undone || message.contains("equally often"), "the region ended with something else");
}

fn message(payload: &(dyn std::any::Any + Send)) -> &str {
    payload.downcast_ref::<String>().map_or("", String::as_str)
}

/// In one region the bee catches what lets it go from its barrier; in the next `who` resumes that, for whom the other waits.
fn resumed(policy: WaitPolicy, resumer: u32) {
    let hive = Hive::with_workers(2, 2, policy);
    let caught = Mutex::new(None);
    let ended = hive.try_region(2, |context| match context.id() {
        0 => resume_unwind(Box::new(PanicPayload(0))),
        _ => *caught.lock().expect("no panic under it") = catch_unwind(AssertUnwindSafe(|| context.barrier())).err(),
    });
    assert!(ended.is_err_and(|payload| payload.is::<PanicPayload>()), "the queen's panic goes on");
    let ended = hive.try_region(2, |context| {
        if context.id() == resumer {
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
