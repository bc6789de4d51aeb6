//! Bodies that attract each other.

use rayon::prelude::*;

use super::{Case, Iteration, timed};
use crate::numbers::Numbers;

const BODIES: usize = 400;
const STEP: f64 = 1e-4;

#[derive(Clone, PartialEq)]
struct Body {
    position: [f64; 3],
    speed: [f64; 3],
    mass: f64,
}

pub(super) fn case() -> Case {
    super::case("nbody", "a step of 400 bodies, one par_iter for the forces and one for the moves", prepare)
}

fn prepare() -> Iteration {
    let mut numbers = Numbers(7);
    let mut draw = || numbers.fraction();
    let first: Vec<Body> =
        (0..BODIES).map(|_| Body { position: [draw(), draw(), draw()], speed: [0.0; 3], mass: draw() }).collect();
    // The same step on one thread gives the same bits.
    let mut expected = first.clone();
    let forces: Vec<[f64; 3]> = expected.iter().map(|body| acceleration(body, &first)).collect();
    expected.iter_mut().zip(&forces).for_each(|(body, force)| advance(body, force));

    let mut bodies = first.clone();
    Box::new(move || {
        bodies.clone_from(&first);
        let (time, ()) = timed(|| {
            let forces: Vec<[f64; 3]> = bodies.par_iter().map(|body| acceleration(body, &bodies)).collect();
            bodies.par_iter_mut().zip(&forces).for_each(|(body, force)| advance(body, force));
        });
        assert!(bodies == expected, "the bodies are where one thread puts them");
        time
    })
}

fn acceleration(body: &Body, others: &[Body]) -> [f64; 3] {
    let mut sum = [0.0; 3];
    for other in others {
        let way = [0, 1, 2].map(|i| other.position[i] - body.position[i]);
        let square = way.iter().map(|x| x * x).sum::<f64>() + 1e-3;
        let strength = other.mass / (square * square.sqrt());
        (0..3).for_each(|i| sum[i] += strength * way[i]);
    }
    sum
}

fn advance(body: &mut Body, acceleration: &[f64; 3]) {
    for (i, acceleration) in acceleration.iter().enumerate() {
        body.speed[i] += STEP * acceleration;
        body.position[i] += STEP * body.speed[i];
    }
}
