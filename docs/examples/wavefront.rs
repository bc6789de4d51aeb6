//! A Gauss-Seidel sweep with longer steps (SOR) in place, tile by tile: each tile needs the new values above and to the
//! left of it, and the old ones below and to the right. The rows of tiles are dealt out to the bees, which wait for one
//! another's tiles and not for all bees.
//!
//!     cargo run --release --example wavefront

use std::time::Instant;

use hive::{Bee, SharedSlice};

const TILE: usize = 16;
const FACTOR: f64 = 1.5;
const SIZE: usize = if cfg!(debug_assertions) { 130 } else { 1026 };
const SWEEPS: usize = 8;

/// A square grid whose upper edge is 1, and everything else 0.
fn grid() -> Vec<f64> {
    (0..SIZE * SIZE).map(|cell| if cell < SIZE { 1.0 } else { 0.0 }).collect()
}

/// The new value of a cell, from its old one and the sum of its neighbours.
fn relaxed(old: f64, neighbours: f64) -> f64 {
    old + FACTOR * (neighbours / 4.0 - old)
}

fn sweep_alone(grid: &mut [f64]) {
    for row in 1..SIZE - 1 {
        for cell in row * SIZE + 1..row * SIZE + SIZE - 1 {
            let neighbours = grid[cell - 1] + grid[cell + 1] + grid[cell - SIZE] + grid[cell + SIZE];
            grid[cell] = relaxed(grid[cell], neighbours);
        }
    }
}

fn sweep_tile(grid: &SharedSlice<'_, f64>, band: usize, tile: usize) {
    let part = |number: usize| 1 + number * TILE..(1 + (number + 1) * TILE).min(SIZE - 1);
    for row in part(band) {
        for column in part(tile) {
            let cell = row * SIZE + column;
            let neighbours = grid.get(cell - 1) + grid.get(cell + 1) + grid.get(cell - SIZE) + grid.get(cell + SIZE);
            grid.set(cell, relaxed(grid.get(cell), neighbours));
        }
    }
}

/// All sweeps of one bee. It counts the tiles that it has done, and says so after each.
fn sweep_bands(grid: &SharedSlice<'_, f64>, bee: &Bee<'_>) {
    let (bands, bees) = ((SIZE - 2).div_ceil(TILE), bee.bees());
    let tiles = bands;
    // How many tiles the owner of a band has done when it has done that many of that band, in that sweep.
    let count_of = |sweep: usize, band: usize, done: usize| {
        let bands_of_owner = (band % bees..bands).step_by(bees).count();
        (sweep * bands_of_owner + band / bees) * tiles + done
    };
    for sweep in 0..SWEEPS {
        for band in (bee.id()..bands).step_by(bees) {
            for tile in 0..tiles {
                if band > 0 {
                    bee.wait_for((band - 1) % bees, count_of(sweep, band - 1, tile + 1));
                }
                if sweep > 0 && band + 1 < bands {
                    bee.wait_for((band + 1) % bees, count_of(sweep - 1, band + 1, tile + 1));
                }
                sweep_tile(grid, band, tile);
                bee.signal(count_of(sweep, band, tile + 1));
            }
        }
    }
}

fn main() {
    let (mut expected, mut found) = (grid(), grid());
    let begin = Instant::now();
    (0..SWEEPS).for_each(|_| sweep_alone(&mut expected));
    let alone = begin.elapsed();
    let shared = SharedSlice::new(&mut found);
    let begin = Instant::now();
    hive::spmd_all(|bee| sweep_bands(&shared, bee));
    let with_hive = begin.elapsed();
    assert_eq!(found, expected, "the same order of additions");
    let ratio = with_hive.as_secs_f64() / alone.as_secs_f64();
    println!("SOR, {SIZE} x {SIZE}, tiles of {TILE}: {ratio:.2} of the time of one thread");
}
