//! Charges on a grid, as in a particle-in-cell simulation: each particle adds to four cells, wherever they are. Each
//! bee adds up its particles on a grid of its own; then the bees share out the cells, and sum up all grids there.
//!
//!     cargo run --release --example scatter [-- --compare]

mod compare;

use hive::{Parts, PerBee};
use rayon::prelude::*;

const SIDE: usize = 256;
const PARTICLES: usize = if cfg!(debug_assertions) { 100_000 } else { 500_000 };

type Particle = [f32; 2];

/// Adds these particles' charges, one each, to the cells around them.
fn deposit(particles: &[Particle], grid: &mut [f32]) {
    for [x, y] in particles {
        let (column, row) = (*x as usize, *y as usize);
        let (right, down) = (x - column as f32, y - row as f32);
        let cells = &mut grid[row * SIDE + column..];
        cells[0] += (1.0 - right) * (1.0 - down);
        cells[1] += right * (1.0 - down);
        cells[SIDE] += (1.0 - right) * down;
        cells[SIDE + 1] += right * down;
    }
}

fn add(grid: &mut [f32], other: &[f32]) {
    grid.iter_mut().zip(other).for_each(|(a, b)| *a += b);
}

fn alone(particles: &[Particle], grid: &mut [f32]) {
    grid.fill(0.0);
    deposit(particles, grid);
}

/// `own_grids` are kept from one call to the next.
fn by_hive(particles: &[Particle], grid: &mut [f32], own_grids: &PerBee<Vec<f32>>) {
    let bees = hive::bees();
    let parts = Parts::new(grid, bees);
    hive::spmd(bees, |bee| {
        {
            let mut own = own_grids.get(bee);
            own.resize(SIDE * SIDE, 0.0);
            alone(&particles[bee.split(0..particles.len())], &mut own);
        }
        bee.barrier(); // all grids are ready
        for part in (bee.id()..parts.count()).step_by(bee.bees()) {
            let (cells, mut sum) = (parts.range(part), parts.part_mut(bee, part));
            sum.fill(0.0);
            (0..bee.bees()).for_each(|id| add(&mut sum, &own_grids.of(bee, id)[cells.clone()]));
        }
    });
}

fn by_rayon(particles: &[Particle], grid: &mut [f32]) {
    let zero = || vec![0.0; SIDE * SIDE];
    let on_own_grid = |mut own: Vec<f32>, part: &[Particle]| {
        deposit(part, &mut own);
        own
    };
    let sum = |mut a: Vec<f32>, b: Vec<f32>| {
        add(&mut a, &b);
        a
    };
    // As many pieces as threads: each has a grid of its own.
    let len = particles.len().div_ceil(rayon::current_num_threads());
    grid.copy_from_slice(&particles.par_chunks(len).fold(zero, on_own_grid).reduce(zero, sum));
}

fn main() {
    // Quarters, which are added without rounding, so that every order of adding gives the same.
    let at = |i: u64| (compare::random(i) * 4.0 * (SIDE - 2) as f64).floor() as f32 / 4.0;
    let particles: Vec<Particle> = (0..PARTICLES as u64).map(|i| [at(2 * i), at(2 * i + 1)]).collect();
    let [mut grid, mut expected] = [(); 2].map(|()| vec![0.0; SIDE * SIDE]);
    alone(&particles, &mut expected);
    // Room for as many bees as there may ever be; a grid is made for those that come.
    let own_grids = PerBee::new(hive::global().max_bees(), |_| Vec::new());
    by_hive(&particles, &mut grid, &own_grids);
    assert!(grid == expected);
    by_rayon(&particles, &mut grid);
    assert!(grid == expected);
    let charge: f64 = grid.iter().map(|cell| f64::from(*cell)).sum();
    assert_eq!(charge, PARTICLES as f64);
    println!("{PARTICLES} particles by {} bees: all of their charge is on the grid", hive::bees());
    if compare::wanted() {
        let [mut a, mut b, mut c] = [(); 3].map(|()| grid.clone());
        compare::compare(
            "particle scatter",
            &mut [
                ("one thread", &mut || alone(&particles, &mut a)),
                ("Rayon", &mut || by_rayon(&particles, &mut b)),
                ("hive", &mut || by_hive(&particles, &mut c, &own_grids)),
            ],
        );
    }
}
