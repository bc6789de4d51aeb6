//! Pi by throwing darts (Monte Carlo): each dart's number says where it hits, so the answer is the same on any number
//! of bees.
//!
//!     cargo run --release --example pi [-- --compare]

mod compare;

use std::hint::black_box;
use std::ops::Range;

use hive::Reduction;
use rayon::prelude::*;

const DARTS: usize = if cfg!(debug_assertions) { 1_000_000 } else { 4_000_000 };

/// How many of these darts hit the circle.
fn hits(darts: Range<usize>) -> usize {
    let is_hit = |dart: &usize| {
        let (x, y) = (compare::random(2 * *dart as u64), compare::random(2 * *dart as u64 + 1));
        x * x + y * y < 1.0
    };
    darts.filter(is_hit).count()
}

fn by_hive() -> usize {
    hive::par_reduce(0..DARTS, &Reduction::unordered(0, |a, b| a + b), hits)
}

fn by_rayon() -> usize {
    let block = |i: usize| hits(i * 1000..(i + 1) * 1000);
    (0..DARTS / 1000).into_par_iter().map(block).sum()
}

fn main() {
    let count = by_hive();
    assert_eq!([count; 2], [hits(0..DARTS), by_rayon()]);
    let pi = 4.0 * count as f64 / DARTS as f64;
    println!("{DARTS} darts on {} bees: pi is about {pi:.5}", hive::bees());
    assert!((pi - std::f64::consts::PI).abs() < 0.005);
    if compare::wanted() {
        compare::compare(
            "Monte-Carlo pi",
            &mut [
                ("one thread", &mut || _ = black_box(hits(0..DARTS))),
                ("Rayon", &mut || _ = black_box(by_rayon())),
                ("hive", &mut || _ = black_box(by_hive())),
            ],
        );
    }
}
