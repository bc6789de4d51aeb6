//! Bodies that attract one another, a step in two loops: forces, then motion. What is conserved is checked.
//!
//!     cargo run --release --example nbody

use hive::{Hive, Reduction, Schedule};

#[derive(Clone, Copy)]
struct Body {
    at: [f64; 3],
    speed: [f64; 3],
    mass: f64,
}

const BODIES: usize = 512;
const STEPS: usize = 100;
const STEP: f64 = 1e-5;

/// Numbers between 0 and 1 without a pattern.
fn random(i: usize) -> f64 {
    (i as f64 * 12.9898).sin().mul_add(43_758.545_3, 100_000.0).fract()
}

fn pull(on: &Body, all: &[Body]) -> [f64; 3] {
    all.iter().fold([0.0; 3], |sum, other| {
        let way: [f64; 3] = std::array::from_fn(|d| other.at[d] - on.at[d]);
        let square = way.iter().map(|w| w * w).sum::<f64>() + 1e-3;
        let strength = other.mass / (square * square.sqrt());
        std::array::from_fn(|d| sum[d] + strength * way[d])
    })
}

fn momentum(hive: &Hive, bodies: &[Body]) -> f64 {
    let sum = Reduction::deterministic(0.0, |a, b| a + b);
    hive.par_reduce(0..bodies.len(), &sum, |range| bodies[range].iter().map(|body| body.mass * body.speed[0]).sum())
}

fn main() {
    let hive = hive::global();
    let place = |i: usize| [random(3 * i), random(3 * i + 1), random(3 * i + 2)];
    let mut bodies: Vec<_> =
        (0..BODIES).map(|i| Body { at: place(i), speed: [0.0; 3], mass: 1.0 + random(7 * i) }).collect();
    let mut pulls = vec![[0.0; 3]; BODIES];
    hive.keep_spinning(|| {
        for _ in 0..STEPS {
            hive.par_for_mut(&mut pulls, Schedule::Dynamic(8), |range, pulls, _| {
                pulls.iter_mut().zip(range).for_each(|(sum, i)| *sum = pull(&bodies[i], &bodies));
            });
            for (body, pull) in bodies.iter_mut().zip(&pulls) {
                body.speed = std::array::from_fn(|d| body.speed[d] + STEP * pull[d]);
                body.at = std::array::from_fn(|d| body.at[d] + STEP * body.speed[d]);
            }
        }
    });
    let (momentum, fastest) =
        (momentum(hive, &bodies), bodies.iter().map(|body| body.speed[0].abs()).fold(0.0, f64::max));
    println!(
        "{BODIES} bodies, {STEPS} steps by {} bees: momentum {momentum:.1e}, speeds up to {fastest:.2}",
        hive.bees()
    );
    assert!(momentum.abs() < 1e-9 && fastest > 0.0, "momentum is conserved");
}
