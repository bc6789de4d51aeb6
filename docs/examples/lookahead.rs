//! LU factorisation with lookahead, without pivoting, of a matrix by columns: while the other bees update what lies
//! right of panel k, the queen updates and factors panel k + 1 first, so that nobody waits for it in the next step.
//!
//!     cargo run --release --example lookahead

use std::time::Instant;

use hive::{Loop, Parts, Schedule};

const SIZE: usize = if cfg!(debug_assertions) { 128 } else { 768 };
/// Columns in a panel.
const WIDTH: usize = 32;
const PANELS: usize = SIZE / WIDTH;

/// A matrix that needs no pivots, by columns.
fn matrix() -> Vec<f64> {
    let entry = |i: usize, j: usize| ((i * 31 + j * 17) % 97) as f64 / 97.0 + if i == j { SIZE as f64 } else { 0.0 };
    (0..SIZE * SIZE).map(|at| entry(at % SIZE, at / SIZE)).collect()
}

/// Factors the columns of panel `k`, whose rows above have been updated.
fn factor(panel: &mut [f64], k: usize) {
    for j in 0..WIDTH {
        let (done, rest) = panel.split_at_mut((j + 1) * SIZE);
        let column = &mut done[j * SIZE..];
        let row = k * WIDTH + j;
        let pivot = column[row];
        column[row + 1..].iter_mut().for_each(|x| *x /= pivot);
        for other in rest.chunks_exact_mut(SIZE) {
            subtract(other, column, row);
        }
    }
}

/// Subtracts from a column a multiple of a factored one, which has its pivot in row `row`.
fn subtract(column: &mut [f64], factored: &[f64], row: usize) {
    let factor = column[row];
    column[row + 1..].iter_mut().zip(&factored[row + 1..]).for_each(|(x, l)| *x -= factor * l);
}

/// Updates a panel by panel `k`, which has been factored.
fn update(panel: &mut [f64], factored: &[f64], k: usize) {
    for column in panel.chunks_exact_mut(SIZE) {
        factored.chunks_exact(SIZE).zip(k * WIDTH..).for_each(|(factored, row)| subtract(column, factored, row));
    }
}

fn factor_alone(a: &mut [f64]) {
    for k in 0..PANELS {
        let (done, rest) = a.split_at_mut((k + 1) * WIDTH * SIZE);
        let panel = &mut done[k * WIDTH * SIZE..];
        factor(panel, k);
        rest.chunks_exact_mut(WIDTH * SIZE).for_each(|other| update(other, panel, k));
    }
}

fn factor_ahead(a: &mut [f64]) {
    let panels = Parts::rows(a, WIDTH * SIZE, PANELS);
    // What is left to update in each step, but for the panel that is next.
    let rest: Vec<_> = (0..PANELS).map(|k| Loop::new((k + 2).min(PANELS)..PANELS, Schedule::Dynamic(1))).collect();
    hive::spmd_all(|bee| {
        if bee.is_queen() {
            factor(&mut panels.part_mut(bee, 0), 0);
        }
        for (k, rest) in rest.iter().enumerate().take(PANELS - 1) {
            bee.barrier(); // panel k is factored
            let factored = panels.part(bee, k);
            if bee.is_queen() {
                let mut next = panels.part_mut(bee, k + 1);
                update(&mut next, &factored, k);
                factor(&mut next, k + 1);
            }
            bee.for_each(rest, |numbers| {
                numbers.for_each(|number| update(&mut panels.part_mut(bee, number), &factored, k));
            });
        }
    });
}

fn main() {
    let (mut expected, mut found) = (matrix(), matrix());
    let begin = Instant::now();
    factor_alone(&mut expected);
    let alone = begin.elapsed();
    let begin = Instant::now();
    factor_ahead(&mut found);
    let with_hive = begin.elapsed();
    assert_eq!(found, expected, "the same operations in the same order");
    let ratio = with_hive.as_secs_f64() / alone.as_secs_f64();
    println!("LU with lookahead, {SIZE}, panels of {WIDTH}: {ratio:.2} of the time of one thread");
}
