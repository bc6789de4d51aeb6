//! The Mandelbrot set, a row a chunk: rows through its middle take many times as long as those at the edge, so threads
//! take rows one by one.

#[cfg(openmp_compiled)]
use crate::kernels::in_c::{InC, Pointers, compiled_twice, parts_in_c};
use crate::kernels::kernel::{Kernel, checksum};
use crate::kernels::shares::{placed, write_one_by_one};
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

#[cfg(openmp_compiled)]
compiled_twice! {
    fn mandelbrot_in_c = hb_openmp_mandelbrot, hb_plain_mandelbrot(times: u64, counts: *mut u32);
}

#[cfg(openmp_compiled)]
parts_in_c! {
    fn mandelbrot_part = "hb_openmp_mandelbrot_part"(counts: *mut u32);
}

impl Kernel for Mandelbrot {
    fn run(&mut self, by: &mut impl Loops, steps: u64) {
        for _ in 0..steps {
            write_one_by_one(by, &mut self.counts, SIDE, |rows, out| {
                out.chunks_exact_mut(SIDE).zip(rows).for_each(|(out, number)| row(out, number));
            });
        }
    }

    #[cfg(openmp_compiled)]
    fn run_in_c(&mut self, by: InC, steps: u64) {
        // SAFETY: a count for each point.
        #[expect(unsafe_code, reason = "loops in C")]
        unsafe {
            mandelbrot_in_c(by, steps, self.counts.as_mut_ptr());
        };
    }

    #[cfg(openmp_compiled)]
    fn run_parts_in_c(&mut self, by: &mut impl Loops, steps: u64) {
        let counts = Pointers::new(self.counts.as_mut_ptr());
        for _ in 0..steps {
            // SAFETY: a count for each point, and a loop hands out each row once.
            #[expect(unsafe_code, reason = "loops in C")]
            by.dynamic(SIDE, 1, |rows| unsafe { mandelbrot_part(counts.get(), rows) });
        }
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
        answers_agree(|| Mandelbrot::new(&mut Sequential), 1);
    }

    #[test]
    fn rows_are_very_uneven() {
        let mut set = Mandelbrot::new(&mut Sequential);
        set.run(&mut Sequential, 1);
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
