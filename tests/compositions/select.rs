//! Lists the cases that there are.

use super::case::{Case, Level, Operation, OperationKind, Origin, Waiting};
use super::fault::{Fault, FaultPoint};
use super::surroundings::Surroundings;

/// A place, and the call that leads there, if one is needed.
type Start = (Origin, Option<Operation>);

const STARTS: [Start; 10] = [
    (Origin::Outside, None),
    (Origin::Outside, Some(Operation::Queen)),
    (Origin::Outside, Some(Operation::Worker)),
    (Origin::Outside, Some(Operation::SpawnOn)),
    (Origin::Outside, Some(Operation::PanicHandler)),
    (Origin::Outside, Some(Operation::ExitHandler)),
    (Origin::Outside, Some(Operation::Unwinding)),
    (Origin::Outside, Some(Operation::BeeEnd)),
    (Origin::Outside, Some(Operation::ThreadEnd)),
    (Origin::StartHandler, None),
];

/// The numbers of bees of a hive.
const SIZES: [usize; 3] = [1, 2, 3];

/// Of so many cases that can be mirrored, one is.
const ONE_MIRRORED_OF: u64 = 4;

/// Of so many cases one is run again, with something going on around it.
const ONE_SURROUNDED_OF: u64 = 1;

/// Up to this depth each nest is run with hives of all sizes and with a panic at each point. Each deeper nest is one
/// case, with random details.
const ALL_DETAILS: usize = 1;

/// Calls `visit` with every case of up to `depth` nested calls, besides those that lead to the place. Random details
/// are chosen by `seed`.
pub(crate) fn all(depth: usize, seed: u64, visit: &mut impl FnMut(Case)) {
    let (mut chance, mut more) = (Rng(seed), Rng(seed ^ 0xa11));
    for (place, first) in STARTS {
        let before: Vec<_> = first.map(|verb| Level { verb, on: 0 }).into_iter().collect();
        let is_of_a = place.is_for_first_hive() || first.is_some_and(|verb| verb.kind() == OperationKind::Given);
        for depth in 1..=depth {
            for_each_nest(depth, &before, is_of_a, &mut |levels| {
                let sizes = if depth <= ALL_DETAILS { every_size() } else { vec![chance.one_of(&every_size())] };
                let faults = faults(levels);
                let (sizes, faults) = match depth {
                    ..=ALL_DETAILS => (sizes, faults),
                    // A deeper nest is one case, with a panic or without.
                    _ if chance.next().is_multiple_of(2) => (sizes, Vec::new()),
                    _ => (Vec::new(), vec![chance.one_of(&faults)]),
                };
                let plain = sizes.into_iter().map(|sizes| (sizes, None));
                let faulty = faults.into_iter().map(|at| (chance.one_of(&every_size()), Some(chance.fault(at))));
                let both: Vec<_> = plain.chain(faulty).collect();
                for (sizes, fault) in both {
                    let mut case = Case {
                        place,
                        sizes,
                        levels: levels.to_vec(),
                        waiting: chance.waiting(),
                        fault,
                        is_mirrored: false,
                        surroundings: Surroundings::Quiet,
                    };
                    case.is_mirrored = case.can_be_mirrored() && chance.next().is_multiple_of(ONE_MIRRORED_OF);
                    // The name does not give the size of a hive that is not called, so that size is fixed.
                    for hive in 0..2 {
                        if !case.uses(hive) {
                            case.sizes[hive] = 2;
                        }
                    }
                    let surroundings = more.surroundings(&case);
                    visit(case.clone());
                    surroundings.into_iter().for_each(|surroundings| visit(Case { surroundings, ..case.clone() }));
                }
            });
        }
    }
}

/// The points at which the nest can panic.
fn faults(levels: &[Level]) -> Vec<FaultPoint> {
    let around = levels.iter().enumerate().flat_map(|(call, level)| {
        let beside = [FaultPoint::Concurrent(call), FaultPoint::Both(call)];
        let beside = if level.verb.has_concurrent_parts() { &beside[..] } else { &[] };
        [&[FaultPoint::Before(call), FaultPoint::After(call)], beside].concat()
    });
    around.chain([FaultPoint::Before(levels.len())]).collect()
}

/// Calls `each` with every nest of `depth` calls after `before`. If it does not matter which hive is A, the hive that
/// is called first is A.
fn for_each_nest(depth: usize, before: &[Level], is_of_a: bool, each: &mut impl FnMut(&[Level])) {
    if depth == 0 {
        return each(before);
    }
    let is_first = !is_of_a && before.iter().all(|level| level.verb.kind() != OperationKind::Given);
    for verb in Operation::all() {
        let hives = if verb.kind() == OperationKind::Given && !is_first { 0..2 } else { 0..1 };
        for on in hives {
            let levels = [before, &[Level { verb, on }]].concat();
            for_each_nest(depth - 1, &levels, is_of_a, each);
        }
    }
}

fn every_size() -> Vec<[usize; 2]> {
    SIZES.into_iter().flat_map(|a| SIZES.map(|b| [a, b])).collect()
}

/// Pseudo-random numbers (splitmix64).
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn one_of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.next() as usize % all.len()].clone()
    }

    /// A panic at this point, which may be caught on its way out, and whose payload may panic when it is dropped.
    fn fault(&mut self, at: FaultPoint) -> Fault {
        let (FaultPoint::Before(call)
        | FaultPoint::After(call)
        | FaultPoint::Concurrent(call)
        | FaultPoint::Both(call)) = at;
        let caught = self.next() as usize % (call + 2);
        Fault { at, caught_at: caught.checked_sub(1), panics_on_drop: self.next().is_multiple_of(2) }
    }

    /// What goes on around a case when it is run once more, if it is.
    fn surroundings(&mut self, case: &Case) -> Option<Surroundings> {
        let is_taken = self.next().is_multiple_of(ONE_SURROUNDED_OF);
        let kind = self.one_of(&Surroundings::NAMES).0;
        (is_taken && kind.fits(case)).then_some(kind)
    }

    fn waiting(&mut self) -> Waiting {
        let all: Vec<_> = Waiting::all().collect();
        self.one_of(&all)
    }
}
