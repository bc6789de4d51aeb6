//! Solves L x = b for a sparse lower triangle, level by level: the rows of a level need those of earlier levels only. A
//! thousand levels of a few microseconds each, with a barrier after each, in one region; and each level as a loop.
//!
//!     cargo run --release --example levels [-- --compare]

mod compare;

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

const LEVELS: usize = if cfg!(debug_assertions) { 200 } else { 1000 };
/// Rows in a level.
const ROWS: usize = 400;
/// Entries left of the diagonal, which is all ones.
const ENTRIES: usize = 4;

struct Triangle {
    columns: Vec<[usize; ENTRIES]>,
    values: Vec<[f64; ENTRIES]>,
    b: Vec<f64>,
}

/// The solution, which all threads read while they write other elements of it. An element is written once, and read by
/// others after the barrier that ends its level; so the operations can be relaxed, and cost what plain ones do.
struct Solution(Vec<AtomicU64>);

impl Solution {
    fn new() -> Self {
        Self((0..LEVELS * ROWS).map(|_| AtomicU64::new(0)).collect())
    }

    fn get(&self, row: usize) -> f64 {
        f64::from_bits(self.0[row].load(Ordering::Relaxed))
    }

    fn set(&self, row: usize, value: f64) {
        self.0[row].store(value.to_bits(), Ordering::Relaxed);
    }
}

impl Triangle {
    /// Each row has its entries in random columns of the few levels before its own.
    fn new() -> Self {
        let random = |i: usize| compare::random(i as u64);
        let column = |row: usize, entry: usize| {
            let before = row / ROWS * ROWS;
            before - (random(row * ENTRIES + entry) * before.min(8 * ROWS) as f64) as usize
        };
        // In the first level there is nothing to the left: the entries are 0 there.
        let left =
            |row: usize, entry: usize| if row < ROWS { 0 } else { column(row, entry).min(row / ROWS * ROWS - 1) };
        let all = 0..LEVELS * ROWS;
        let columns: Vec<[usize; ENTRIES]> = all.clone().map(|row| std::array::from_fn(|e| left(row, e))).collect();
        let value = |row: usize, e: usize| if row < ROWS { 0.0 } else { 0.4 * random(!(row * ENTRIES + e)) - 0.2 };
        let values: Vec<[f64; ENTRIES]> = all.clone().map(|row| std::array::from_fn(|e| value(row, e))).collect();
        // b is such that x is all ones.
        let b = all.map(|row| 1.0 + values[row].iter().sum::<f64>()).collect();
        Self { columns, values, b }
    }

    fn solve_row(&self, row: usize, x: &Solution) {
        let left = self.columns[row].iter().zip(&self.values[row]).map(|(column, value)| value * x.get(*column));
        x.set(row, self.b[row] - left.sum::<f64>());
    }

    fn alone(&self, x: &Solution) {
        (0..LEVELS * ROWS).for_each(|row| self.solve_row(row, x));
    }

    fn in_one_region(&self, x: &Solution) {
        hive::spmd_all(|bee| {
            for level in 0..LEVELS {
                // The same as for_range with Schedule::Static, which compares the bees' arguments as well.
                bee.split(level * ROWS..(level + 1) * ROWS).for_each(|row| self.solve_row(row, x));
                bee.barrier();
            }
        });
    }

    fn by_for_range(&self, x: &Solution) {
        hive::spmd_all(|bee| {
            for level in 0..LEVELS {
                bee.for_range(level * ROWS..(level + 1) * ROWS, |rows| rows.for_each(|row| self.solve_row(row, x)));
            }
        });
    }

    fn by_loops(&self, x: &Solution) {
        for level in 0..LEVELS {
            hive::par_for(level * ROWS..(level + 1) * ROWS, |rows, _| rows.for_each(|row| self.solve_row(row, x)));
        }
    }

    fn by_rayon(&self, x: &Solution) {
        for level in 0..LEVELS {
            let rows = (level * ROWS..(level + 1) * ROWS).into_par_iter().with_min_len(ROWS / 8);
            rows.for_each(|row| self.solve_row(row, x));
        }
    }
}

fn main() {
    let (triangle, x) = (Triangle::new(), Solution::new());
    for solve in
        [Triangle::alone, Triangle::in_one_region, Triangle::by_for_range, Triangle::by_loops, Triangle::by_rayon]
    {
        x.0.iter().for_each(|x| x.store(0, Ordering::Relaxed));
        solve(&triangle, &x);
        let error = (0..x.0.len()).map(|row| (x.get(row) - 1.0).abs()).fold(0.0, f64::max);
        assert!(error < 1e-9, "x should be all ones and is off by {error}");
    }
    println!("a triangle of {LEVELS} levels of {ROWS} rows solved by {} bees: all ones", hive::bees());
    if compare::wanted() {
        compare::compare(
            "triangular solve by levels",
            &mut [
                ("one thread", &mut || triangle.alone(&x)),
                ("Rayon", &mut || triangle.by_rayon(&x)),
                ("Rayon, in a scope", &mut || rayon::scope(|_| triangle.by_rayon(&x))),
                ("hive, a loop for each level", &mut || triangle.by_loops(&x)),
                ("hive, in one region, for_range", &mut || triangle.by_for_range(&x)),
                ("hive, in one region, split and barrier", &mut || triangle.in_one_region(&x)),
            ],
        );
    }
}
