//! A scenario of loops that teams share out, round after round, and of values that their bees exchange.

use super::random_in;
use crate::hive::Hive;
use crate::loops::{Distribution, Loop};
use crate::protocol::region::exchange_slots::Operation;
use crate::protocol::region::region_context::RegionContext;

const BEES: u32 = 8;

/// What all bees do next.
#[derive(Clone, Copy)]
enum Step {
    Round,
    Barrier,
    Exchange,
}

/// Runs regions with rounds of one loop, with and without barriers and exchanges between the rounds.
pub(super) fn of_teams() {
    let hive = Hive::new(BEES, BEES);
    let way = [Distribution::OneByOne, Distribution::OneByOne, Distribution::InParts, Distribution::FromQueue]
        [random_in(0, 3) as usize];
    let shared = Loop::new(way, BEES, random_in(0, 20));
    let mut rounds = 0;
    for _ in 0..random_in(1, 2) {
        let bees = random_in(2, BEES);
        let steps: Vec<_> = (0..random_in(1, 6)).map(|_| step()).collect();
        rounds += steps.iter().filter(|step| matches!(step, Step::Round)).count() as u32;
        hive.region(bees, |context| {
            steps.iter().zip(0..).for_each(|(step, number)| take(*step, number, context, &shared))
        });
        shared.assert_rounds(rounds);
    }
    hive.end();
}

fn step() -> Step {
    [Step::Round, Step::Round, Step::Round, Step::Barrier, Step::Exchange][random_in(0, 4) as usize]
}

fn take(step: Step, number: u64, context: &RegionContext<'_>, shared: &Loop) {
    match step {
        Step::Round => shared.run(context),
        Step::Barrier => context.barrier(),
        Step::Exchange => {
            let value = |id: u32| 100 * number + u64::from(id);
            // Every third bee has more values than fit into an exchange slot.
            let values = [value(context.id); 9];
            let count = |id: u32| if id % 3 == 0 { 9 } else { 1 };
            let shown = context
                .exchange(Operation::AllReduce, None, &values[..count(context.id)])
                .expect("the barrier is passed");
            for id in 0..context.bees {
                assert_eq!(shown.count(id), Some(count(id)), "values that bee {id} has shown");
                assert_eq!(shown.value(id, count(id) - 1), Some(value(id)), "the last value that bee {id} has shown");
                shuttle::thread::yield_now();
            }
        }
    }
}
