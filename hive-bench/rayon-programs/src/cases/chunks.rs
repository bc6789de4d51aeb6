//! Chunks of a vector, each written by one task.

use rayon::prelude::*;

use super::{Case, Iteration, case, timed};

/// The vector: 16 MiB.
const NUMBERS: usize = (16 << 20) / size_of::<f32>();

pub(super) fn cases() -> Vec<Case> {
    vec![
        case("chunks-4k", "par_chunks_mut of 4 KiB over 16 MiB, each number read, changed and written", || {
            over_chunks(4 << 10)
        }),
        case("chunks-64k", "the same with chunks of 64 KiB", || over_chunks(64 << 10)),
        case("chunks-1m", "the same with chunks of 1 MiB", || over_chunks(1 << 20)),
        case("chunks-4m", "the same with chunks of 4 MiB", || over_chunks(4 << 20)),
    ]
}

/// Adds one to each number, and the number of its chunk, in chunks of so many bytes.
fn over_chunks(bytes: usize) -> Iteration {
    let length = bytes / size_of::<f32>();
    let mut numbers = vec![0.0_f32; NUMBERS];
    let mut rounds = 0.0;
    Box::new(move || {
        let (time, ()) = timed(|| {
            numbers.par_chunks_mut(length).enumerate().for_each(|(number, chunk)| {
                let added = 1.0 + number as f32;
                chunk.iter_mut().for_each(|x| *x += added);
            });
        });
        rounds += 1.0;
        // All sums are whole numbers that an f32 holds exactly, for as long as they are below 2^24.
        if rounds < 1_000.0 {
            let last = NUMBERS / length - 1;
            let right = |chunk: usize| rounds * (1.0 + chunk as f32);
            for chunk in [0, last / 2, last] {
                assert_eq!(numbers[chunk * length], right(chunk), "the first number of chunk {chunk}");
                assert_eq!(numbers[(chunk + 1) * length - 1], right(chunk), "the last number of chunk {chunk}");
            }
        }
        time
    })
}
