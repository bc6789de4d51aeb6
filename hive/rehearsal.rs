//! Chooses the cache line of a hive's signal: two threads rehearse regions on each of several lines, on the CPUs of the first two members.
//! See `crew/stage.rs`.

use std::thread;
use std::time::{Duration, Instant};

use crate::crew::{Follower, Leader, Stage};
use crate::hold;
use crate::housing::Housing;
use crate::pin;
use crate::room::Room;
use crate::signal_mask;
use crate::topology::Place;

/// Lines to choose from. About every other one is a fifth dearer than the best.
const LINES: usize = 16;

/// Regions on a line in one go, before its time counts and then.
const WARM_UP: u32 = 8;
const TIMED: u32 = 32;

/// Times that all lines have their turn. The least time of each counts.
const PASSES: u32 = 3;

/// A rehearsal that takes longer is given up: the CPUs have other things to do. Undisturbed it takes some 300 us between neighbouring cores.
const LONGEST: Duration = Duration::from_millis(3);

/// The stage of a hive of `bees` members: in the best line for the first two, if each is bound to a CPU of its own.
pub(crate) fn stage(housing: &Housing, bees: u32) -> Stage {
    let of = |member| housing.of(member).filter(|place| !place.is_foreign());
    match (of(0), of(1)) {
        (Some(queen), Some(bee)) if bees > 1 && queen.mask() != bee.mask() => best(queen, bee).unwrap_or_else(unrehearsed),
        _ => unrehearsed(),
    }
}

fn unrehearsed() -> Stage {
    Stage::new(1)
}

fn best(queen: &Place, bee: &Place) -> Option<Stage> {
    let _room = Room::take(1, None).ok()?;
    let stage = Stage::new(LINES);
    let deadline = Instant::now() + LONGEST;
    let line = thread::scope(|scope| {
        let follower = || thread::Builder::new().spawn_scoped(scope, || follow(&stage, bee, deadline));
        signal_mask::with_signals_blocked(follower).0.ok()?;
        lead(&stage, queen, deadline)
    })?;
    Some(stage.choose(line))
}

/// The number of the best line. None: it took too long, or this thread could not be bound.
fn lead(stage: &Stage, place: &Place, deadline: Instant) -> Option<usize> {
    let _bound = pin::bind(place).ok()?;
    let mut patience = Patience { deadline, looks: 0 };
    let mut lines: Vec<_> = stage.lines().iter().map(|line| (Leader::new(line), Duration::MAX)).collect();
    for _ in 0..PASSES {
        for (leader, least) in &mut lines {
            for _ in 0..WARM_UP {
                leader.region(|| patience.look_again())?;
            }
            let start = Instant::now();
            for _ in 0..TIMED {
                leader.region(|| patience.look_again())?;
            }
            *least = start.elapsed().min(*least);
        }
    }
    (0..lines.len()).min_by_key(|&line| lines[line].1)
}

/// The other side of `lead`.
fn follow(stage: &Stage, place: &Place, deadline: Instant) -> Option<()> {
    let _bound = pin::bind(place).ok()?;
    let mut patience = Patience { deadline, looks: 0 };
    let mut followers: Vec<_> = stage.lines().iter().map(Follower::new).collect();
    for _ in 0..PASSES {
        for follower in &mut followers {
            for _ in 0..WARM_UP + TIMED {
                follower.region(|| patience.look_again())?;
                hold::keep_first();
            }
        }
    }
    Some(())
}

/// How long one side looks for the other.
struct Patience {
    deadline: Instant,
    looks: u32,
}

impl Patience {
    /// Looks between two at the clock, at which the core is offered to whom it may be needed for.
    const LOOKS: u32 = 2_000;

    fn look_again(&mut self) -> bool {
        self.looks += 1;
        if self.looks < Self::LOOKS {
            return true;
        }
        self.looks = 0;
        thread::yield_now();
        Instant::now() < self.deadline
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::topology::{self, CpuMask, Pin, Places, Shrink};

    /// Places on two CPUs, where there are two.
    fn two_places() -> Option<[Place; 2]> {
        let (machine, _) = topology::read(Some(&pin::current_mask().unwrap()));
        let cpus: Vec<_> = machine.cpus().iter().map(|cpu| cpu.os_index).take(2).collect();
        let places = Places::new(&machine, &Pin::Cpus(cpus.clone()), Shrink::Compact, &CpuMask::new()).unwrap();
        (cpus.len() == 2).then(|| [0, 1].map(|member| places.of(member).unwrap().clone()))
    }

    #[test]
    fn the_mask_is_as_before_and_the_stage_is_new() {
        let Some([queen, bee]) = two_places() else { return };
        let before = pin::current_mask().unwrap();
        // None where other tests keep the CPUs busy.
        if let Some(stage) = best(&queen, &bee) {
            assert_eq!((stage.lines().len(), stage.look().epoch()), (LINES, 0));
        }
        assert_eq!(pin::current_mask().unwrap(), before);
    }

    #[test]
    fn a_rehearsal_of_one_ends() {
        let Some([queen, bee]) = two_places() else { return };
        let stage = Stage::new(LINES);
        let deadline = Instant::now() + LONGEST;
        assert_eq!(lead(&stage, &queen, deadline), None, "nobody follows");
        assert_eq!(follow(&stage, &bee, deadline), None, "nobody leads");
    }
}
