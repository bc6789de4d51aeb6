//! Conway's game of life on a torus.

use rayon::prelude::*;

use super::{Case, Iteration, timed};
use crate::numbers::Numbers;

const WIDTH: usize = 512;
const HEIGHT: usize = 256;
const GENERATIONS: usize = 10;

pub(super) fn case() -> Case {
    super::case("life", "10 generations of life on 512 x 256 cells, a par_chunks_mut over the rows for each", prepare)
}

fn prepare() -> Iteration {
    let first: Vec<u8> = Numbers::list(8, WIDTH * HEIGHT).into_iter().map(|x| u8::from(x % 3 == 0)).collect();
    let mut expected = first.clone();
    for _ in 0..GENERATIONS {
        let before = expected.clone();
        expected.chunks_mut(WIDTH).enumerate().for_each(|(y, row)| next_row(&before, y, row));
    }
    Box::new(move || {
        let mut cells = first.clone();
        let mut next = vec![0; cells.len()];
        let (time, ()) = timed(|| {
            for _ in 0..GENERATIONS {
                next.par_chunks_mut(WIDTH).enumerate().for_each(|(y, row)| next_row(&cells, y, row));
                std::mem::swap(&mut cells, &mut next);
            }
        });
        assert!(cells == expected, "the same cells live as on one thread");
        time
    })
}

/// Row `y` of the generation after `cells`.
fn next_row(cells: &[u8], y: usize, row: &mut [u8]) {
    let row_at = |y: usize| &cells[y % HEIGHT * WIDTH..][..WIDTH];
    let rows = [row_at(y + HEIGHT - 1), row_at(y), row_at(y + 1)];
    let column = |x: usize| rows.iter().map(|row| row[x]).sum::<u8>();
    for (x, cell) in row.iter_mut().enumerate() {
        let (left, right) = ((x + WIDTH - 1) % WIDTH, (x + 1) % WIDTH);
        let alive = rows[1][x];
        let around = column(left) + column(x) + column(right) - alive;
        *cell = u8::from(around == 3 || (around == 2 && alive == 1));
    }
}
