//! A step of a seven-point stencil over a cube: every cell becomes a mean of itself and its six neighbours. From one
//! cube to the other and back; the border stays as it is. The answer does not depend on which thread does which planes,
//! down to the last bit.

use std::ops::Range;

use crate::kernels::disjoint::{Disjoint, placed};
use crate::kernels::kernel::{Kernel, checksum};
use crate::runtimes::{Runtime, loops::Loops};

/// Cells along an edge, the border not counted. `c/kernels/stencil.c` has the same.
const SIDE: usize = 128;
/// Cells in a line with its border.
const WIDTH: usize = SIDE + 2;
/// Cells in a plane with its border.
const PLANE: usize = WIDTH * WIDTH;

pub(crate) struct Stencil {
    /// What the next step reads.
    from: Vec<f64>,
    /// What it writes.
    to: Vec<f64>,
}

impl Stencil {
    /// A pattern, so that a line in the wrong place shows.
    pub(crate) fn new(runtime: &mut impl Runtime) -> Self {
        let cell = |index: usize| {
            let (z, y, x) = (index / PLANE, index / WIDTH % WIDTH, index % WIDTH);
            ((3 * z + 7 * y + 13 * x) % 32) as f64 / 32.0
        };
        Self { from: placed(runtime, PLANE * WIDTH, cell), to: placed(runtime, PLANE * WIDTH, cell) }
    }
}

/// Computes some planes, the first between the border's being 0. `to` holds them, `from` is the whole cube.
fn sweep(to: &mut [f64], from: &[f64], planes: Range<usize>) {
    for (to, z) in to.chunks_exact_mut(PLANE).zip(planes) {
        let line = |z: usize, y: usize| &from[z * PLANE + y * WIDTH..][..WIDTH];
        for y in 1..=SIDE {
            let neighbours = [line(z + 1, y - 1), line(z + 1, y + 1), line(z, y), line(z + 2, y)];
            sweep_line(&mut to[y * WIDTH..][..WIDTH], line(z + 1, y), neighbours);
        }
    }
}

fn sweep_line(to: &mut [f64], here: &[f64], neighbours: [&[f64]; 4]) {
    let to = &mut to[1..=SIDE];
    let (left, here, right) = (&here[..SIDE], &here[1..=SIDE], &here[2..]);
    let [front, back, below, above] = neighbours.map(|line| &line[1..=SIDE]);
    let lines = left.iter().zip(right).zip(here).zip(front.iter().zip(back)).zip(below.iter().zip(above));
    for (to, ((((left, right), here), (front, back)), (below, above))) in to.iter_mut().zip(lines) {
        let beside = left + right;
        let around = beside + front + back + below + above;
        *to = 0.4 * here + 0.1 * around;
    }
}

unsafe extern "C" {
    fn hb_stencil_part(to: *mut f64, from: *const f64, begin: usize, end: usize);
}

impl Kernel for Stencil {
    fn step<L: Loops>(&mut self, by: &mut L) {
        let from = &self.from[..];
        let to = Disjoint::new(&mut self.to);
        by.blocks(SIDE, |planes| {
            if L::IN_C {
                // SAFETY: both are whole cubes, and a loop hands out each plane once. In C the border is plane 0.
                return unsafe { hb_stencil_part(to.pointer(), from.as_ptr(), planes.start + 1, planes.end + 1) };
            }
            // SAFETY: a loop hands out each plane once.
            let to = unsafe { to.part((planes.start + 1) * PLANE..(planes.end + 1) * PLANE) };
            sweep(to, from, planes);
        });
        std::mem::swap(&mut self.from, &mut self.to);
    }

    fn answer(&self) -> Result<u64, String> {
        Ok(checksum(self.from.iter().map(|cell| cell.to_bits())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::kernel::tests::answers_agree;
    use crate::runtimes::sequential::Sequential;

    #[test]
    fn everybody_comes_to_the_same_answer() {
        for steps in [1, 2] {
            answers_agree(|| Stencil::new(&mut Sequential::<false>), steps);
        }
    }

    #[test]
    fn a_cell_becomes_a_mean_of_seven_and_the_border_stays() {
        let mut stencil = Stencil::new(&mut Sequential::<false>);
        let before = stencil.from.clone();
        stencil.run(&mut Sequential::<false>, 1);
        let at = |z: usize, y: usize, x: usize| z * PLANE + y * WIDTH + x;
        let beside = [at(4, 9, 6), at(4, 9, 8), at(4, 8, 7), at(4, 10, 7), at(3, 9, 7), at(5, 9, 7)];
        let mean = 0.4 * before[at(4, 9, 7)] + 0.1 * beside.iter().map(|cell| before[*cell]).sum::<f64>();
        assert!((stencil.from[at(4, 9, 7)] - mean).abs() < 1e-12);
        assert_ne!(stencil.from[at(4, 9, 7)], before[at(4, 9, 7)]);
        for border in
            [at(0, 9, 7), at(WIDTH - 1, 9, 7), at(4, 0, 7), at(4, WIDTH - 1, 7), at(4, 9, 0), at(4, 9, WIDTH - 1)]
        {
            assert_eq!(stencil.from[border], before[border]);
        }
    }
}
