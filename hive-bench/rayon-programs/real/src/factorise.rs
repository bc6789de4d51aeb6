//! Solves linear systems by faer's LU factorisation with partial pivoting, on as many threads as Rayon's pool has.
//! Prints the relative residual, and on standard error how many mappings of memory the process has and the most that
//! has been resident.

use faer::prelude::*;
use faer::{Mat, Par};

const SIZE: usize = 768;
const SYSTEMS: u32 = 6;

fn main() {
    faer::set_global_parallelism(Par::rayon(0));
    let mut worst: f64 = 0.0;
    for system in 1..=SYSTEMS {
        let a = Mat::from_fn(SIZE, SIZE, |row, column| number(system, row, column));
        let expected = Mat::from_fn(SIZE, 1, |row, _| number(SYSTEMS + system, row, 0));
        let right_side = &a * &expected;
        let solution = a.partial_piv_lu().solve(&right_side);
        let residual = (&a * &solution - &right_side).norm_l2() / (a.norm_l2() * solution.norm_l2());
        worst = worst.max(residual);
    }
    // A stable factorisation has a residual of some multiples of the rounding error, 1.1e-16.
    assert!(worst < 1e-14, "the residual is {worst}");
    println!("{worst:e}");
    if let Ok(maps) = std::fs::read_to_string("/proc/self/maps") {
        eprintln!("mappings: {}", maps.lines().count());
    }
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        status.lines().filter(|line| line.starts_with("VmHWM")).for_each(|line| eprintln!("{line}"));
    }
}

/// A number from -1 to 1 that looks random.
fn number(system: u32, row: usize, column: usize) -> f64 {
    let mut x = u64::from(system) << 40 | (row as u64) << 20 | column as u64;
    for _ in 0..3 {
        x = (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9).wrapping_add(0x9e37_79b9_7f4a_7c15);
    }
    (x >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}
