//! The Fourier transform of an image: all rows, then all columns, which a transposition makes rows.
//!
//!     cargo run --release --example fft2d [-- --compare]

mod compare;

use std::f64::consts::TAU;
use std::ops::Range;

use hive::Schedule;
use rayon::prelude::*;

type Complex = [f64; 2];

/// Transposes by blocks of so many rows and columns, which stay in the first cache.
const BLOCK: usize = 16;

/// What all rows have in common: the roots of unity, and where each element goes before the first step.
struct Plan {
    side: usize,
    roots: Vec<Complex>,
    places: Vec<usize>,
}

impl Plan {
    /// `side` is a power of two.
    fn new(side: usize) -> Self {
        let root = |i: usize| [(TAU * i as f64 / side as f64).cos(), -(TAU * i as f64 / side as f64).sin()];
        let shift = usize::BITS - side.ilog2();
        Self {
            side,
            roots: (0..side / 2).map(root).collect(),
            places: (0..side).map(|i| i.reverse_bits() >> shift).collect(),
        }
    }

    /// The transform of one row, by halves (Cooley and Tukey).
    fn row(&self, row: &mut [Complex]) {
        for (i, place) in self.places.iter().enumerate() {
            if i < *place {
                row.swap(i, *place);
            }
        }
        let mut half = 1;
        while half < self.side {
            let stride = self.side / (2 * half);
            for pair in row.chunks_exact_mut(2 * half) {
                let (a, b) = pair.split_at_mut(half);
                for ((a, b), w) in a.iter_mut().zip(b).zip(self.roots.iter().step_by(stride)) {
                    let turned = [w[0] * b[0] - w[1] * b[1], w[0] * b[1] + w[1] * b[0]];
                    *b = [a[0] - turned[0], a[1] - turned[1]];
                    *a = [a[0] + turned[0], a[1] + turned[1]];
                }
            }
            half *= 2;
        }
    }

    fn rows(&self, rows: &mut [Complex]) {
        rows.chunks_exact_mut(self.side).for_each(|row| self.row(row));
    }

    /// Writes columns `range` of `from` as the rows `to`.
    fn transpose(&self, from: &[Complex], range: Range<usize>, to: &mut [Complex]) {
        let first = range.start;
        for columns in range.clone().step_by(BLOCK).map(|begin| begin..(begin + BLOCK).min(range.end)) {
            for rows in (0..self.side).step_by(BLOCK).map(|begin| begin..begin + BLOCK) {
                for column in columns.clone() {
                    let row_of_to = &mut to[(column - first) * self.side..][rows.clone()];
                    row_of_to.iter_mut().zip(rows.clone()).for_each(|(to, row)| *to = from[row * self.side + column]);
                }
            }
        }
    }

    fn alone(&self, image: &mut [Complex], spare: &mut [Complex]) {
        self.rows(image);
        self.transpose(image, 0..self.side, spare);
        self.rows(spare);
        self.transpose(spare, 0..self.side, image);
    }

    fn by_hive(&self, image: &mut [Complex], spare: &mut [Complex]) {
        hive::par_rows_mut(image, self.side, Schedule::Static, |_, rows, _| self.rows(rows));
        hive::par_rows_mut(spare, self.side, Schedule::Static, |range, rows, _| {
            self.transpose(image, range, rows);
            self.rows(rows); // while they are in the cache
        });
        hive::par_rows_mut(image, self.side, Schedule::Static, |range, rows, _| self.transpose(spare, range, rows));
    }

    fn by_rayon(&self, image: &mut [Complex], spare: &mut [Complex]) {
        let len = BLOCK * self.side;
        let range = |i: usize| i * BLOCK..(i + 1) * BLOCK;
        image.par_chunks_exact_mut(len).for_each(|rows| self.rows(rows));
        spare.par_chunks_exact_mut(len).enumerate().for_each(|(i, rows)| {
            self.transpose(image, range(i), rows);
            self.rows(rows);
        });
        image.par_chunks_exact_mut(len).enumerate().for_each(|(i, rows)| self.transpose(spare, range(i), rows));
    }
}

fn main() {
    let side = if compare::wanted() { 1024 } else { 256 };
    let plan = Plan::new(side);
    // A wave, whose transform is one point, and a little of everything.
    let noise = |i: u64| 0.01 * (compare::random(i) - 0.5);
    let wave = |i: usize| TAU * (3 * (i % side) + 5 * (i / side)) as f64 / side as f64;
    let image: Vec<Complex> = (0..side * side).map(|i| [wave(i).cos() + noise(i as u64), wave(i).sin()]).collect();
    let mut spare = vec![[0.0; 2]; side * side];
    let (mut expected, mut by_hive, mut by_rayon) = (image.clone(), image.clone(), image.clone());
    plan.alone(&mut expected, &mut spare);
    plan.by_hive(&mut by_hive, &mut spare);
    plan.by_rayon(&mut by_rayon, &mut spare);
    assert!(by_hive == expected && by_rayon == expected);
    let peak = by_hive[5 * side + 3][0] / (side * side) as f64;
    assert!((peak - 1.0).abs() < 0.001, "the wave is a point of height 1, and not {peak}");
    println!("an image of {side} x {side} transformed by {} bees: the wave is a point of {peak:.4}", hive::bees());
    if compare::wanted() {
        let [mut a, mut b, mut c] = [(); 3].map(|()| (image.clone(), spare.clone()));
        compare::compare(
            "2-D FFT",
            &mut [
                ("one thread", &mut || plan.alone(&mut a.0, &mut a.1)),
                ("Rayon", &mut || plan.by_rayon(&mut b.0, &mut b.1)),
                ("hive", &mut || plan.by_hive(&mut c.0, &mut c.1)),
            ],
        );
    }
}
