//! Members who panic, and members who leave out a barrier: the others are let go, no region returns in which something was left undone, and the hive is as good as before.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;

use super::Model;
use crate::crew::Member;
use crate::data::{Datum, data};
use crate::hive::{HOT, Hive, SLEEPY};
use crate::rounds::Rounds;
use crate::stage;
use crate::sync::{WaitPolicy, while_unwinding};

/// What a member does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// Comes to the barrier.
    Meet,
    /// Comes to the barrier, and catches what ends it.
    Catch,
    /// Comes to the barrier in a destructor that it must not unwind out of, and goes on.
    Skip,
    /// Waits for what another member does not bring about.
    Wait,
    /// Panics before the barrier.
    Throw,
    /// Ends without it.
    Leave,
}

use Act::{Catch, Leave, Meet, Skip, Throw, Wait};

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
    Model::all("caught_queen", "a bee leaves a barrier out, and the queen catches what ends hers", || play(HOT, &[Catch, Leave])),
    Model::all("caught_bee", "the queen leaves a barrier out, and the bee catches what ends its own", || {
        play(HOT, &[Leave, Catch])
    }),
    Model::up_to(2, "caught_three", "one bee leaves a barrier out, and both others catch it", || {
        play(SLEEPY, &[Catch, Leave, Catch])
    }),
    Model::up_to(2, "cut_short_bee", "one of two who miss a third catches it, a bee does not", || {
        play(SLEEPY, &[Catch, Leave, Meet])
    }),
    Model::up_to(2, "cut_short_queen", "the same, and the queen does not", || play(SLEEPY, &[Meet, Leave, Catch])),
    Model::all("skipped_queen", "a destructor of the queen's misses a bee at its barrier", || play(HOT, &[Skip, Leave])),
    Model::all("skipped_bee", "one of a bee's misses the queen", || play(HOT, &[Leave, Skip])),
    Model::up_to(2, "skipped_three", "one of a bee's misses another bee, as does the queen, who catches it", || {
        play(SLEEPY, &[Catch, Skip, Leave])
    }),
    Model::up_to(3, "skipped_thrown", "a destructor comes to a barrier that a panic has broken", || play(SLEEPY, &[Skip, Throw])),
    Model::up_to(3, "resumed_bee", "a bee resumes what let it go from a barrier of the region before", || resumed(SLEEPY, 1)),
    Model::up_to(3, "resumed_queen", "the queen resumes what let a bee go in the region before", || resumed(SLEEPY, 0)),
    Model::all("amid_unwinding", "a bee leaves a barrier out, in a region that a destructor runs", || {
        while_unwinding(|| play(HOT, &[Meet, Leave]));
    }),
    Model::all("amid_unwinding_panic", "a bee panics, in a region that a destructor runs", || {
        while_unwinding(|| play(HOT, &[Meet, Throw]));
    }),
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
            Catch => {
                let caught = catch_unwind(AssertUnwindSafe(|| member.barrier()));
                assert!(caught.is_err(), "the barrier is passed, to which not all have come");
            }
            Skip => while_unwinding(|| member.barrier()),
            Throw => resume_unwind(Box::new(Thrown(id))),
            Leave => {}
        }
    });
    check_end(ended, acts);
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

/// With the panic of the lowest of those who threw; if nobody did, with a complaint of somebody's at a barrier, or of the region's. It returns only if all have caught what there was.
fn check_end(ended: std::thread::Result<()>, acts: &[Act]) {
    let is_all_caught = acts.iter().all(|act| matches!(act, Catch | Leave));
    let Err(payload) = ended else {
        assert!(is_all_caught, "the region ended as if nobody had panicked");
        return;
    };
    if let Some(lowest) = acts.iter().position(|&act| act == Throw) {
        match payload.downcast_ref() {
            Some(&Thrown(id)) => assert_eq!(id as usize, lowest, "the panic of the wrong member goes on"),
            None => panic!("the region ended with a panic that no member threw"),
        }
        return;
    }
    // At her end the queen complains herself if she is missed.
    assert!(!is_all_caught || acts[0] == Leave, "the region ended with what had been caught");
    let message = message(&*payload);
    let undone = [(Catch, "cut short"), (Skip, "without having met")];
    let is_of_undone = undone.iter().any(|(act, words)| acts.contains(act) && message.contains(words));
    assert!(is_of_undone || message.contains("equally often"), "the region ended with something else");
}

fn message(payload: &(dyn std::any::Any + Send)) -> &str {
    payload.downcast_ref::<String>().map_or("", String::as_str)
}

/// In one region the bee catches what lets it go from its barrier; in the next `who` resumes that, for whom the other waits.
fn resumed(policy: WaitPolicy, who: u32) {
    let hive = Hive::staffed(2, 2, policy);
    let caught = Mutex::new(None);
    let ended = hive.try_region(2, |member| match member.id() {
        0 => resume_unwind(Box::new(Thrown(0))),
        _ => *caught.lock().expect("no panic under it") = catch_unwind(AssertUnwindSafe(|| member.barrier())).err(),
    });
    assert!(ended.is_err_and(|payload| payload.is::<Thrown>()), "the queen's panic goes on");
    let ended = hive.try_region(2, |member| {
        if member.id() == who {
            let release = caught.lock().expect("no panic under it").take();
            resume_unwind(release.expect("the barrier was broken"));
        }
        member.barrier();
        panic!("the barrier is passed, to which not all have come");
    });
    let payload = ended.expect_err("a panic of another region's is none here");
    assert!(message(&*payload).contains("resumed outside of that region"), "the region ended with something else");
    stage::end();
    Rounds::new(2).region(&hive, 2);
    hive.end();
}
