//! Bodies that all attract each other: each step has a loop for the forces and a loop for the moves. It tests how fast
//! a runtime distributes a loop, because a step is short and every body costs the same (after the idea of ForkUnion's
//! benchmark of that name: as many bodies, f32, a guessed square root). The answer does not depend on which thread does
//! which body, down to the last bit: what pulls at a body is added up in lanes, in one order.

use std::ops::Range;

use crate::kernels::disjoint::Disjoint;
use crate::kernels::kernel::{Kernel, checksum};
use crate::runtimes::loops::Loops;

/// `c/kernels/nbody.c` has the same.
const BODIES: usize = 512;
/// The number of partial sums. A compiler may not change the order of additions, so they are written side by side. With
/// eight of them LLVM splits the loop and makes vector code that is half as fast as that of gcc.
const LANES: usize = 16;
/// Keeps bodies that meet from flying apart.
const SOFTENING: f32 = 0.01;
/// The length of a step in time.
const TIME: f32 = 1e-5;

/// How the bodies of a loop are handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Schedule {
    /// A block a thread.
    Static,
    /// One by one, taken by the threads.
    Dynamic,
}

/// A vector for each body. By coordinate, so that neighbours in memory are alike.
type Points = [[f32; BODIES]; 3];

pub(crate) struct Nbody {
    schedule: Schedule,
    places: Box<Points>,
    speeds: Box<Points>,
    pulls: Box<Points>,
    masses: Box<[f32; BODIES]>,
}

impl Nbody {
    /// At rest, anywhere in a cube. They fit into any cache, so it makes no difference which thread touches their
    /// memory first.
    pub(crate) fn new(schedule: Schedule) -> Self {
        let mut random = fastrand::Rng::with_seed(BODIES as u64);
        let mut numbers = || std::array::from_fn(|_| random.f32());
        let places = Box::new([numbers(), numbers(), numbers()]);
        let at_rest = || Box::new([[0.0; BODIES]; 3]);
        Self { schedule, places, speeds: at_rest(), pulls: at_rest(), masses: Box::new(numbers()) }
    }
}

/// One Newton step from a guess by the bits.
#[inline(always)]
fn inverse_root(square: f32) -> f32 {
    let guess = f32::from_bits(0x5f37_59df - (square.to_bits() >> 1));
    guess * (1.5 - 0.5 * square * guess * guess)
}

fn total(mut lanes: [f32; LANES]) -> f32 {
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] += lanes[lane + half];
        }
        half /= 2;
    }
    lanes[0]
}

/// The number of lanes that make up one vector of the smallest instruction set.
const TOGETHER: usize = 4;

/// The array in vectors of `TOGETHER` bodies.
fn in_vectors(all: &[f32; BODIES]) -> &[[f32; TOGETHER]] {
    all.as_chunks().0
}

/// The force on a body at the place `at`. Lanes are summed up in groups, one after the other, so that the sums stay in
/// registers.
fn pull(places: &Points, masses: &[f32; BODIES], at: [f32; 3]) -> [f32; 3] {
    let mut sums = [[0.0; LANES]; 3];
    for first in 0..LANES / TOGETHER {
        let sums_together = pull_of_lanes(places, masses, at, first);
        for (sum, together) in sums.iter_mut().zip(sums_together) {
            sum[first * TOGETHER..][..TOGETHER].copy_from_slice(&together);
        }
    }
    sums.map(total)
}

/// The sums of the lanes of vector number `first` of each row of lanes.
#[inline(always)]
fn pull_of_lanes(places: &Points, masses: &[f32; BODIES], at: [f32; 3], first: usize) -> [[f32; TOGETHER]; 3] {
    let every = |all| in_vectors(all)[first..].iter().step_by(LANES / TOGETHER);
    let [xs, ys, zs] = places.each_ref().map(every);
    let mut sums = [[0.0; TOGETHER]; 3];
    for (((xs, ys), zs), masses) in xs.zip(ys).zip(zs).zip(every(masses)) {
        for lane in 0..TOGETHER {
            let way = [xs[lane] - at[0], ys[lane] - at[1], zs[lane] - at[2]];
            let inverse = inverse_root(way[0] * way[0] + way[1] * way[1] + way[2] * way[2] + SOFTENING);
            let strength = masses[lane] * (inverse * inverse * inverse);
            for (sum, way) in sums.iter_mut().zip(way) {
                sum[lane] += strength * way;
            }
        }
    }
    sums
}

/// A step along one coordinate.
fn advance(places: &mut [f32], speeds: &mut [f32], pulls: &[f32]) {
    for ((place, speed), pull) in places.iter_mut().zip(speeds).zip(pulls) {
        *speed += TIME * pull;
        *place += TIME * *speed;
    }
}

/// A loop over all bodies.
fn for_bodies(by: &mut impl Loops, schedule: Schedule, body: impl Fn(Range<usize>) + Sync) {
    match schedule {
        Schedule::Static => by.blocks(BODIES, body),
        Schedule::Dynamic => by.dynamic(BODIES, 1, body),
    }
}

impl Nbody {
    fn compute_pulls<L: Loops>(&mut self, by: &mut L) {
        let (places, masses) = (&*self.places, &*self.masses);
        let all = Disjoint::new(self.pulls.as_flattened_mut());
        for_bodies(by, self.schedule, |bodies| {
            if L::IN_C {
                let Range { start, end } = bodies;
                // SAFETY: all have as many bodies as there, and a loop hands out each body once.
                return unsafe { hb_pull_part(places.as_ptr().cast(), all.pointer(), masses.as_ptr(), start, end) };
            }
            // SAFETY: a loop hands out each body once.
            let [x, y, z] = unsafe { parts(&all, &bodies) };
            for (((body, x), y), z) in bodies.zip(x).zip(y).zip(z) {
                [*x, *y, *z] = pull(places, masses, places.each_ref().map(|places| places[body]));
            }
        });
    }

    fn move_all<L: Loops>(&mut self, by: &mut L) {
        let pulls = &*self.pulls;
        let places = Disjoint::new(self.places.as_flattened_mut());
        let speeds = Disjoint::new(self.speeds.as_flattened_mut());
        for_bodies(by, self.schedule, |bodies| {
            if L::IN_C {
                let Range { start, end } = bodies;
                // SAFETY: all have as many bodies as there, and a loop hands out each body once.
                return unsafe { hb_move_part(places.pointer(), speeds.pointer(), pulls.as_ptr().cast(), start, end) };
            }
            // SAFETY: a loop hands out each body once.
            let [places, speeds] = [&places, &speeds].map(|points| unsafe { parts(points, &bodies) });
            for ((places, speeds), pulls) in places.into_iter().zip(speeds).zip(pulls) {
                advance(places, speeds, &pulls[bodies.clone()]);
            }
        });
    }
}

/// Of each coordinate what belongs to these bodies.
///
/// # Safety
/// While the result lives, nobody else holds parts of these bodies.
#[expect(clippy::mut_from_ref, reason = "the caller vouches for the parts")]
unsafe fn parts<'a>(points: &'a Disjoint<'_, f32>, bodies: &Range<usize>) -> [&'a mut [f32]; 3] {
    // SAFETY: coordinates lie one after the other; and the caller's promise.
    [0, BODIES, 2 * BODIES].map(|first| unsafe { points.part(first + bodies.start..first + bodies.end) })
}

unsafe extern "C" {
    fn hb_pull_part(places: *const f32, pulls: *mut f32, masses: *const f32, begin: usize, end: usize);
    fn hb_move_part(places: *mut f32, speeds: *mut f32, pulls: *const f32, begin: usize, end: usize);
}

impl Kernel for Nbody {
    fn step<L: Loops>(&mut self, by: &mut L) {
        self.compute_pulls(by);
        self.move_all(by);
    }

    fn answer(&self) -> Result<u64, String> {
        let all = || self.places.iter().flatten();
        if let Some(wrong) = all().find(|place| !place.is_finite()) {
            return Err(format!("wrong answer: a body is at {wrong}"));
        }
        Ok(checksum(all().map(|place| place.to_bits().into())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::kernel::tests::answers_agree;
    use crate::runtimes::sequential::Sequential;

    #[test]
    fn everybody_comes_to_the_same_answer() {
        for schedule in [Schedule::Static, Schedule::Dynamic] {
            answers_agree(|| Nbody::new(schedule), 3);
        }
    }

    #[test]
    fn schedules_do_not_change_the_answer() {
        let [one, other] = [Schedule::Static, Schedule::Dynamic].map(|schedule| {
            let mut bodies = Nbody::new(schedule);
            bodies.run(&mut Sequential::<false>, 2);
            bodies.answer()
        });
        assert_eq!(one, other);
    }

    #[test]
    fn pulls_are_newton_s() {
        let bodies = Nbody::new(Schedule::Static);
        let at = [0.25, 0.5, 0.75];
        let mut expected = [0.0; 3];
        for other in 0..BODIES {
            let apart = [0, 1, 2].map(|i| f64::from(bodies.places[i][other]) - f64::from(at[i]));
            let square = apart.iter().map(|apart| apart * apart).sum::<f64>() + f64::from(SOFTENING);
            for (expected, apart) in expected.iter_mut().zip(apart) {
                *expected += f64::from(bodies.masses[other]) * apart / (square * square.sqrt());
            }
        }
        let size = |vector: [f64; 3]| vector.iter().map(|part| part * part).sum::<f64>().sqrt();
        let pull = pull(&bodies.places, &bodies.masses, at).map(f64::from);
        let off = [0, 1, 2].map(|i| pull[i] - expected[i]);
        // The guessed root is good to 0.2 %, its cube to 0.6 %.
        assert!(size(off) < 0.01 * size(expected), "{pull:?} is not {expected:?}");
    }
}
