//! Heat spreads over a plate whose upper edge is hot: Jacobi's method, all steps in one region, each bee with rows of
//! its own.
//!
//!     cargo run --release --example jacobi

use hive::{Bee, Parts};

/// Odd, so that one cell is in the middle.
const SIDE: usize = 65;
const STEPS: usize = 20_000;

/// One step of this bee's rows. Returns the largest change.
fn step(bee: &Bee<'_>, from: &Parts<'_, f64>, to: &Parts<'_, f64>) -> f64 {
    let own = from.part(bee, bee.id());
    let above = bee.id().checked_sub(1).map(|id| from.part(bee, id));
    let below = (bee.id() + 1 < bee.bees()).then(|| from.part(bee, bee.id() + 1));
    // The last row of the part above, the own rows, the first row of the part below; the plate's edges stay as they
    // are.
    let mut rows: Vec<&[f64]> = Vec::new();
    rows.extend(above.iter().map(|part| &part[part.len() - SIDE..]));
    rows.extend(own.chunks_exact(SIDE));
    rows.extend(below.iter().map(|part| &part[..SIDE]));
    let mut next = to.own_mut(bee);
    let inner = next.chunks_exact_mut(SIDE).skip(usize::from(above.is_none()));
    let mut change = 0.0_f64;
    for (row, around) in inner.zip(rows.windows(3)) {
        for x in 1..SIDE - 1 {
            row[x] = 0.25 * (around[0][x] + around[1][x - 1] + around[1][x + 1] + around[2][x]);
            change = change.max((row[x] - around[1][x]).abs());
        }
    }
    change
}

fn main() {
    let mut even = vec![0.0; SIDE * SIDE];
    even[..SIDE].fill(100.0);
    let mut odd = even.clone();
    let bees = hive::bees().min(SIDE); // a row for each
    let (even_parts, odd_parts) = (Parts::rows(&mut even, SIDE, bees), Parts::rows(&mut odd, SIDE, bees));
    let changes = hive::spmd_map(bees, |bee| {
        let (mut from, mut to) = (&even_parts, &odd_parts);
        let mut change = 0.0;
        for _ in 0..STEPS {
            // All bees learn the largest change of all, and have then all done their step.
            change = bee.all_reduce(step(bee, from, to), f64::max);
            (from, to) = (to, from);
        }
        change
    });
    drop((even_parts, odd_parts));
    let middle = even[SIDE / 2 * SIDE + SIDE / 2];
    println!(
        "after {STEPS} steps by {bees} bees the middle is at {middle:.6}, and changes by {:.0e} a step",
        changes[0]
    );
    assert!((middle - 25.0).abs() < 1e-6, "the middle has the mean of the four edges");
}
