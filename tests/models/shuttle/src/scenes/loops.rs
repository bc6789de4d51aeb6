//! Loops that teams share out, round after round, and values that their members show one another.

use super::draw;
use crate::crew::{Member, Operation};
use crate::hive::Hive;
use crate::loops::{Loop, Way};

const MEMBERS: u32 = 8;

/// What all members do next.
#[derive(Clone, Copy)]
enum Step {
    Round,
    Barrier,
    Exchange,
}

/// Regions of rounds of one loop, with and without barriers and exchanges between.
pub(super) fn of_teams() {
    let hive = Hive::new(MEMBERS, MEMBERS);
    let way = [Way::OneByOne, Way::OneByOne, Way::InParts, Way::FromQueue][draw(0, 3) as usize];
    let shared = Loop::new(way, MEMBERS, draw(0, 20));
    let mut rounds = 0;
    for _ in 0..draw(1, 2) {
        let team = draw(2, MEMBERS);
        let steps: Vec<_> = (0..draw(1, 6)).map(|_| step()).collect();
        rounds += steps.iter().filter(|step| matches!(step, Step::Round)).count() as u32;
        hive.region(team, |member| steps.iter().zip(0..).for_each(|(step, number)| take(*step, number, member, &shared)));
        shared.assert_rounds(rounds);
    }
    hive.end();
}

fn step() -> Step {
    [Step::Round, Step::Round, Step::Round, Step::Barrier, Step::Exchange][draw(0, 4) as usize]
}

fn take(step: Step, number: u64, member: &Member<'_>, shared: &Loop) {
    match step {
        Step::Round => shared.run(member),
        Step::Barrier => member.barrier(),
        Step::Exchange => {
            let value = |id: u32| 100 * number + u64::from(id);
            // More than fits on a page, now and then.
            let values = [value(member.id()); 9];
            let count = |id: u32| if id % 3 == 0 { 9 } else { 1 };
            let shown = member.show(Operation::AllReduce, &values[..count(member.id())]).expect("the barrier is passed");
            for id in 0..member.team() {
                assert_eq!(shown.count(id), Some(count(id)), "values that member {id} has shown");
                assert_eq!(shown.value(id, count(id) - 1), Some(value(id)), "the last value that member {id} has shown");
                shuttle::thread::yield_now();
            }
        }
    }
}
