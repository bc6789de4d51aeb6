//! Members who panic, and members who leave out a barrier: the others are let go, and the hive is as good as before.

use std::panic::resume_unwind;

use super::Model;
use crate::crew::Member;
use crate::data::{Datum, data};
use crate::hive::{HOT, Hive, SLEEPY};
use crate::rounds::Rounds;
use crate::stage;
use crate::sync::WaitPolicy;

/// What a member does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// Comes to the barrier.
    Meet,
    /// Waits for what another member does not bring about.
    Wait,
    /// Panics before the barrier.
    Throw,
    /// Ends without it.
    Leave,
}

use Act::{Leave, Meet, Throw, Wait};

/// A member's panic.
struct Thrown(u32);

pub(super) const MODELS: &[Model] = &[
    Model::up_to(4, "panic_bee", "a bee panics, the queen is at the barrier", || play(SLEEPY, &[Meet, Throw])),
    Model::all("panic_bee_hot", "the same, and nobody sleeps", || play(HOT, &[Meet, Throw])),
    Model::up_to(4, "panic_queen", "the queen panics, the bee is at the barrier", || play(SLEEPY, &[Throw, Meet])),
    Model::all("panic_queen_hot", "the same, and nobody sleeps", || play(HOT, &[Throw, Meet])),
    Model::all("panic_wait", "a bee panics, for which the queen waits without a barrier", || play(HOT, &[Wait, Throw])),
    Model::up_to(4, "panic_both", "both panic, and the queen's goes on", || play(SLEEPY, &[Throw, Throw])),
    Model::up_to(2, "panic_two_of_three", "two bees panic, the queen is at the barrier", || play(SLEEPY, &[Meet, Throw, Throw])),
    Model::up_to(2, "panic_three", "one bee panics, the others are at the barrier", || play(SLEEPY, &[Meet, Throw, Meet])),
    Model::up_to(4, "desert_queen", "the queen leaves a barrier out", || play(SLEEPY, &[Leave, Meet])),
    Model::all("desert_queen_hot", "the same, and nobody sleeps", || play(HOT, &[Leave, Meet])),
    Model::up_to(4, "desert_bee", "a bee leaves a barrier out", || play(SLEEPY, &[Meet, Leave])),
    Model::up_to(2, "desert_three", "one bee of two leaves a barrier out", || play(SLEEPY, &[Meet, Meet, Leave])),
];

/// One region in which the members act so, and one that is as usual.
fn play(policy: WaitPolicy, acts: &'static [Act]) {
    let team = acts.len() as u32;
    act(Hive::staffed(team, team, policy), acts);
}

/// The same in `hive`, of as many members.
pub(super) fn act(hive: Hive, acts: &'static [Act]) {
    let team = acts.len() as u32;
    let input = Datum::new(7);
    let outputs = data(team);
    let ended = hive.try_region(team, |member: &Member<'_>| {
        let id = member.id();
        outputs[id as usize].set(input.get() + id);
        match acts[id as usize] {
            Meet => {
                let _look = Look { outputs: &outputs, acts };
                member.barrier();
                panic!("the barrier is passed, to which not all have come");
            }
            Wait => {
                let _look = Look { outputs: &outputs, acts };
                member.wait_until(|| false);
                panic!("what never comes has come");
            }
            Throw => resume_unwind(Box::new(Thrown(id))),
            Leave => {}
        }
    });
    check_payload(ended, acts);
    for (id, output) in (0..).zip(&outputs) {
        assert_eq!(output.get(), 7 + id, "what member {id} did before it panicked");
        output.set(0);
    }
    if team > 2 {
        stage::end();
    }
    Rounds::new(team).region(&hive, team);
    hive.end();
}

/// Sees, when the member's part unwinds, what the one member who panicked did before.
struct Look<'o> {
    outputs: &'o [Datum],
    acts: &'static [Act],
}

impl Drop for Look<'_> {
    fn drop(&mut self) {
        // Of several only one is known to have panicked yet, and a barrier left out is told of by who waits there.
        let culprits: Vec<_> = self.acts.iter().zip(0..).filter(|&(&act, _)| matches!(act, Throw | Leave)).collect();
        if let [(Throw, id)] = culprits[..] {
            assert_eq!(self.outputs[id as usize].get(), 7 + id, "what member {id} did before it panicked");
        }
    }
}

/// The lowest of those who threw; or the barrier's own complaint if nobody threw and somebody left it out.
fn check_payload(ended: std::thread::Result<()>, acts: &[Act]) {
    let payload = ended.expect_err("the region ended as if nobody had panicked");
    match acts.iter().position(|&act| act == Throw) {
        Some(lowest) => match payload.downcast_ref() {
            Some(&Thrown(id)) => assert_eq!(id as usize, lowest, "the panic of the wrong member goes on"),
            None => panic!("the region ended with a panic that no member threw"),
        },
        None => {
            let message = payload.downcast_ref::<String>().map_or("", String::as_str);
            assert!(message.contains("equally often"), "the region ended with: {message:?}");
        }
    }
}
