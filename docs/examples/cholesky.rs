//! The Cholesky factorisation A = L L^T of a dense matrix, by panels of columns, looking right: in one region, whose
//! bees share out the panels that are left, fewer in each step; and by one loop for each step.
//!
//!     cargo run --release --example cholesky [-- --compare]

mod compare;

use hive::{Parts, Schedule};
use rayon::prelude::*;

/// Columns in a panel.
const WIDTH: usize = 32;

/// A matrix by columns, of which only the lower triangle is used. The panels are contiguous.
#[derive(Clone)]
struct Matrix {
    n: usize,
    columns: Vec<f64>,
}

impl Matrix {
    fn positive_definite(n: usize) -> Self {
        let entry = |i: usize, j: usize| 1.0 / (1.0 + i.abs_diff(j) as f64) + if i == j { 2.0 } else { 0.0 };
        Self { n, columns: (0..n * n).map(|at| entry(at % n, at / n)).collect() }
    }

    fn panels(&self) -> usize {
        self.n / WIDTH
    }

    /// All steps on one thread; `update_all` gets what lies right of panel `k`, and that panel.
    fn factor(&mut self, update_all: impl Fn(&mut [f64], &[f64], usize)) {
        let size = self.n * WIDTH;
        for k in 0..self.panels() {
            let (done, rest) = self.columns.split_at_mut((k + 1) * size);
            let panel = &mut done[k * size..];
            factor_panel(panel, self.n, k);
            update_all(rest, panel, k);
        }
    }

    fn factor_alone(&mut self) {
        let n = self.n;
        self.factor(|rest, done, k| {
            rest.chunks_exact_mut(n * WIDTH).zip(k + 1..).for_each(|(panel, j)| update(panel, done, n, j));
        });
    }

    fn factor_by_rayon(&mut self) {
        let n = self.n;
        self.factor(|rest, done, k| {
            rest.par_chunks_exact_mut(n * WIDTH).enumerate().for_each(|(i, panel)| update(panel, done, n, k + 1 + i));
        });
    }

    fn factor_by_loops(&mut self) {
        let n = self.n;
        self.factor(|rest, done, k| {
            hive::par_rows_mut(rest, n * WIDTH, Schedule::Dynamic(1), |range, panels, _| {
                panels.chunks_exact_mut(n * WIDTH).zip(range).for_each(|(panel, i)| update(panel, done, n, k + 1 + i));
            });
        });
    }

    fn factor_in_one_region(&mut self) {
        let (n, count) = (self.n, self.panels());
        let panels = Parts::rows(&mut self.columns, n * WIDTH, count);
        hive::spmd_all(|bee| {
            for k in 0..count {
                // The first bee that comes here factors the panel; the others wait, for they all need it.
                bee.single(|| factor_panel(&mut panels.part_mut(bee, k), n, k));
                bee.for_range((k + 1..count, Schedule::Dynamic(1)), |range| {
                    let done = panels.part(bee, k);
                    range.for_each(|j| update(&mut panels.part_mut(bee, j), &done, n, j));
                });
            }
        });
    }

    /// Solves A x = b with the factor in place of A: L y = b, then L^T x = y.
    fn solve(&self, mut x: Vec<f64>) -> Vec<f64> {
        let column = |j: usize| &self.columns[j * self.n..(j + 1) * self.n];
        for j in 0..self.n {
            x[j] /= column(j)[j];
            let (value, below) = (x[j], &column(j)[j + 1..]);
            x[j + 1..].iter_mut().zip(below).for_each(|(x, l)| *x -= l * value);
        }
        for j in (0..self.n).rev() {
            let sum: f64 = x[j + 1..].iter().zip(&column(j)[j + 1..]).map(|(x, l)| x * l).sum();
            x[j] = (x[j] - sum) / column(j)[j];
        }
        x
    }
}

/// Factors panel `k`, which has been updated by all panels left of it.
fn factor_panel(panel: &mut [f64], n: usize, k: usize) {
    for own in 0..WIDTH {
        let row = k * WIDTH + own;
        let (left, right) = panel.split_at_mut((own + 1) * n);
        let pivots = &mut left[own * n..];
        let root = pivots[row].sqrt();
        pivots[row..].iter_mut().for_each(|l| *l /= root);
        for (other, column) in (row + 1..).zip(right.chunks_exact_mut(n)) {
            subtract(&mut column[other..], pivots[other], &pivots[other..]);
        }
    }
}

/// Updates panel `j` by the finished panel `done`.
fn update(panel: &mut [f64], done: &[f64], n: usize, j: usize) {
    for (row, column) in (j * WIDTH..).zip(panel.chunks_exact_mut(n)) {
        // Four columns at a time, so that each element is read and written a quarter as often.
        for four in done.chunks_exact(4 * n) {
            let [a, b, c, d] = [0, 1, 2, 3].map(|i| &four[i * n + row..(i + 1) * n]);
            let factors = [a[0], b[0], c[0], d[0]];
            for ((((x, a), b), c), d) in column[row..].iter_mut().zip(a).zip(b).zip(c).zip(d) {
                *x -= factors[0] * a + factors[1] * b + factors[2] * c + factors[3] * d;
            }
        }
    }
}

fn subtract(x: &mut [f64], factor: f64, y: &[f64]) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x -= factor * y);
}

fn main() {
    let a = Matrix::positive_definite(if compare::wanted() { 1024 } else { 256 });
    // b is the sum of A's columns, so that x is all ones.
    let lower = |i: usize, j: usize| a.columns[i.min(j) * a.n + i.max(j)];
    let b: Vec<f64> = (0..a.n).map(|i| (0..a.n).map(|j| lower(i, j)).sum()).collect();
    for factor in [Matrix::factor_in_one_region, Matrix::factor_by_loops, Matrix::factor_by_rayon, Matrix::factor_alone]
    {
        let mut l = a.clone();
        factor(&mut l);
        let error = l.solve(b.clone()).iter().map(|x| (x - 1.0).abs()).fold(0.0, f64::max);
        assert!(error < 1e-10, "x should be all ones and is off by {error}");
    }
    println!("Cholesky factors of a matrix of {n} x {n} on {bees} bees: all right", n = a.n, bees = hive::bees());
    if compare::wanted() {
        let mut copies = [(); 4].map(|()| a.clone());
        let [one, two, three, four] = &mut copies;
        // Each run factors the same matrix: making the copy is a part of it.
        let run = |own: &mut Matrix, factor: fn(&mut Matrix)| {
            own.columns.copy_from_slice(&a.columns);
            factor(own);
        };
        compare::compare(
            "Cholesky",
            &mut [
                ("one thread", &mut || run(one, Matrix::factor_alone)),
                ("Rayon", &mut || run(two, Matrix::factor_by_rayon)),
                ("hive, by loops", &mut || run(three, Matrix::factor_by_loops)),
                ("hive, in one region", &mut || run(four, Matrix::factor_in_one_region)),
            ],
        );
    }
}
