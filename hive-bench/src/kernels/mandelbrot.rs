//! The Mandelbrot set, a row a chunk: rows through its middle take many times as long as those at the edge, so threads
//! take rows one by one.

use crate::kernels::disjoint::{Disjoint, placed};
use crate::kernels::kernel::{Kernel, checksum};
use crate::runtimes::{Runtime, loops::Loops};

/// Rows and columns. `c/kernels/mandelbrot.c` has the same.
const SIDE: usize = 512;
/// Iterations after which a point is taken to be in the set.
const LIMIT: u32 = 256;

pub(crate) struct Mandelbrot {
    /// Iterations for each point, row by row.
    counts: Vec<u32>,
}

impl Mandelbrot {
    pub(crate) fn new(runtime: &mut impl Runtime) -> Self {
        Self { counts: placed(runtime, SIDE * SIDE, |_| u32::MAX) }
    }
}

fn row(out: &mut [u32], number: usize) {
    let up = -1.5 + 3.0 * number as f64 / SIDE as f64;
    for (column, out) in out.iter_mut().enumerate() {
        *out = iterations(-2.25 + 3.0 * column as f64 / SIDE as f64, up);
    }
}

/// Iterates until the point is known to leave the set.
fn iterations(left: f64, up: f64) -> u32 {
    let (mut x, mut y) = (0.0, 0.0);
    let mut count = 0;
    while count < LIMIT && x * x + y * y <= 4.0 {
        (x, y) = (x * x - y * y + left, 2.0 * x * y + up);
        count += 1;
    }
    count
}

unsafe extern "C" {
    fn hb_mandelbrot_part(counts: *mut u32, begin: usize, end: usize);
}

impl Kernel for Mandelbrot {
    fn step<L: Loops>(&mut self, by: &mut L) {
        let counts = Disjoint::new(&mut self.counts);
        by.dynamic(SIDE, 1, |rows| {
            if L::IN_C {
                // SAFETY: a count for each point, and a loop hands out each row once.
                return unsafe { hb_mandelbrot_part(counts.pointer(), rows.start, rows.end) };
            }
            // SAFETY: a loop hands out each row once.
            let out = unsafe { counts.part(rows.start * SIDE..rows.end * SIDE) };
            out.chunks_exact_mut(SIDE).zip(rows).for_each(|(out, number)| row(out, number));
        });
    }

    fn answer(&self) -> Result<u64, String> {
        Ok(checksum(self.counts.iter().map(|count| u64::from(*count))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::kernel::tests::answers_agree;
    use crate::runtimes::sequential::Sequential;

    #[test]
    fn everybody_comes_to_the_same_answer() {
        answers_agree(|| Mandelbrot::new(&mut Sequential::<false>), 1);
    }

    #[test]
    fn rows_are_very_uneven() {
        let mut set = Mandelbrot::new(&mut Sequential::<false>);
        set.run(&mut Sequential::<false>, 1);
        let costs: Vec<u32> = set.counts.chunks(SIDE).map(|row| row.iter().sum()).collect();
        assert!(costs[SIDE / 2] > 20 * costs[0], "{costs:?}");
    }

    #[test]
    fn known_points() {
        assert_eq!(iterations(0.0, 0.0), LIMIT);
        assert_eq!(iterations(-1.0, 0.0), LIMIT);
        // 0, 1, 2, 5: the last is too far.
        assert_eq!(iterations(1.0, 0.0), 3);
        assert_eq!(iterations(-2.25, -1.5), 1);
    }
}
