//! A warm loop of empty regions of two bees; the argument is the number of regions. `.ci/syscalls` runs it and counts
//! its system calls.

use std::hint::black_box;

fn main() {
    let regions: u64 = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(1_000_000);
    let hive = hive::Hive::builder().bees(2).pin_queen(true).build().expect("two bees");
    for _ in 0..regions {
        hive.spmd(2, |bee| {
            black_box(bee.id());
        });
    }
}
