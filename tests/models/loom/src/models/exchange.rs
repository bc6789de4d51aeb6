//! Members who show one another values at a barrier, and who is first.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::Model;
use crate::crew::{Member, Operation};
use crate::data::data;
use crate::hive::{HOT, Hive, SLEEPY};
use crate::stage;
use crate::sync::WaitPolicy;

pub(super) const MODELS: &[Model] = &[
    Model::all("exchange", "two members show each other a value, three times", || play(HOT, 2, 3, 1)),
    Model::up_to(3, "exchange_doze", "the same twice, and who waits dozes", || play(SLEEPY, 2, 2, 1)),
    Model::up_to(3, "exchange_regions", "an exchange in each of two regions", || play(HOT, 2, 1, 2)),
    Model::up_to(1, "exchange_three", "three members, three exchanges", || play(HOT, 3, 3, 1)),
    Model::up_to(3, "exchange_barriers", "two members, barriers between the exchanges", with_barriers),
    Model::up_to(
        1,
        "exchange_broken",
        "a member panics who has passed the barrier, and another that leaves it shows again",
        || broken(show_again),
    ),
    Model::up_to(
        1,
        "exchange_kept",
        "the same, and another that leaves the next barrier looks again at what it has kept",
        || broken(look_again),
    ),
    Model::up_to(3, "first", "one of two members is first, twice", || first(2, 2, 1)),
    Model::up_to(3, "first_regions", "one of two members is first, in each of two regions", || first(2, 1, 2)),
    Model::up_to(1, "first_three", "one of three members is first, twice", || first(3, 2, 1)),
];

/// What member `id` shows: more than fits on a page, each second time.
fn values(round: u32, id: u32) -> Vec<u64> {
    let count = if round % 4 < 2 { 1 } else { 9 };
    vec![u64::from(100 * round + id); count]
}

fn play(policy: WaitPolicy, team: u32, rounds: u32, regions: u32) {
    let hive = Hive::staffed(team, team, policy);
    for region in 0..regions {
        hive.region(team, |member| {
            for round in (0..rounds).map(|round| region * rounds + round) {
                let shown = member.show(Operation::AllReduce, &values(round, member.id())).expect("the barrier is passed");
                for other in 0..team {
                    let expected = values(round, other);
                    assert_eq!(shown.count(other), Some(expected.len()), "values of member {other} in round {round}");
                    let last = expected.len() - 1;
                    assert_eq!(shown.value(other, last), Some(expected[last]), "the value of member {other} in round {round}");
                }
            }
        });
    }
    stage::end();
    hive.end();
}

/// An exchange lies on one page, the next on the same: two barriers later.
fn with_barriers() {
    let hive = Hive::staffed(2, 2, HOT);
    hive.region(2, |member| {
        for round in 0..2 {
            let shown = member.show(Operation::AllReduce, &[10 * round + member.id()]).expect("the barrier is passed");
            assert_eq!(
                shown.value(1 - member.id(), 0),
                Some(10 * round + 1 - member.id()),
                "what the other has shown in round {round}"
            );
            member.barrier();
        }
    });
    hive.end();
}

/// Three members, of whom the last panics when it has done what the others do.
fn broken(act: fn(&Member<'_>)) {
    let hive = Hive::assembled(3, HOT);
    let ended = hive.try_region(3, |member| {
        act(member);
        if member.id() == 2 {
            resume_unwind(Box::new("as expected"));
        }
    });
    assert!(ended.is_err(), "the region ended as if nobody had panicked");
    stage::end();
    hive.end();
}

fn caught<R>(work: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}

/// Who passes the barrier looks at what the others have shown there; who leaves it shows something else.
fn show_again(member: &Member<'_>) {
    let id = member.id();
    member.barrier();
    stage::play();
    match caught(|| member.show(Operation::AllReduce, &[id]).expect("the barrier is passed")) {
        Some(shown) => (0..3).for_each(|other| assert_eq!(shown.value(other, 0), Some(other), "what member {other} has shown")),
        None => assert!(
            caught(|| member.show(Operation::AllReduce, &[10 + id])).is_none(),
            "a barrier is passed after one that was not"
        ),
    }
}

/// Who passes the next barrier shows something else, and then something on the page where the first thing lay; who leaves the next barrier may not look at that again.
fn look_again(member: &Member<'_>) {
    let id = member.id();
    let shown = member.show(Operation::AllReduce, &[id]).expect("nobody panics before the next barrier");
    stage::play();
    match caught(|| member.barrier()) {
        Some(()) if id < 2 => _ = caught(|| member.show(Operation::AllReduce, &[10 + id])),
        Some(()) => {}
        None => assert!(caught(|| shown.value((id + 1) % 3, 0)).is_none(), "read after the next barrier"),
    }
}

fn first(team: u32, times: u32, regions: u32) {
    let hive = Hive::staffed(team, team, HOT);
    let runs = data(times * regions);
    for region in 0..regions {
        hive.region(team, |member| {
            for time in 0..times {
                let runs = &runs[(region * times + time) as usize];
                if member.is_first() {
                    runs.set(runs.get() + 1);
                }
                member.barrier();
                assert_eq!(runs.get(), 1, "members who were first");
            }
        });
    }
    stage::end();
    hive.end();
}
