//! Solves A x = b by conjugate gradients, A tridiagonal and b such that x is all ones, with every vector and every loop
//! by one plan: each bee works in the memory of its own node.
//!
//!     cargo run --release --example placed_cg

use hive::{Hive, NumaVec, Placement, Plan, Reduction};

const LEN: usize = 200_000;
const DIAGONAL: f64 = 2.05;

/// A hive, the plan, and what is done by it.
struct Solver<'h> {
    hive: &'h Hive,
    plan: Plan,
}

impl Solver<'_> {
    fn vector(&self, init: impl Fn(usize) -> f64 + Sync) -> NumaVec<f64> {
        self.hive.alloc(self.plan.len(), Placement::LikeLoop(&self.plan), init)
    }

    /// Sets each element to what `update` makes of its index and its value.
    fn update(&self, vector: &mut [f64], update: impl Fn(usize, f64) -> f64 + Sync) {
        self.hive.par_for_mut(vector, &self.plan, |range, values, _| {
            for (index, value) in range.zip(values) {
                *value = update(index, *value);
            }
        });
    }

    fn dot(&self, a: &[f64], b: &[f64]) -> f64 {
        let sum = Reduction::deterministic(0.0, |a, b| a + b);
        self.hive.par_reduce(&self.plan, &sum, |range| a[range.clone()].iter().zip(&b[range]).map(|(a, b)| a * b).sum())
    }
}

/// Row `row` of A, times `p`.
fn times(row: usize, p: &[f64]) -> f64 {
    let before = if row > 0 { p[row - 1] } else { 0.0 };
    let after = p.get(row + 1).copied().unwrap_or(0.0);
    DIAGONAL * p[row] - before - after
}

fn main() {
    let hive = hive::global();
    let solver = Solver { hive, plan: hive.plan(LEN).in_pages::<f64>() };
    let b = |row| if row == 0 || row == LEN - 1 { DIAGONAL - 1.0 } else { DIAGONAL - 2.0 };
    let (mut x, mut r, mut p) = (solver.vector(|_| 0.0), solver.vector(b), solver.vector(b));
    let mut q = solver.vector(|_| 0.0);
    let mut rr = solver.dot(&r, &r);
    let mut steps = 0;
    while rr > 1e-20 {
        solver.update(&mut q, |row, _| times(row, &p));
        let alpha = rr / solver.dot(&p, &q);
        solver.update(&mut x, |i, x| x + alpha * p[i]);
        solver.update(&mut r, |i, r| r - alpha * q[i]);
        let before = std::mem::replace(&mut rr, solver.dot(&r, &r));
        solver.update(&mut p, |i, p| r[i] + rr / before * p);
        steps += 1;
    }
    let error = x.iter().map(|x| (x - 1.0).abs()).fold(0.0, f64::max);
    let nodes: Vec<_> = (0..solver.plan.bees()).map(|bee| hive::node_of(&x[solver.plan.range(bee).start])).collect();
    println!("{steps} steps of {LEN} unknowns, off by {error:.0e} at most; the bees' parts are on nodes {nodes:?}");
    assert!(error < 1e-8, "the solution is all ones");
}
