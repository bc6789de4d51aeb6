//! A thread that changes the sizes of all pools at random, from the start of a program to its end. `run --resize` puts
//! this file into a copy of the drop-in.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::thread;
use std::time::Duration;

use crate::limit::hive_rayon_set_num_threads;

/// Between two changes.
const PAUSE: Duration = Duration::from_micros(50);

/// Called by the loader before `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = {
    extern "C" fn begin() {
        thread::spawn(change_sizes);
    }
    begin
};

fn change_sizes() {
    let counts = std::env::var_os("HIVE_RESIZES").expect("`run` sets it");
    let mut counts = OpenOptions::new().append(true).open(counts).expect("`run` has made it");
    let mut random = u64::from(std::process::id());
    for changes in 1_u64.. {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        hive_rayon_set_num_threads(1 + (random >> 33) as i32 % 4);
        thread::sleep(PAUSE);
        // How often, for the summary: the process ends without a word.
        if changes % 100 == 0 {
            counts.write_all(b"100\n").expect("a file");
        }
    }
}
